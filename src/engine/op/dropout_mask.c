/* dropout_mask.c - 0 with probability p, else 1 / (1 - p), drawn anew each run; no gradient.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The k-th mask of a graph draws from side stream time * 2^16 + k of the plan's key: element i
 * takes word i % 4 of block i / 4. Elements count in row-major order, so the mask does not
 * depend on a layout. The definition is the mask of key 0 at time 0.
 */
#include "engine/op/op.h"

#define MASK_BITS 16 /* of a side stream's number, for the masks of one graph */

typedef struct dropout_mask {
    double p;
    uint64_t k;
} dropout_mask;

static void dropout_mask_reference(const eg_node *y, const double *const *in, double *out)
{
    (void)in;
    const dropout_mask *a = y->attr;
    const uint32_t key[2] = {0, 0};
    double limit = (double)(float)a->p * 0x1p32; /* as the kernel sees p */
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++) {
        uint32_t word[4];
        eg_rng_block_at(key, (uint64_t)i / 4, a->k, word);
        out[i] = word[i % 4] < (uint32_t)limit ? 0 : 1 / (1 - a->p);
    }
}

static eg_status dropout_mask_run(const eg_step *s)
{
    const dropout_mask *a = s->node->attr;
    s->k->dropout_mask(s->out[0]->data, eg_plan_key(s->plan),
                       (eg_plan_time(s->plan) << MASK_BITS) + a->k, (float)a->p,
                       s->out[0]->bytes / sizeof(float));
    return EG_OK;
}

static eg_status dropout_mask_emit(eg_plan *p, const eg_node *y)
{
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_step(p, y, dropout_mask_run, 0, NULL, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *dropout_mask_sample(eg_graph *g, int i)
{
    if (i >= 2)
        return NULL;
    eg_shape s = i ? eg_dims(3, 7, 11) : eg_dims(4, 5);
    return eg_mul(g, eg_sample_input(g, s, -1, 1), eg_dropout_mask(g, s, i ? 0.2 : 0.5));
}

const eg_op eg_op_dropout_mask = {.name = "dropout_mask",
                                  .reference = dropout_mask_reference,
                                  .emit = dropout_mask_emit,
                                  .sample = dropout_mask_sample,
                                  .impure = true};

eg_node *eg_dropout_mask(eg_graph *g, eg_shape shape, double p)
{
    if (!(p >= 0 && (float)p < 1))
        return eg_poison(g, EG_EINVAL, "dropout: probability %g is outside [0, 1)", p);
    dropout_mask a = {.p = p};
    for (size_t i = 0; i < g->n_nodes; i++)
        a.k += g->nodes[i]->op == &eg_op_dropout_mask;
    if (a.k >> MASK_BITS)
        return eg_poison(g, EG_ENOTSUP, "dropout: more than %d masks in a graph",
                         1 << MASK_BITS);
    return eg_graph_record(g, &eg_op_dropout_mask, shape, &a, sizeof a, 0, NULL);
}
