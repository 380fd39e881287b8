/* unslice.c - x within zeros along an axis: the gradient of slice, and slice is its gradient.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

#include <string.h>

typedef struct unslice {
    int64_t axis, from;
} unslice;

static eg_node *unslice_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    const unslice *a = y->attr;
    return eg_slice(g, dy, (int)a->axis, a->from, y->in[0]->shape.dim[a->axis]);
}

static void unslice_reference(const eg_node *y, const double *const *in, double *out)
{
    const unslice *a = y->attr;
    eg_around from = eg_around_axis(y->in[0]->shape, (int)a->axis);
    int64_t n = y->shape.dim[a->axis], row = from.n * from.inner;
    memset(out, 0, (size_t)eg_shape_size(y->shape) * sizeof *out);
    for (int64_t i = 0; i < from.outer; i++)
        memcpy(out + (i * n + a->from) * from.inner, in[0] + i * row,
               (size_t)row * sizeof *out);
}

static eg_status unslice_run(const eg_step *s)
{
    const unslice *a = s->node->attr;
    eg_around from = eg_around_axis(s->node->in[0]->shape, (int)a->axis);
    int64_t n = s->node->shape.dim[a->axis], row = from.n * from.inner;
    memset(s->out[0]->data, 0, s->out[0]->bytes);
    for (int64_t i = 0; i < from.outer; i++)
        memcpy(s->out[0]->data + (i * n + a->from) * from.inner, s->in[0]->data + i * row,
               (size_t)row * sizeof(float));
    return EG_OK;
}

static eg_status unslice_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, unslice_run, EG_ROWMAJOR);
}

static eg_node *unslice_sample(eg_graph *g, int i)
{
    return i < 3 ? eg_unslice(g, eg_sample_input(g, eg_dims(2, 3, 4), -1, 1), i, 1, 6) : NULL;
}

const eg_op eg_op_unslice = {.name = "unslice",
                             .vjp = unslice_vjp,
                             .reference = unslice_reference,
                             .emit = unslice_emit,
                             .sample = unslice_sample};

eg_node *eg_unslice(eg_graph *g, eg_node *x, int axis, int64_t from, int64_t size)
{
    if (!eg_axis_fits(g, "unslice", x, axis))
        return g->poison;
    eg_shape s = x->shape;
    if (from < 0 || s.dim[axis] > size || from > size - s.dim[axis])
        return eg_poison(g, EG_ESHAPE, "unslice: %lld places at %lld of an axis of %lld",
                         (long long)s.dim[axis], (long long)from, (long long)size);
    if (size == s.dim[axis])
        return x;
    s.dim[axis] = size;
    unslice a = {axis, from};
    return eg_graph_record(g, &eg_op_unslice, s, &a, sizeof a, 1, &x);
}
