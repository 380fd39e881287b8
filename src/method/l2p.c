/* l2p.c - learning to prompt (Wang et al., 2022, arXiv:2112.08654): a pool of prompts beside a
 * frozen transformer, chosen by what the image looks like to it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * q(x) is the class token of the frozen transformer; the `top` prompts whose keys have the
 * largest cosine with it stand beside the image's tokens, and the mean of what the blocks make
 * of these prompts is the feature. The loss gains - pull mean_x sum_chosen cos(q(x), key). Only
 * the prompts, the keys and the head are trained, sent and averaged. Each sample chooses for
 * itself, in training and in tests, so that what stands beside it changes nothing.
 */
#include "engine/graph/graph.h"

#include <engram/method.h>
#include <engram/op.h>

#include <math.h>

typedef struct l2p {
    int64_t pool, length, top;
    double pull;
} l2p;

// clang-format off
static const eg_opt l2p_opts[] = {
    EG_OPT_INT(l2p, pool, 10, 1, 4096, "prompts there are"),
    EG_OPT_INT(l2p, length, 5, 1, 512, "tokens of a prompt"),
    EG_OPT_INT(l2p, top, 5, 1, 512, "prompts that a sample chooses"),
    EG_OPT_REAL(l2p, pull, 0.5, 0, 1e3, "weight of the chosen keys' likeness in the loss"),
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
    eg_node *q = eg_stop_gradient(g, eg_net_own_features(net, g, x));
    if (eg_is_poison(q))
        return q;
    eg_node *keys = eg_net_param(net, g, "l2p.key", eg_dims(m->pool, q->shape.dim[1]),
                                 (eg_init){.kind = EG_INIT_UNIFORM, .a = 1});
    return eg_product(g, eg_l2_normalize(g, q), eg_l2_normalize(g, keys), false, true);
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
                                   eg_top(g, likeness, m->top));
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
    if (eg_is_poison(likeness))
        return likeness;
    double n = (double)likeness->shape.dim[0];
    eg_node *chosen = eg_one_hot(g, eg_top(g, likeness, m->top), m->pool);
    chosen = eg_reshape(g, eg_sum(g, chosen, EG_AXIS(1)), likeness->shape);
    eg_node *sum =
        eg_reshape(g, eg_sum(g, eg_mul(g, likeness, chosen), EG_ALL_AXES), loss->shape);
    return eg_add(g, loss, eg_affine(g, sum, -m->pull / n, 0));
}

const eg_method eg_method_l2p = {
    .component = {"l2p", "learned prompts beside a frozen transformer, chosen by likeness",
                  sizeof(l2p), l2p_opts},
    .setup = l2p_setup,
    .features = l2p_features,
    .loss = l2p_loss,
    .client = {.size = sizeof(l2p)},
};
