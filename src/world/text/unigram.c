/* unigram.c - a text cut into the pieces whose scores add up to most (Kudo, 2018).
 * SPDX-License-Identifier: Apache-2.0
 *
 * By the rules of the Universal Sentence Encoder's own tokenizer for the web, so that ids are
 * the ones its weights were shipped with: the text is brought to NFKC, a mark stands before it
 * and in place of every blank, and the best path is found from left to right, where of two
 * equal ones that with the shorter last piece wins. A character with which no piece begins is
 * unknown, number 0, and scores 0; unknown ones in a row are one.
 */
#include "io/unicode.h"
#include "world/text/vocab.h"

#include <stdlib.h>
#include <string.h>

/* The text with its marks, as UTF-8: character i has the bytes from at[i] on. */
typedef struct unigram_text {
    size_t n;
    uint8_t *bytes;
    size_t *at; /* [n + 1] */
} unigram_text;

static void unigram_put(unigram_text *u, int32_t code)
{
    size_t from = u->at[u->n];
    u->at[++u->n] = from + eg_unicode_encode(code, u->bytes + from);
}

static eg_status unigram_prepare(const int32_t *code, size_t n, unigram_text *u)
{
    enum { MARK = 0x2581 };
    int32_t *form = NULL;
    size_t n_form = 0;
    EG_TRY(eg_unicode_nfkc(code, n, &form, &n_form));
    eg_status s = eg_alloc(4 * (n_form + 1), 1, &u->bytes);
    if (s == EG_OK)
        s = eg_alloc(n_form + 2, sizeof *u->at, &u->at);
    if (s == EG_OK && n_form > 0) {
        unigram_put(u, MARK);
        for (size_t i = 0; i < n_form; i++)
            unigram_put(u, form[i] == ' ' ? MARK : form[i]);
    }
    free(form);
    return s;
}

/* The best way to each place: its score, the last piece and how many characters that has. */
typedef struct unigram_way {
    double score;
    int32_t piece;
    uint32_t length;
} unigram_way;

static void unigram_offer(unigram_way *way, size_t from, size_t length, int32_t piece,
                          double score)
{
    unigram_way *to = &way[from + length];
    score += way[from].score;
    if (!(to->score < 0 || to->score > 0) || score >= to->score)
        *to = (unigram_way){score, piece, (uint32_t)length};
}

/* All pieces that begin at a character. */
static void unigram_match(const eg_vocab *v, const unigram_text *u, size_t i, unigram_way *way)
{
    uint32_t node = 0;
    bool any = false;
    for (size_t k = i; k < u->n; k++) {
        for (size_t b = u->at[k]; b < u->at[k + 1]; b++) {
            node = eg_vocab_step_on(v, node, u->bytes[b]);
            if (!node)
                goto done;
        }
        if (v->at[node] >= 0) {
            unigram_offer(way, i, k + 1 - i, v->at[node], v->score[v->at[node]]);
            any = true;
        }
    }
done:
    if (!any)
        unigram_offer(way, i, 1, 0, 0);
}

/* Collects the pieces from the end, then turns them about. */
static size_t unigram_collect(const unigram_way *way, size_t n, int32_t *ids)
{
    size_t count = 0;
    bool unknown = false;
    for (size_t at = n; at > 0;) {
        if (!unknown || way[at].piece != 0)
            ids[count++] = way[at].piece;
        unknown = way[at].piece == 0;
        at -= way[at].length ? way[at].length : 1; /* nothing ends here: one unknown */
    }
    for (size_t i = 0; i < count / 2; i++) {
        int32_t swap = ids[i];
        ids[i] = ids[count - 1 - i];
        ids[count - 1 - i] = swap;
    }
    return count;
}

eg_status eg_unigram_encode(const eg_tokenizer *t, const int32_t *code, size_t n, int32_t **ids,
                            size_t *n_ids)
{
    unigram_text u = {0};
    unigram_way *way = NULL;
    *ids = NULL;
    eg_status s = unigram_prepare(code, n, &u);
    if (s == EG_OK)
        s = eg_alloc(u.n + 1, sizeof *way, &way);
    if (s == EG_OK)
        s = eg_alloc(u.n + 1, sizeof **ids, ids);
    if (s == EG_OK) {
        for (size_t i = 0; i < u.n; i++)
            unigram_match(&t->vocab, &u, i, way);
        *n_ids = unigram_collect(way, u.n, *ids);
    }
    free(way);
    free(u.bytes);
    free(u.at);
    return s;
}
