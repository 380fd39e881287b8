/* leaky_relu.c - y = x where x > 0, else slope x; relu is slope 0.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

double eg_rectify_slope(const eg_node *y)
{
    return *(const double *)y->attr;
}

static eg_node *leaky_relu_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt; /* y has the sign of x, so x itself need not be kept */
    return eg_leaky_relu_back(g, y, dy, eg_rectify_slope(y));
}

static void leaky_relu_reference(const eg_node *y, const double *const *in, double *out)
{
    double slope = eg_rectify_slope(y);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][i] > 0 ? in[0][i] : slope * in[0][i];
}

static eg_status leaky_relu_share(const eg_step *s, const eg_team_part *part)
{
    eg_range r = eg_part_floats(part, s->out[0]->bytes / sizeof(float));
    s->k->rectify(s->out[0]->data + r.from, s->in[0]->data + r.from,
                  (float)eg_rectify_slope(s->node), (size_t)(r.to - r.from));
    return EG_OK;
}

static eg_status leaky_relu_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_elementwise_layout(p, y, true);
    eg_value *x = eg_plan_read(p, y->in[0], layout), *out = eg_plan_write(p, y, layout);
    eg_plan_in_place(p, out, x);
    return eg_plan_share(eg_plan_step(p, y, NULL, 1, &x, 1, &out), leaky_relu_share);
}

static eg_node *leaky_relu_sample(eg_graph *g, int i)
{
    return i < 2
               ? eg_leaky_relu(g, eg_sample_input(g, eg_dims(3, 5 + i), -1, 1), i ? 0.2 : 0.01)
               : NULL;
}

const eg_op eg_op_leaky_relu = {.name = "leaky_relu",
                                .vjp = leaky_relu_vjp,
                                .reference = leaky_relu_reference,
                                .emit = leaky_relu_emit,
                                .sample = leaky_relu_sample};

eg_node *eg_leaky_relu(eg_graph *g, eg_node *x, double slope)
{
    if (slope < 0)
        return eg_poison(g, EG_EINVAL, "leaky_relu: slope %g is negative", slope);
    return eg_graph_record(g, &eg_op_leaky_relu, x->shape, &slope, sizeof slope, 1, &x);
}
