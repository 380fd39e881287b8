/* message_test.c - messages that make no sense are refused before anything is believed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the ends of a message do with it is tested with whole runs (fed_test.c, rogue_test.c).
 */
#include "test.h"

#include "run/transport/message.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLASSES = 5, MOST = 8192 };

static size_t most_asked; /* bytes of memory at once */

eg_status __real_eg_alloc(size_t n, size_t size, void *out);
eg_status __wrap_eg_alloc(size_t n, size_t size, void *out);

eg_status __wrap_eg_alloc(size_t n, size_t size, void *out)
{
    most_asked = n * size > most_asked ? n * size : most_asked;
    return __real_eg_alloc(n, size, out);
}

/* A message as its bytes: a reply of client 3 in round 5, with two bundles and five marks. */
static size_t bytes_of_reply(unsigned char out[MOST])
{
    static const uint8_t met[CLASSES] = {1, 0, 1, 0, 1};
    int ends[2];
    eg_bundle *up, *took;
    eg_reply reply = {.seconds = 2, .part_seconds = {0.5}, .flops = (UINT64_C(1) << 53) - 1};
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
    assert_int_equal(reply.flops, (UINT64_C(1) << 53) - 1);
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

/* What is not there is known before memory is asked for, where the length is. */
static void test_what_is_announced_alone_takes_no_memory(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
    } cases[] = {{offsetof(eg_message_head, n_numbers), UINT64_C(1) << 32},
                 {offsetof(eg_message_head, n_bytes), UINT64_C(1) << 36},
                 {offsetof(eg_message_head, n_bytes) + 8, UINT64_C(1) << 36}};
    unsigned char bytes[MOST];
    size_t n = bytes_of_reply(bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char wrong[MOST];
        eg_message m;
        memcpy(wrong, bytes, n);
        memcpy(wrong + cases[i].at, &cases[i].value, sizeof cases[i].value);
        most_asked = 0;
        assert_fails(eg_message_unpack(wrong, n, CLASSES, &m), EG_EIO, "is gone");
        assert_in_range(most_asked, 0, n);
    }
}

