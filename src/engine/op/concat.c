/* concat.c - parts one after the other along an axis; each part's gradient is its slice of dy.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

#include <string.h>

static eg_node *concat_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    int axis = *(const int *)y->attr;
    int64_t from = 0;
    for (int i = 0; i < wrt; i++)
        from += y->in[i]->shape.dim[axis];
    return eg_slice(g, dy, axis, from, y->in[wrt]->shape.dim[axis]);
}

static void concat_reference(const eg_node *y, const double *const *in, double *out)
{
    int axis = *(const int *)y->attr;
    int64_t outer = eg_around_axis(y->shape, axis).outer;
    for (int64_t i = 0; i < outer; i++)
        for (int k = 0; k < y->n_in; k++) {
            eg_around d = eg_around_axis(y->in[k]->shape, axis);
            memcpy(out, in[k] + i * d.n * d.inner, (size_t)(d.n * d.inner) * sizeof *out);
            out += d.n * d.inner;
        }
}

static eg_status concat_run(const eg_step *s)
{
    int axis = *(const int *)s->node->attr;
    eg_around to = eg_around_axis(s->node->shape, axis);
    float *y = s->out[0]->data;
    for (int k = 0; k < s->n_in; k++) {
        int64_t row = s->node->in[k]->shape.dim[axis] * to.inner;
        for (int64_t i = 0; i < to.outer; i++)
            memcpy(y + i * to.n * to.inner, s->in[k]->data + i * row, (size_t)row * sizeof *y);
        y += row;
    }
    return EG_OK;
}

static eg_status concat_emit(eg_plan *p, const eg_node *y)
{
    eg_value **in = eg_plan_alloc(p, (size_t)y->n_in * sizeof(eg_value *));
    if (!in)
        return EG_ENOMEM;
    for (int k = 0; k < y->n_in; k++)
        in[k] = eg_plan_read(p, y->in[k], EG_ROWMAJOR);
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_step(p, y, concat_run, y->n_in, in, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *concat_sample(eg_graph *g, int i)
{
    if (i >= 3)
        return NULL;
    eg_node *parts[3];
    for (int k = 0; k < 3; k++) {
        eg_shape s = eg_dims(2, 3, 4);
        s.dim[i] = k + 1;
        parts[k] = eg_sample_input(g, s, -1, 1);
    }
    return eg_concat(g, 3, parts, i);
}

const eg_op eg_op_concat = {.name = "concat",
                            .vjp = concat_vjp,
                            .reference = concat_reference,
                            .emit = concat_emit,
                            .sample = concat_sample};

static eg_node *concat_misfit(eg_graph *g, const eg_node *first, const eg_node *part, int k)
{
    char a[64], b[64];
    eg_shape_print(part->shape, a);
    eg_shape_print(first->shape, b);
    return eg_poison(g, EG_ESHAPE, "concat: part %d is %s, part 0 is %s", k, a, b);
}

eg_node *eg_concat(eg_graph *g, int n, eg_node *const *parts, int axis)
{
    if (n < 1)
        return eg_poison(g, EG_EINVAL, "concat: %d parts", n);
    if (eg_any_poison(n, parts) || !eg_axis_fits(g, "concat", parts[0], axis))
        return g->poison;
    eg_shape s = parts[0]->shape;
    for (int k = 1; k < n; k++) {
        eg_shape other = parts[k]->shape;
        if (other.rank != s.rank)
            return concat_misfit(g, parts[0], parts[k], k);
        int64_t count = other.dim[axis];
        other.dim[axis] = s.dim[axis];
        if (!eg_shape_equal(s, other))
            return concat_misfit(g, parts[0], parts[k], k);
        s.dim[axis] += count;
    }
    return n == 1 ? parts[0]
                  : eg_graph_record(g, &eg_op_concat, s, &axis, sizeof axis, n, parts);
}
