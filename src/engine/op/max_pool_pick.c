/* max_pool_pick.c - v at the first maximum of each window of x.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *max_pool_pick_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    return wrt == 1 ? eg_max_pool_back(g, y->in[0], dy, *(const eg_window *)y->attr) : NULL;
}

static void max_pool_pick_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_pool_dims d = eg_pool_dims_of(NULL, y->in[0]->shape, y->shape, y->attr, EG_ROWMAJOR);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[1][eg_pool_argmax(&d, in[0], i)];
}

static eg_status max_pool_pick_run(const eg_step *s)
{
    const eg_node *y = s->node;
    eg_pool_dims d =
        eg_pool_dims_of(s->k, y->in[0]->shape, y->shape, y->attr, s->out[0]->layout);
    s->k->max_pool_pick(s->out[0]->data, s->in[0]->data, s->in[1]->data, &d);
    return EG_OK;
}

static eg_status max_pool_pick_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_plan_layout(p, y->in[0]);
    eg_value *in[] = {eg_plan_read(p, y->in[0], layout), eg_plan_read(p, y->in[1], layout)};
    eg_value *out = eg_plan_write(p, y, layout);
    return eg_plan_step(p, y, max_pool_pick_run, 2, in, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *max_pool_pick_sample(eg_graph *g, int i)
{
    if (i > 0)
        return NULL;
    eg_node *x = eg_sample_input(g, eg_dims(2, 3, 6, 6), -1, 1);
    eg_node *v = eg_sample_input(g, eg_dims(2, 3, 6, 6), -1, 1);
    return eg_max_pool_pick(g, x, v, (eg_window){.kernel = 3, .stride = 2, .padding = 1});
}

const eg_op eg_op_max_pool_pick = {.name = "max_pool_pick",
                                   .vjp = max_pool_pick_vjp,
                                   .reference = max_pool_pick_reference,
                                   .emit = max_pool_pick_emit,
                                   .sample = max_pool_pick_sample};

eg_node *eg_max_pool_pick(eg_graph *g, eg_node *x, eg_node *v, eg_window win)
{
    eg_shape y;
    win.groups = win.output_padding = 0;
    if (!eg_pool_shape(g, "max_pool_pick", x, &win, &y) || eg_is_poison(v))
        return g->poison;
    if (!eg_shape_equal(x->shape, v->shape))
        return eg_poison(g, EG_ESHAPE, "max_pool_pick: values and input differ in shape");
    return eg_graph_record(g, &eg_op_max_pool_pick, y, &win, sizeof win, 2,
                           (eg_node *[]){x, v});
}
