/* tiles.h - the matrices of Winograd's convolution F(4x4, 5x5), each applied to one line.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The points are 0, 1, -1, 2, -2, 1/2, -1/2 and infinity. Steps are in vectors; `to` may not be
 * what is read.
 */
#ifndef EG_TILES_H
#define EG_TILES_H

#include "tensor/simd/simd.h"

#define TILES_INLINE static inline __attribute__((always_inline))

/* to = B^T x: eight to eight. */
TILES_INLINE void tiles_bt(eg_vec *to, int64_t to_step, const eg_vec *x, int64_t step)
{
    eg_vec x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step], x4 = x[4 * step],
           x5 = x[5 * step], x6 = x[6 * step], x7 = x[7 * step];
    eg_vec a = (x2 + x6) - 4.25f * x4, b = (x1 + x5) - 4.25f * x3;
    eg_vec c = (x6 + 0.25f * x2) - 1.25f * x4, d = (0.5f * x1 + 2 * x5) - 2.5f * x3;
    eg_vec e = (x6 + 4 * x2) - 5 * x4, f = (2 * x1 + 0.5f * x5) - 2.5f * x3;
    to[0] = (x0 - x6) + 5.25f * (x4 - x2);
    to[to_step] = a + b;
    to[2 * to_step] = a - b;
    to[3 * to_step] = c + d;
    to[4 * to_step] = c - d;
    to[5 * to_step] = e + f;
    to[6 * to_step] = e - f;
    to[7 * to_step] = (x7 - x1) + 5.25f * (x3 - x5);
}

/* to = B m: eight to eight. */
TILES_INLINE void tiles_b(eg_vec *to, int64_t to_step, const eg_vec *m, int64_t step)
{
    eg_vec m0 = m[0], m1 = m[step], m2 = m[2 * step], m3 = m[3 * step], m4 = m[4 * step],
           m5 = m[5 * step], m6 = m[6 * step], m7 = m[7 * step];
    eg_vec a = m1 + m2, b = m1 - m2, c = m3 + m4, d = m3 - m4, e = m5 + m6, f = m5 - m6;
    to[0] = m0;
    to[to_step] = (b - m7) + (0.5f * d + 2 * f);
    to[2 * to_step] = (a - 5.25f * m0) + (0.25f * c + 4 * e);
    to[3 * to_step] = (5.25f * m7 - 4.25f * b) - 2.5f * (d + f);
    to[4 * to_step] = (5.25f * m0 - 4.25f * a) - (1.25f * c + 5 * e);
    to[5 * to_step] = (b - 5.25f * m7) + (2 * d + 0.5f * f);
    to[6 * to_step] = (a - m0) + (c + e);
    to[7 * to_step] = m7;
}

/* to = A^T m: eight to four. */
TILES_INLINE void tiles_at(eg_vec *to, int64_t to_step, const eg_vec *m, int64_t step)
{
    eg_vec m1 = m[step], m2 = m[2 * step], m3 = m[3 * step], m4 = m[4 * step], m5 = m[5 * step],
           m6 = m[6 * step];
    eg_vec a = m1 + m2, b = m1 - m2, c = m3 + m4, d = m3 - m4, e = m5 + m6, f = m5 - m6;
    to[0] = (m[0] + a) + (c + e);
    to[to_step] = (b + 2 * d) + 0.5f * f;
    to[2 * to_step] = (a + 4 * c) + 0.25f * e;
    to[3 * to_step] = (b + m[7 * step]) + 8 * d + 0.125f * f;
}

/* to = A y: four to eight. */
TILES_INLINE void tiles_a(eg_vec *to, int64_t to_step, const eg_vec *y, int64_t step)
{
    eg_vec y0 = y[0], y1 = y[step], y2 = y[2 * step], y3 = y[3 * step];
    eg_vec a = y0 + y2, b = y1 + y3, c = y0 + 4 * y2, d = 2 * y1 + 8 * y3;
    eg_vec e = y0 + 0.25f * y2, f = 0.5f * y1 + 0.125f * y3;
    to[0] = y0;
    to[to_step] = a + b;
    to[2 * to_step] = a - b;
    to[3 * to_step] = c + d;
    to[4 * to_step] = c - d;
    to[5 * to_step] = e + f;
    to[6 * to_step] = e - f;
    to[7 * to_step] = y3;
}

/* to = G w: five to eight. */
TILES_INLINE void tiles_g(eg_vec *to, int64_t to_step, const eg_vec *w, int64_t step)
{
    eg_vec w0 = w[0], w1 = w[step], w2 = w[2 * step], w3 = w[3 * step], w4 = w[4 * step];
    eg_vec a = ((w0 + w2) + w4) * (-2.0f / 9), b = (w1 + w3) * (-2.0f / 9);
    eg_vec c = (w0 + 4 * w2 + 16 * w4) * (1.0f / 90), d = (2 * w1 + 8 * w3) * (1.0f / 90);
    eg_vec e = (w0 + 0.25f * w2 + 0.0625f * w4) * (32.0f / 45);
    eg_vec f = (0.5f * w1 + 0.125f * w3) * (32.0f / 45);
    to[0] = w0;
    to[to_step] = a + b;
    to[2 * to_step] = a - b;
    to[3 * to_step] = c + d;
    to[4 * to_step] = c - d;
    to[5 * to_step] = e + f;
    to[6 * to_step] = e - f;
    to[7 * to_step] = w4;
}

/* to = G^T u: eight to five. */
TILES_INLINE void tiles_gt(eg_vec *to, int64_t to_step, const eg_vec *u, int64_t step)
{
    eg_vec a = (u[step] + u[2 * step]) * (-2.0f / 9), b = (u[step] - u[2 * step]) * (-2.0f / 9);
    eg_vec c = (u[3 * step] + u[4 * step]) * (1.0f / 90);
    eg_vec d = (u[3 * step] - u[4 * step]) * (1.0f / 90);
    eg_vec e = (u[5 * step] + u[6 * step]) * (32.0f / 45);
    eg_vec f = (u[5 * step] - u[6 * step]) * (32.0f / 45);
    to[0] = (u[0] + a) + (c + e);
    to[to_step] = b + 2 * d + 0.5f * f;
    to[2 * to_step] = a + 4 * c + 0.25f * e;
    to[3 * to_step] = b + 8 * d + 0.125f * f;
    to[4 * to_step] = (a + u[7 * step]) + 16 * c + 0.0625f * e;
}

#endif
