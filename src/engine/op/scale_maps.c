/* scale_maps.c - every map of a sample times its own number: y[n, c] = x[n, c] s[n, c].
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *scale_maps_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    if (wrt == 0)
        return eg_scale_maps(g, dy, y->in[1]);
    double area = (double)(y->shape.dim[2] * y->shape.dim[3]);
    return eg_affine(g, eg_global_pool(g, eg_mul(g, dy, y->in[0])), area, 0);
}

static void scale_maps_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t area = y->shape.dim[2] * y->shape.dim[3];
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = in[0][i] * in[1][i / area];
}

static eg_status scale_maps_run(const eg_step *s)
{
    const eg_shape *x = &s->node->shape;
    if (s->out[0]->layout == EG_BATCHED) {
        s->k->scale_maps_batched(s->out[0]->data, s->in[0]->data, s->in[1]->data, x->dim[0],
                                 x->dim[1], x->dim[2] * x->dim[3],
                                 eg_batch_lanes(s->k, x->dim[0]));
        return EG_OK;
    }
    eg_channels d = eg_channels_of(s->k, s->node, s->out[0]->layout);
    s->k->scale_maps(s->out[0]->data, s->in[0]->data, s->in[1]->data, &d);
    return EG_OK;
}

static eg_status scale_maps_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_plan_layout(p, y->in[0]);
    eg_value *in[] = {eg_plan_read(p, y->in[0], layout),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    eg_value *out = eg_plan_write(p, y, layout);
    eg_plan_in_place(p, out, in[0]);
    return eg_plan_step(p, y, scale_maps_run, 2, in, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *scale_maps_sample(eg_graph *g, int i)
{
    if (i > 1)
        return NULL;
    int64_t c = i ? 18 : 3;
    return eg_scale_maps(g, eg_sample_input(g, eg_dims(2, c, 3, 2), -1, 1),
                         eg_sample_input(g, eg_dims(2, c), -1, 1));
}

const eg_op eg_op_scale_maps = {.name = "scale_maps",
                                .vjp = scale_maps_vjp,
                                .reference = scale_maps_reference,
                                .emit = scale_maps_emit,
                                .sample = scale_maps_sample};

eg_node *eg_scale_maps(eg_graph *g, eg_node *x, eg_node *s)
{
    if (eg_is_poison(x) || eg_is_poison(s))
        return g->poison;
    if (x->shape.rank != 4 || s->shape.rank != 2 || s->shape.dim[0] != x->shape.dim[0] ||
        s->shape.dim[1] != x->shape.dim[1]) {
        char a[64], b[64];
        eg_shape_print(x->shape, a);
        eg_shape_print(s->shape, b);
        return eg_poison(g, EG_ESHAPE, "scale_maps: %s and %s do not fit", a, b);
    }
    return eg_graph_record2(g, &eg_op_scale_maps, x->shape, x, s);
}
