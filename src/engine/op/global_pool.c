/* global_pool.c - the mean over height and width: [n, c].
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *global_pool_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    const eg_shape *x = &y->in[0]->shape;
    return eg_global_pool_back(g, dy, x->dim[2], x->dim[3]);
}

static void global_pool_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_channels d = eg_channels_of(NULL, y->in[0], EG_ROWMAJOR);
    for (int64_t i = 0; i < d.n * d.c; i++) {
        out[i] = 0;
        for (int64_t k = 0; k < d.area; k++)
            out[i] += in[0][i * d.area + k] / (double)d.area;
    }
}

static eg_status global_pool_run(const eg_step *s)
{
    eg_channels d = eg_channels_of(s->k, s->node->in[0], s->in[0]->layout);
    s->k->sample_channel_sum(s->out[0]->data, s->in[0]->data, &d);
    s->k->affine(s->out[0]->data, s->out[0]->data, 1 / (float)d.area, 0, (size_t)(d.n * d.c));
    return EG_OK;
}

static eg_status global_pool_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_plan_layout(p, y->in[0]);
    eg_value *x = eg_plan_read(p, y->in[0], layout == EG_BATCHED ? EG_ROWMAJOR : layout);
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_step(p, y, global_pool_run, 1, &x, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *global_pool_sample(eg_graph *g, int i)
{
    return i > 1 ? NULL
                 : eg_global_pool(g, eg_sample_input(g, eg_dims(2, 3 + 16 * i, 3, 5), -1, 1));
}

const eg_op eg_op_global_pool = {.name = "global_pool",
                                 .vjp = global_pool_vjp,
                                 .reference = global_pool_reference,
                                 .emit = global_pool_emit,
                                 .sample = global_pool_sample};

eg_node *eg_global_pool(eg_graph *g, eg_node *x)
{
    if (eg_is_poison(x))
        return g->poison;
    if (x->shape.rank != 4)
        return eg_poison(g, EG_ESHAPE, "global_pool: the input has %d axes, not 4",
                         x->shape.rank);
    return eg_graph_record1(g, &eg_op_global_pool, eg_dims(x->shape.dim[0], x->shape.dim[1]),
                            x);
}
