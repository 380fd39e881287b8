/* vocab.c - pieces in a tree of bytes, whose steps are one open hash table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/text/vocab.h"

#include <stdlib.h>
#include <string.h>

enum { VOCAB_MOST = 1 << 20, VOCAB_MOST_NODES = 1 << 24 };

void eg_vocab_fini(eg_vocab *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->piece[i]);
    free(v->piece);
    free(v->score);
    free(v->at);
    free(v->steps);
    *v = (eg_vocab){0};
}

static uint32_t vocab_key(uint32_t node, uint8_t byte)
{
    return (node << 8 | byte) + 1;
}

/* Where a key is, or would be put. */
static eg_vocab_step *vocab_slot(const eg_vocab *v, uint32_t key)
{
    size_t i = (key * 2654435761U >> 7) & (v->room - 1);
    while (v->steps[i].key && v->steps[i].key != key)
        i = (i + 1) & (v->room - 1);
    return &v->steps[i];
}

uint32_t eg_vocab_step_on(const eg_vocab *v, uint32_t node, uint8_t byte)
{
    uint32_t key = vocab_key(node, byte);
    const eg_vocab_step *s = vocab_slot(v, key);
    return s->key == key ? s->to : 0;
}

static eg_status vocab_room(eg_vocab *v)
{
    if (v->room && v->n_steps * 3 < v->room)
        return EG_OK;
    eg_vocab old = *v;
    v->room = old.room ? 2 * old.room : 1024;
    eg_status s = eg_alloc(v->room, sizeof *v->steps, &v->steps);
    if (s != EG_OK) {
        *v = old;
        return s;
    }
    for (size_t i = 0; i < old.room; i++)
        if (old.steps[i].key)
            *vocab_slot(v, old.steps[i].key) = old.steps[i];
    free(old.steps);
    return EG_OK;
}

static eg_status vocab_new_node(eg_vocab *v, uint32_t *out)
{
    if (v->n_nodes >= VOCAB_MOST_NODES)
        return eg_fail(EG_EFORMAT, "a vocabulary of too many bytes");
    EG_TRY(eg_grow(&v->at, v->n_nodes, &v->cap_at, sizeof *v->at));
    *out = (uint32_t)v->n_nodes;
    v->at[v->n_nodes++] = -1;
    return EG_OK;
}

/* The way of a piece's bytes, made where it is not there yet. */
static eg_status vocab_lead(eg_vocab *v, const char *piece, uint32_t *node)
{
    for (*node = 0; *piece; piece++) {
        EG_TRY(vocab_room(v));
        eg_vocab_step *s = vocab_slot(v, vocab_key(*node, (uint8_t)*piece));
        if (!s->key) {
            uint32_t fresh;
            EG_TRY(vocab_new_node(v, &fresh));
            *s = (eg_vocab_step){vocab_key(*node, (uint8_t)*piece), fresh};
            v->n_steps++;
        }
        *node = s->to;
    }
    return EG_OK;
}

eg_status eg_vocab_add(eg_vocab *v, const char *piece, double score, bool found)
{
    uint32_t node = 0;
    if (v->n >= VOCAB_MOST)
        return eg_fail(EG_EFORMAT, "a vocabulary of more than %d pieces", VOCAB_MOST);
    if (v->n_nodes == 0)
        EG_TRY(vocab_new_node(v, &node));
    EG_TRY(vocab_room(v));
    EG_TRY(eg_grow(&v->piece, v->n, &v->cap, sizeof *v->piece));
    EG_TRY(eg_grow(&v->score, v->n, &v->cap_score, sizeof *v->score));
    if (found && *piece) {
        EG_TRY(vocab_lead(v, piece, &node));
        v->at[node] = (int32_t)v->n;
    }
    v->piece[v->n] = strdup(piece);
    if (!v->piece[v->n])
        return eg_fail(EG_ENOMEM, "no memory for a vocabulary");
    v->score[v->n++] = score;
    return EG_OK;
}

int32_t eg_vocab_find(const eg_vocab *v, const char *text)
{
    uint32_t node = 0;
    if (!*text || v->n == 0)
        return -1;
    for (; *text; text++) {
        node = eg_vocab_step_on(v, node, (uint8_t)*text);
        if (!node)
            return -1;
    }
    return v->at[node];
}
