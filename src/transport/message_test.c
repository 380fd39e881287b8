/* message_test.c - messages that make no sense are refused before anything is believed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the ends of a message do with it is tested with whole runs (fed_test.c, rogue_test.c).
 */
#include "test.h"

#include "transport/message.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLASSES = 5, MOST = 8192 };

/* A message as its bytes: a reply of client 3 in round 5, with two bundles and five marks. */
static size_t bytes_of_reply(unsigned char out[MOST])
{
    static const uint8_t met[CLASSES] = {1, 0, 1, 0, 1};
    int ends[2];
    eg_bundle *up, *took;
    eg_reply reply = {.seconds = 2, .part_seconds = {0.5}};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_ok(eg_bundle_new(&up));
    assert_ok(eg_bundle_scalar(up, "samples", 4));
    assert_ok(eg_message_of_reply(&reply, &took));
    eg_message m = {.head = {.kind = EG_MESSAGE_REPLY, .id = 3, .round = 5, .n_met = CLASSES},
                    .text = "why",
                    .met = (uint8_t *)(uintptr_t)met};
    assert_ok(eg_message_send(ends[0], &m, (const eg_bundle *[2]){up, took}));
    close(ends[0]);
    ssize_t n = recv(ends[1], out, MOST, MSG_WAITALL);
    assert_true(n > 0 && n < MOST);
    close(ends[1]);
    eg_bundle_free(up);
    eg_bundle_free(took);
    return (size_t)n;
}

/* Receives these bytes, after which the other side hangs up. */
static eg_status receive(const unsigned char *bytes, size_t n, eg_message *out)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[0], bytes, n), n);
    close(ends[0]);
    eg_status s = eg_message_receive(ends[1], CLASSES, out);
    close(ends[1]);
    return s;
}

static void test_a_message_arrives_as_it_was_sent(void **state)
{
    (void)state;
    unsigned char bytes[MOST];
    eg_message m;
    eg_reply reply = {0};
    double samples;
    size_t n = bytes_of_reply(bytes);
    assert_ok(receive(bytes, n, &m));
    assert_int_equal(m.head.kind, EG_MESSAGE_REPLY);
    assert_int_equal(m.head.id, 3);
    assert_int_equal(m.head.round, 5);
    assert_string_equal(m.text, "why");
    assert_int_equal(m.met[2], 1);
    assert_true(eg_bundle_scalar_of(m.bundles[0], "samples", &samples));
    assert_ok(eg_message_to_reply(m.bundles[1], &reply));
    assert_near(reply.seconds, 2, 0);
    assert_near(reply.part_seconds[0], 0.5, 0);
    eg_message_fini(&m);
}

static void test_wrong_heads_are_refused(void **state)
{
    (void)state;
#define AT(field) offsetof(eg_message_head, field)
    static const struct {
        size_t at;
        uint64_t value;
        size_t size;
        const char *words;
        eg_status status;
    } cases[] = {
        {AT(magic), 1, 8, "does not begin as one", EG_EFORMAT},
        {AT(version), 1, 4, "has version 1, not", EG_EFORMAT},
        {AT(order), 0x04030201, 4, "byte order of another machine", EG_EFORMAT},
        {AT(n_text), 1 << 20, 8, "1048576 characters", EG_EFORMAT},
        {AT(n_met), 4, 8, "4 classes", EG_EFORMAT},
        {AT(n_met), (uint64_t)1 << 60, 8, "classes", EG_EFORMAT},
        {AT(n_bytes), (uint64_t)1 << 50, 8, "is announced", EG_EFORMAT},
        {AT(n_bytes), 3, 8, "", EG_EFORMAT},
        {AT(n_bytes), 0, 8, "", EG_EFORMAT},
        {AT(n_bytes) + 8, 1 << 20, 8, "is gone", EG_EIO},
    };
#undef AT
    unsigned char bytes[MOST];
    size_t n = bytes_of_reply(bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char wrong[MOST];
        eg_message m;
        memcpy(wrong, bytes, n);
        memcpy(wrong + cases[i].at, &cases[i].value, cases[i].size);
        assert_fails(receive(wrong, n, &m), cases[i].status, cases[i].words);
        assert_null(m.met);
        assert_null(m.bundles[0]);
    }
}

static void test_a_message_cut_anywhere_is_refused(void **state)
{
    (void)state;
    unsigned char bytes[MOST];
    eg_message m;
    size_t whole = bytes_of_reply(bytes);
    for (size_t n = 0; n < whole; n++)
        assert_fails(receive(bytes, n, &m), EG_EIO, "is gone");
}

static void test_a_turn_comes_back_from_its_head(void **state)
{
    (void)state;
    const eg_turn turn = {.exchange = 2,
                          .id = 7,
                          .round = 9,
                          .seed = 11,
                          .stage = 4,
                          .left = -1,
                          .last = true,
                          .own = true,
                          .kept = {5, 6, 7},
                          .committed = 3};
    eg_message m = {0};
    eg_turn back;
    eg_message_of_turn(&turn, &m);
    eg_message_to_turn(&m, &back);
    assert_memory_equal(&back, &turn, sizeof turn);
}

static void test_what_a_turn_took_must_make_sense(void **state)
{
    (void)state;
    eg_reply reply = {.seconds = 1}, back = {0};
    eg_note note = {.name = "drift", .value = 0.25};
    eg_bundle *b;
    reply.notes = &note, reply.n_notes = 1;
    assert_ok(eg_message_of_reply(&reply, &b));
    assert_ok(eg_message_to_reply(b, &back));
    assert_int_equal(back.n_notes, 1);
    assert_string_equal(back.notes[0].name, "drift");
    assert_near(back.notes[0].value, 0.25, 0);
    eg_bundle_free(b);
    eg_reply_fini(&back);
    reply.seconds = NAN;
    assert_ok(eg_message_of_reply(&reply, &b));
    assert_fails(eg_message_to_reply(b, &back), EG_EFORMAT, "what its turn took");
    eg_bundle_clear(b);
    assert_fails(eg_message_to_reply(b, &back), EG_EFORMAT, "what its turn took");
    eg_bundle_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_arrives_as_it_was_sent),
        cmocka_unit_test(test_wrong_heads_are_refused),
        cmocka_unit_test(test_a_message_cut_anywhere_is_refused),
        cmocka_unit_test(test_a_turn_comes_back_from_its_head),
        cmocka_unit_test(test_what_a_turn_took_must_make_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
