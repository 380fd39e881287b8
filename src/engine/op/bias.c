/* bias.c - y = x + b[c] along axis 1.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *bias_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)y;
    return wrt == 0 ? dy : eg_channel_sum(g, dy);
}

static void bias_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_channels d = eg_channels_of(NULL, y, EG_ROWMAJOR);
    for (int64_t i = 0; i < d.n * d.c * d.area; i++)
        out[i] = in[0][i] + in[1][i / d.area % d.c];
}

static eg_status bias_run(const eg_step *s)
{
    eg_channels d = eg_channels_of(s->k, s->node, s->out[0]->layout);
    const float *ones = s->in[2]->data;
    s->k->channel_affine(s->out[0]->data, s->in[0]->data, ones, s->in[1]->data, NULL, false,
                         &d);
    return EG_OK;
}

static eg_status bias_run_ones(const eg_step *s)
{
    s->k->affine(s->out[0]->data, s->out[0]->data, 0, 1, s->out[0]->bytes / sizeof(float));
    return EG_OK;
}

static eg_status bias_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_plan_layout(p, y->in[0]);
    eg_value *ones = eg_plan_scratch(p, (size_t)y->shape.dim[1] * sizeof(float));
    if (!eg_plan_step(p, y, bias_run_ones, 0, NULL, 1, &ones))
        return EG_ENOMEM;
    eg_value *in[] = {eg_plan_read(p, y->in[0], layout), eg_plan_read(p, y->in[1], EG_ROWMAJOR),
                      ones};
    eg_value *out = eg_plan_write(p, y, layout);
    eg_plan_in_place(p, out, in[0]);
    return eg_plan_step(p, y, bias_run, 3, in, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *bias_sample_norms(eg_graph *g, const eg_node *y, eg_node *dy, int wrt)
{
    (void)y;
    return wrt == 1 ? eg_bias_sample_norms(g, dy) : NULL;
}

static eg_node *bias_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 4}}, {4, {2, 5, 3, 2}}, {4, {2, 18, 2, 2}}};
    return i > 2 ? NULL
                 : eg_bias(g, eg_sample_input(g, s[i], -1, 1),
                           eg_sample_input(g, eg_dims(s[i].dim[1]), -1, 1));
}

const eg_op eg_op_bias = {.name = "bias",
                          .vjp = bias_vjp,
                          .reference = bias_reference,
                          .emit = bias_emit,
                          .sample = bias_sample,
                          .sample_norms = bias_sample_norms};

eg_node *eg_bias(eg_graph *g, eg_node *x, eg_node *b)
{
    if (!eg_check_channels(g, "bias", x, 1, &b))
        return g->poison;
    return eg_graph_record2(g, &eg_op_bias, x->shape, x, b);
}
