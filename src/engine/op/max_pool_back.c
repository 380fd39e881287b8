/* max_pool_back.c - dy at the first maximum of each window of x, zero elsewhere.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

/* Linear in dy; the places of the maxima do not move. */
static eg_node *max_pool_back_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    return wrt == 1 ? eg_max_pool_pick(g, y->in[0], dy, *(const eg_window *)y->attr) : NULL;
}

static void max_pool_back_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_pool_dims d = eg_pool_dims_of(NULL, y->shape, y->in[1]->shape, y->attr, EG_ROWMAJOR);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = 0;
    for (int64_t i = 0; i < eg_shape_size(y->in[1]->shape); i++)
        out[eg_pool_argmax(&d, in[0], i)] += in[1][i];
}

static eg_status max_pool_back_share(const eg_step *s, const eg_team_part *part)
{
    int64_t in, out;
    const eg_node *y = s->node;
    eg_pool_dims d =
        eg_pool_dims_of(s->k, y->shape, y->in[1]->shape, y->attr, s->out[0]->layout);
    eg_pool_part(part, &d, &in, &out);
    s->k->max_pool_back(s->out[0]->data + in, s->in[0]->data + in, s->in[1]->data + out,
                        s->with_relu, &d);
    return EG_OK;
}

bool eg_pool_gradient_fits(const eg_plan *p, const eg_node *y)
{
    const eg_node *by[2];
    int n = eg_plan_readers(p, y, by);
    bool alone = n == 1 || (n == 2 && by[1] && by[1]->op == &eg_op_channel_sum);
    if (!alone || !by[0] || by[0]->op != &eg_op_conv2d_back_weights || by[0]->in[1] != y ||
        by[0]->in[0] == y || !eg_pool_halves(y->attr, y->shape))
        return false;
    eg_conv c = eg_conv_of(by[0]->in[0]->shape, by[0]->shape, y->shape, by[0]->attr);
    return eg_pooled_takes(eg_plan_kernels(p), &c);
}

bool eg_pool_gradient_fuses(const eg_plan *p, const eg_node *y)
{
    return eg_plan_left(p, y->in[0]) && eg_pool_gradient_fits(p, y);
}

/* The gradient of the relu that made x, when nobody else reads y: what comes to a place then
 * depends on its maximum being positive, which is known here. */
static const eg_node *max_pool_back_relu(const eg_plan *p, const eg_node *y)
{
    const eg_node *relu = eg_plan_sole_reader(p, y, &eg_op_leaky_relu_back);
    bool fits = relu && relu->in[0] == y->in[0] && relu->in[1] == y;
    return fits && eg_rectify_slope(relu) == 0 ? relu : NULL;
}

static eg_status max_pool_back_emit(eg_plan *p, const eg_node *y)
{
    if (eg_pool_gradient_fuses(p, y)) {
        eg_plan_skip(p, y);
        return EG_OK;
    }
    eg_layout layout = eg_plan_layout(p, y->in[0]);
    eg_value *in[] = {eg_plan_read(p, y->in[0], layout), eg_plan_read(p, y->in[1], layout)};
    eg_value *out = eg_plan_write(p, y, layout);
    eg_step *s = eg_plan_step(p, y, NULL, 2, in, 1, &out);
    EG_TRY(eg_plan_share(s, max_pool_back_share));
    const eg_node *relu = max_pool_back_relu(p, y);
    s->with_relu = relu != NULL;
    if (relu)
        eg_plan_fused(p, relu, out);
    return EG_OK;
}

static eg_node *max_pool_back_sample(eg_graph *g, int i)
{
    if (i > 0)
        return NULL;
    eg_node *x = eg_sample_input(g, eg_dims(2, 3, 6, 6), -1, 1);
    eg_node *dy = eg_sample_input(g, eg_dims(2, 3, 3, 3), -1, 1);
    return eg_max_pool_back(g, x, dy, (eg_window){.kernel = 2, .stride = 2});
}

const eg_op eg_op_max_pool_back = {.name = "max_pool_back",
                                   .vjp = max_pool_back_vjp,
                                   .reference = max_pool_back_reference,
                                   .emit = max_pool_back_emit,
                                   .sample = max_pool_back_sample};

eg_node *eg_max_pool_back(eg_graph *g, eg_node *x, eg_node *dy, eg_window win)
{
    eg_shape y;
    win.groups = win.output_padding = 0;
    if (!eg_pool_shape(g, "max_pool_back", x, &win, &y) || eg_is_poison(dy))
        return g->poison;
    if (!eg_shape_equal(y, dy->shape))
        return eg_poison(g, EG_ESHAPE, "max_pool_back: the gradient has another shape");
    return eg_graph_record(g, &eg_op_max_pool_back, x->shape, &win, sizeof win, 2,
                           (eg_node *[]){x, dy});
}
