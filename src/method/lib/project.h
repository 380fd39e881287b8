/* project.h - gradients against a reference, weights on the simplex: what projecting parts
 * share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PROJECT_H
#define EG_PROJECT_H

#include "engine/graph/kernel.h"

#include <engram/params.h>

#include <math.h>

/* g [n] <- g - (g.r / r.r) r: what is left of g at a right angle to r [n]. r.r > 0. */
static inline void eg_project_off(float *g, const float *r, size_t n, double g_r, double r_r)
{
    eg_add_scaled(g, (float)(-g_r / r_r), r, n);
}

/* x [n] <- the point of the simplex nearest to it: none below 0, one in all. order [n] is
 * scratch: its values, the largest first. */
static inline void eg_project_simplex(size_t n, double *x, double *order)
{
    double sum = 0, shift = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = i;
        for (; k > 0 && order[k - 1] < x[i]; k--)
            order[k] = order[k - 1];
        order[k] = x[i];
    }
    for (size_t i = 0; i < n; i++) {
        sum += order[i];
        if (order[i] - (sum - 1) / (double)(i + 1) > 0)
            shift = (sum - 1) / (double)(i + 1);
    }
    for (size_t i = 0; i < n; i++)
        x[i] = fmax(x[i] - shift, 0);
}

#endif
