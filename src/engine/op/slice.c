/* slice.c - count places of an axis, beginning with from; dx is dy within zeros.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

#include <string.h>

typedef struct slice {
    int64_t axis, from;
} slice;

eg_around eg_around_axis(eg_shape s, int axis)
{
    eg_around d = {1, s.dim[axis], 1};
    for (int i = 0; i < s.rank; i++)
        *(i < axis ? &d.outer : &d.inner) *= i == axis ? 1 : s.dim[i];
    return d;
}

bool eg_axis_fits(eg_graph *g, const char *op, const eg_node *x, int axis)
{
    if (eg_is_poison(x))
        return false;
    if (axis >= 0 && axis < x->shape.rank)
        return true;
    eg_poison(g, EG_ESHAPE, "%s: axis %d of a tensor with %d axes", op, axis, x->shape.rank);
    return false;
}

static eg_node *slice_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    const slice *a = y->attr;
    return eg_unslice(g, dy, (int)a->axis, a->from, y->in[0]->shape.dim[a->axis]);
}

static void slice_reference(const eg_node *y, const double *const *in, double *out)
{
    const slice *a = y->attr;
    eg_around to = eg_around_axis(y->shape, (int)a->axis);
    int64_t n = y->in[0]->shape.dim[a->axis], row = to.n * to.inner;
    for (int64_t i = 0; i < to.outer; i++)
        memcpy(out + i * row, in[0] + (i * n + a->from) * to.inner, (size_t)row * sizeof *out);
}

static eg_status slice_run(const eg_step *s)
{
    const slice *a = s->node->attr;
    eg_around to = eg_around_axis(s->node->shape, (int)a->axis);
    int64_t n = s->node->in[0]->shape.dim[a->axis], row = to.n * to.inner;
    for (int64_t i = 0; i < to.outer; i++)
        memcpy(s->out[0]->data + i * row, s->in[0]->data + (i * n + a->from) * to.inner,
               (size_t)row * sizeof(float));
    return EG_OK;
}

static eg_status slice_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, slice_run, EG_ROWMAJOR);
}

static eg_node *slice_sample(eg_graph *g, int i)
{
    return i < 3 ? eg_slice(g, eg_sample_input(g, eg_dims(4, 5, 6), -1, 1), i, 1, 2 + i) : NULL;
}

const eg_op eg_op_slice = {.name = "slice",
                           .vjp = slice_vjp,
                           .reference = slice_reference,
                           .emit = slice_emit,
                           .sample = slice_sample};

eg_node *eg_slice(eg_graph *g, eg_node *x, int axis, int64_t from, int64_t count)
{
    if (!eg_axis_fits(g, "slice", x, axis))
        return g->poison;
    eg_shape s = x->shape;
    if (from < 0 || count < 1 || count > s.dim[axis] || from > s.dim[axis] - count)
        return eg_poison(g, EG_ESHAPE, "slice: %lld places from %lld of an axis of %lld",
                         (long long)count, (long long)from, (long long)s.dim[axis]);
    if (count == s.dim[axis])
        return x;
    s.dim[axis] = count;
    slice a = {axis, from};
    return eg_graph_record(g, &eg_op_slice, s, &a, sizeof a, 1, &x);
}
