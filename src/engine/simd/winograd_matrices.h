/* winograd_matrices.h - the matrices of Winograd's F(4, 1) to F(4, 3) and F(4, 5), by lines.
 * SPDX-License-Identifier: Apache-2.0
 *
 * y = A^T [(G w) * (B^T x)] gives 4 results of 2, 3 or 5 taps. The points are 0, 1, -1, 2, from
 * 3 taps on -2, for 5 also 1/2 and -1/2, and infinity. Each line below is a row of a matrix;
 * steps are in vectors; `taps` and `order` are constants where a function is called. `to` may
 * not be what is read. One tap is two of which the second is zero, and so is its number in the
 * last point, infinity: it has the other four alone, the same as two taps have.
 */
#ifndef EG_WINOGRAD_MATRICES_H
#define EG_WINOGRAD_MATRICES_H

#include "engine/simd/simd.h"

/* size: every matrix of one algorithm, with its transpose. */
#define WINOGRAD_INLINE static inline __attribute__((always_inline))

enum { TILE = 4, MOST_TAPS = 5, MOST_WINDOW = MOST_TAPS + TILE - 1, MOST_STRIDE = 2 };

/* Points along one side, and from line to line. */
WINOGRAD_INLINE int winograd_window(int taps)
{
    return taps + TILE - 1;
}

WINOGRAD_INLINE int winograd_pitch(int taps)
{
    return winograd_window(taps < 2 ? 2 : taps);
}

/* Which two of three numbers are added first where it matters: every layout has an order of its
 * own, and results would differ in their last bits with another. */
typedef enum winograd_order { FIRST_TWO, LAST_TWO } winograd_order;

WINOGRAD_INLINE eg_vec winograd_add(eg_vec a, eg_vec b, eg_vec c, winograd_order order)
{
    return order == FIRST_TWO ? (a + b) + c : a + (b + c);
}

WINOGRAD_INLINE void winograd_bt2(eg_vec *to, int64_t to_step, const eg_vec *x, int64_t step,
                                  int taps)
{
    eg_vec x1 = x[step], x2 = x[2 * step], x3 = x[3 * step];
    eg_vec a = x3 - x1;
    to[0] = 2 * (x[0] - x2) + a;
    to[to_step] = (x3 - x2) - 2 * x1;
    to[2 * to_step] = (x3 - 3 * x2) + 2 * x1;
    to[3 * to_step] = a;
    if (taps == 2)
        to[4 * to_step] = (x[4 * step] - x2) - 2 * a;
}

WINOGRAD_INLINE void winograd_bt3(eg_vec *to, int64_t to_step, const eg_vec *x, int64_t step)
{
    eg_vec x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step], x4 = x[4 * step],
           x5 = x[5 * step];
    eg_vec a = x4 - 4 * x2, b = x3 - 4 * x1, c = x4 - x2, d = x3 - x1;
    to[0] = 4 * x0 + (x4 - 5 * x2);
    to[to_step] = a + b;
    to[2 * to_step] = a - b;
    to[3 * to_step] = c + 2 * d;
    to[4 * to_step] = c - 2 * d;
    to[5 * to_step] = 4 * x1 + (x5 - 5 * x3);
}

WINOGRAD_INLINE void winograd_bt5(eg_vec *to, int64_t to_step, const eg_vec *x, int64_t step)
{
    eg_vec x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step], x4 = x[4 * step],
           x5 = x[5 * step], x6 = x[6 * step], x7 = x[7 * step];
    eg_vec a = (x2 + x6) - 4.25f * x4, b = (x1 + x5) - 4.25f * x3;
    eg_vec c = (0.25f * x2 + x6) - 1.25f * x4, d = (0.25f * x1 + x5) - 1.25f * x3;
    eg_vec e = (4 * x2 + x6) - 5 * x4, f = (4 * x1 + x5) - 5 * x3;
    to[0] = (x0 - x6) + 5.25f * (x4 - x2);
    to[to_step] = a + b;
    to[2 * to_step] = a - b;
    to[3 * to_step] = c + 2 * d;
    to[4 * to_step] = c - 2 * d;
    to[5 * to_step] = e + 0.5f * f;
    to[6 * to_step] = e - 0.5f * f;
    to[7 * to_step] = (x7 - x1) + 5.25f * (x3 - x5);
}

