/* norm.c - mean and deviation of every channel of the training data (data.normalize).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/feed.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

void eg_norm_fini(eg_norm *norm)
{
    free(norm->mean);
    free(norm->std);
    *norm = (eg_norm){0};
}

/* The sums over a channel of one sample of what is `mean` less, and of its square. */
static void norm_add(const eg_table *t, size_t at, size_t plane, double mean, double sum[2])
{
    for (size_t k = at; k < at + plane; k++) {
        double v = (t->u8 ? t->u8[k] / 255.0 : (double)t->f32[k]) - mean;
        sum[0] += v;
        sum[1] += v * v;
    }
}

/* Twice over the data: deviations from a mean that is far from 0 would drown otherwise. */
eg_status eg_norm_measure(const eg_table *tables, size_t n, eg_norm *out)
{
    size_t channels = (size_t)tables->channels;
    size_t plane = (size_t)(tables->height * tables->width);
    double count = 0;
    if (tables->ids)
        return eg_fail(EG_EINVAL, "data.normalize: texts have no mean to take off");
    *out = (eg_norm){.n = tables->channels};
    eg_status s = eg_alloc(channels, sizeof *out->mean, &out->mean);
    if (s == EG_OK)
        s = eg_alloc(channels, sizeof *out->std, &out->std);
    for (size_t i = 0; i < n; i++)
        count += (double)tables[i].n * (double)plane;
    for (size_t c = 0; s == EG_OK && c < channels; c++)
        for (int pass = 0; pass < 2; pass++) {
            double sum[2] = {0};
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < (size_t)tables[i].n; k++)
                    norm_add(&tables[i], (k * channels + c) * plane, plane, out->mean[c], sum);
            if (pass == 0)
                out->mean[c] = sum[0] / count;
            else
                out->std[c] = sqrt(sum[1] / count);
        }
    for (size_t c = 0; s == EG_OK && c < channels; c++)
        if (out->std[c] < 1e-12 * (1 + fabs(out->mean[c])))
            out->std[c] = 1;
    if (s != EG_OK)
        eg_norm_fini(out);
    return s;
}

eg_status eg_experiment_norm(const eg_data_opts *o, eg_transform *how)
{
    how->n_norm = o->mean.n > o->std.n ? o->mean.n : o->std.n;
    if ((o->mean.n > 1 && o->mean.n < how->n_norm) || (o->std.n > 1 && o->std.n < how->n_norm))
        return eg_fail(EG_EINVAL, "data.mean has %lld numbers and data.std %lld",
                       (long long)o->mean.n, (long long)o->std.n);
    for (int64_t k = 0; k < how->n_norm; k++) {
        how->mean[k] = o->mean.value[o->mean.n > 1 ? k : 0];
        how->std[k] = o->std.value[o->std.n > 1 ? k : 0];
    }
    return EG_OK;
}
