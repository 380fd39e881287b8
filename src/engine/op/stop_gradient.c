/* stop_gradient.c - x itself, taken as constant by gradients.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <string.h>

static void stop_gradient_reference(const eg_node *y, const double *const *in, double *out)
{
    memcpy(out, in[0], (size_t)eg_shape_size(y->shape) * sizeof *out);
}

static eg_status stop_gradient_emit(eg_plan *p, const eg_node *y)
{
    eg_value *x = eg_plan_read(p, y->in[0], eg_plan_layout(p, y->in[0]));
    if (!x)
        return EG_ENOMEM;
    eg_plan_fused(p, y, x); /* the very same value, whatever its layout */
    return EG_OK;
}

/* The gradient check cannot see through it, so its examples hold no other path than it. */
static eg_node *stop_gradient_sample(eg_graph *g, int i)
{
    eg_node *x = i < 2 ? eg_sample_index(g, eg_dims(3, 4 + i), 5) : NULL;
    return x ? eg_stop_gradient(g, i ? eg_affine(g, x, 2, 1) : x) : NULL;
}

const eg_op eg_op_stop_gradient = {.name = "stop_gradient",
                                   .reference = stop_gradient_reference,
                                   .emit = stop_gradient_emit,
                                   .sample = stop_gradient_sample};

eg_node *eg_stop_gradient(eg_graph *g, eg_node *x)
{
    return eg_graph_record1(g, &eg_op_stop_gradient, x->shape, x);
}
