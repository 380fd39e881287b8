/* lost_test.c - a client is chosen and then lost: the round goes on, its stage stays. Or it
 * says of its records what cannot be: the round goes on without its answer.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The transport is the test's own (found in place of "threads"): threads that lose a client, or
 * forge its receipt.
 */
#include "runs.h"

#include "run/log/events.h"
#include "run/transport/transport.h"

#include "own_folder.h"

enum { LOSES = 1, IN_ROUND = 1 }; /* whom, and when */

typedef struct lossy {
    void *threads;
    int64_t ids[16], rounds[16];
} lossy;

static const eg_transport *threads;
static bool breaks;              /* the transport fails when it has part of a reply */
static const eg_receipt *forged; /* what it says in place of its receipt; NULL: it is lost */
static const eg_job *told;       /* the exchange under way */
static lossy *now;
static bool apart;         /* clients' records are elsewhere */
static int n_open, n_shut; /* how often it was opened and closed */

const eg_transport *__real_eg_transport_find(const char *word);
const eg_transport *__wrap_eg_transport_find(const char *word);

static eg_status lossy_open(void *self, const eg_site *site)
{
    lossy *l = self;
    now = l;
    n_open++;
    l->threads = calloc(1, threads->component.size);
    assert_non_null(l->threads);
    return threads->open(l->threads, site);
}

/* Tells what the server tells, and notes whose turn it is. */
static eg_status lossy_tell(void *context, int64_t i, eg_turn *out, eg_bundle **own)
{
    (void)context;
    eg_status s = told->tell(told->context, i, out, own);
    now->ids[i] = out->id, now->rounds[i] = out->round;
    return s;
}

static eg_status lossy_begin(void *self, const eg_job *job)
{
    static eg_job mine;
    lossy *l = self;
    told = job;
    mine = (eg_job){.n = job->n, .down = job->down, .tell = lossy_tell};
    return threads->begin(l->threads, &mine);
}

static eg_status lossy_take(void *self, int64_t i, eg_reply *out, bool *lost)
{
    lossy *l = self;
    EG_TRY(threads->take(l->threads, i, out, lost));
    if (l->ids[i] != LOSES || l->rounds[i] != IN_ROUND)
        return EG_OK;
    if (breaks)
        return eg_fail(EG_EIO, "the rest of a reply is missing");
    if (forged) {
        out->kept = *forged;
        return EG_OK;
    }
    eg_reply_fini(out);
    eg_fail(EG_EIO, "it did not answer in time");
    *lost = true;
    return EG_OK;
}

static void lossy_end(void *self)
{
    lossy *l = self;
    threads->end(l->threads);
}

static void lossy_close(void *self)
{
    lossy *l = self;
    n_shut++;
    free(l->threads);
}

static const eg_transport lossy_transport = {
    .component = {"threads", "", sizeof(lossy), NULL},
    .open = lossy_open,
    .begin = lossy_begin,
    .take = lossy_take,
    .end = lossy_end,
    .close = lossy_close,
};

const eg_transport *__wrap_eg_transport_find(const char *word)
{
    static eg_transport found;
    threads = __real_eg_transport_find(word);
    found = lossy_transport;
    found.apart = apart;
    return &found;
}

/* A stage lasts two participations, so that who is lost stays behind. */
static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 240, test: 40, classes: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: async-count, clients: 3, tasks: 2, take: 20, rounds: 2}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 1, batch: 10}\n"
    "runs: [{label: a, method: er}, {label: b, method: [er, fed-a-gem]}, {label: c, method: "
    "local}]\n";

static void run_it(const char *label, int workers, int64_t stop, char path[512])
{
    char file[FILES_PATH * 2];
    eg_experiment *e;
    files_write(folder, "t.yaml", text, sizeof text - 1);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, label, 0, NULL, &e));
    assert_ok(runs_run(e, folder, workers, stop, path));
    eg_experiment_free(e);
}

