/* gather.c - y[.., i, ..] = x[.., index[.., i, ..], ..] along an axis; dx is dy scattered.
 * SPDX-License-Identifier: Apache-2.0
 *
 * index has the shape of x but for that axis, and the shape of y altogether.
 */
#include "engine/op/view.h"

eg_status eg_index_of(const char *op, float value, int64_t n, int64_t *out)
{
    if (!(value >= 0 && value < (float)n))
        return eg_fail(EG_EINVAL, "%s: index %g is outside [0, %lld)", op, (double)value,
                       (long long)n);
    *out = (int64_t)value;
    if ((float)*out != value)
        return eg_fail(EG_EINVAL, "%s: index %g is not a whole number", op, (double)value);
    return EG_OK;
}

int64_t eg_reference_index(double value, int64_t n)
{
    EG_ASSERT(value >= 0 && value < (double)n && value == (double)(int64_t)value);
    return (int64_t)value;
}

static eg_node *gather_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    int axis = *(const int *)y->attr;
    return wrt == 0 ? eg_scatter(g, dy, y->in[1], axis, y->in[0]->shape.dim[axis]) : NULL;
}

static void gather_reference(const eg_node *y, const double *const *in, double *out)
{
    int axis = *(const int *)y->attr;
    eg_around d = eg_around_axis(y->shape, axis);
    int64_t size = y->in[0]->shape.dim[axis];
    for (int64_t i = 0; i < d.outer * d.n * d.inner; i++) {
        int64_t o = i / (d.n * d.inner);
        out[i] = in[0][(o * size + eg_reference_index(in[1][i], size)) * d.inner + i % d.inner];
    }
}

static eg_status gather_run(const eg_step *s)
{
    int axis = *(const int *)s->node->attr;
    eg_around d = eg_around_axis(s->node->shape, axis);
    int64_t size = s->node->in[0]->shape.dim[axis], at = 0;
    const float *x = s->in[0]->data, *index = s->in[1]->data;
    float *y = s->out[0]->data;
    for (int64_t o = 0; o < d.outer; o++, x += size * d.inner)
        for (int64_t i = 0; i < d.n; i++)
            for (int64_t j = 0; j < d.inner; j++) {
                EG_TRY(eg_index_of("gather", *index++, size, &at));
                *y++ = x[at * d.inner + j];
            }
    return EG_OK;
}

static eg_status gather_emit(eg_plan *p, const eg_node *y)
{
    eg_value *in[] = {eg_plan_read(p, y->in[0], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_step(p, y, gather_run, 2, in, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *gather_sample(eg_graph *g, int i)
{
    if (i >= 3)
        return NULL;
    eg_shape s = eg_dims(3, 4, 5), at = s;
    at.dim[i] = i == 1 ? 1 : 6;
    return eg_gather(g, eg_sample_input(g, s, -1, 1), eg_sample_index(g, at, s.dim[i]), i);
}

const eg_op eg_op_gather = {.name = "gather",
                            .vjp = gather_vjp,
                            .reference = gather_reference,
                            .emit = gather_emit,
                            .sample = gather_sample};

eg_node *eg_gather(eg_graph *g, eg_node *x, eg_node *index, int axis)
{
    if (eg_is_poison(index) || !eg_axis_fits(g, "gather", x, axis))
        return g->poison;
    eg_shape s = index->shape;
    if (s.rank == x->shape.rank)
        s.dim[axis] = x->shape.dim[axis];
    if (!eg_shape_equal(s, x->shape)) {
        char a[64], b[64];
        eg_shape_print(x->shape, a);
        eg_shape_print(index->shape, b);
        return eg_poison(g, EG_ESHAPE, "gather: x %s and index %s differ beside axis %d", a, b,
                         axis);
    }
    return eg_graph_record(g, &eg_op_gather, index->shape, &axis, sizeof axis, 2,
                           (eg_node *[]){x, index});
}
