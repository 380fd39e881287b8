/* affine.c - y = a x + b with constants a and b; dx = a dy.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

typedef struct affine {
    double a, b;
} affine;

static eg_node *affine_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_affine(g, dy, ((const affine *)y->attr)->a, 0);
}

static void affine_reference(const eg_node *y, const double *const *in, double *out)
{
    const affine *c = y->attr;
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = c->a * in[0][i] + c->b;
}

static eg_status affine_run(const eg_step *s)
{
    const affine *c = s->node->attr;
    s->k->affine(s->out[0]->data, s->in[0]->data, (float)c->a, (float)c->b,
                 s->out[0]->bytes / sizeof(float));
    return EG_OK;
}

static eg_status affine_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_elementwise_layout(p, y, ((const affine *)y->attr)->b == 0);
    eg_value *x = eg_plan_read(p, y->in[0], layout), *out = eg_plan_write(p, y, layout);
    eg_plan_in_place(p, out, x);
    return eg_plan_step(p, y, affine_run, 1, &x, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *affine_sample(eg_graph *g, int i)
{
    return i < 2 ? eg_affine(g, eg_sample_input(g, eg_dims(3, 7 + 20 * i), -1, 1), 2.5 - i,
                             i - 0.75)
                 : NULL;
}

const eg_op eg_op_affine = {.name = "affine",
                            .vjp = affine_vjp,
                            .reference = affine_reference,
                            .emit = affine_emit,
                            .sample = affine_sample};

eg_node *eg_affine(eg_graph *g, eg_node *x, double a, double b)
{
    if (a == 1 && b == 0)
        return x;
    affine c = {a, b};
    return eg_graph_record(g, &eg_op_affine, x->shape, &c, sizeof c, 1, &x);
}
