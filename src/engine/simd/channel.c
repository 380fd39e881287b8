/* channel.c - kernels along the channel axis: statistics, scaling and their gradients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A blocked tensor is walked block by block, EG_V channels in one vector; a row-major one
 * channel by channel. Sums run over samples in order: each sample's own in float lanes, then in
 * double.
 */
#include "engine/simd/simd.h"

static int64_t channel_blocks(const eg_channels *d)
{
    return d->blocked ? (d->c + EG_V - 1) / EG_V : d->c;
}

/* The first that is not meant any more. */
static int64_t channel_end(const eg_channels *d)
{
    return d->to ? d->to : channel_blocks(d);
}

/* Floats of one sample's channel or block of channels. */
static int64_t channel_run(const eg_channels *d)
{
    return d->blocked ? d->area * EG_V : d->area;
}

/* The lanes of block b that are channels: row[b * EG_V ...], zero past the last one. */
static eg_vec channel_load(const float *row, int64_t b, int64_t c)
{
    eg_vec v = {0};
    for (int64_t l = 0; l < EG_V && b * EG_V + l < c; l++)
        v[l] = row[b * EG_V + l];
    return v;
}

static void channel_store(float *row, int64_t b, int64_t c, const double *sum)
{
    for (int64_t l = 0; l < EG_V && b * EG_V + l < c; l++)
        row[b * EG_V + l] = (float)sum[l];
}

static float channel_total(eg_vec v)
{
    float s = 0;
    for (int l = 0; l < EG_V; l++)
        s += v[l];
    return s;
}

/* Adds the lanes of one sample to the double sums; a row-major run is one channel, all lanes.
 */
static void channel_gather(double *sum, eg_vec lanes, float tail, bool blocked)
{
    if (blocked)
        for (int l = 0; l < EG_V; l++)
            sum[l] += (double)lanes[l];
    else
        sum[0] += (double)(channel_total(lanes) + tail);
}

/* Sums of x - shift and its square over one run. */
static void channel_moments(const float *x, int64_t n, eg_vec shift, bool blocked, double *sum,
                            double *squares)
{
    eg_vec s0 = {0}, s1 = {0}, q0 = {0}, q1 = {0};
    float s = 0, q = 0;
    int64_t i = 0;
    for (; i + 2 * EG_V <= n; i += 2 * EG_V) {
        eg_vec a = *(const eg_vec *)(x + i) - shift,
               b = *(const eg_vec *)(x + i + EG_V) - shift;
        s0 += a, q0 += a * a;
        s1 += b, q1 += b * b;
    }
    for (; i + EG_V <= n; i += EG_V) {
        eg_vec a = *(const eg_vec *)(x + i) - shift;
        s0 += a, q0 += a * a;
    }
    for (; i < n; i++) {
        float a = x[i] - shift[0];
        s += a, q += a * a;
    }
    channel_gather(sum, s0 + s1, s, blocked);
    channel_gather(squares, q0 + q1, q, blocked);
}

void EG_KERNEL(channel_stats)(float *stats, const float *x, const eg_channels *d)
{
    int64_t run = channel_run(d), blocks = channel_blocks(d);
    double count = (double)(d->n * d->area);
    for (int64_t b = d->from; b < channel_end(d); b++) {
        /* Shifting by a value of the channel keeps the variance of data with a large mean. */
        eg_vec shift;
        for (int l = 0; l < EG_V; l++)
            shift[l] = d->blocked ? x[b * run + l] : x[b * run];
        double sum[EG_V] = {0}, squares[EG_V] = {0};
        for (int64_t n = 0; n < d->n; n++)
            channel_moments(x + (n * blocks + b) * run, run, shift, d->blocked, sum, squares);
        for (int l = 0; l < (d->blocked ? EG_V : 1); l++) {
            double mean = sum[l] / count;
            squares[l] = squares[l] / count - mean * mean;
            squares[l] = squares[l] > 0 ? squares[l] : 0;
            sum[l] = mean + (double)shift[l];
        }
        if (d->blocked) {
            channel_store(stats, b, d->c, sum);
            channel_store(stats + d->c, b, d->c, squares);
        } else {
            stats[b] = (float)sum[0];
            stats[d->c + b] = (float)squares[0];
        }
    }
}