/* to = B^T x: a window to as many points. */
WINOGRAD_INLINE void winograd_bt(eg_vec *to, int64_t to_step, const eg_vec *x, int64_t step,
                                 int taps)
{
    if (taps <= 2)
        winograd_bt2(to, to_step, x, step, taps);
    else if (taps == 3)
        winograd_bt3(to, to_step, x, step);
    else
        winograd_bt5(to, to_step, x, step);
}

/* to = B m for 5 taps. */
WINOGRAD_INLINE void winograd_b5(eg_vec *to, int64_t to_step, const eg_vec *m, int64_t step)
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

/* to = A^T m: all points to four. */
WINOGRAD_INLINE void winograd_at(eg_vec *to, int64_t to_step, const eg_vec *m, int64_t step,
                                 int taps, winograd_order order)
{
    eg_vec m1 = m[step], m2 = m[2 * step], m3 = m[3 * step];
    eg_vec m4 = taps > 1 ? m[4 * step] : (eg_vec){0};
    eg_vec a = m1 + m2, b = m1 - m2;
    if (taps <= 2) {
        to[0] = m[0] + a + m3;
        to[to_step] = b + 2 * m3;
        to[2 * to_step] = a + 4 * m3;
        if (taps == 2)
            b = b + m4;
        to[3 * to_step] = b + 8 * m3;
        return;
    }
    eg_vec last = m[(taps + 2) * step];
    eg_vec c = m3 + m4, d = m3 - m4;
    if (taps == 3) {
        to[0] = m[0] + a + c;
        to[to_step] = b + 2 * d;
        to[2 * to_step] = a + 4 * c;
        to[3 * to_step] = (b + last) + 8 * d;
        return;
    }
    eg_vec e = m[5 * step] + m[6 * step], f = m[5 * step] - m[6 * step];
    to[0] = (m[0] + a) + (c + e);
    to[to_step] = winograd_add(b, 2 * d, 0.5f * f, order);
    to[2 * to_step] = winograd_add(a, 4 * c, 0.25f * e, order);
    to[3 * to_step] = winograd_add(b + last, 8 * d, 0.125f * f, order);
}

/* to = A y: four to all points. */
WINOGRAD_INLINE void winograd_a(eg_vec *to, int64_t to_step, const eg_vec *y, int64_t step,
                                int taps)
{
    eg_vec y0 = y[0], y1 = y[step], y2 = y[2 * step], y3 = y[3 * step];
    eg_vec a = y0 + y2, b = y1 + y3, c = y0 + 4 * y2, d = y1 + 4 * y3;
    to[0] = y0;
    to[to_step] = a + b;
    to[2 * to_step] = a - b;
    to[3 * to_step] = c + 2 * d;
    to[(taps + 2) * to_step] = y3;
    if (taps == 2)
        return;
    to[4 * to_step] = c - 2 * d;
    if (taps == 3)
        return;
    eg_vec e = y0 + 0.25f * y2, f = y1 + 0.25f * y3;
    to[5 * to_step] = e + 0.5f * f;
    to[6 * to_step] = e - 0.5f * f;
}

WINOGRAD_INLINE void winograd_g1(eg_vec *to, int64_t to_step, const eg_vec *w)
{
    to[0] = w[0] * 0.5f;
    to[to_step] = w[0] * -0.5f;
    to[2 * to_step] = w[0] * (-1.0f / 6);
    to[3 * to_step] = w[0] * (1.0f / 6);
}

WINOGRAD_INLINE void winograd_g2(eg_vec *to, int64_t to_step, const eg_vec *w, int64_t step)
{
    eg_vec w0 = w[0], w1 = w[step];
    to[0] = w0 * 0.5f;
    to[to_step] = (w0 + w1) * -0.5f;
    to[2 * to_step] = (w1 - w0) * (1.0f / 6);
    to[3 * to_step] = (w0 + 2 * w1) * (1.0f / 6);
    to[4 * to_step] = w1;
}

WINOGRAD_INLINE void winograd_g3(eg_vec *to, int64_t to_step, const eg_vec *w, int64_t step)
{
    eg_vec w0 = w[0], w1 = w[step], w2 = w[2 * step];
    eg_vec a = (w0 + w2) * (-1.0f / 6), b = w1 * (1.0f / 6);
    eg_vec c = w0 * (1.0f / 24) + w2 * (1.0f / 6), d = w1 * (1.0f / 12);
    to[0] = w0 * 0.25f;
    to[to_step] = a - b;
    to[2 * to_step] = a + b;
    to[3 * to_step] = c + d;
    to[4 * to_step] = c - d;
    to[5 * to_step] = w2;
}

