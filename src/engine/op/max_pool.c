/* max_pool.c - the maximum over windows of each channel.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *max_pool_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_max_pool_back(g, y->in[0], dy, *(const eg_window *)y->attr);
}

static void max_pool_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_pool_dims d = eg_pool_dims_of(NULL, y->in[0]->shape, y->shape, y->attr, EG_ROWMAJOR);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][eg_pool_argmax(&d, in[0], i)];
}

static eg_status max_pool_share(const eg_step *s, const eg_team_part *part)
{
    int64_t in, out;
    const eg_node *y = s->node;
    eg_pool_dims d =
        eg_pool_dims_of(s->k, y->in[0]->shape, y->shape, y->attr, s->out[0]->layout);
    eg_pool_part(part, &d, &in, &out);
    s->k->max_pool(s->out[0]->data + out, s->in[0]->data + in, &d);
    return EG_OK;
}

static eg_status max_pool_emit(eg_plan *p, const eg_node *y)
{
    return eg_share_one(p, y, max_pool_share, eg_plan_layout(p, y->in[0]));
}

static eg_node *max_pool_sample(eg_graph *g, int i)
{
    return eg_sample_pool(g, i, eg_max_pool);
}

const eg_op eg_op_max_pool = {.name = "max_pool",
                              .vjp = max_pool_vjp,
                              .reference = max_pool_reference,
                              .emit = max_pool_emit,
                              .sample = max_pool_sample};

eg_node *eg_max_pool(eg_graph *g, eg_node *x, eg_window win)
{
    eg_shape y;
    win.groups = win.output_padding = 0;
    if (!eg_pool_shape(g, "max_pool", x, &win, &y))
        return g->poison;
    return eg_graph_record(g, &eg_op_max_pool, y, &win, sizeof win, 1, &x);
}
