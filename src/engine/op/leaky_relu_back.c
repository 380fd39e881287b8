/* leaky_relu_back.c - dx = dy where y > 0, else slope dy: the gradient of leaky_relu.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It is linear in dy and piecewise constant in y, so its own gradient is itself for dy and
 * nothing for y.
 */
#include "engine/op/op.h"

static eg_node *leaky_relu_back_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    return wrt == 0 ? NULL : eg_leaky_relu_back(g, y->in[0], dy, eg_rectify_slope(y));
}

static void leaky_relu_back_reference(const eg_node *y, const double *const *in, double *out)
{
    double slope = eg_rectify_slope(y);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][i] > 0 ? in[1][i] : slope * in[1][i];
}

static eg_status leaky_relu_back_share(const eg_step *s, const eg_team_part *part)
{
    eg_range r = eg_part_floats(part, s->out[0]->bytes / sizeof(float));
    s->k->rectify_back(s->out[0]->data + r.from, s->in[0]->data + r.from,
                       s->in[1]->data + r.from, (float)eg_rectify_slope(s->node),
                       (size_t)(r.to - r.from));
    return EG_OK;
}

/* A relu's gradient that only one batch norm reads: its two backward passes mask dy themselves.
 * So does a max pooling's gradient that is taken into a convolution's. */
static bool leaky_relu_back_fuses(const eg_plan *p, const eg_node *y)
{
    const eg_node *by[2], *pool = eg_plan_sole_reader(p, y, &eg_op_max_pool_back);
    if (pool && eg_rectify_slope(y) == 0 && pool->in[1] == y && pool->in[0] != y)
        return eg_pool_gradient_fuses(p, pool);
    if (eg_rectify_slope(y) != 0 || eg_plan_readers(p, y, by) != 2 || !by[0] || !by[1])
        return false;
    return by[0]->op == &eg_op_batch_norm_sums && by[0]->in[2] == y &&
           by[1]->op == &eg_op_batch_norm_back && by[1]->in[3] == y;
}

static eg_status leaky_relu_back_emit(eg_plan *p, const eg_node *y)
{
    if (leaky_relu_back_fuses(p, y)) {
        eg_plan_skip(p, y);
        return EG_OK;
    }
    eg_layout layout = eg_elementwise_layout(p, y, true);
    eg_value *in[] = {eg_plan_read(p, y->in[0], layout), eg_plan_read(p, y->in[1], layout)};
    eg_value *out = eg_plan_write(p, y, layout);
    eg_plan_in_place(p, out, in[1]);
    eg_plan_in_place(p, out, in[0]);
    return eg_plan_share(eg_plan_step(p, y, NULL, 2, in, 1, &out), leaky_relu_back_share);
}

static eg_node *leaky_relu_back_sample(eg_graph *g, int i)
{
    if (i >= 2)
        return NULL;
    eg_node *y = eg_sample_input(g, eg_dims(4, 5 + i), -1, 1);
    return eg_leaky_relu_back(g, y, eg_sample_input(g, eg_dims(4, 5 + i), -1, 1), i ? 0.2 : 0);
}

const eg_op eg_op_leaky_relu_back = {.name = "leaky_relu_back",
                                     .vjp = leaky_relu_back_vjp,
                                     .reference = leaky_relu_back_reference,
                                     .emit = leaky_relu_back_emit,
                                     .sample = leaky_relu_back_sample};

eg_node *eg_leaky_relu_back(eg_graph *g, eg_node *y, eg_node *dy, double slope)
{
    if (eg_is_poison(y) || eg_is_poison(dy))
        return g->poison;
    if (!eg_shape_equal(y->shape, dy->shape)) {
        char a[64], b[64];
        eg_shape_print(y->shape, a);
        eg_shape_print(dy->shape, b);
        return eg_poison(g, EG_ESHAPE, "leaky_relu_back: y is %s, dy is %s", a, b);
    }
    return eg_graph_record(g, &eg_op_leaky_relu_back, y->shape, &slope, sizeof slope, 2,
                           (eg_node *[]){y, dy});
}
