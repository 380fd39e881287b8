/* message.h - turns and replies as bytes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A message is a head of fixed size, a text, marks of classes, whole numbers, and up to two
 * bundles as safetensors. The head says the version of this format and the byte order of who
 * wrote it; both must be the reader's own. Nothing of a message is used before its lengths are
 * checked.
 */
#ifndef EG_MESSAGE_H
#define EG_MESSAGE_H

#include "run/client/worker.h"

enum { EG_MESSAGE_TEXT = 2048 };

typedef enum eg_message_kind {
    EG_MESSAGE_DOWNLOAD, /* what all are sent: the first bundle; it has no answer */
    EG_MESSAGE_TURN,     /* a turn, and what this client alone is sent: the first bundle */
    EG_MESSAGE_TEST,     /* a test, likewise */
    EG_MESSAGE_PIECE,    /* a piece of the server's work, likewise */
    EG_MESSAGE_REPLY,    /* an answer, the first bundle, and what it took, the second */
} eg_message_kind;

/* All of a message that has a fixed size. */
typedef struct eg_message_head {
    char magic[8];
    uint32_t version, order;
    int64_t kind, status; /* status: of a reply, an eg_status */
    int64_t exchange, id, round;
    uint64_t seed;
    int64_t stage, left, last, told_boundary, own;
    eg_receipt kept;
    int64_t committed;
    int64_t number; /* the sender's own: an answer repeats it */
    uint64_t n_text, n_met, n_numbers;
    uint64_t n_bytes[2]; /* of the bundles; UINT64_MAX: there is none */
} eg_message_head;

typedef struct eg_message {
    eg_message_head head;
    char text[EG_MESSAGE_TEXT]; /* why it failed, if it did */
    uint8_t *met;               /* [n_met] */
    int64_t *numbers;           /* [n_numbers]: a test's exams, or their scores */
    eg_bundle *bundles[2];      /* NULL: there is none */
} eg_message;

void eg_message_fini(eg_message *m);

/* Sends the head with its text, classes and bundles, which all stay the caller's. EG_EIO: the
 * other side is gone. */
eg_status eg_message_send(int to, const eg_message *m, const eg_bundle *const bundles[2]);

/* Receives a message, which is empty on failure. EG_EIO: the other side is gone; EG_EFORMAT:
 * this is no message of ours. n_classes: how many marks there may be. */
eg_status eg_message_receive(int from, size_t n_classes, eg_message *out);

/* The same into bytes, which free() ends, and from bytes. */
eg_status eg_message_pack(const eg_message *m, const eg_bundle *const bundles[2],
                          unsigned char **bytes, size_t *n);
eg_status eg_message_unpack(const void *bytes, size_t n, size_t n_classes, eg_message *out);

/* turn_message.c: a turn into a message and back. Of what points, classes met are lent: they
 * belong to the turn, and to the message when it comes back, as its first bundle does, which
 * then rests on the download. test holds the exams of a test. EG_EFORMAT: there can be no such
 * turn, or there was no download (down is NULL). */
eg_status eg_message_of_turn(const eg_turn *t, size_t n_classes, eg_message *out);
eg_status eg_message_to_turn(eg_message *m, const eg_bundle *down, eg_turn *out, eg_test *test);
void eg_message_end_turn(eg_message *m); /* after eg_message_of_turn, in place of fini */

/* What a turn came to, status and reply, as the bytes of its answer; s comes from the turn that
 * `to` asked for, and eg_error() says why. */
typedef eg_status (*eg_message_put)(void *context, const eg_message *m,
                                    const eg_bundle *const bundles[2]);
eg_status eg_message_answer(const eg_message *to, eg_status s, const eg_reply *reply,
                            eg_message_put put, void *context);

/* The answer to a turn, taken apart; the message is emptied. Fails as the turn did, or with
 * EG_EFORMAT: it is no answer to this turn. */
eg_status eg_message_hear(const eg_turn *turn, eg_message *m, eg_reply *out);

/* What a reply holds beside its answer, as a bundle and back. EG_EFORMAT: it makes no sense. */
eg_status eg_message_of_reply(const eg_reply *r, eg_bundle **out);
eg_status eg_message_to_reply(const eg_bundle *from, eg_reply *out);

#endif
