/* sum.c - sum over the axes of a bit mask, which become 1; dx = dy repeated.
 * SPDX-License-Identifier: Apache-2.0
 *
 * EG_ALL_AXES gives a scalar of rank 0.
 */
#include "engine/op/view.h"

#include <string.h>

static bool sum_has(unsigned axes, int i)
{
    return axes >> i & 1u;
}

eg_shape eg_reduced_shape(eg_shape s, unsigned axes)
{
    if (axes == EG_ALL_AXES)
        return eg_scalar();
    for (int i = 0; i < s.rank; i++)
        if (sum_has(axes, i))
            s.dim[i] = 1;
    return s;
}

int64_t eg_reduced_index(eg_shape s, unsigned axes, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int k = s.rank - 1; k >= 0; k--) {
        if (!sum_has(axes, k)) {
            at += i % s.dim[k] * stride;
            stride *= s.dim[k];
        }
        i /= s.dim[k];
    }
    return at;
}

bool eg_axes_fit(eg_graph *g, const char *op, const eg_node *x, unsigned axes)
{
    if (eg_is_poison(x))
        return false;
    for (int i = x->shape.rank; axes != EG_ALL_AXES && i < 32; i++)
        if (sum_has(axes, i)) {
            eg_poison(g, EG_ESHAPE, "%s: axis %d of a tensor with %d axes", op, i,
                      x->shape.rank);
            return false;
        }
    return true;
}

/* One pass reduces the middle of [outer, n, inner]. */
typedef struct sum_pass {
    eg_reducer rows, columns;
    int64_t outer, n, inner;
} sum_pass;

static eg_status sum_run(const eg_step *s)
{
    const sum_pass *d = s->args;
    const float *x = s->in[0]->data;
    float *y = s->out[0]->data;
    if (d->inner == 1)
        d->rows(y, x, d->outer, d->n);
    else
        for (int64_t i = 0; i < d->outer; i++)
            d->columns(y + i * d->inner, x + i * d->n * d->inner, d->n, d->inner);
    return EG_OK;
}

static eg_status sum_emit_pass(eg_plan *p, const eg_node *y, sum_pass pass, eg_value **from)
{
    int64_t size = pass.outer * pass.inner;
    eg_value *to = size == eg_shape_size(y->shape)
                       ? eg_plan_write(p, y, EG_ROWMAJOR)
                       : eg_plan_scratch(p, (size_t)size * sizeof(float));
    eg_step *s = eg_plan_step(p, y, sum_run, 1, from, 1, &to);
    sum_pass *args = eg_plan_alloc(p, sizeof *args);
    if (!s || !args)
        return EG_ENOMEM;
    *args = pass;
    s->args = args;
    *from = to;
    return EG_OK;
}

eg_status eg_emit_reduction(eg_plan *p, const eg_node *y, unsigned axes, eg_reducer rows,
                            eg_reducer columns)
{
    eg_shape s = y->in[0]->shape;
    if (eg_shape_size(s) == eg_shape_size(y->shape))
        return eg_plan_alias(p, y, y->in[0]);
    eg_value *from = eg_plan_read(p, y->in[0], EG_ROWMAJOR);
    int64_t outer = eg_shape_size(s), inner = 1;
    for (int i = s.rank - 1; i >= 0;) { /* neighbours go together, the innermost first */
        bool reduced = sum_has(axes, i);
        int64_t n = 1;
        for (; i >= 0 && sum_has(axes, i) == reduced; i--)
            n *= s.dim[i];
        outer /= n;
        if (!reduced)
            inner *= n;
        else if (n > 1)
            EG_TRY(sum_emit_pass(p, y, (sum_pass){rows, columns, outer, n, inner}, &from));
    }
    return EG_OK;
}

static eg_node *sum_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_expand(g, dy, y->in[0]->shape);
}

static void sum_reference(const eg_node *y, const double *const *in, double *out)
{
    unsigned axes = *(const unsigned *)y->attr;
    eg_shape s = y->in[0]->shape;
    memset(out, 0, (size_t)eg_shape_size(y->shape) * sizeof *out);
    for (int64_t i = 0; i < eg_shape_size(s); i++)
        out[eg_reduced_index(s, axes, i)] += in[0][i];
}

static eg_status sum_emit(eg_plan *p, const eg_node *y)
{
    const eg_kernels *k = eg_plan_kernels(p);
    return eg_emit_reduction(p, y, *(const unsigned *)y->attr, k->row_sum, k->column_sum);
}

static eg_node *sum_sample(eg_graph *g, int i)
{
    static const unsigned axes[] = {EG_ALL_AXES, EG_AXIS(1), EG_AXIS(0) | EG_AXIS(2),
                                    EG_AXIS(1) | EG_AXIS(2)};
    return i < 4 ? eg_sum(g, eg_sample_input(g, eg_dims(3, 4, 5), -1, 1), axes[i]) : NULL;
}

const eg_op eg_op_sum = {.name = "sum",
                         .vjp = sum_vjp,
                         .reference = sum_reference,
                         .emit = sum_emit,
                         .sample = sum_sample};

eg_node *eg_sum(eg_graph *g, eg_node *x, unsigned axes)
{
    if (!eg_axes_fit(g, "sum", x, axes))
        return g->poison;
    if (axes == 0)
        return x;
    return eg_graph_record(g, &eg_op_sum, eg_reduced_shape(x->shape, axes), &axes, sizeof axes,
                           1, &x);
}
