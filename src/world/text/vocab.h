/* vocab.h - the pieces of a tokenizer, found byte by byte; what both kinds of it share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_VOCAB_H
#define EG_SRC_VOCAB_H

#include "base/base.h"
#include <engram/tokenizer.h>

/* A tree of bytes: node 0 is the root; steps are kept in one table by (node, byte). */
typedef struct eg_vocab_step {
    uint32_t key, to; /* key: node and byte, and 1 more; 0: empty */
} eg_vocab_step;

typedef struct eg_vocab {
    size_t n, n_nodes, n_steps, room; /* room: of steps, a power of two */
    char **piece;                     /* [n] */
    double *score;                    /* [n] */
    int32_t *at;                      /* [n_nodes]: the piece that ends there; -1: none */
    size_t cap, cap_score, cap_at;
    eg_vocab_step *steps;
} eg_vocab;

void eg_vocab_fini(eg_vocab *v);
/* Adds a piece as number n; if it is to be found, a later one of the same text counts. */
eg_status eg_vocab_add(eg_vocab *v, const char *piece, double score, bool found);
/* The node behind a byte; 0: no piece goes on so. */
uint32_t eg_vocab_step_on(const eg_vocab *v, uint32_t node, uint8_t byte);
/* The piece of a whole text; -1: there is none. */
int32_t eg_vocab_find(const eg_vocab *v, const char *text);

struct eg_tokenizer {
    eg_vocab vocab;
    bool wordpiece, lower;
    int32_t unknown, begin, end; /* of WordPiece */
};

eg_status eg_tokenizer_parse(const uint8_t *bytes, size_t n, const char *path,
                             eg_tokenizer **out);

/* The numbers of all pieces. Free *ids. */
eg_status eg_unigram_encode(const eg_tokenizer *t, const int32_t *code, size_t n, int32_t **ids,
                            size_t *n_ids);
eg_status eg_wordpiece_encode(const eg_tokenizer *t, const int32_t *code, size_t n,
                              int32_t **ids, size_t *n_ids);

#endif
