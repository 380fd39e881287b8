/* vector.c - flat vectors: products, sums and the optimisers' updates, one pass each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/simd/simd.h"

/* Partial sums of 4096 elements in float lanes, then in double, in order. */
void EG_KERNEL(dot)(double *out, const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t from = 0; from < n; from += 4096) {
        size_t to = n - from < 4096 ? n : from + 4096, i = from;
        eg_vec s[4] = {{0}, {0}, {0}, {0}};
        for (; i + 4 * EG_V <= to; i += 4 * EG_V)
            for (size_t k = 0; k < 4; k++)
                s[k] +=
                    *(const eg_vec *)(a + i + k * EG_V) * *(const eg_vec *)(b + i + k * EG_V);
        eg_vec all = (s[0] + s[1]) + (s[2] + s[3]);
        for (int l = 0; l < EG_V; l++)
            sum += (double)all[l];
        for (; i < to; i++)
            sum += (double)a[i] * (double)b[i];
    }
    *out = sum;
}

void EG_KERNEL(axpy)(float *y, float a, const float *x, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

void EG_KERNEL(sgd)(float *w, float *v, const float *g, float lr, float momentum, float decay,
                    size_t n)
{
    if (momentum == 0) {
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            w[i] -= lr * (g[i] + decay * w[i]);
        return;
    }
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        v[i] = momentum * v[i] + (g[i] + decay * w[i]);
        w[i] -= lr * v[i];
    }
}

void EG_KERNEL(nesterov)(float *w, float *v, const float *g, float lr, float momentum,
                         float decay, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        float d = g[i] + decay * w[i];
        v[i] = momentum * v[i] + d;
        w[i] -= lr * (d + momentum * v[i]);
    }
}

void EG_KERNEL(adam)(float *w, float *m, float *v, const float *g, const eg_adam_step *s,
                     size_t n)
{
    const eg_adam_step c = *s;
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        float d = g[i] + c.decay * w[i];
        m[i] = c.beta1 * m[i] + c.share1 * d;
        v[i] = c.beta2 * v[i] + c.share2 * d * d;
        w[i] -= c.size * m[i] / (sqrtf(v[i]) / c.root + c.eps);
    }
}

void EG_KERNEL(adamw)(float *w, float *m, float *v, const float *g, const eg_adam_step *s,
                      size_t n)
{
    const eg_adam_step c = *s;
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        m[i] = c.beta1 * m[i] + c.share1 * g[i];
        v[i] = c.beta2 * v[i] + c.share2 * g[i] * g[i];
        w[i] = (1 - c.decay) * w[i] - c.size * m[i] / (sqrtf(v[i]) / c.root + c.eps);
    }
}
