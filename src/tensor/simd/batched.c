/* batched.c - direct convolution with the batch innermost: [c, h, w, lanes].
 * SPDX-License-Identifier: Apache-2.0
 *
 * A weight is one number for a whole vector of samples, so that no lane is lost whatever the
 * number of channels. A tile of OUT channels x COLS neighbouring places x VECS vectors stays in
 * registers while all inputs go by.
 */
#include "tensor/simd/lanes.h"

#define BATCHED_INLINE static inline __attribute__((always_inline))

#ifdef __AVX512F__
enum { OUT = 5, COLS = 2, VECS = 2, GRAD_OUT = 4 };
#else
enum { OUT = 5, COLS = 1, VECS = 2, GRAD_OUT = 2 };
#endif
enum { GRAD_COLS = 5 };

/* The part [from, to) of a kernel's side that falls inside an image for a place. */
typedef struct batched_range {
    int64_t from, to;
} batched_range;

static batched_range batched_inside(int64_t place, int64_t stride, int64_t padding,
                                    int64_t kernel, int64_t size)
{
    int64_t first = place * stride - padding;
    return (batched_range){first < 0 ? -first : 0,
                           first + kernel > size ? size - first : kernel};
}

/* Where a tile reads and writes. */
typedef struct batched_tile {
    const float *x; /* first input place of the window, at its first lane */
    const float *w; /* weights of the first output channel */
    float *y;       /* the first result */
    const float *bias;
    batched_range rows, cols;
    bool relu;
} batched_tile;

