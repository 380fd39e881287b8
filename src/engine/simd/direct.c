/* direct.c - direct convolution with the batch innermost: [c, h, w, lanes].
 * SPDX-License-Identifier: Apache-2.0
 *
 * A weight is one number for a whole vector of samples, so that no lane is lost whatever the
 * number of channels. A tile of OUT channels x COLS neighbouring places x VECS vectors stays in
 * registers while all inputs go by.
 */
#include "engine/simd/lanes.h"

#define DIRECT_INLINE static inline __attribute__((always_inline))

enum { OUT = TUNE_DIRECT_OUT, COLS = TUNE_DIRECT_COLS, VECS = TUNE_DIRECT_VECS };
enum { GRAD_OUT = TUNE_DIRECT_GRAD_OUT, GRAD_COLS = 5 };

/* The part [from, to) of a kernel's side that falls inside an image for a place. */
typedef struct direct_range {
    int64_t from, to;
} direct_range;

static direct_range direct_inside(int64_t place, int64_t stride, int64_t padding,
                                  int64_t kernel, int64_t size)
{
    int64_t first = place * stride - padding;
    return (direct_range){first < 0 ? -first : 0,
                          first + kernel > size ? size - first : kernel};
}

/* Where a tile reads and writes. */
typedef struct direct_tile {
    const float *x; /* first input place of the window, at its first lane */
    const float *w; /* weights of the first output channel */
    float *y;       /* the first result */
    const float *bias;
    direct_range rows, cols;
    bool relu;
} direct_tile;

/* One tile: out x cols x vecs vectors; the three are constants where this is called. */
DIRECT_INLINE void direct_tile_run(const direct_tile *t, const eg_conv *c, int out, int cols,
                                   int vecs)
{
    eg_vec sum[OUT][COLS][VECS];
    for (int o = 0; o < out; o++)
        for (int q = 0; q < cols; q++)
            for (int v = 0; v < vecs; v++)
                sum[o][q][v] = (eg_vec){0} + (t->bias ? t->bias[o] : 0);
    int64_t area = c->kh * c->kw, filter = c->ic * area, step = c->stride * c->lanes;
    for (int64_t i = 0; i < c->ic; i++)
        for (int64_t r = t->rows.from; r < t->rows.to; r++) {
            const float *x = t->x + (i * c->h + r) * c->w * c->lanes;
            const float *w = t->w + i * area + r * c->kw;
            for (int64_t s = t->cols.from; s < t->cols.to; s++) {
                eg_vec in[COLS][VECS];
                for (int q = 0; q < cols; q++)
                    for (int v = 0; v < vecs; v++)
                        in[q][v] = *(const eg_vec *)(x + s * c->lanes + q * step + v * EG_V);
                for (int o = 0; o < out; o++) {
                    float weight = w[o * filter + s];
                    for (int q = 0; q < cols; q++)
                        for (int v = 0; v < vecs; v++)
                            sum[o][q][v] += in[q][v] * weight;
                }
            }
        }
    for (int o = 0; o < out; o++)
        for (int q = 0; q < cols; q++)
            for (int v = 0; v < vecs; v++) {
                eg_vec y = sum[o][q][v];
                if (t->relu)
                    y = eg_where_positive(y, y);
                *(eg_vec *)(t->y + o * c->oh * c->ow * c->lanes + q * c->lanes + v * EG_V) = y;
            }
}

#define DIRECT_CASES(cols, vecs)                                                               \
    switch (out) {                                                                             \
    case 5:                                                                                    \
        direct_tile_run(t, c, 5, cols, vecs);                                                  \
        break;                                                                                 \
    case 4:                                                                                    \
        direct_tile_run(t, c, 4, cols, vecs);                                                  \
        break;                                                                                 \
    case 3:                                                                                    \
        direct_tile_run(t, c, 3, cols, vecs);                                                  \
        break;                                                                                 \
    case 2:                                                                                    \
        direct_tile_run(t, c, 2, cols, vecs);                                                  \
        break;                                                                                 \
    default:                                                                                   \
        direct_tile_run(t, c, 1, cols, vecs);                                                  \
        break;                                                                                 \
    }

static void direct_tile_wide(const direct_tile *t, const eg_conv *c, int out)
{
    DIRECT_CASES(COLS, VECS)
}

static void direct_tile_pair(const direct_tile *t, const eg_conv *c, int out)
{
    DIRECT_CASES(1, VECS)
}

static void direct_tile_one(const direct_tile *t, const eg_conv *c, int out)
{
    DIRECT_CASES(1, 1)
}

/* True when COLS places from column j on have their whole window inside the image. */
static bool direct_is_wide(const eg_conv *c, int64_t j)
{
    int64_t first = j * c->stride - c->padding, last = first + (COLS - 1) * c->stride;
    bool inside = first >= 0 && last + c->kw <= c->w && j + COLS <= c->ow;
    return inside && COLS > 1;
}

/* The samples past the last whole pair of vectors, one place after the other. */
static void direct_rest(direct_tile t, const eg_conv *c, int out, int cols)
{
    for (int q = 0; q < cols; q++) {
        direct_tile_one(&t, c, out);
        t.x += c->stride * c->lanes;
        t.y += c->lanes;
    }
}