static void test_a_lost_client_is_said_and_the_run_goes_on(void **state)
{
    (void)state;
    char path[512];
    eg_events *log;
    run_it("a", 1, 0, path);
    assert_ok(eg_events_load(path, &log));
    assert_int_equal(log->n_loss, 1);
    assert_int_equal(log->loss[0].round, IN_ROUND + 1);
    assert_int_equal(log->loss[0].client, LOSES);
    assert_string_equal(log->loss[0].why, "it did not answer in time");
    for (size_t i = 0; i < log->n_round; i++)
        assert_int_equal(log->round[i].n_lost, log->round[i].round == IN_ROUND + 1);
    assert_int_equal(log->round[IN_ROUND].lost[0], LOSES);
    eg_events_free(log);
}

/* Whoever is lost in training and again in a later exchange of the round did not take part. */
static void test_a_client_lost_twice_in_a_round_is_lost(void **state)
{
    (void)state;
    char path[512];
    eg_events *log;
    run_it("b", 1, 0, path);
    assert_ok(eg_events_load(path, &log));
    assert_int_equal(log->n_loss, 2);
    for (size_t i = 0; i < log->n_round; i++)
        assert_int_equal(log->round[i].n_lost, log->round[i].round == IN_ROUND + 1);
    eg_events_free(log);
}

/* Resumed after the loss, the walk goes by the log: by the scenario alone the client would have
 * moved on to its next samples. */
static void test_the_bits_are_the_same_resumed_after_the_loss(void **state)
{
    (void)state;
    char path[512], whole[65], again[65];
    run_it("a", 1, 0, path);
    runs_hash(path, whole);
    for (int stop = 1; stop <= 4; stop++) {
        run_it("a", 1 + stop % 2, stop, path);
        runs_hash(path, again);
        assert_string_equal(whole, again);
    }
}

static void test_a_receipt_that_cannot_be_is_left_out(void **state)
{
    (void)state;
    static const struct {
        eg_receipt says;
        const char *why;
    } cases[] = {
        {{.version = -1}, "no receipt can say version -1 with 0 bytes"},
        {{.version = 0}, "a receipt of version 0 after one of version 1"},
        {{.version = 1, .bytes = 7}, "a receipt of version 1 after one of version 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512];
        eg_events *log;
        forged = &cases[i].says;
        run_it("a", 1, 0, path);
        assert_ok(eg_events_load(path, &log));
        assert_int_equal(log->n_loss, 1);
        assert_int_equal(log->loss[0].round, IN_ROUND + 1);
        assert_int_equal(log->loss[0].client, LOSES);
        assert_non_null(strstr(log->loss[0].why, cases[i].why));
        assert_int_equal(log->n_round, 12); /* all of them */
        eg_events_free(log);
    }
    forged = NULL;
}

/* What was there of the reply is freed, which the leak checker of a sanitized build sees. */
static void test_a_reply_of_which_a_part_is_there_ends_the_run(void **state)
{
    (void)state;
    char path[512], file[FILES_PATH * 2];
    eg_experiment *e;
    files_write(folder, "t.yaml", text, sizeof text - 1);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, "a", 0, NULL, &e));
    breaks = true;
    assert_fails(runs_run(e, folder, 1, 0, path), EG_EIO, "the rest of a reply is missing");
    breaks = false;
    eg_experiment_free(e);
}

static void test_what_was_refused_before_it_was_opened_is_not_closed(void **state)
{
    (void)state;
    char path[512], file[FILES_PATH * 2];
    eg_experiment *e;
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, "c", 0, NULL, &e));
    n_open = n_shut = 0;
    apart = true;
    assert_fails(runs_run(e, folder, 1, 0, path), EG_ENOTSUP, "a server cannot test it");
    apart = false;
    assert_int_equal(n_open, 0);
    assert_int_equal(n_shut, 0);
    eg_experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_client_is_said_and_the_run_goes_on),
        cmocka_unit_test(test_a_client_lost_twice_in_a_round_is_lost),
        cmocka_unit_test(test_the_bits_are_the_same_resumed_after_the_loss),
        cmocka_unit_test(test_a_receipt_that_cannot_be_is_left_out),
        cmocka_unit_test(test_a_reply_of_which_a_part_is_there_ends_the_run),
        cmocka_unit_test(test_what_was_refused_before_it_was_opened_is_not_closed),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
