/* expand.c - x repeated along axes of size 1, or along new leading axes; dx = dy summed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

#include <string.h>

void eg_reference_strided(const eg_strided *v, const double *x, double *out)
{
    int64_t size = 1;
    for (int k = 0; k < v->rank; k++)
        size *= v->dim[k];
    for (int64_t i = 0; i < size; i++) {
        int64_t at = 0, rest = i;
        for (int k = v->rank - 1; k >= 0; k--) {
            at += rest % v->dim[k] * v->stride[k];
            rest /= v->dim[k];
        }
        out[i] = x[at];
    }
}

/* Writes y in order and returns where it ends; v has at least one axis. */
static float *strided_copy(const eg_strided *v, int axis, const float *x, float *y)
{
    int64_t n = v->dim[axis], stride = v->stride[axis];
    if (axis < v->rank - 1) {
        for (int64_t i = 0; i < n; i++)
            y = strided_copy(v, axis + 1, x + i * stride, y);
        return y;
    }
    if (stride == 1)
        memcpy(y, x, (size_t)n * sizeof *y);
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i * stride];
    return y + n;
}

static eg_status strided_run(const eg_step *s)
{
    strided_copy(s->args, 0, s->in[0]->data, s->out[0]->data);
    return EG_OK;
}

/* The same view with as few axes as can be. */
static eg_strided strided_merge(const eg_strided *v)
{
    eg_strided m = {0};
    for (int k = 0; k < v->rank; k++) {
        int last = m.rank - 1;
        if (v->dim[k] == 1)
            continue;
        if (m.rank && m.stride[last] == v->stride[k] * v->dim[k]) {
            m.dim[last] *= v->dim[k];
            m.stride[last] = v->stride[k];
        } else {
            m.dim[m.rank] = v->dim[k];
            m.stride[m.rank++] = v->stride[k];
        }
    }
    if (m.rank == 0)
        m = (eg_strided){1, {1}, {1}};
    return m;
}

eg_status eg_emit_strided(eg_plan *p, const eg_node *y, const eg_strided *v)
{
    eg_strided m = strided_merge(v);
    if (m.rank == 1 && m.stride[0] == 1)
        return eg_plan_alias(p, y, y->in[0]);
    eg_value *x = eg_plan_read(p, y->in[0], EG_ROWMAJOR),
             *out = eg_plan_write(p, y, EG_ROWMAJOR);
    eg_step *s = eg_plan_step(p, y, strided_run, 1, &x, 1, &out);
    eg_strided *args = eg_plan_alloc(p, sizeof *args);
    if (!s || !args)
        return EG_ENOMEM;
    *args = m;
    s->args = args;
    return EG_OK;
}

static eg_strided expand_view(const eg_node *y)
{
    eg_shape from = y->in[0]->shape;
    eg_strided v = {.rank = y->shape.rank};
    int64_t stride = 1;
    for (int i = y->shape.rank - 1, j = from.rank - 1; i >= 0; i--, j--) {
        v.dim[i] = y->shape.dim[i];
        v.stride[i] = j >= 0 && from.dim[j] > 1 ? stride : 0;
        stride *= j >= 0 ? from.dim[j] : 1;
    }
    return v;
}

static eg_node *expand_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_shape from = y->in[0]->shape;
    unsigned axes = 0;
    for (int i = 0, j = from.rank - y->shape.rank; i < y->shape.rank; i++, j++)
        if (j < 0 || from.dim[j] != y->shape.dim[i])
            axes |= EG_AXIS(i);
    return eg_reshape(g, eg_sum(g, dy, axes), from);
}

static void expand_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_strided v = expand_view(y);
    eg_reference_strided(&v, in[0], out);
}

static eg_status expand_emit(eg_plan *p, const eg_node *y)
{
    eg_strided v = expand_view(y);
    return eg_emit_strided(p, y, &v);
}

static eg_node *expand_sample(eg_graph *g, int i)
{
    static const struct {
        eg_shape from, to;
    } s[] = {
        {{2, {3, 1}}, {2, {3, 4}}},
        {{3, {1, 4, 1}}, {3, {2, 4, 5}}},
        {{1, {4}}, {3, {2, 3, 4}}}, /* new axes in front */
        {{0, {0}}, {2, {2, 3}}},
    };
    return i < 4 ? eg_expand(g, eg_sample_input(g, s[i].from, -1, 1), s[i].to) : NULL;
}

const eg_op eg_op_expand = {.name = "expand",
                            .vjp = expand_vjp,
                            .reference = expand_reference,
                            .emit = expand_emit,
                            .sample = expand_sample};

eg_node *eg_expand(eg_graph *g, eg_node *x, eg_shape shape)
{
    if (eg_is_poison(x))
        return g->poison;
    if (eg_shape_equal(x->shape, shape))
        return x;
    bool fits = shape.rank >= x->shape.rank;
    for (int i = shape.rank - 1, j = x->shape.rank - 1; fits && j >= 0; i--, j--)
        fits = x->shape.dim[j] == 1 || x->shape.dim[j] == shape.dim[i];
    if (!fits) {
        char a[64], b[64];
        eg_shape_print(x->shape, a);
        eg_shape_print(shape, b);
        return eg_poison(g, EG_ESHAPE, "expand: %s cannot be repeated to %s", a, b);
    }
    return eg_graph_record1(g, &eg_op_expand, shape, x);
}
