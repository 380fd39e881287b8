/* transpose.c - axis i of the result is axis order[i] of x; dx is dy put back in order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

typedef struct transpose {
    int order[EG_MAX_RANK];
} transpose;

static eg_strided transpose_view(const eg_node *y)
{
    const transpose *t = y->attr;
    int64_t stride[EG_MAX_RANK], size = 1;
    for (int i = y->shape.rank - 1; i >= 0; i--) {
        stride[i] = size;
        size *= y->in[0]->shape.dim[i];
    }
    eg_strided v = {.rank = y->shape.rank};
    for (int i = 0; i < v.rank; i++) {
        v.dim[i] = y->shape.dim[i];
        v.stride[i] = stride[t->order[i]];
    }
    return v;
}

static eg_node *transpose_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    int back[EG_MAX_RANK] = {0};
    for (int i = 0; i < y->shape.rank; i++)
        back[((const transpose *)y->attr)->order[i]] = i;
    return eg_transpose(g, dy, back);
}

static void transpose_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_strided v = transpose_view(y);
    eg_reference_strided(&v, in[0], out);
}

static eg_status transpose_emit(eg_plan *p, const eg_node *y)
{
    eg_strided v = transpose_view(y);
    return eg_emit_strided(p, y, &v);
}

static eg_node *transpose_sample(eg_graph *g, int i)
{
    if (i == 0)
        return eg_transpose(g, eg_sample_input(g, eg_dims(3, 4), -1, 1),
                            (int[EG_MAX_RANK]){1, 0});
    if (i == 1)
        return eg_transpose(g, eg_sample_input(g, eg_dims(2, 3, 4, 5), -1, 1),
                            (int[EG_MAX_RANK]){0, 2, 3, 1});
    return i == 2 ? eg_transpose(g, eg_sample_input(g, eg_dims(2, 3, 4), -1, 1),
                                 (int[EG_MAX_RANK]){2, 0, 1})
                  : NULL;
}

const eg_op eg_op_transpose = {.name = "transpose",
                               .vjp = transpose_vjp,
                               .reference = transpose_reference,
                               .emit = transpose_emit,
                               .sample = transpose_sample};

eg_node *eg_transpose(eg_graph *g, eg_node *x, const int *order)
{
    if (eg_is_poison(x))
        return g->poison;
    transpose t = {{0}};
    eg_shape s = x->shape;
    unsigned seen = 0;
    bool same = true;
    for (int i = 0; i < s.rank; i++) {
        if (order[i] < 0 || order[i] >= s.rank || seen & EG_AXIS(order[i]))
            return eg_poison(g, EG_EINVAL, "transpose: axis %d at place %d of %d axes",
                             order[i], i, s.rank);
        seen |= EG_AXIS(order[i]);
        same = same && order[i] == i;
        t.order[i] = order[i];
        s.dim[i] = x->shape.dim[order[i]];
    }
    return same ? x : eg_graph_record(g, &eg_op_transpose, s, &t, sizeof t, 1, &x);
}