/* One row of results of `out` channels, from column 0 to the last. */
static void direct_row(const direct_tile *row, const eg_conv *c, int out)
{
    for (int64_t j = 0; j < c->ow;) {
        direct_tile t = *row;
        bool wide = direct_is_wide(c, j);
        t.cols = direct_inside(j, c->stride, c->padding, c->kw, c->w);
        for (int64_t v = 0; v < c->lanes; v += VECS * EG_V) {
            t.x = row->x + (j * c->stride - c->padding) * c->lanes + v;
            t.y = row->y + j * c->lanes + v;
            if (v + VECS * EG_V > c->lanes)
                direct_rest(t, c, out, wide ? COLS : 1);
            else if (wide)
                direct_tile_wide(&t, c, out);
            else
                direct_tile_pair(&t, c, out);
        }
        j += wide ? COLS : 1;
    }
}

void EG_KERNEL(conv_forward)(float *y, const float *x, const float *w, const float *bias,
                             bool relu, const eg_conv *c)
{
    for (int64_t o = 0; o < c->oc; o += OUT)
        for (int64_t i = 0; i < c->oh; i++) {
            direct_tile row = {
                .x = x + (i * c->stride - c->padding) * c->w * c->lanes,
                .w = w + o * c->ic * c->kh * c->kw,
                .y = y + (o * c->oh + i) * c->ow * c->lanes,
                .bias = bias ? bias + o : NULL,
                .rows = direct_inside(i, c->stride, c->padding, c->kh, c->h),
                .relu = relu,
            };
            direct_row(&row, c, (int)(c->oc - o < OUT ? c->oc - o : OUT));
        }
}

/* Weight gradients of `out` channels for `cols` neighbouring weights of one kernel row. */
DIRECT_INLINE void direct_grad_tile(float *dw, const float *x, const float *dy,
                                    const eg_conv *c, int out, int cols)
{
    eg_vec sum[GRAD_OUT][GRAD_COLS];
    for (int o = 0; o < out; o++)
        for (int s = 0; s < cols; s++)
            sum[o][s] = (eg_vec){0};
    int64_t map = c->oh * c->ow * c->lanes;
    for (int64_t i = 0; i < c->oh; i++)
        for (int64_t j = 0; j < c->ow; j++) {
            const float *in = x + (i * c->w + j) * c->stride * c->lanes;
            const float *g = dy + (i * c->ow + j) * c->lanes;
            for (int64_t v = 0; v < c->lanes; v += EG_V) {
                eg_vec grad[GRAD_OUT];
                for (int o = 0; o < out; o++)
                    grad[o] = *(const eg_vec *)(g + o * map + v);
                for (int s = 0; s < cols; s++) {
                    eg_vec at = *(const eg_vec *)(in + s * c->lanes + v);
                    for (int o = 0; o < out; o++)
                        sum[o][s] += grad[o] * at;
                }
            }
        }
    for (int o = 0; o < out; o++)
        for (int s = 0; s < cols; s++) {
            float total = 0;
            for (int l = 0; l < EG_V; l++)
                total += sum[o][s][l];
            dw[o * c->ic * c->kh * c->kw + s] = total;
        }
}

static void direct_grad(float *dw, const float *x, const float *dy, const eg_conv *c, int out,
                        int cols)
{
    if (out == GRAD_OUT && cols == 5)
        direct_grad_tile(dw, x, dy, c, GRAD_OUT, 5);
    else if (out == GRAD_OUT && cols == 4)
        direct_grad_tile(dw, x, dy, c, GRAD_OUT, 4);
    else if (out == GRAD_OUT && cols == 3)
        direct_grad_tile(dw, x, dy, c, GRAD_OUT, 3);
    else if (out == 2 && cols == 5)
        direct_grad_tile(dw, x, dy, c, 2, 5);
    else
        for (int o = 0; o < out; o++)
            for (int s = 0; s < cols; s++)
                direct_grad_tile(dw + o * c->ic * c->kh * c->kw + s, x + s * c->lanes,
                                 dy + o * c->oh * c->ow * c->lanes, c, 1, 1);
}

void EG_KERNEL(conv_back_weights)(float *dw, const float *x, const float *dy, const eg_conv *c)
{
    for (int64_t o = 0; o < c->oc; o += GRAD_OUT)
        for (int64_t i = 0; i < c->ic; i++)
            for (int64_t r = 0; r < c->kh; r++)
                for (int64_t s = 0; s < c->kw; s += GRAD_COLS)
                    direct_grad(dw + ((o * c->ic + i) * c->kh + r) * c->kw + s,
                                x + ((i * c->h + r) * c->w + s) * c->lanes,
                                dy + o * c->oh * c->ow * c->lanes, c,
                                (int)(c->oc - o < GRAD_OUT ? c->oc - o : GRAD_OUT),
                                (int)(c->kw - s < GRAD_COLS ? c->kw - s : GRAD_COLS));
}