/* One tile: out x cols x vecs vectors; the three are constants where this is called. */
BATCHED_INLINE void batched_tile_run(const batched_tile *t, const eg_conv *c, int out, int cols,
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

#define BATCHED_CASES(cols, vecs)                                                              \
    switch (out) {                                                                             \
    case 5:                                                                                    \
        batched_tile_run(t, c, 5, cols, vecs);                                                 \
        break;                                                                                 \
    case 4:                                                                                    \
        batched_tile_run(t, c, 4, cols, vecs);                                                 \
        break;                                                                                 \
    case 3:                                                                                    \
        batched_tile_run(t, c, 3, cols, vecs);                                                 \
        break;                                                                                 \
    case 2:                                                                                    \
        batched_tile_run(t, c, 2, cols, vecs);                                                 \
        break;                                                                                 \
    default:                                                                                   \
        batched_tile_run(t, c, 1, cols, vecs);                                                 \
        break;                                                                                 \
    }

static void batched_tile_wide(const batched_tile *t, const eg_conv *c, int out)
{
    BATCHED_CASES(COLS, VECS)
}

static void batched_tile_pair(const batched_tile *t, const eg_conv *c, int out)
{
    BATCHED_CASES(1, VECS)
}

static void batched_tile_one(const batched_tile *t, const eg_conv *c, int out)
{
    BATCHED_CASES(1, 1)
}

/* True when COLS places from column j on have their whole window inside the image. */
static bool batched_is_wide(const eg_conv *c, int64_t j)
{
    int64_t first = j * c->stride - c->padding, last = first + (COLS - 1) * c->stride;
    bool inside = first >= 0 && last + c->kw <= c->w && j + COLS <= c->ow;
    return inside && COLS > 1;
}

/* The samples past the last whole pair of vectors, one place after the other. */
static void batched_rest(batched_tile t, const eg_conv *c, int out, int cols)
{
    for (int q = 0; q < cols; q++) {
        batched_tile_one(&t, c, out);
        t.x += c->stride * c->lanes;
        t.y += c->lanes;
    }
}

/* One row of results of `out` channels, from column 0 to the last. */
static void batched_row(const batched_tile *row, const eg_conv *c, int out)
{
    for (int64_t j = 0; j < c->ow;) {
        batched_tile t = *row;
        bool wide = batched_is_wide(c, j);
        t.cols = batched_inside(j, c->stride, c->padding, c->kw, c->w);
        for (int64_t v = 0; v < c->lanes; v += VECS * EG_V) {
            t.x = row->x + (j * c->stride - c->padding) * c->lanes + v;
            t.y = row->y + j * c->lanes + v;
            if (v + VECS * EG_V > c->lanes)
                batched_rest(t, c, out, wide ? COLS : 1);
            else if (wide)
                batched_tile_wide(&t, c, out);
            else
                batched_tile_pair(&t, c, out);
        }
        j += wide ? COLS : 1;
    }
}

void EG_KERNEL(conv_forward)(float *y, const float *x, const float *w, const float *bias,
                             bool relu, const eg_conv *c)
{
    for (int64_t o = 0; o < c->oc; o += OUT)
        for (int64_t i = 0; i < c->oh; i++) {
            batched_tile row = {
                .x = x + (i * c->stride - c->padding) * c->w * c->lanes,
                .w = w + o * c->ic * c->kh * c->kw,
                .y = y + (o * c->oh + i) * c->ow * c->lanes,
                .bias = bias ? bias + o : NULL,
                .rows = batched_inside(i, c->stride, c->padding, c->kh, c->h),
                .relu = relu,
            };
            batched_row(&row, c, (int)(c->oc - o < OUT ? c->oc - o : OUT));
        }
}

/* Weight gradients of `out` channels for `cols` neighbouring weights of one kernel row. */
BATCHED_INLINE void batched_grad_tile(float *dw, const float *x, const float *dy,
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

static void batched_grad(float *dw, const float *x, const float *dy, const eg_conv *c, int out,
                         int cols)
{
    if (out == GRAD_OUT && cols == 5)
        batched_grad_tile(dw, x, dy, c, GRAD_OUT, 5);
    else if (out == GRAD_OUT && cols == 3)
        batched_grad_tile(dw, x, dy, c, GRAD_OUT, 3);
    else if (out == 2 && cols == 5)
        batched_grad_tile(dw, x, dy, c, 2, 5);
    else
        for (int o = 0; o < out; o++)
            for (int s = 0; s < cols; s++)
                batched_grad_tile(dw + o * c->ic * c->kh * c->kw + s, x + s * c->lanes,
                                  dy + o * c->oh * c->ow * c->lanes, c, 1, 1);
}

void EG_KERNEL(conv_back_weights)(float *dw, const float *x, const float *dy, const eg_conv *c)
{
    for (int64_t o = 0; o < c->oc; o += GRAD_OUT)
        for (int64_t i = 0; i < c->ic; i++)
            for (int64_t r = 0; r < c->kh; r++)
                for (int64_t s = 0; s < c->kw; s += GRAD_COLS)
                    batched_grad(dw + ((o * c->ic + i) * c->kh + r) * c->kw + s,
                                 x + ((i * c->h + r) * c->w + s) * c->lanes,
                                 dy + o * c->oh * c->ow * c->lanes, c,
                                 (int)(c->oc - o < GRAD_OUT ? c->oc - o : GRAD_OUT),
                                 (int)(c->kw - s < GRAD_COLS ? c->kw - s : GRAD_COLS));
}

/* A square of EG_V rows of x, `from` floats apart, turned into rows of y, `to` apart. */
static void batched_turn(float *y, int64_t to, const float *x, int64_t from)
{
    eg_vec v[EG_V];
    for (int i = 0; i < EG_V; i++)
        v[i] = simd_load(x + i * from);
    simd_transpose(v);
    for (int i = 0; i < EG_V; i++)
        simd_store(y + i * to, v[i]);
}

/* y [size, lanes] = x [n, size] transposed, in squares; what is left over one by one. */
void EG_KERNEL(to_batched)(float *y, const float *x, int64_t n, int64_t size, int64_t lanes)
{
    for (int64_t k = 0; k < size; k += EG_V) {
        int64_t to = k + EG_V < size ? k + EG_V : size;
        for (int64_t i = 0; i < lanes; i += EG_V)
            if (i + EG_V <= n && k + EG_V <= size)
                batched_turn(y + k * lanes + i, lanes, x + i * size + k, size);
            else
                for (int64_t q = k; q < to; q++)
                    for (int64_t l = i; l < i + EG_V; l++)
                        y[q * lanes + l] = l < n ? x[l * size + q] : 0;
    }
}

void EG_KERNEL(from_batched)(float *y, const float *x, int64_t n, int64_t size, int64_t lanes)
{
    for (int64_t k = 0; k < size; k += EG_V) {
        int64_t to = k + EG_V < size ? k + EG_V : size;
        for (int64_t i = 0; i < n; i += EG_V)
            if (i + EG_V <= n && k + EG_V <= size)
                batched_turn(y + i * size + k, size, x + k * lanes + i, lanes);
            else
                for (int64_t l = i; l < n && l < i + EG_V; l++)
                    for (int64_t q = k; q < to; q++)
                        y[l * size + q] = x[q * lanes + l];
    }
}

/* y[c, place, i] = x[c, place, i] s[i, c]; filled-up lanes become zero. */
void EG_KERNEL(scale_maps_batched)(float *y, const float *x, const float *s, int64_t n,
                                   int64_t c, int64_t area, int64_t lanes)
{
    for (int64_t k = 0; k < c; k++)
        for (int64_t v = 0; v < lanes; v += EG_V) {
            eg_vec scale = {0};
            for (int64_t l = 0; l < EG_V && v + l < n; l++)
                scale[l] = s[(v + l) * c + k];
            for (int64_t i = 0; i < area; i++) {
                int64_t at = (k * area + i) * lanes + v;
                *(eg_vec *)(y + at) = *(const eg_vec *)(x + at) * scale;
            }
        }
}
