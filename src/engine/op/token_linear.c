/* token_linear.c - a linear layer on every token: y = x w^T + b, x [n, t, in], w [out, in].
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is made of a token is the same to the bit whatever stands beside it.
 */
#include "engine/op/turned.h"

static eg_node *token_rows(eg_graph *g, eg_node *x)
{
    const int64_t *d = x->shape.dim;
    return eg_reshape(g, x, eg_dims(d[0] * d[1], d[2]));
}

static eg_node *token_linear_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    eg_node *rows = token_rows(g, dy);
    if (wrt == 0)
        return eg_reshape(g, eg_product(g, rows, y->in[1], false, false), y->in[0]->shape);
    if (wrt == 1)
        return eg_product(g, rows, token_rows(g, y->in[0]), true, false);
    return eg_channel_sum(g, rows);
}

static void token_linear_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t m = y->shape.dim[2], k = y->in[0]->shape.dim[2];
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++) {
        out[i] = y->n_in > 2 ? in[2][i % m] : 0;
        for (int64_t l = 0; l < k; l++)
            out[i] += in[0][i / m * k + l] * in[1][i % m * k + l];
    }
}

static eg_status token_linear_share(const eg_step *s, const eg_team_part *part)
{
    const eg_shape *x = &s->node->in[0]->shape;
    const int64_t mnk[] = {x->dim[0] * x->dim[1], s->node->shape.dim[2], x->dim[2]};
    eg_turned_share(s, part, mnk);
    return EG_OK;
}

static eg_status token_linear_emit(eg_plan *p, const eg_node *y)
{
    const eg_shape *x = &y->in[0]->shape;
    eg_value *in[3];
    for (int i = 0; i < y->n_in; i++)
        in[i] = eg_plan_read(p, y->in[i], EG_ROWMAJOR);
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR),
                       eg_turned_scratch(p, x->dim[0] * x->dim[1], x->dim[2])};
    eg_step *s = eg_plan_step(p, y, NULL, y->n_in, in, 2, out);
    EG_TRY(eg_plan_share(s, token_linear_share));
    s->flops = 2.0 * (double)eg_shape_size(y->shape) * (double)x->dim[2];
    return EG_OK;
}

static eg_node *token_linear_sample(eg_graph *g, int i)
{
    static const int64_t out[] = {4, 70, 16};
    if (i > 2)
        return NULL;
    eg_node *x = eg_sample_input(g, eg_dims(2, 4, 5), -1, 1);
    eg_node *w = eg_sample_input(g, eg_dims(out[i], 5), -1, 1);
    return eg_token_linear(g, x, w, i ? eg_sample_input(g, eg_dims(out[i]), -1, 1) : NULL);
}

const eg_op eg_op_token_linear = {.name = "token_linear",
                                  .vjp = token_linear_vjp,
                                  .reference = token_linear_reference,
                                  .emit = token_linear_emit,
                                  .sample = token_linear_sample};

eg_node *eg_token_linear(eg_graph *g, eg_node *x, eg_node *w, eg_node *b)
{
    if (eg_is_poison(x) || eg_is_poison(w) || (b && eg_is_poison(b)))
        return g->poison;
    if (x->shape.rank != 3 || w->shape.rank != 2 || x->shape.dim[2] != w->shape.dim[1] ||
        (b && (b->shape.rank != 1 || b->shape.dim[0] != w->shape.dim[0]))) {
        char tx[64], tw[64];
        eg_shape_print(x->shape, tx);
        eg_shape_print(w->shape, tw);
        return eg_poison(g, EG_ESHAPE, "token_linear: tokens %s and weights %s do not fit", tx,
                         tw);
    }
    return eg_graph_record(g, &eg_op_token_linear,
                           eg_dims(x->shape.dim[0], x->shape.dim[1], w->shape.dim[0]), NULL, 0,
                           b ? 3 : 2, (eg_node *[]){x, w, b});
}
