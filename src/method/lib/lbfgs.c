/* lbfgs.c - the two loops over the last differences.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/lbfgs.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double lbfgs_least = 1e-10, lbfgs_moved = 1e-9; /* of curvature; of a step */

eg_status eg_lbfgs_init(eg_lbfgs *l, size_t n)
{
    *l = (eg_lbfgs){.n = n};
    EG_TRY(eg_alloc(EG_LBFGS_HISTORY * n, sizeof *l->s, &l->s));
    EG_TRY(eg_alloc(EG_LBFGS_HISTORY * n, sizeof *l->y, &l->y));
    EG_TRY(eg_alloc(EG_LBFGS_HISTORY, sizeof *l->rho, &l->rho));
    EG_TRY(eg_alloc(n, sizeof *l->last, &l->last));
    return eg_alloc(n, sizeof *l->d, &l->d);
}

void eg_lbfgs_fini(eg_lbfgs *l)
{
    free(l->s);
    free(l->y);
    free(l->rho);
    free(l->last);
    free(l->d);
    *l = (eg_lbfgs){0};
}

static double lbfgs_dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Remembers the last step, unless it met no curvature. */
static void lbfgs_remember(eg_lbfgs *l, const float *g)
{
    size_t n = l->n, most = EG_LBFGS_HISTORY;
    if ((size_t)l->pairs == most) {
        memmove(l->s, l->s + n, (most - 1) * n * sizeof *l->s);
        memmove(l->y, l->y + n, (most - 1) * n * sizeof *l->y);
        memmove(l->rho, l->rho + 1, (most - 1) * sizeof *l->rho);
        l->pairs--;
    }
    double *s = l->s + (size_t)l->pairs * n, *y = l->y + (size_t)l->pairs * n;
    for (size_t i = 0; i < n; i++) {
        s[i] = l->length * l->d[i];
        y[i] = (double)g[i] - l->last[i];
    }
    double curvature = lbfgs_dot(y, s, n);
    if (!(curvature > lbfgs_least))
        return;
    l->rho[l->pairs++] = 1 / curvature;
    l->scale = curvature / lbfgs_dot(y, y, n);
}

/* d = -H g. */
static void lbfgs_direction(eg_lbfgs *l, const float *g)
{
    size_t n = l->n;
    double a[EG_LBFGS_HISTORY];
    for (size_t i = 0; i < n; i++)
        l->d[i] = -(double)g[i];
    for (int64_t k = l->pairs - 1; k >= 0; k--) {
        const double *s = l->s + (size_t)k * n, *y = l->y + (size_t)k * n;
        a[k] = l->rho[k] * lbfgs_dot(s, l->d, n);
        for (size_t i = 0; i < n; i++)
            l->d[i] -= a[k] * y[i];
    }
    for (size_t i = 0; i < n; i++)
        l->d[i] *= l->pairs ? l->scale : 1;
    for (int64_t k = 0; k < l->pairs; k++) {
        const double *s = l->s + (size_t)k * n, *y = l->y + (size_t)k * n;
        double b = l->rho[k] * lbfgs_dot(y, l->d, n);
        for (size_t i = 0; i < n; i++)
            l->d[i] += (a[k] - b) * s[i];
    }
}

bool eg_lbfgs_step(eg_lbfgs *l, float *x, const float *g, double lr)
{
    double sum = 0, slope = 0, most = 0;
    if (l->steps > 0)
        lbfgs_remember(l, g);
    lbfgs_direction(l, g);
    for (size_t i = 0; i < l->n; i++) {
        sum += fabs((double)g[i]);
        slope += (double)g[i] * l->d[i];
        most = fmax(most, fabs(l->d[i]));
        l->last[i] = (double)g[i];
    }
    l->length = l->steps++ == 0 ? fmin(1, 1 / sum) * lr : lr;
    if (!(slope < -lbfgs_moved) || !(most * l->length > lbfgs_moved))
        return false;
    for (size_t i = 0; i < l->n; i++)
        x[i] += (float)(l->length * l->d[i]);
    return true;
}
