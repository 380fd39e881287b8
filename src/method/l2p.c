/* l2p.c - learning to prompt (Wang et al., 2022, arXiv:2112.08654): a pool of prompts beside a
 * frozen transformer, chosen by what the image looks like to it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * q(x) is the class token of the frozen transformer; the `top` prompts whose keys have the
 * largest cosine with it stand beside the image's tokens, and the mean of what the blocks make
 * of these prompts is the feature. The loss gains - pull mean_x sum_chosen cos(q(x), key). Only
 * the prompts, the keys and the head are trained, sent and averaged. In tests each sample
 * chooses for itself, so that what stands beside it changes nothing; in training it does, or
 * the batch has the prompts that most of its samples would choose, as in the authors' code.
 */
#include "engine/graph/graph.h"
#include "method/lib/prompts.h"

#include <engram/op.h>

enum { L2P_SAMPLE, L2P_BATCH };

typedef struct l2p {
    int64_t pool, length, top;
    double pull;
    int choice;
} l2p;

// clang-format off
static const eg_opt l2p_opts[] = {
    EG_OPT_INT(l2p, pool, 10, 1, 4096, "prompts there are"),
    EG_OPT_INT(l2p, length, 5, 1, 512, "tokens of a prompt"),
    EG_OPT_INT(l2p, top, 5, 1, 512, "prompts that a sample chooses"),
    EG_OPT_REAL(l2p, pull, 0.5, 0, 1e3, "weight of the chosen keys' likeness in the loss"),
    EG_OPT_CHOICE(l2p, choice, 0, "who chooses in training: each sample, or the batch, which has the prompts that most of its samples would choose", "sample|batch"),
    EG_OPT_END,
};
// clang-format on

static eg_status l2p_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const l2p *m = options;
    (void)in;
    out->train = "[l2p]";
    return m->top > m->pool ? eg_fail(EG_EINVAL, "%lld prompts of %lld cannot be chosen",
                                      (long long)m->top, (long long)m->pool)
                            : EG_OK;
}

/* Cosines of each sample with each key, [n, pool]. */
static eg_node *l2p_likeness(const l2p *m, const eg_net *net, eg_graph *g, eg_node *x)
{
    return eg_prompts_likeness(net, g, eg_prompts_query(net, g, x), "l2p.key", m->pool);
}

/* The prompts of each sample, [n, top]. */
static eg_node *l2p_chosen(const l2p *m, eg_graph *g, eg_node *likeness)
{
    eg_node *own = eg_top(g, likeness, m->top);
    if (m->choice == L2P_SAMPLE || !eg_graph_training(g) || eg_is_poison(own))
        return own;
    eg_node *votes = eg_sum(g, eg_one_hot(g, own, m->pool), EG_AXIS(0) | EG_AXIS(1));
    eg_node *most = eg_top(g, eg_reshape(g, votes, eg_dims(1, m->pool)), m->top);
    return eg_expand(g, most, own->shape);
}

static eg_node *l2p_features(const void *options, const eg_net *net, eg_graph *g, eg_node *x)
{
    const l2p *m = options;
    eg_node *likeness = l2p_likeness(m, net, g, x), *t = eg_net_tokens(net, g, x);
    if (eg_is_poison(t) || eg_is_poison(likeness))
        return eg_is_poison(t) ? t : likeness;
    int64_t n = t->shape.dim[0], w = t->shape.dim[2], tokens = m->top * m->length;
    eg_node *pool = eg_net_param(net, g, "l2p.prompt", eg_dims(m->pool, m->length, w),
                                 (eg_init){.kind = EG_INIT_UNIFORM, .a = 1});
    eg_node *chosen = eg_embedding(g, eg_reshape(g, pool, eg_dims(m->pool, m->length * w)),
                                   l2p_chosen(m, g, likeness));
    chosen = eg_reshape(g, chosen, eg_dims(n, tokens, w));
    t = eg_net_encode(net, g, eg_concat(g, 2, (eg_node *[]){chosen, t}, 1), NULL);
    t = eg_mean(g, eg_slice(g, t, 1, 0, tokens), EG_AXIS(1));
    return eg_reshape(g, t, eg_dims(n, w));
}

/* The same nodes as those that chose: equal records are one. */
static eg_node *l2p_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const l2p *m = self;
    eg_node *x = eg_find_input(g, "x");
    if (!x || m->pull <= 0)
        return loss;
    eg_node *likeness = l2p_likeness(m, c->net, g, x);
    return eg_is_poison(likeness)
               ? likeness
               : eg_prompts_pull(g, loss, likeness, l2p_chosen(m, g, likeness), m->pull);
}

const eg_method eg_method_l2p = {
    .component = {"l2p", "learned prompts beside a frozen transformer, chosen by likeness",
                  sizeof(l2p), l2p_opts},
    .setup = l2p_setup,
    .features = l2p_features,
    .loss = l2p_loss,
    .client = {.size = sizeof(l2p)},
};
