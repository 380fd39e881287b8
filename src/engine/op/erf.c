/* erf.c - error function; dx = dy 2 / sqrt(pi) exp(-x^2).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *erf_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    eg_node *bell = eg_exp(g, eg_affine(g, eg_mul(g, y->in[0], y->in[0]), -1, 0));
    return eg_mul(g, dy, eg_affine(g, bell, 1.1283791670955126, 0));
}

static void erf_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_reference_map(y, in[0], out, erf);
}

static eg_status erf_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_unary(p, y, eg_plan_kernels(p)->erf, true);
}

static eg_node *erf_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {{2, {3, 5}}, {3, {2, 3, 17}}, {0, {0}}};
    return i < 3 ? eg_erf(g, eg_sample_input(g, s[i], -2, 2)) : NULL;
}

const eg_op eg_op_erf = {.name = "erf",
                         .vjp = erf_vjp,
                         .reference = erf_reference,
                         .emit = erf_emit,
                         .sample = erf_sample};

eg_node *eg_erf(eg_graph *g, eg_node *x)
{
    return eg_graph_record1(g, &eg_op_erf, x->shape, x);
}
