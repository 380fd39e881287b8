/* worker_test.c - what a client writes of its memory: rows that changed, and no others; names
 * of its notes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

enum { TASKS = 2, ROUNDS = 3, SAMPLES = 30 };

/* Clients keep nothing but their memories. */
static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 120, test: 60, classes: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 3, partition: iid}\n"
    "memory: {kind: reservoir, size: 10}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {batch: 10}\n"
    "runs: [{label: a, method: er}]\n";

/* After every round of all tasks: the version of client 0's records, and what its memory has
 * been offered. */
static void watch(const char *insert, int64_t version[], int64_t seen[])
{
    one_client o;
    one_client_open(&o, text, insert);
    for (int i = 0; i < TASKS * ROUNDS; i++) {
        one_client_train(&o);
        version[i] = o.kept[0].version;
        assert_ok(
            eg_bundle_need_count(one_client_kept(&o, "memory"), "memory.seen", 1000, &seen[i]));
    }
    one_client_close(&o);
}

static void test_a_memory_that_was_offered_nothing_is_not_written_again(void **state)
{
    (void)state;
    int64_t version[TASKS * ROUNDS], seen[TASKS * ROUNDS];
    watch("memory.insert=once", version, seen);
    for (int i = 0; i < TASKS * ROUNDS; i++) {
        assert_int_equal(version[i], i / ROUNDS + 1);
        assert_int_equal(seen[i], (i / ROUNDS + 1) * SAMPLES);
    }
}

static void test_a_memory_that_was_offered_rows_is_written(void **state)
{
    (void)state;
    int64_t version[TASKS * ROUNDS], seen[TASKS * ROUNDS];
    watch("memory.insert=always", version, seen);
    for (int i = 0; i < TASKS * ROUNDS; i++) {
        assert_int_equal(version[i], i + 1);
        assert_int_equal(seen[i], (i + 1) * SAMPLES);
    }
}

/* A name is good or not wherever the client is. */
static void test_names_of_notes_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "a\"b",
                                      "a\\b",
                                      "a\nb",
                                      "gr\xc3\xb6\xc3\x9f"
                                      "e",
                                      "\xff"};
    char name[300];
    static eg_worker w;
    static eg_agreement agreed;
    eg_reply reply = {0};
    eg_client c = {.worker = &w};
    w.reply = &reply, w.agreed = &agreed;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_fails(eg_client_note(&c, bad[i], 1), EG_EINVAL, "no name for a note");
    memset(name, 'x', sizeof name);
    name[64] = 0;
    assert_fails(eg_client_note(&c, name, 1), EG_EINVAL, "is too long");
    assert_int_equal(reply.n_notes, 0); /* what was refused is not there */
    name[63] = 0;
    assert_ok(eg_client_note(&c, name, 1));
    assert_ok(eg_client_note(&c, "part.drift 3", NAN));
    assert_int_equal(reply.n_notes, 2);
    assert_string_equal(reply.notes[0].name, name);
    agreed.hides = true; /* sums alone are told: a note of one client is not sent */
    assert_ok(eg_client_note(&c, "part.drift 4", 1));
    assert_int_equal(reply.n_notes, 2);
    eg_reply_fini(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_memory_that_was_offered_nothing_is_not_written_again),
        cmocka_unit_test(test_a_memory_that_was_offered_rows_is_written),
        cmocka_unit_test(test_names_of_notes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
