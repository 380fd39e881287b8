/* dualprompt.c - DualPrompt (Wang et al., 2022, arXiv:2204.04799): prompts for all tasks in
 * the first blocks of a frozen transformer, prompts of each task's own in blocks behind them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prompts are prefixes: keys and values that a block reads beside its own, as the authors' code
 * has them. In training a sample of task t has the prompts of task t; where the task is not
 * known, in tests and for rows from a memory, those of the met task whose key has the largest
 * cosine with q(x), the frozen network's own features of x. The loss gains
 * - pull mean_x cos(q(x), key of the prompts it has). Only prompts, keys and the head are
 * trained, sent and averaged.
 */
#include "engine/graph/graph.h"
#include "method/lib/prompts.h"

#include <engram/op.h>

typedef struct dualprompt {
    int64_t pool, length, expert_length, blocks, expert_blocks;
    double pull;
} dualprompt;

// clang-format off
static const eg_opt dualprompt_opts[] = {
    EG_OPT_INT(dualprompt, pool, 10, 1, 4096, "tasks, each with prompts of its own: as many as the scenario has"),
    EG_OPT_INT(dualprompt, length, 5, 1, 512, "keys and values of a prompt for all tasks"),
    EG_OPT_INT(dualprompt, expert_length, 20, 1, 512, "those of a task's own"),
    EG_OPT_INT(dualprompt, blocks, 2, 0, 128, "first blocks, which have the prompts for all tasks"),
    EG_OPT_INT(dualprompt, expert_blocks, 3, 1, 128, "blocks behind them, which have those of the tasks"),
    EG_OPT_REAL(dualprompt, pull, 1, 0, 1e3, "weight of the keys' likeness in the loss"),
    EG_OPT_END,
};
// clang-format on

/* Below every cosine by far. */
static const double dualprompt_closed = 1e4;

static eg_status dualprompt_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const dualprompt *m = options;
    out->train = "[dualprompt]";
    out->offers = EG_OFFERS_TASK_IDS;
    int64_t tasks = in->scenario ? eg_scenario_n_tasks(in->scenario) : 0;
    return in->scenario && tasks != m->pool
               ? eg_fail(EG_EINVAL, "the scenario has %lld tasks, and pool is %lld",
                         (long long)tasks, (long long)m->pool)
               : EG_OK;
}

static eg_node *dualprompt_likeness(const dualprompt *m, const eg_net *net, eg_graph *g,
                                    eg_node *x)
{
    return eg_prompts_likeness(net, g, eg_prompts_query(net, g, x), "dualprompt.key", m->pool);
}

/* Whose prompts each row has, [n, 1]. */
static eg_node *dualprompt_chosen(eg_graph *g, const eg_node *x, eg_node *likeness)
{
    eg_node *tasks = eg_prompts_tasks(g, x);
    if (!tasks)
        return eg_top(g, likeness, 1);
    eg_node *open = /* 0 where it may be */
        eg_affine(g, tasks, dualprompt_closed, -dualprompt_closed);
    return eg_top(g, eg_add(g, likeness, open), 1);
}

/* The prefix of one block: [count, rows, length, 2 w] -> [rows, length, 2 w] */
static eg_node *dualprompt_prefix(eg_graph *g, eg_node *of, int64_t i, int64_t n)
{
    if (eg_is_poison(of))
        return of;
    const int64_t *d = of->shape.dim;
    eg_node *one = eg_reshape(g, eg_slice(g, of, 0, i, 1), eg_dims(d[1], d[2], d[3]));
    return d[1] == n ? one : eg_expand(g, one, eg_dims(n, d[2], d[3]));
}

/* The prompts of the tasks that rows have: [expert_blocks, n, expert_length, 2 w] */
static eg_node *dualprompt_experts(const dualprompt *m, const eg_net *net, eg_graph *g,
                                   eg_node *chosen, int64_t w)
{
    const int order[EG_MAX_RANK] = {1, 0, 2, 3};
    int64_t n = chosen->shape.dim[0], size = m->expert_blocks * m->expert_length * 2 * w;
    eg_node *pool = eg_net_param(net, g, "dualprompt.expert",
                                 eg_dims(m->pool, m->expert_blocks, m->expert_length, 2 * w),
                                 (eg_init){.kind = EG_INIT_UNIFORM, .a = 1});
    eg_node *own = eg_embedding(g, eg_reshape(g, pool, eg_dims(m->pool, size)), chosen);
    own = eg_reshape(g, own, eg_dims(n, m->expert_blocks, m->expert_length, 2 * w));
    return eg_transpose(g, own, order);
}

static eg_node *dualprompt_features(const void *options, const eg_net *net, eg_graph *g,
                                    eg_node *x)
{
    const dualprompt *m = options;
    eg_node *prefixes[EG_PROMPTS_DEPTH] = {0}, *general = NULL;
    if (!eg_prompts_fit(net, g, (eg_prompted){0, m->blocks + m->expert_blocks}))
        return g->poison;
    eg_node *likeness = dualprompt_likeness(m, net, g, x), *t = eg_net_tokens(net, g, x);
    eg_node *chosen = dualprompt_chosen(g, x, likeness);
    if (eg_is_poison(t) || eg_is_poison(chosen))
        return g->poison;
    int64_t n = t->shape.dim[0], w = t->shape.dim[2];
    if (m->blocks)
        general =
            eg_net_param(net, g, "dualprompt.general", eg_dims(m->blocks, 1, m->length, 2 * w),
                         (eg_init){.kind = EG_INIT_UNIFORM, .a = 1});
    eg_node *expert = dualprompt_experts(m, net, g, chosen, w);
    for (int64_t i = 0; i < m->blocks; i++)
        prefixes[i] = dualprompt_prefix(g, general, i, n);
    for (int64_t i = 0; i < m->expert_blocks; i++)
        prefixes[m->blocks + i] = dualprompt_prefix(g, expert, i, n);
    return eg_prompts_features(net, g, x, prefixes);
}

/* The same nodes as those that chose: equal records are one. */
static eg_node *dualprompt_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const dualprompt *m = self;
    eg_node *x = eg_find_input(g, "x");
    if (!x || m->pull <= 0)
        return loss;
    eg_node *likeness = dualprompt_likeness(m, c->net, g, x);
    return eg_prompts_pull(g, loss, likeness, dualprompt_chosen(g, x, likeness), m->pull);
}

const eg_method eg_method_dualprompt = {
    .component = {"dualprompt",
                  "prompts for all tasks and prompts of each task in a frozen transformer",
                  sizeof(dualprompt), dualprompt_opts},
    .setup = dualprompt_setup,
    .features = dualprompt_features,
    .loss = dualprompt_loss,
    .client = {.size = sizeof(dualprompt)},
};
