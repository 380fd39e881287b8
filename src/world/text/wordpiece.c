/* wordpiece.c - BERT's tokens: words and punctuation, then the longest pieces from the left.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Controls and U+FFFD are left out; Chinese characters are words of their own; where the
 * vocabulary has lower case alone, words are brought to it and lose their accents. A word of
 * more than 100 characters, or with a part that is in no piece, is [UNK].
 */
#include "io/unicode.h"
#include "world/text/vocab.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_MOST = 100 };

typedef struct wordpiece {
    const eg_tokenizer *t;
    int32_t *ids; /* grows */
    size_t n, cap;
    int32_t word[WORD_MOST]; /* the first of its characters */
    size_t length;           /* all of them */
} wordpiece;

static eg_status wordpiece_put(wordpiece *w, int32_t id)
{
    EG_TRY(eg_grow(&w->ids, w->n, &w->cap, sizeof *w->ids));
    w->ids[w->n++] = id;
    return EG_OK;
}

/* The longest piece at a character, and how many it has; -1: there is none. */
static int32_t wordpiece_longest(const wordpiece *w, size_t from, size_t *length)
{
    const eg_vocab *v = &w->t->vocab;
    uint32_t node = 0;
    int32_t best = -1;
    for (int i = 0; i < 2 && from > 0; i++) {
        node = eg_vocab_step_on(v, node, '#');
        if (!node)
            return -1;
    }
    for (size_t k = from; k < w->length; k++) {
        uint8_t bytes[4];
        size_t n = eg_unicode_encode(w->word[k], bytes);
        for (size_t b = 0; b < n; b++) {
            node = eg_vocab_step_on(v, node, bytes[b]);
            if (!node)
                return best;
        }
        if (v->at[node] >= 0) {
            best = v->at[node];
            *length = k + 1 - from;
        }
    }
    return best;
}

/* The word so far ends. */
static eg_status wordpiece_flush(wordpiece *w)
{
    size_t first = w->n;
    for (size_t at = 0, length = 0; at < w->length && w->length <= WORD_MOST; at += length) {
        int32_t id = wordpiece_longest(w, at, &length);
        if (id < 0) {
            w->n = first;
            w->length = WORD_MOST + 1;
            break;
        }
        EG_TRY(wordpiece_put(w, id));
    }
    if (w->length > WORD_MOST)
        EG_TRY(wordpiece_put(w, w->t->unknown));
    w->length = 0;
    return EG_OK;
}

static void wordpiece_add(wordpiece *w, int32_t code)
{
    if (w->length < WORD_MOST)
        w->word[w->length] = code;
    w->length++;
}

static eg_status wordpiece_take(wordpiece *w, int32_t code)
{
    eg_unicode_kind kind = eg_unicode_kind_of(code);
    if (kind == EG_UNICODE_SPACE)
        return wordpiece_flush(w);
    if (code == 0 || code == 0xfffd || kind == EG_UNICODE_CONTROL ||
        (kind == EG_UNICODE_MARK && w->t->lower))
        return EG_OK;
    bool alone = kind == EG_UNICODE_PUNCTUATION || kind == EG_UNICODE_IDEOGRAPH;
    if (alone)
        EG_TRY(wordpiece_flush(w));
    wordpiece_add(w, code);
    return alone ? wordpiece_flush(w) : EG_OK;
}

/* Brings characters to lower case, apart from their accents. */
static eg_status wordpiece_lower(const int32_t *code, size_t n, int32_t **out, size_t *n_out)
{
    int32_t *low;
    EG_TRY(eg_alloc(n + 1, sizeof *low, &low));
    for (size_t i = 0; i < n; i++)
        low[i] = eg_unicode_lower(code[i]);
    eg_status s = eg_unicode_nfd(low, n, out, n_out);
    free(low);
    return s;
}

eg_status eg_wordpiece_encode(const eg_tokenizer *t, const int32_t *code, size_t n,
                              int32_t **ids, size_t *n_ids)
{
    wordpiece w = {.t = t};
    int32_t *form = NULL;
    eg_status s = EG_OK;
    if (t->lower) {
        s = wordpiece_lower(code, n, &form, &n);
        code = form;
    }
    if (s == EG_OK)
        s = wordpiece_put(&w, t->begin);
    for (size_t i = 0; i < n && s == EG_OK; i++)
        s = wordpiece_take(&w, code[i]);
    if (s == EG_OK)
        s = wordpiece_flush(&w);
    if (s == EG_OK)
        s = wordpiece_put(&w, t->end);
    free(form);
    *ids = w.ids;
    *n_ids = w.n;
    return s;
}
