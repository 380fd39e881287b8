/* sum_pool.c - the sum over windows of each channel; padding counts as zeros.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *sum_pool_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    const eg_shape *x = &y->in[0]->shape;
    return eg_sum_pool_back(g, dy, *(const eg_window *)y->attr, x->dim[2], x->dim[3]);
}

typedef struct sum_pool_sum {
    const double *x;
    double *y;
} sum_pool_sum;

static void sum_pool_add(void *context, int64_t in, int64_t out)
{
    sum_pool_sum *s = context;
    s->y[out] += s->x[in];
}

static void sum_pool_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_pool_dims d = eg_pool_dims_of(NULL, y->in[0]->shape, y->shape, y->attr, EG_ROWMAJOR);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = 0;
    eg_pool_visit(&d, sum_pool_add, &(sum_pool_sum){in[0], out});
}

static eg_status sum_pool_run(const eg_step *s)
{
    const eg_node *y = s->node;
    eg_pool_dims d =
        eg_pool_dims_of(s->k, y->in[0]->shape, y->shape, y->attr, s->out[0]->layout);
    s->k->sum_pool(s->out[0]->data, s->in[0]->data, 1, &d);
    return EG_OK;
}

static eg_status sum_pool_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, sum_pool_run, eg_plan_layout(p, y->in[0]));
}

static eg_node *sum_pool_sample(eg_graph *g, int i)
{
    return eg_sample_pool(g, i, eg_sum_pool);
}

const eg_op eg_op_sum_pool = {.name = "sum_pool",
                              .vjp = sum_pool_vjp,
                              .reference = sum_pool_reference,
                              .emit = sum_pool_emit,
                              .sample = sum_pool_sample};

eg_node *eg_sum_pool(eg_graph *g, eg_node *x, eg_window win)
{
    eg_shape y;
    win.groups = win.output_padding = 0;
    if (!eg_pool_shape(g, "sum_pool", x, &win, &y))
        return g->poison;
    return eg_graph_record(g, &eg_op_sum_pool, y, &win, sizeof win, 1, &x);
}
