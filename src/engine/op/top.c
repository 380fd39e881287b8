/* top.c - where the k largest of each row stand, largest first: [.., c] -> [.., k].
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static int64_t top_k(const eg_node *y)
{
    return *(const int64_t *)y->attr;
}

static void top_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t k = top_k(y), c = y->in[0]->shape.dim[y->shape.rank - 1];
    for (int64_t i = 0; i < eg_shape_size(y->shape) / k; i++)
        for (int64_t j = 0; j < c; j++) { /* how many stand before it */
            const double *x = in[0] + i * c;
            int64_t before = 0;
            for (int64_t l = 0; l < c; l++)
                before += x[l] > x[j] || (x[l] == x[j] && l < j);
            if (before < k)
                out[i * k + before] = (double)j;
        }
}

/* The row's k largest so far, in order; k is small. */
static eg_status top_run(const eg_step *s)
{
    int64_t k = top_k(s->node), c = s->node->in[0]->shape.dim[s->node->shape.rank - 1];
    const float *x = s->in[0]->data;
    float *y = s->out[0]->data;
    for (int64_t i = 0; i < eg_shape_size(s->node->shape) / k; i++, x += c, y += k)
        for (int64_t j = 0; j < c; j++) {
            int64_t at = j < k ? j : k;
            while (at > 0 && x[j] > x[(int64_t)y[at - 1]]) {
                if (at < k)
                    y[at] = y[at - 1];
                at--;
            }
            if (at < k)
                y[at] = (float)j;
        }
    return EG_OK;
}

static eg_status top_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, top_run, EG_ROWMAJOR);
}

static eg_node *top_sample(eg_graph *g, int i)
{
    static const int64_t k[] = {1, 3, 5};
    return i < 3 ? eg_top(g, eg_sample_input(g, eg_dims(4, 5), -1, 1), k[i]) : NULL;
}

const eg_op eg_op_top = {
    .name = "top", .reference = top_reference, .emit = top_emit, .sample = top_sample};

eg_node *eg_top(eg_graph *g, eg_node *x, int64_t k)
{
    if (eg_is_poison(x))
        return x;
    if (x->shape.rank == 0 || k < 1 || k > x->shape.dim[x->shape.rank - 1])
        return eg_poison(g, EG_ESHAPE, "top: %lld of a row are not there", (long long)k);
    eg_shape s = x->shape;
    s.dim[s.rank - 1] = k;
    return eg_graph_record(g, &eg_op_top, s, &k, sizeof k, 1, &x);
}