/* y = scale x + shift (+ other), then relu; the two choices are compiled apart. */
static inline __attribute__((always_inline)) void channel_affine_run(float *y, const float *x,
                                                                     const float *other,
                                                                     eg_vec scale, eg_vec shift,
                                                                     int64_t n, bool relu)
{
    int64_t i = 0;
    for (; i + EG_V <= n; i += EG_V) {
        eg_vec v = *(const eg_vec *)(x + i) * scale + shift;
        if (other)
            v += *(const eg_vec *)(other + i);
        if (relu)
            v = eg_where_positive(v, v);
        *(eg_vec *)(y + i) = v;
    }
    for (; i < n; i++) {
        float v = x[i] * scale[0] + shift[0] + (other ? other[i] : 0);
        y[i] = relu && !(v > 0) ? 0 : v;
    }
}

/* The coefficients of block b as lanes: of a row-major channel, one value in all of them. */
static eg_vec channel_lanes(const float *row, int64_t b, const eg_channels *d)
{
    if (!row)
        return (eg_vec){0};
    if (d->blocked)
        return channel_load(row, b, d->c);
    eg_vec v;
    for (int l = 0; l < EG_V; l++)
        v[l] = row[b];
    return v;
}

void EG_KERNEL(channel_affine)(float *y, const float *x, const float *scale, const float *shift,
                               const float *other, bool relu, const eg_channels *d)
{
    int64_t run = channel_run(d), blocks = channel_blocks(d);
    for (int64_t n = 0; n < d->n; n++)
        for (int64_t b = d->from; b < channel_end(d); b++) {
            int64_t at = (n * blocks + b) * run;
            eg_vec s = channel_lanes(scale, b, d), t = channel_lanes(shift, b, d);
            if (other && relu)
                channel_affine_run(y + at, x + at, other + at, s, t, run, true);
            else if (other)
                channel_affine_run(y + at, x + at, other + at, s, t, run, false);
            else if (relu)
                channel_affine_run(y + at, x + at, NULL, s, t, run, true);
            else
                channel_affine_run(y + at, x + at, NULL, s, t, run, false);
        }
}

static void channel_sum_run(const float *x, int64_t n, bool blocked, double *sum)
{
    eg_vec s0 = {0}, s1 = {0};
    float s = 0;
    int64_t i = 0;
    for (; i + 2 * EG_V <= n; i += 2 * EG_V) {
        s0 += *(const eg_vec *)(x + i);
        s1 += *(const eg_vec *)(x + i + EG_V);
    }
    for (; i + EG_V <= n; i += EG_V)
        s0 += *(const eg_vec *)(x + i);
    for (; i < n; i++)
        s += x[i];
    channel_gather(sum, s0 + s1, s, blocked);
}

void EG_KERNEL(channel_sum)(float *y, const float *x, const eg_channels *d)
{
    int64_t run = channel_run(d), blocks = channel_blocks(d);
    for (int64_t b = d->from; b < channel_end(d); b++) {
        double sum[EG_V] = {0};
        for (int64_t n = 0; n < d->n; n++)
            channel_sum_run(x + (n * blocks + b) * run, run, d->blocked, sum);
        if (d->blocked)
            channel_store(y, b, d->c, sum);
        else
            y[b] = (float)sum[0];
    }
}

void EG_KERNEL(sample_channel_sum)(float *y, const float *x, const eg_channels *d)
{
    int64_t run = channel_run(d), blocks = channel_blocks(d);
    for (int64_t n = 0; n < d->n; n++)
        for (int64_t b = 0; b < blocks; b++) {
            double sum[EG_V] = {0};
            channel_sum_run(x + (n * blocks + b) * run, run, d->blocked, sum);
            if (d->blocked)
                channel_store(y + n * d->c, b, d->c, sum);
            else
                y[n * d->c + b] = (float)sum[0];
        }
}

void EG_KERNEL(spread)(float *y, const float *x, float scale, const eg_channels *d)
{
    int64_t run = channel_run(d), blocks = channel_blocks(d);
    for (int64_t n = 0; n < d->n; n++)
        for (int64_t b = 0; b < blocks; b++) {
            eg_vec v = channel_lanes(x + n * d->c, b, d) * scale;
            float *to = y + (n * blocks + b) * run;
            int64_t i = 0;
            for (; i + EG_V <= run; i += EG_V)
                *(eg_vec *)(to + i) = v;
            for (; i < run; i++)
                to[i] = v[0];
        }
}

