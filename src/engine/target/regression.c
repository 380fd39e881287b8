/* regression.c - a sample is to come to numbers: squared error; what is judged is the share of
 * their variance that outputs explain.
 * SPDX-License-Identifier: Apache-2.0
 *
 * With sums over all samples and numbers, r2 = 1 - sum (y - t)^2 / sum (t - mean of t)^2, each
 * number with a mean of its own; below 0, where the mean alone would do better, it counts as 0.
 */
#include <engram/target.h>

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

static eg_status regression_settle(eg_aim *a, const eg_aiming *in)
{
    if (in->model->region)
        return eg_fail(EG_ENOTSUP, "%s looks for boxes; the targets of these data are numbers",
                       in->model->component.name);
    a->outputs = a->width;
    return EG_OK;
}

static eg_node *regression_error(const eg_aim *a, eg_graph *g, eg_node *outputs,
                                 eg_node *targets)
{
    if (eg_graph_status(g) != EG_OK)
        return outputs;
    int64_t n = eg_node_shape(outputs).dim[0];
    eg_node *gap = eg_sub(g, outputs, eg_reshape(g, targets, eg_dims(n, a->outputs)));
    return eg_mul(g, gap, gap);
}

static eg_node *regression_loss(const eg_aim *a, eg_graph *g, eg_node *outputs,
                                eg_node *targets)
{
    eg_node *mean = eg_mean(g, regression_error(a, g, outputs, targets), EG_ALL_AXES);
    return eg_reshape(g, mean, eg_scalar());
}

static eg_node *regression_losses(const eg_aim *a, eg_graph *g, eg_node *outputs,
                                  eg_node *targets)
{
    eg_node *each = eg_mean(g, regression_error(a, g, outputs, targets), EG_AXIS(1));
    return eg_graph_status(g) == EG_OK
               ? eg_reshape(g, each, eg_dims(eg_node_shape(each).dim[0]))
               : each;
}

typedef struct regression_judge {
    int64_t width, n;
    double squared, absolute;
    double *sums; /* [2, width]: of targets and of their squares */
} regression_judge;

static void regression_judge_free(void *judge)
{
    regression_judge *j = judge;
    if (j)
        free(j->sums);
    free(j);
}

static eg_status regression_judge_new(const eg_aim *a, int64_t n, bool tells, void **judge)
{
    regression_judge *j;
    (void)n, (void)tells;
    EG_TRY(eg_alloc(1, sizeof *j, &j));
    j->width = a->width;
    *judge = j;
    return eg_alloc(2 * (size_t)a->width, sizeof *j->sums, &j->sums);
}

static eg_status regression_judge_add(void *judge, int64_t n, const float *outputs,
                                      const float *targets)
{
    regression_judge *j = judge;
    for (int64_t i = 0; i < n * j->width; i++) {
        double t = (double)targets[i], gap = (double)outputs[i] - t;
        j->squared += gap * gap, j->absolute += fabs(gap);
        j->sums[i % j->width] += t, j->sums[j->width + i % j->width] += t * t;
    }
    j->n += n;
    return EG_OK;
}

static eg_status regression_judge_end(void *judge, eg_bundle *to)
{
    const regression_judge *j = judge;
    double all = 0, count = (double)(j->n * j->width);
    for (int64_t k = 0; k < j->width; k++)
        all += j->sums[j->width + k] - j->sums[k] * j->sums[k] / (double)j->n;
    double r2 = all > 0 ? fmax(0, 1 - j->squared / all) : 0;
    const float rates[] = {(float)r2, (float)(j->squared / count),
                           (float)(j->absolute / count)};
    return eg_bundle_add(to, "rates", eg_dims(3), rates);
}

static const char *const regression_rates[] = {"r2", "mse", "mae", NULL};

const eg_target eg_target_regression = {
    .component = {"regression", "numbers for each sample: squared error, variance explained", 0,
                  NULL},
    .things = "numbers",
    .rates = regression_rates,
    .settle = regression_settle,
    .loss = regression_loss,
    .losses = regression_losses,
    .judge_new = regression_judge_new,
    .judge_free = regression_judge_free,
    .judge_add = regression_judge_add,
    .judge_end = regression_judge_end,
};