static void test_a_turn_comes_back_from_its_head(void **state)
{
    (void)state;
    eg_bundle *down;
    assert_ok(eg_bundle_new(&down));
    const eg_turn turn = {.down = down,
                          .exchange = 2,
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
    eg_test test = {0};
    assert_ok(eg_message_of_turn(&turn, CLASSES, &m));
    assert_ok(eg_message_to_turn(&m, down, &back, &test));
    assert_memory_equal(&back, &turn, sizeof turn);
    assert_fails(eg_message_to_turn(&m, NULL, &back, &test), EG_EFORMAT, "no download");
    m.head.kind = EG_MESSAGE_REPLY;
    assert_fails(eg_message_to_turn(&m, down, &back, &test), EG_EFORMAT, "no such turn");
    eg_bundle_free(down);
}

static const eg_exam exams[] = {
    {.task = 2,
     .n = 3,
     .n_classes = 2,
     .ids = (int64_t[]){7, 5, 9},
     .classes = (int32_t[]){0, 4}},
    {.task = 0,
     .n = 1,
     .period = 1,
     .held_out = true,
     .tells = true,
     .n_classes = 1,
     .n_allowed = 2,
     .ids = (int64_t[]){8},
     .classes = (int32_t[]){3},
     .allowed = (int32_t[]){3, 1}},
    {.task = 1, .n = 1, .ids = (int64_t[]){6}, .allowed = (int32_t[]){0}},
};

/* A test as bytes and back; the message has them both ways. */
static void send_test(const eg_test *t, eg_message *m)
{
    const eg_bundle *const none[2] = {NULL, NULL};
    unsigned char *bytes;
    size_t n;
    assert_ok(
        eg_message_of_turn(&(eg_turn){.kind = EG_TURN_TEST, .id = 4, .test = t}, CLASSES, m));
    assert_ok(eg_message_pack(m, none, &bytes, &n));
    eg_message_end_turn(m);
    for (size_t k = 0; k < n; k++)
        assert_fails(eg_message_unpack(bytes, k, CLASSES, m), EG_EIO, "is gone");
    assert_ok(eg_message_unpack(bytes, n, CLASSES, m));
    free(bytes);
}

static void test_a_test_comes_back_from_its_bytes(void **state)
{
    (void)state;
    eg_test sent = {.model = EG_TESTED_UPLOAD, .n = 3, .exams = (eg_exam *)(uintptr_t)exams};
    eg_test got = {0};
    static eg_message m;
    eg_turn turn;
    eg_bundle *down;
    assert_ok(eg_bundle_new(&down));
    send_test(&sent, &m);
    assert_ok(eg_message_to_turn(&m, down, &turn, &got));
    assert_int_equal(turn.kind, EG_TURN_TEST);
    assert_ptr_equal(turn.test, &got);
    assert_int_equal(turn.id, 4);
    assert_int_equal(got.model, EG_TESTED_UPLOAD);
    assert_int_equal(got.n, 3);
    assert_int_equal(got.exams[0].ids[2], 9);
    assert_int_equal(got.exams[0].classes[1], 4);
    assert_null(got.exams[0].allowed);
    assert_true(got.exams[1].held_out && got.exams[1].tells && !got.exams[0].tells);
    assert_int_equal(got.exams[1].period, 1);
    assert_int_equal(got.exams[1].allowed[1], 1);
    assert_non_null(got.exams[2].allowed); /* none is allowed: not the same as all */
    assert_int_equal(got.exams[2].n_allowed, 0);
    eg_test_fini(&got);
    for (uint64_t n = 1; n < m.head.n_numbers; n++) {
        static eg_message cut;
        cut = m;
        cut.head.n_numbers = n;
        if (n != 1 && n != 13 && n != 24) /* where an exam ends */
            assert_fails(eg_message_to_turn(&cut, down, &turn, &got), EG_EFORMAT, "breaks off");
        eg_test_fini(&got);
    }
    m.numbers[0] = 7;
    assert_fails(eg_message_to_turn(&m, down, &turn, &got), EG_EFORMAT, "of what model");
    eg_message_fini(&m);
    eg_bundle_free(down);
}

static eg_status put_bytes(void *context, const eg_message *m,
                           const eg_bundle *const bundles[2])
{
    unsigned char *bytes;
    size_t n;
    EG_TRY(eg_message_pack(m, bundles, &bytes, &n));
    eg_status s = eg_message_unpack(bytes, n, CLASSES, context);
    free(bytes);
    return s;
}

static void test_scores_come_back_if_they_can_be(void **state)
{
    (void)state;
    static eg_message asked, answer;
    eg_test test = {.n = 3, .exams = (eg_exam *)(uintptr_t)exams};
    const eg_turn turn = {.kind = EG_TURN_TEST, .id = 4, .test = &test};
    eg_score scores[] = {{3, 2, 3}, {1, 0, 0}, {1, 1, 1}};
    int32_t answer_given = 3;
    eg_reply reply = {
        .n_scores = 3, .scores = scores, .answers = &answer_given, .n_answers = 1};
    eg_reply back = {0};
    send_test(&test, &asked);
    assert_ok(eg_message_answer(&asked, EG_OK, &reply, put_bytes, &answer));
    assert_ok(eg_message_hear(&turn, &answer, &back));
    assert_memory_equal(back.scores, scores, sizeof scores);
    assert_int_equal(back.n_answers, 1);
    assert_int_equal(back.answers[0], 3);
    eg_reply_fini(&back);
    answer.numbers[1] = 4;
    assert_fails(eg_message_hear(&turn, &answer, &back), EG_EFORMAT, "4 of 3 right");
    eg_reply_fini(&back);
    answer.head.n_numbers = 9; /* the answer is left out */
    assert_fails(eg_message_hear(&turn, &answer, &back), EG_EFORMAT, "no scores of 3 exams");
    eg_reply_fini(&back);
    eg_message_fini(&answer);
    eg_fail(EG_ENOMEM, "no memory");
    assert_ok(eg_message_answer(&asked, EG_ENOMEM, &back, put_bytes, &answer));
    assert_fails(eg_message_hear(&turn, &answer, &back), EG_ENOMEM, "no memory");
    eg_message_fini(&answer);
    eg_message_fini(&asked);
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

/* A note's value may be anything: the log has null for what is not finite. Its name must be a
 * bundle's, and is looked at before there is a bundle. */
static void test_a_note_has_any_value_but_not_any_name(void **state)
{
    (void)state;
    static const double values[] = {NAN, INFINITY};
    eg_note notes[2] = {{.name = "drift", .value = NAN}, {.name = "far", .value = INFINITY}};
    eg_reply reply = {.seconds = 1, .notes = notes, .n_notes = 2}, back = {0};
    eg_bundle *b, *other;
    unsigned char *bytes;
    size_t n;
    assert_ok(eg_message_of_reply(&reply, &b));
    assert_ok(eg_bundle_pack(b, &bytes, &n));
    eg_bundle_free(b);
    assert_ok(eg_bundle_unpack(bytes, n, &b));
    assert_ok(eg_message_to_reply(b, &back));
    assert_int_equal(back.n_notes, 2);
    for (size_t i = 0; i < 2; i++)
        assert_memory_equal(&back.notes[i].value, &values[i], sizeof values[i]);
    eg_reply_fini(&back);
    eg_bundle_free(b);
    for (size_t i = 0; i + 5 < n; i++)
        if (memcmp(bytes + i, "drift", 5) == 0)
            bytes[i] = 0xff; /* it is no UTF-8 any more */
    assert_fails(eg_bundle_unpack(bytes, n, &other), EG_EFORMAT, "");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_arrives_as_it_was_sent),
        cmocka_unit_test(test_wrong_heads_are_refused),
        cmocka_unit_test(test_a_message_cut_anywhere_is_refused),
        cmocka_unit_test(test_what_is_announced_alone_takes_no_memory),
        cmocka_unit_test(test_a_turn_comes_back_from_its_head),
        cmocka_unit_test(test_a_test_comes_back_from_its_bytes),
        cmocka_unit_test(test_scores_come_back_if_they_can_be),
        cmocka_unit_test(test_what_a_turn_took_must_make_sense),
        cmocka_unit_test(test_a_note_has_any_value_but_not_any_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