/* Sums of dy and of dy (x - mean), dy counted only where mask > 0 if there is one. */
static inline __attribute__((always_inline)) void
channel_dots_run(const float *x, const float *mask, const float *dy, int64_t n, eg_vec mean,
                 bool blocked, double *sum, double *dots)
{
    eg_vec s = {0}, q = {0};
    float s_tail = 0, q_tail = 0;
    int64_t i = 0;
    for (; i + EG_V <= n; i += EG_V) {
        eg_vec g = *(const eg_vec *)(dy + i);
        if (mask)
            g = eg_where_positive(*(const eg_vec *)(mask + i), g);
        s += g;
        q += g * (*(const eg_vec *)(x + i) - mean);
    }
    for (; i < n; i++) {
        float g = mask && !(mask[i] > 0) ? 0 : dy[i];
        s_tail += g;
        q_tail += g * (x[i] - mean[0]);
    }
    channel_gather(sum, s, s_tail, blocked);
    channel_gather(dots, q, q_tail, blocked);
}

void EG_KERNEL(channel_dots)(float *sums, const float *x, const float *stats, const float *mask,
                             const float *dy, const eg_channels *d)
{
    int64_t run = channel_run(d), blocks = channel_blocks(d);
    for (int64_t b = d->from; b < channel_end(d); b++) {
        double sum[EG_V] = {0}, dots[EG_V] = {0};
        eg_vec mean = channel_lanes(stats, b, d);
        for (int64_t n = 0; n < d->n; n++) {
            int64_t at = (n * blocks + b) * run;
            if (mask)
                channel_dots_run(x + at, mask + at, dy + at, run, mean, d->blocked, sum, dots);
            else
                channel_dots_run(x + at, NULL, dy + at, run, mean, d->blocked, sum, dots);
        }
        if (d->blocked) {
            channel_store(sums, b, d->c, sum);
            channel_store(sums + d->c, b, d->c, dots);
        } else {
            sums[b] = (float)sum[0];
            sums[d->c + b] = (float)dots[0];
        }
    }
}

/* dx = a dy + b x + c for each channel, dy masked as above. */
static inline __attribute__((always_inline)) void channel_back_run(float *dx, const float *x,
                                                                   const float *mask,
                                                                   const float *dy, int64_t n,
                                                                   eg_vec a, eg_vec b, eg_vec c)
{
    int64_t i = 0;
    for (; i + EG_V <= n; i += EG_V) {
        eg_vec g = *(const eg_vec *)(dy + i);
        if (mask)
            g = eg_where_positive(*(const eg_vec *)(mask + i), g);
        *(eg_vec *)(dx + i) = a * g + (b * *(const eg_vec *)(x + i) + c);
    }
    for (; i < n; i++) {
        float g = mask && !(mask[i] > 0) ? 0 : dy[i];
        dx[i] = a[0] * g + (b[0] * x[i] + c[0]);
    }
}

void EG_KERNEL(channel_back)(float *dx, const float *x, const float *mask, const float *dy,
                             const float *abc, const eg_channels *d)
{
    int64_t run = channel_run(d), blocks = channel_blocks(d);
    for (int64_t n = 0; n < d->n; n++)
        for (int64_t k = d->from; k < channel_end(d); k++) {
            int64_t at = (n * blocks + k) * run;
            eg_vec a = channel_lanes(abc, k, d), b = channel_lanes(abc + d->c, k, d);
            eg_vec c = channel_lanes(abc + 2 * d->c, k, d);
            if (mask)
                channel_back_run(dx + at, x + at, mask + at, dy + at, run, a, b, c);
            else
                channel_back_run(dx + at, x + at, NULL, dy + at, run, a, b, c);
        }
}

void EG_KERNEL(scale_maps)(float *y, const float *x, const float *s, const eg_channels *d)
{
    int64_t run = channel_run(d), blocks = channel_blocks(d);
    const eg_vec zero = {0};
    for (int64_t n = 0; n < d->n; n++)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t at = (n * blocks + b) * run;
            channel_affine_run(y + at, x + at, NULL, channel_lanes(s + n * d->c, b, d), zero,
                               run, false);
        }
}
