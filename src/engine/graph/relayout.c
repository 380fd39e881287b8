/* relayout.c - a tensor copied from one layout to another.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/dnnl.h"
#include "engine/graph/plan_private.h"

static eg_status relayout_run_batched(const eg_step *s)
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

/* Each block of channels [v, area] is turned to [area, v], as a batch of v samples would be. */
static eg_status relayout_run_blocked(const eg_step *s)
{
    const eg_shape *x = &s->node->shape;
    int64_t v = s->k->width, c = x->dim[1], area = x->dim[2] * x->dim[3];
    const float *from = s->in[0]->data;
    float *to = s->out[0]->data;
    bool blocks = s->out[0]->layout == EG_BLOCKED;
    for (int64_t i = 0; i < x->dim[0]; i++)
        for (int64_t k = 0; k < c; k += v) {
            int64_t n = c - k < v ? c - k : v;
            if (blocks)
                s->k->to_batched(to, from, n, area, v);
            else
                s->k->from_batched(to, from, n, area, v);
            from += (blocks ? n : v) * area;
            to += (blocks ? v : n) * area;
        }
    return EG_OK;
}

eg_status eg_relayout(eg_plan *p, const eg_node *x, eg_value *from, eg_value *to)
{
    bool batched = from->layout == EG_BATCHED || to->layout == EG_BATCHED;
    if (!batched && !p->k->own)
        return eg_dnnl_relayout(p, x, from, to);
    eg_step *s = eg_plan_step(p, x, batched ? relayout_run_batched : relayout_run_blocked, 1,
                              &from, 1, &to);
    if (!s)
        return EG_ENOMEM;
    s->reorder = s->activation = true;
    return EG_OK;
}
