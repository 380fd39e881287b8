/* mean.c - the weighted mean of vectors.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/mean.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_mean_init(eg_weighted_mean *m, size_t n)
{
    *m = (eg_weighted_mean){.n = n};
    return eg_alloc(n, sizeof *m->sum, &m->sum);
}

void eg_mean_fini(eg_weighted_mean *m)
{
    free(m->sum);
    *m = (eg_weighted_mean){0};
}

void eg_mean_reset(eg_weighted_mean *m)
{
    if (m->n > 0)
        memset(m->sum, 0, m->n * sizeof *m->sum);
    m->weight = 0;
}

eg_status eg_mean_add(eg_weighted_mean *m, const float *values, double weight)
{
    if (!(weight >= 0) || !isfinite(weight))
        return eg_fail(EG_EINVAL, "a weight of %g", weight);
    m->weight += weight;
    for (size_t i = 0; i < m->n; i++)
        m->sum[i] += weight * (double)values[i];
    return EG_OK;
}

eg_status eg_mean_get(const eg_weighted_mean *m, float *out)
{
    if (!(m->weight > 0))
        return eg_fail(EG_EINVAL, "the mean of nothing: all weights are 0");
    for (size_t i = 0; i < m->n; i++)
        out[i] = (float)(m->sum[i] / m->weight);
    return EG_OK;
}
