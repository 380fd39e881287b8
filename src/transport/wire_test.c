/* wire_test.c - answers that make no sense: nothing of them is believed before it is checked.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The test is the process at the other end. What a client's process does right is tested with
 * whole runs (fed_test.c, rogue_test.c).
 */
#include "test.h"

#include "transport/wire.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* The head of a message, in words of 64 bits. */
enum { MAGIC, WHAT, ID, ROUND, N_TEXT = 7, N_UP, N_KEEP, N_WORDS };

typedef struct peer {
    eg_wire wire;
    int end;
    uint64_t question[N_WORDS]; /* as a right one begins; an answer begins alike */
    unsigned char *bytes;       /* of a bundle */
    size_t n;
} peer;

/* Asks for a turn of client 3 in round 5 with an empty bundle. */
static eg_status ask(peer *p)
{
    eg_bundle *down, *up, *keep;
    assert_ok(eg_bundle_new(&down));
    eg_turn turn = {.id = 3, .round = 5, .down = down};
    eg_status s = eg_wire_turn(&p->wire, EG_WIRE_TRAIN, &turn, &up, &keep);
    assert_int_equal(up != NULL, s == EG_OK);
    assert_int_equal(keep != NULL, s == EG_OK);
    eg_bundle_free(up);
    eg_bundle_free(keep);
    eg_bundle_free(down);
    return s;
}

static void connect_peer(peer *p)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    p->wire = (eg_wire){.socket = ends[0]};
    p->end = ends[1];
}

static void hang_up(peer *p)
{
    close(p->end);
    eg_wires_close(&p->wire, 1);
    assert_int_equal(p->wire.socket, -1);
}

/* Learns from a question what an answer must begin with. */
static peer meet(void)
{
    peer p = {0};
    eg_bundle *b;
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_scalar(b, "samples", 4));
    assert_ok(eg_bundle_pack(b, &p.bytes, &p.n));
    eg_bundle_free(b);
    connect_peer(&p);
    shutdown(p.end, SHUT_WR);
    assert_fails(ask(&p), EG_EIO, "ended before it answered");
    assert_int_equal(read(p.end, p.question, sizeof p.question), sizeof p.question);
    assert_int_equal(p.question[ID], 3);
    assert_int_equal(p.question[ROUND], 5);
    hang_up(&p);
    p.question[N_UP] = p.question[N_KEEP] = p.n;
    return p;
}

/* Answers with one word changed and, at most, `limit` bytes; then hangs up. */
static eg_status answer(peer *p, int word, uint64_t value, size_t limit)
{
    unsigned char all[4096];
    uint64_t head[N_WORDS];
    size_t n = sizeof head;
    memcpy(head, p->question, sizeof head);
    head[word] = value;
    memcpy(all, head, sizeof head);
    for (int i = 0; i < 2; i++, n += p->n)
        memcpy(all + n, p->bytes, p->n);
    connect_peer(p);
    n = n < limit ? n : limit;
    assert_int_equal(write(p->end, all, n), n);
    shutdown(p->end, SHUT_WR);
    eg_status s = ask(p);
    hang_up(p);
    return s;
}

static void test_a_right_answer_is_taken(void **state)
{
    (void)state;
    peer p = meet();
    assert_ok(answer(&p, WHAT, EG_OK, SIZE_MAX));
    free(p.bytes);
}

static void test_wrong_answers_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *words;
        int word;
        eg_status status;
    } cases[] = {
        {1, "does not begin", MAGIC, EG_EFORMAT},
        {1 << 20, "does not begin", N_TEXT, EG_EFORMAT},
        {(uint64_t)1 << 50, "is announced", N_UP, EG_EFORMAT},
        {3, "", N_UP, EG_EFORMAT},
        {0, "", N_UP, EG_EFORMAT},
        {UINT64_MAX, "left something out", N_KEEP, EG_EFORMAT},
        {1 << 20, "ended before", N_KEEP, EG_EIO},
        {4, "not asked", ID, EG_EFORMAT},
        {6, "not asked", ROUND, EG_EFORMAT},
        {99, "not asked", WHAT, EG_EFORMAT},
        {(uint64_t)-1, "not asked", WHAT, EG_EFORMAT},
        {EG_ENOTSUP, "", WHAT, EG_ENOTSUP},
    };
    peer p = meet();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(answer(&p, cases[i].word, cases[i].value, SIZE_MAX), cases[i].status,
                     cases[i].words);
    free(p.bytes);
}

static void test_an_answer_cut_anywhere_is_refused(void **state)
{
    (void)state;
    peer p = meet();
    size_t whole = sizeof p.question + 2 * p.n;
    for (size_t n = 0; n < whole; n++)
        assert_fails(answer(&p, WHAT, EG_OK, n), EG_EIO, "ended before it answered");
    assert_ok(answer(&p, WHAT, EG_OK, whole));
    free(p.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_right_answer_is_taken),
        cmocka_unit_test(test_wrong_answers_are_refused),
        cmocka_unit_test(test_an_answer_cut_anywhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