WINOGRAD_INLINE void winograd_g5(eg_vec *to, int64_t to_step, const eg_vec *w, int64_t step)
{
    eg_vec w0 = w[0], w1 = w[step], w2 = w[2 * step], w3 = w[3 * step], w4 = w[4 * step];
    eg_vec a = (w0 + w2 + w4) * (-2.0f / 9), b = (w1 + w3) * (-2.0f / 9);
    eg_vec c = (w0 + 4 * w2 + 16 * w4) * (1.0f / 90), d = (w1 + 4 * w3) * (1.0f / 45);
    eg_vec e = (16 * w0 + 4 * w2 + w4) * (2.0f / 45), f = (4 * w1 + w3) * (4.0f / 45);
    to[0] = w0;
    to[to_step] = a + b;
    to[2 * to_step] = a - b;
    to[3 * to_step] = c + d;
    to[4 * to_step] = c - d;
    to[5 * to_step] = e + f;
    to[6 * to_step] = e - f;
    to[7 * to_step] = w4;
}

/* to = G w: taps to all points. */
WINOGRAD_INLINE void winograd_g(eg_vec *to, int64_t to_step, const eg_vec *w, int64_t step,
                                int taps)
{
    if (taps == 1)
        winograd_g1(to, to_step, w);
    else if (taps == 2)
        winograd_g2(to, to_step, w, step);
    else if (taps == 3)
        winograd_g3(to, to_step, w, step);
    else
        winograd_g5(to, to_step, w, step);
}

WINOGRAD_INLINE void winograd_gt2(eg_vec *to, int64_t to_step, const eg_vec *u, int64_t step,
                                  int taps)
{
    eg_vec u1 = u[step], u2 = u[2 * step], u3 = u[3 * step];
    to[0] = (u[0] - u1) * 0.5f + (u3 - u2) * (1.0f / 6);
    if (taps == 2)
        to[to_step] = (u[4 * step] - u1 * 0.5f) + (u2 + 2 * u3) * (1.0f / 6);
}

WINOGRAD_INLINE void winograd_gt3(eg_vec *to, int64_t to_step, const eg_vec *u, int64_t step)
{
    eg_vec u1 = u[step], u2 = u[2 * step], u3 = u[3 * step], u4 = u[4 * step];
    eg_vec a = (u1 + u2) * (1.0f / 6), b = u3 + u4;
    to[0] = (u[0] * 0.25f - a) + b * (1.0f / 24);
    to[to_step] = (u2 - u1) * (1.0f / 6) + (u3 - u4) * (1.0f / 12);
    to[2 * to_step] = (u[5 * step] - a) + b * (1.0f / 6);
}

WINOGRAD_INLINE void winograd_gt5(eg_vec *to, int64_t to_step, const eg_vec *u, int64_t step,
                                  winograd_order order)
{
    eg_vec u1 = u[step], u2 = u[2 * step], u3 = u[3 * step], u4 = u[4 * step], u5 = u[5 * step],
           u6 = u[6 * step];
    eg_vec a = (u1 + u2) * (-2.0f / 9), b = (u1 - u2) * (-2.0f / 9);
    eg_vec c = (u3 + u4) * (1.0f / 90), d = (u3 - u4) * (1.0f / 45);
    eg_vec e = (u5 + u6) * (2.0f / 45), f = (u5 - u6) * (4.0f / 45);
    to[0] = (u[0] + a) + (c + 16 * e);
    to[to_step] = winograd_add(b, d, 4 * f, order);
    to[2 * to_step] = winograd_add(a, 4 * c, 4 * e, order);
    to[3 * to_step] = winograd_add(b, 4 * d, f, order);
    to[4 * to_step] = winograd_add(a + u[7 * step], 16 * c, e, order);
}

/* to = G^T u: all points to taps. */
WINOGRAD_INLINE void winograd_gt(eg_vec *to, int64_t to_step, const eg_vec *u, int64_t step,
                                 int taps, winograd_order order)
{
    if (taps <= 2)
        winograd_gt2(to, to_step, u, step, taps);
    else if (taps == 3)
        winograd_gt3(to, to_step, u, step);
    else
        winograd_gt5(to, to_step, u, step, order);
}

#endif
