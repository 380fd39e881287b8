/* gelu_back.c - dy (Phi(x) + x phi(x)): the gradient of gelu; phi is the normal density.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its own gradient is dz (Phi(x) + x phi(x)) for dy, and dz dy phi(x) (2 - x^2) for x.
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *gelu_back_vjp(eg_graph *g, eg_node *y, eg_node *dz, int wrt)
{
    eg_node *x = y->in[0], *dy = y->in[1];
    if (wrt == 1)
        return eg_gelu_back(g, x, dz);
    eg_node *square = eg_mul(g, x, x);
    eg_node *bell =
        eg_affine(g, eg_exp(g, eg_affine(g, square, -0.5, 0)), 0.3989422804014327, 0);
    return eg_mul(g, eg_mul(g, dz, dy), eg_mul(g, bell, eg_affine(g, square, -1, 2)));
}

static void gelu_back_reference(const eg_node *y, const double *const *in, double *out)
{
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++) {
        double x = in[0][i], bell = exp(-x * x / 2) * 0.3989422804014327;
        out[i] = in[1][i] * (0.5 * (1 + erf(x / sqrt(2))) + x * bell);
    }
}

static eg_status gelu_back_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_binary(p, y, eg_plan_kernels(p)->gelu_back, true);
}

static eg_node *gelu_back_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 17}}};
    return i < 2 ? eg_gelu_back(g, eg_sample_input(g, s[i], -2, 2),
                                eg_sample_input(g, s[i], -1, 1))
                 : NULL;
}

const eg_op eg_op_gelu_back = {.name = "gelu_back",
                               .vjp = gelu_back_vjp,
                               .reference = gelu_back_reference,
                               .emit = gelu_back_emit,
                               .sample = gelu_back_sample};

eg_node *eg_gelu_back(eg_graph *g, eg_node *x, eg_node *dy)
{
    if (eg_is_poison(x) || eg_is_poison(dy))
        return g->poison;
    if (!eg_shape_equal(x->shape, dy->shape)) {
        char a[64], b[64];
        eg_shape_print(x->shape, a);
        eg_shape_print(dy->shape, b);
        return eg_poison(g, EG_ESHAPE, "gelu_back: x is %s, dy is %s", a, b);
    }
    return eg_graph_record2(g, &eg_op_gelu_back, x->shape, x, dy);
}
