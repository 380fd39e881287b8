/* linear.c - fully connected layer: y = x w^T + b, x [n, in], w [out, in], b [out].
 * SPDX-License-Identifier: Apache-2.0
 *
 * There are two kernels. One adds up along the rows of both factors as they stand, which costs
 * a sum over the lanes for each result; the other turns the weights first, which pays from some
 * rows on, and the sooner the fewer inputs there are to add up.
 */
#include "engine/op/turned.h"

#include <string.h>

static eg_node *linear_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)y;
    if (wrt == 0)
        return eg_product(g, dy, y->in[1], false, false);
    if (wrt == 1)
        return eg_product(g, dy, y->in[0], true, false);
    return eg_channel_sum(g, dy);
}

static void linear_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t n = y->shape.dim[0], m = y->shape.dim[1], k = y->in[0]->shape.dim[1];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double sum = y->n_in > 2 ? in[2][j] : 0;
            for (int64_t l = 0; l < k; l++)
                sum += in[0][i * k + l] * in[1][j * k + l];
            out[i * m + j] = sum;
        }
}

/* Rows from which turned weights are faster, by outputs and inputs, as measured on AVX-512;
 * docs/benchmarks.md has the table. The portable set and the plain one keep their bits. */
static bool linear_turns(const eg_kernels *k, int64_t rows, int64_t outs, int64_t ins)
{
    if (k->own || strcmp(k->isa, "plain") == 0)
        return false;
    if (outs < 32)
        return rows >= (ins < 32 ? 10 : ins < 128 ? 64 : 256);
    return rows >= (ins < 128 ? 4 : ins < 256 ? 10 : 64);
}

/* A part's rows, by turned weights. */
static eg_status linear_share_turned(const eg_step *s, const eg_team_part *part)
{
    const eg_shape *y = &s->node->shape;
    const int64_t mnk[] = {y->dim[0], y->dim[1], s->node->in[0]->shape.dim[1]};
    eg_range r = eg_turned_share(s, part, mnk);
    float *to = s->out[0]->data + r.from * mnk[1];
    if (s->with_relu && r.to > r.from)
        s->k->rectify(to, to, 0, (size_t)((r.to - r.from) * mnk[1]));
    return EG_OK;
}

enum { LINEAR_ROWS = 4 }; /* that the kernel computes at once */

static eg_status linear_share(const eg_step *s, const eg_team_part *part)
{
    const eg_shape *y = &s->node->shape;
    int64_t n = y->dim[1], k = s->node->in[0]->shape.dim[1];
    eg_range r = eg_team_range(part, y->dim[0], LINEAR_ROWS);
    const int64_t mnk[] = {r.to - r.from, n, k};
    if (r.to > r.from)
        s->k->linear(s->out[0]->data + r.from * n, s->in[0]->data + r.from * k, s->in[1]->data,
                     s->n_in > 2 ? s->in[2]->data : NULL, s->with_relu, mnk);
    return EG_OK;
}

static eg_status linear_emit(eg_plan *p, const eg_node *y)
{
    eg_value *in[3];
    for (int i = 0; i < y->n_in; i++)
        in[i] = eg_plan_read(p, y->in[i], EG_ROWMAJOR);
    int64_t rows = y->shape.dim[0], ins = y->in[0]->shape.dim[1];
    bool turns = linear_turns(eg_plan_kernels(p), rows, y->shape.dim[1], ins);
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR),
                       turns ? eg_turned_scratch(p, rows, ins) : NULL};
    eg_step *s = eg_plan_step(p, y, NULL, y->n_in, in, turns ? 2 : 1, out);
    EG_TRY(eg_plan_share(s, turns ? linear_share_turned : linear_share));
    const eg_node *relu = eg_sole_relu(p, y);
    s->with_relu = relu != NULL;
    s->flops = 2.0 * (double)eg_shape_size(y->shape) * (double)y->in[0]->shape.dim[1];
    if (relu)
        eg_plan_fused(p, relu, out[0]);
    return EG_OK;
}

/* A sample's weight gradient is dy x^T, so its norm is the product of theirs. */
static eg_node *linear_sample_norms(eg_graph *g, const eg_node *y, eg_node *dy, int wrt)
{
    eg_node *d = eg_sum(g, eg_mul(g, dy, dy), EG_AXIS(1));
    if (wrt == 1) {
        eg_node *x = y->in[0];
        d = eg_mul(g, d, eg_sum(g, eg_mul(g, x, x), EG_AXIS(1)));
    }
    return wrt == 0 ? NULL : eg_reshape(g, d, eg_dims(y->shape.dim[0]));
}

static eg_node *linear_sample(eg_graph *g, int i)
{
    if (i > 1)
        return NULL;
    eg_node *x = eg_sample_input(g, eg_dims(3, 5), -1, 1);
    eg_node *w = eg_sample_input(g, eg_dims(4, 5), -1, 1);
    return eg_linear(g, x, w, i ? eg_sample_input(g, eg_dims(4), -1, 1) : NULL);
}

const eg_op eg_op_linear = {.name = "linear",
                            .vjp = linear_vjp,
                            .reference = linear_reference,
                            .emit = linear_emit,
                            .sample = linear_sample,
                            .sample_norms = linear_sample_norms};

eg_node *eg_linear(eg_graph *g, eg_node *x, eg_node *w, eg_node *b)
{
    if (eg_is_poison(x) || eg_is_poison(w) || (b && eg_is_poison(b)))
        return g->poison;
    if (x->shape.rank != 2 || w->shape.rank != 2 || x->shape.dim[1] != w->shape.dim[1] ||
        (b && (b->shape.rank != 1 || b->shape.dim[0] != w->shape.dim[0]))) {
        char tx[64], tw[64], tb[64] = "none";
        eg_shape_print(x->shape, tx);
        eg_shape_print(w->shape, tw);
        if (b)
            eg_shape_print(b->shape, tb);
        return eg_poison(g, EG_ESHAPE, "linear: input %s, weights %s and bias %s do not fit",
                         tx, tw, tb);
    }
    return eg_graph_record(g, &eg_op_linear, eg_dims(x->shape.dim[0], w->shape.dim[0]), NULL, 0,
                           b ? 3 : 2, (eg_node *[]){x, w, b});
}
