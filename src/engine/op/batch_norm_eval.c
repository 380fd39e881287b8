/* batch_norm_eval.c - y = (x - mean) / sqrt(var + eps) * weight + bias with given statistics.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static double batch_norm_eval_eps(const eg_node *y)
{
    return *(const double *)y->attr;
}

/* 1 / sqrt(var + eps), as graph. */
static eg_node *batch_norm_eval_rstd(eg_graph *g, const eg_node *y)
{
    eg_node *var = y->in[2];
    eg_node *s = eg_sqrt(g, eg_affine(g, var, 1, batch_norm_eval_eps(y)));
    return eg_div(g, eg_constant(g, var->shape, 1), s);
}

/* The normalised x, before weight and bias. */
static eg_node *batch_norm_eval_z(eg_graph *g, const eg_node *y)
{
    eg_node *rstd = batch_norm_eval_rstd(g, y);
    return eg_channel_affine(g, y->in[0], rstd, eg_affine(g, eg_mul(g, y->in[1], rstd), -1, 0));
}

static eg_node *batch_norm_eval_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    eg_node *weight = y->in[3], *zero = eg_constant(g, weight->shape, 0);
    eg_node *rstd = batch_norm_eval_rstd(g, y), *scale = eg_mul(g, weight, rstd);
    switch (wrt) {
    case 0:
        return eg_channel_affine(g, dy, scale, zero);
    case 1: /* mean */
        return eg_affine(g, eg_mul(g, eg_channel_sum(g, dy), scale), -1, 0);
    case 2: { /* var: -weight z / 2 rstd^2 summed with dy */
        eg_node *sum = eg_channel_sum(g, eg_mul(g, dy, batch_norm_eval_z(g, y)));
        return eg_affine(g, eg_mul(g, eg_mul(g, sum, weight), eg_mul(g, rstd, rstd)), -0.5, 0);
    }
    case 3:
        return eg_channel_sum(g, eg_mul(g, dy, batch_norm_eval_z(g, y)));
    default:
        return eg_channel_sum(g, dy);
    }
}

static void batch_norm_eval_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_channels d = eg_channels_of(NULL, y, EG_ROWMAJOR);
    for (int64_t i = 0; i < d.n * d.c * d.area; i++) {
        int64_t c = i / d.area % d.c;
        double z = (in[0][i] - in[1][c]) / sqrt(in[2][c] + batch_norm_eval_eps(y));
        out[i] = z * in[3][c] + in[4][c];
    }
}

static eg_status batch_norm_eval_run(const eg_step *s)
{
    eg_channels d = eg_channels_of(s->k, s->node, s->out[0]->layout);
    const float *mean = s->in[1]->data, *var = s->in[2]->data;
    const float *weight = s->in[3]->data, *bias = s->in[4]->data;
    float *scale = s->out[1]->data, *shift = scale + d.c;
    float eps = (float)batch_norm_eval_eps(s->node);
    for (int64_t c = 0; c < d.c; c++) {
        scale[c] = weight[c] / sqrtf(var[c] + eps);
        shift[c] = bias[c] - mean[c] * scale[c];
    }
    s->k->channel_affine(s->out[0]->data, s->in[0]->data, scale, shift, NULL, s->with_relu, &d);
    return EG_OK;
}

static eg_status batch_norm_eval_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_plan_layout(p, y->in[0]);
    eg_value *in[5] = {eg_plan_read(p, y->in[0], layout)};
    for (int i = 1; i < 5; i++)
        in[i] = eg_plan_read(p, y->in[i], EG_ROWMAJOR);
    eg_value *out[] = {eg_plan_write(p, y, layout),
                       eg_plan_scratch(p, 2 * (size_t)y->shape.dim[1] * sizeof(float))};
    eg_step *s = eg_plan_step(p, y, batch_norm_eval_run, 5, in, 2, out);
    if (!s)
        return EG_ENOMEM;
    const eg_node *relu = eg_sole_relu(p, y);
    s->with_relu = relu != NULL;
    if (relu)
        eg_plan_fused(p, relu, out[0]);
    eg_plan_in_place(p, out[0], in[0]);
    return EG_OK;
}

/* Per sample and channel the sum over the image of dy z (weight) or of dy (bias). */
static eg_node *batch_norm_eval_norms(eg_graph *g, const eg_node *y, eg_node *dy, int wrt)
{
    if (wrt < 3)
        return NULL;
    return eg_bias_sample_norms(g, wrt == 3 ? eg_mul(g, dy, batch_norm_eval_z(g, y)) : dy);
}

static eg_node *batch_norm_eval_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {5, 4}}, {4, {3, 5, 3, 2}}, {4, {2, 19, 3, 3}}};
    if (i > 2)
        return NULL;
    eg_shape c = eg_dims(s[i].dim[1]);
    return eg_batch_norm_eval(g, eg_sample_input(g, s[i], -1, 1), eg_sample_input(g, c, -1, 1),
                              eg_sample_input(g, c, 0.5, 2), eg_sample_input(g, c, 0.5, 1.5),
                              eg_sample_input(g, c, -1, 1), 1e-5);
}

const eg_op eg_op_batch_norm_eval = {.name = "batch_norm_eval",
                                     .vjp = batch_norm_eval_vjp,
                                     .reference = batch_norm_eval_reference,
                                     .emit = batch_norm_eval_emit,
                                     .sample = batch_norm_eval_sample,
                                     .sample_norms = batch_norm_eval_norms};

eg_node *eg_batch_norm_eval(eg_graph *g, eg_node *x, eg_node *mean, eg_node *var,
                            eg_node *weight, eg_node *bias, double eps)
{
    eg_node *in[] = {x, mean, var, weight, bias};
    if (!eg_check_channels(g, "batch_norm_eval", x, 4, in + 1))
        return g->poison;
    return eg_graph_record(g, &eg_op_batch_norm_eval, x->shape, &eps, sizeof eps, 5, in);
}
