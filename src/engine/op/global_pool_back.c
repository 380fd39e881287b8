/* global_pool_back.c - dy / (h w) at every place: the gradient of global_pool.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *global_pool_back_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)y, (void)wrt; /* the mean over the image, of a sum over it: both scale by 1 / (h w) */
    return eg_global_pool(g, dy);
}

static void global_pool_back_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t area = y->shape.dim[2] * y->shape.dim[3];
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][i / area] / (double)area;
}

static eg_status global_pool_back_run(const eg_step *s)
{
    eg_channels d = eg_channels_of(s->k, s->node, s->out[0]->layout);
    s->k->spread(s->out[0]->data, s->in[0]->data, 1 / (float)d.area, &d);
    return EG_OK;
}

static eg_status global_pool_back_emit(eg_plan *p, const eg_node *y)
{
    eg_value *dy = eg_plan_read(p, y->in[0], EG_ROWMAJOR);
    eg_value *out =
        eg_plan_write(p, y, eg_plan_blockable(p, y->shape) ? EG_BLOCKED : EG_ROWMAJOR);
    return eg_plan_step(p, y, global_pool_back_run, 1, &dy, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *global_pool_back_sample(eg_graph *g, int i)
{
    return i > 1 ? NULL
                 : eg_global_pool_back(g, eg_sample_input(g, eg_dims(2, 3 + 16 * i), -1, 1), 3,
                                       2);
}

const eg_op eg_op_global_pool_back = {.name = "global_pool_back",
                                      .vjp = global_pool_back_vjp,
                                      .reference = global_pool_back_reference,
                                      .emit = global_pool_back_emit,
                                      .sample = global_pool_back_sample};

eg_node *eg_global_pool_back(eg_graph *g, eg_node *dy, int64_t h, int64_t w)
{
    if (eg_is_poison(dy))
        return g->poison;
    if (dy->shape.rank != 2)
        return eg_poison(g, EG_ESHAPE, "global_pool_back: the gradient has %d axes, not 2",
                         dy->shape.rank);
    return eg_graph_record1(g, &eg_op_global_pool_back,
                            eg_dims(dy->shape.dim[0], dy->shape.dim[1], h, w), dy);
}
