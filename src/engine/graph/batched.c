/* batched.c - a tensor's batch moved between outermost and innermost.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/plan_private.h"

static eg_status batched_run_relayout(const eg_step *s)
{
    const eg_value *from = s->in[0], *to = s->out[0];
    const eg_shape *x = &s->node->shape;
    int64_t n = x->dim[0], size = eg_shape_size(*x) / n, lanes = eg_batch_lanes(s->k, n);
    if (to->layout == EG_BATCHED)
        s->k->to_batched(to->data, from->data, n, size, lanes);
    else
        s->k->from_batched(to->data, from->data, n, size, lanes);
    return EG_OK;
}

eg_status eg_batched_relayout(eg_plan *p, const eg_node *x, eg_value *from, eg_value *to)
{
    eg_step *s = eg_plan_step(p, x, batched_run_relayout, 1, &from, 1, &to);
    if (!s)
        return EG_ENOMEM;
    s->reorder = s->activation = true;
    return EG_OK;
}
