/* attention.c - softmax(q k^T / sqrt d) v and its gradient, by a few rows of the softmax.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The whole matrix of a head is never there: EG_ATTENTION_ROWS rows of it are made, used and
 * forgotten, and made again on the way back. Queries, keys and values of a head are laid side
 * by side first, filled up with zeros to whole vectors, so that what follows are small products
 * of one form. Every sum runs over tokens or places in order: it is the same whatever stands in
 * the batch beside a sample, and whatever is filled up behind it.
 */
#include "engine/simd/lanes.h"
#include "engine/simd/row_product.h"

enum { ROWS = EG_ATTENTION_ROWS };

/* A head of one sample: its pieces in the scratch memory. Row by row: q, k, v, dy, and the
 * gradients, [tokens, wide]; turned: kt, vt, [wide, long]; rows of the softmax: s, ds,
 * [ROWS, long]. */
typedef struct attend_head {
    float *q, *k, *v, *dy, *dq, *dk, *dv, *kt, *vt, *s, *ds;
    int64_t tokens, size; /* of this sample, and numbers of a head */
    int64_t wide, length; /* filled up: a head's numbers, the tokens */
    float scale;
} attend_head;

static int64_t attend_filled(int64_t n)
{
    return (n + EG_V - 1) / EG_V * EG_V;
}

/* Shares out the scratch memory, eg_attention_scratch floats. */
static void attend_share(attend_head *h, float *scratch, const eg_attention_dims *d)
{
    float **rows[] = {&h->q, &h->k, &h->v, &h->dy, &h->dq, &h->dk, &h->dv};
    h->size = d->size;
    h->wide = attend_filled(d->size);
    h->scale = (float)(1 / sqrt((double)d->size));
    int64_t most = attend_filled(d->tokens);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++, scratch += most * h->wide)
        *rows[i] = scratch;
    h->kt = scratch, scratch += most * h->wide;
    h->vt = scratch, scratch += most * h->wide;
    h->s = scratch, scratch += ROWS * most;
    h->ds = scratch;
}

/* Rows of one head, `step` floats apart, side by side and filled up with zeros. */
static void attend_gather(const attend_head *h, float *to, const float *from, int64_t step,
                          float scale)
{
    for (int64_t i = 0; i < h->tokens; i++, to += h->wide, from += step) {
        for (int64_t k = 0; k < h->size; k++)
            to[k] = from[k] * scale;
        for (int64_t k = h->size; k < h->wide; k++)
            to[k] = 0;
    }
}

static void attend_turn(const attend_head *h, float *to, const float *from)
{
    for (int64_t k = 0; k < h->size; k++)
        for (int64_t i = 0; i < h->length; i++)
            to[k * h->length + i] = i < h->tokens ? from[i * h->wide + k] : 0;
}

static void attend_scatter(const attend_head *h, float *to, int64_t step, const float *from,
                           float scale)
{
    for (int64_t i = 0; i < h->tokens; i++, to += step, from += h->wide)
        for (int64_t k = 0; k < h->size; k++)
            to[k] = from[k] * scale;
}

/* One row of the softmax in place, filled up with zeros. */
static void attend_softmax(const attend_head *h, float *row)
{
    float max = row[0];
    eg_vec most, sum = {0};
    for (int64_t j = h->tokens; j < h->length; j++)
        row[j] = max;
    most = simd_load(row);
    for (int64_t j = EG_V; j < h->length; j += EG_V) {
        eg_vec v = simd_load(row + j);
        most = simd_select((v > most) | (v != v), v, most);
    }
    for (int l = 0; l < EG_V; l++)
        max = most[l] > max || most[l] != most[l] ? most[l] : max;
    for (int64_t j = 0; j < h->length; j++)
        row[j] = simd_exp(row[j] - max);
    for (int64_t j = h->tokens; j < h->length; j++)
        row[j] = 0;
    for (int64_t j = 0; j < h->length; j += EG_V)
        sum += simd_load(row + j);
    float scale = 1 / simd_sum(sum);
    for (int64_t j = 0; j < h->length; j++)
        row[j] *= scale;
}

/* Rows `at` to `at + n` of the softmax, into s. */
static void attend_rows(const attend_head *h, int64_t at, int64_t n)
{
    row_multiply(&(row_product){.c = h->s,
                                .c_row = h->length,
                                .a = h->q + at * h->wide,
                                .a_row = h->wide,
                                .a_k = 1,
                                .b = h->kt,
                                .b_row = h->length,
                                .m = n,
                                .vecs = h->length / EG_V,
                                .k = h->size});
    for (int64_t i = 0; i < n; i++)
        attend_softmax(h, h->s + i * h->length);
}

