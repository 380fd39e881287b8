/* prompts.c - queries, keys, tasks and prefixes of methods with prompts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/prompts.h"

#include "engine/graph/graph.h"

#include <engram/op.h>

eg_node *eg_prompts_query(const eg_net *net, eg_graph *g, eg_node *x)
{
    return eg_stop_gradient(g, eg_net_own_features(net, g, x));
}

eg_node *eg_prompts_likeness(const eg_net *net, eg_graph *g, eg_node *query, const char *key,
                             int64_t pool)
{
    if (eg_is_poison(query))
        return query;
    eg_node *keys = eg_net_param(net, g, key, eg_dims(pool, query->shape.dim[1]),
                                 (eg_init){.kind = EG_INIT_UNIFORM, .a = 1});
    return eg_product(g, eg_l2_normalize(g, query), eg_l2_normalize(g, keys), false, true);
}

eg_node *eg_prompts_pull(eg_graph *g, eg_node *loss, eg_node *likeness, eg_node *chosen,
                         double pull)
{
    if (eg_is_poison(likeness) || eg_is_poison(chosen))
        return g->poison;
    int64_t n = likeness->shape.dim[0], pool = likeness->shape.dim[1];
    eg_node *which =
        eg_reshape(g, eg_sum(g, eg_one_hot(g, chosen, pool), EG_AXIS(1)), likeness->shape);
    eg_node *sum =
        eg_reshape(g, eg_sum(g, eg_mul(g, likeness, which), EG_ALL_AXES), loss->shape);
    return eg_add(g, loss, eg_affine(g, sum, -pull / (double)n, 0));
}

eg_node *eg_prompts_met(eg_graph *g)
{
    return eg_find_input(g, EG_TASKS_MET);
}

eg_node *eg_prompts_tasks(eg_graph *g, const eg_node *x)
{
    eg_node *open = eg_find_input(g, EG_TASKS_OPEN), *met = eg_prompts_met(g);
    if (open && x == eg_find_input(g, "x"))
        return open;
    if (!met || eg_is_poison(x))
        return NULL;
    int64_t n = met->shape.dim[0];
    return eg_expand(g, eg_reshape(g, met, eg_dims(1, n)), eg_dims(x->shape.dim[0], n));
}

bool eg_prompts_fit(const eg_net *net, eg_graph *g, eg_prompted blocks)
{
    int64_t depth = eg_net_depth(net), last = blocks.first + blocks.count;
    if (depth == 0 || (last <= depth && depth <= EG_PROMPTS_DEPTH))
        return true; /* without blocks its tokens say what it is not */
    eg_poison(g, EG_ESHAPE,
              "prompts for blocks %lld to %lld of a network that has %lld, of %d at most",
              (long long)blocks.first + 1, (long long)last, (long long)depth, EG_PROMPTS_DEPTH);
    return false;
}

eg_node *eg_prompts_features(const eg_net *net, eg_graph *g, eg_node *x,
                             eg_node *const *prefixes)
{
    return eg_net_pooled(net, g, eg_net_encode(net, g, eg_net_tokens(net, g, x), prefixes));
}
