/* http_answer.h - an answer of HTTP/1.1, read as its bytes come.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nothing that is sent is believed: no head is longer than EG_HTTP_HEAD, no body than was
 * agreed, and room is only taken for bytes that have come.
 */
#ifndef EG_HTTP_ANSWER_H
#define EG_HTTP_ANSWER_H

#include "base/base.h"

enum { EG_HTTP_HEAD = 1 << 16, EG_HTTP_LINE = 512 };

typedef enum eg_answer_state {
    EG_ANSWER_STATUS,  /* in the first line */
    EG_ANSWER_HEADERS, /* in one of those behind it */
    EG_ANSWER_LENGTH,  /* in a body, or a piece of one, of known length */
    EG_ANSWER_TO_END,  /* in a body that ends with the connection */
    EG_ANSWER_SIZE,    /* in the line that says how long a piece is */
    EG_ANSWER_GAP,     /* in the line end behind a piece */
    EG_ANSWER_TRAILER, /* behind the last piece */
    EG_ANSWER_DONE,
} eg_answer_state;

typedef struct eg_answer {
    int code;
    unsigned char *bytes; /* [n], and a zero behind; NULL if there are none */
    size_t n;
    bool closes; /* no other answer follows on this connection */
    eg_answer_state state;
    /* Of reading alone. */
    size_t cap, max;
    uint64_t left; /* bytes of the body, or of its piece, that are to come */
    size_t n_head; /* bytes of lines so far */
    bool sized, pieces, cut;
    size_t n_line; /* of the line under way; cut: it was longer */
    char line[EG_HTTP_LINE];
} eg_answer;

/* An answer whose body may have max bytes. Free with eg_answer_fini. */
void eg_answer_init(eg_answer *a, size_t max);
void eg_answer_fini(eg_answer *a);

/* Reads n bytes, or those up to the end of the answer: *used. EG_EFORMAT: it is too long;
 * EG_EIO: it is none of HTTP/1.1; then nothing more is to be read. */
eg_status eg_answer_read(eg_answer *a, const void *bytes, size_t n, size_t *used);

/* The connection has ended. EG_EIO: in the middle of the answer. */
eg_status eg_answer_end(eg_answer *a);

#endif