/* Brings a head's queries, keys and values; qkv [tokens, 3, heads, size], at this head. */
static void attend_open(attend_head *h, const float *qkv, const eg_attention_dims *d,
                        int64_t tokens)
{
    int64_t width = d->heads * d->size;
    h->tokens = tokens;
    h->length = attend_filled(tokens);
    attend_gather(h, h->q, qkv, 3 * width, h->scale);
    attend_gather(h, h->k, qkv + width, 3 * width, 1);
    attend_gather(h, h->v, qkv + 2 * width, 3 * width, 1);
    attend_turn(h, h->kt, h->k);
}

static int64_t attend_tokens(const eg_attention_dims *d, const float *lengths, int64_t i)
{
    return lengths ? (int64_t)lengths[i] : d->tokens;
}

static int64_t attend_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void EG_KERNEL(attention)(float *y, const float *qkv, const float *lengths, float *scratch,
                          const eg_attention_dims *d)
{
    int64_t width = d->heads * d->size;
    attend_head h;
    attend_share(&h, scratch, d);
    for (int64_t i = 0; i < d->n; i++, y += d->tokens * width, qkv += 3 * d->tokens * width) {
        int64_t tokens = attend_tokens(d, lengths, i);
        memset(y + tokens * width, 0, (size_t)((d->tokens - tokens) * width) * sizeof *y);
        for (int64_t e = 0; e < d->heads && tokens > 0; e++) {
            attend_open(&h, qkv + e * d->size, d, tokens);
            for (int64_t at = 0; at < tokens; at += ROWS) {
                int64_t n = attend_least(tokens - at, ROWS);
                attend_rows(&h, at, n);
                row_multiply(&(row_product){.c = h.dy + at * h.wide,
                                            .c_row = h.wide,
                                            .a = h.s,
                                            .a_row = h.length,
                                            .a_k = 1,
                                            .b = h.v,
                                            .b_row = h.wide,
                                            .m = n,
                                            .vecs = h.wide / EG_V,
                                            .k = tokens});
            }
            attend_scatter(&h, y + e * d->size, width, h.dy, 1);
        }
    }
}

/* With P a row block of the softmax: dv += P^T dy, ds = P (dy v^T - rowsum(dy v^T P)),
 * dq = ds k, dk += ds^T q. */
static void attend_back_rows(const attend_head *h, int64_t at, int64_t n)
{
    int64_t vecs = h->wide / EG_V, w = h->wide, l = h->length;
    const float *dy = h->dy + at * w, *q = h->q + at * w;
    attend_rows(h, at, n);
    row_multiply(&(row_product){h->dv, h->s, dy, w, 1, l, w, h->tokens, vecs, n, true, NULL});
    row_multiply(
        &(row_product){h->ds, dy, h->vt, l, w, 1, l, n, l / EG_V, h->size, false, NULL});
    for (int64_t i = 0; i < n; i++) {
        const float *p = h->s + i * l;
        float *row = h->ds + i * l, dot;
        eg_vec sum = {0};
        for (int64_t j = 0; j < l; j += EG_V)
            sum += simd_load(p + j) * simd_load(row + j);
        dot = simd_sum(sum);
        for (int64_t j = 0; j < l; j++)
            row[j] = p[j] * (row[j] - dot);
    }
    row_multiply(&(row_product){h->dq + at * w, h->ds, h->k, w, l, 1, w, n, vecs, h->tokens,
                                false, NULL});
    row_multiply(&(row_product){h->dk, h->ds, q, w, 1, l, w, h->tokens, vecs, n, true, NULL});
}

void EG_KERNEL(attention_back)(float *dx, const float *qkv, const float *dy,
                               const float *lengths, float *scratch, const eg_attention_dims *d)
{
    int64_t width = d->heads * d->size;
    attend_head h;
    attend_share(&h, scratch, d);
    for (int64_t i = 0; i < d->n; i++) {
        int64_t tokens = attend_tokens(d, lengths, i), from = i * d->tokens * width;
        float *to = dx + 3 * from;
        memset(to + 3 * tokens * width, 0,
               (size_t)(3 * (d->tokens - tokens) * width) * sizeof *to);
        for (int64_t e = 0; e < d->heads && tokens > 0; e++, to += d->size) {
            attend_open(&h, qkv + 3 * from + e * d->size, d, tokens);
            attend_turn(&h, h.vt, h.v);
            attend_gather(&h, h.dy, dy + from + e * d->size, width, 1);
            memset(h.dk, 0, (size_t)(tokens * h.wide) * sizeof *h.dk);
            memset(h.dv, 0, (size_t)(tokens * h.wide) * sizeof *h.dv);
            for (int64_t at = 0; at < tokens; at += ROWS)
                attend_back_rows(&h, at, attend_least(tokens - at, ROWS));
            attend_scatter(&h, to, 3 * width, h.dq, h.scale);
            attend_scatter(&h, to + width, 3 * width, h.dk, 1);
            attend_scatter(&h, to + 2 * width, 3 * width, h.dv, 1);
        }
    }
}
