/* scatter.c - adds x[.., i, ..] at index[.., i, ..] of an axis: the gradient of gather.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

#include <string.h>

static eg_node *scatter_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    return wrt == 0 ? eg_gather(g, dy, y->in[1], *(const int *)y->attr) : NULL;
}

static void scatter_reference(const eg_node *y, const double *const *in, double *out)
{
    int axis = *(const int *)y->attr;
    eg_around d = eg_around_axis(y->in[0]->shape, axis);
    int64_t size = y->shape.dim[axis];
    memset(out, 0, (size_t)eg_shape_size(y->shape) * sizeof *out);
    for (int64_t i = 0; i < d.outer * d.n * d.inner; i++) {
        int64_t o = i / (d.n * d.inner);
        out[(o * size + eg_reference_index(in[1][i], size)) * d.inner + i % d.inner] +=
            in[0][i];
    }
}

static eg_status scatter_run(const eg_step *s)
{
    int axis = *(const int *)s->node->attr;
    eg_around d = eg_around_axis(s->node->in[0]->shape, axis);
    int64_t size = s->node->shape.dim[axis], at = 0;
    const float *x = s->in[0]->data, *index = s->in[1]->data;
    float *y = s->out[0]->data;
    memset(y, 0, s->out[0]->bytes);
    for (int64_t o = 0; o < d.outer; o++, y += size * d.inner)
        for (int64_t i = 0; i < d.n; i++)
            for (int64_t j = 0; j < d.inner; j++) {
                EG_TRY(eg_index_of("scatter", *index++, size, &at));
                y[at * d.inner + j] += *x++;
            }
    return EG_OK;
}

static eg_status scatter_emit(eg_plan *p, const eg_node *y)
{
    eg_value *in[] = {eg_plan_read(p, y->in[0], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_step(p, y, scatter_run, 2, in, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *scatter_sample(eg_graph *g, int i)
{
    if (i >= 3)
        return NULL;
    eg_shape s = eg_dims(3, 4, 5);
    return eg_scatter(g, eg_sample_input(g, s, -1, 1), eg_sample_index(g, s, 3 + i), i, 3 + i);
}

const eg_op eg_op_scatter = {.name = "scatter",
                             .vjp = scatter_vjp,
                             .reference = scatter_reference,
                             .emit = scatter_emit,
                             .sample = scatter_sample};

eg_node *eg_scatter(eg_graph *g, eg_node *x, eg_node *index, int axis, int64_t size)
{
    if (eg_is_poison(index) || !eg_axis_fits(g, "scatter", x, axis))
        return g->poison;
    if (!eg_shape_equal(x->shape, index->shape)) {
        char a[64], b[64];
        eg_shape_print(x->shape, a);
        eg_shape_print(index->shape, b);
        return eg_poison(g, EG_ESHAPE, "scatter: x is %s, index is %s", a, b);
    }
    eg_shape s = x->shape;
    s.dim[axis] = size;
    return eg_graph_record(g, &eg_op_scatter, s, &axis, sizeof axis, 2,
                           (eg_node *[]){x, index});
}
