/* message_fuzz.c - what comes over a network, of any bytes: a turn, a test, a reply, a hello.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is a message packs into the same bytes again; what is a turn or a reply holds what it
 * may; the rest is refused.
 */
#include "fuzz/fuzz.h"

#include "run/transport/hello.h"
#include "run/transport/message.h"

#include <stdlib.h>
#include <string.h>

enum { CLASSES = 4 };

static void try_turn(eg_message *m)
{
    eg_turn turn;
    eg_bundle *down;
    EG_ASSERT(eg_bundle_new(&down) == EG_OK);
    eg_test test = {0};
    if (eg_message_to_turn(m, down, &turn, &test) == EG_OK && turn.kind == EG_TURN_TEST)
        for (size_t i = 0; i < test.n; i++)
            EG_ASSERT(test.exams[i].n >= 0 && test.exams[i].n_classes >= 0);
    eg_test_fini(&test);
    eg_bundle_free(down);
}

/* As the answer to this turn, whoever it is from. */
static void try_reply(eg_message *m, const eg_turn *turn)
{
    eg_reply reply = {0};
    if (eg_message_hear(turn, m, &reply) == EG_OK) {
        EG_ASSERT(turn->kind == EG_TURN_TEST ? reply.n_scores <= turn->test->n
                                             : reply.up != NULL);
        EG_ASSERT(reply.seconds >= 0 && reply.n_notes <= EG_MAX_NOTES);
    }
    eg_reply_fini(&reply);
}

static void try_message(const uint8_t *bytes, size_t n, const eg_turn *turn)
{
    static eg_message m;
    unsigned char *again;
    size_t n_again;
    if (eg_message_unpack(bytes, n, CLASSES, &m) != EG_OK)
        return;
    const eg_bundle *const both[2] = {m.bundles[0], m.bundles[1]};
    EG_ASSERT(eg_message_pack(&m, both, &again, &n_again) == EG_OK);
    free(again);
    try_turn(&m);
    try_reply(&m, turn);
    eg_message_fini(&m);
}

static void try_hello(const uint8_t *bytes, size_t n)
{
    eg_json *json;
    eg_hello hello;
    if (eg_json_parse(bytes, n, &json) != EG_OK)
        return;
    if (eg_hello_get(json, &hello) == EG_OK)
        EG_ASSERT(eg_hello_compare(&hello, &hello, false) == EG_OK);
    eg_json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const int64_t ids[2] = {3, 5};
    const int32_t classes[1] = {1};
    eg_test test = {0};
    const eg_exam exam = {
        .n = 2, .ids = ids, .n_classes = 1, .classes = classes, .tells = true};
    EG_ASSERT(eg_test_add(&test, &exam) == EG_OK);
    try_message(bytes, n, &(eg_turn){.id = 1, .round = 2});
    try_message(bytes, n, &(eg_turn){.kind = EG_TURN_TEST, .id = 1, .round = 2, .test = &test});
    try_hello(bytes, n);
    eg_test_fini(&test);
    return 0;
}
