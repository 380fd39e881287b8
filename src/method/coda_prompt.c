/* coda_prompt.c - CODA-Prompt (Smith et al., 2023, arXiv:2211.13218): a prompt is a weighted
 * sum of components, which all that is trained takes part in choosing.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block has `pool` components P, keys K and attentions A. With q the features that the frozen
 * network itself has of x, component m counts w_m = cos(q * A_m, K_m), and the block reads
 * keys and values sum_m w_m P_m beside its own. Each task adds its share of the components:
 * those of tasks to come do not count, those of tasks before stay as they are. The loss gains
 * ortho (|P P' - 1|^2 + |K K' - 1|^2 + |A A' - 1|^2) / M^2 of each block's M components so
 * far. Only components, keys, attentions and the head are trained, sent and averaged.
 *
 * First values are random directions of unit length on the mean, which stand almost at right
 * angles, where the authors make them do so exactly.
 */
#include "engine/graph/graph.h"
#include "method/lib/prompts.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct coda_prompt {
    int64_t pool, length, blocks;
    double ortho;
} coda_prompt;

// clang-format off
static const eg_opt coda_prompt_opts[] = {
    EG_OPT_INT(coda_prompt, pool, 100, 1, 65536, "components of a block, in equal shares for the tasks"),
    EG_OPT_INT(coda_prompt, length, 4, 1, 512, "keys and values of a component: half of the paper's length"),
    EG_OPT_INT(coda_prompt, blocks, 5, 1, 128, "first blocks, which have prompts"),
    EG_OPT_REAL(coda_prompt, ortho, 0.1, 0, 1e6, "weight of the distance from right angles in the loss"),
    EG_OPT_END,
};
// clang-format on

static const char *const coda_prompt_kinds[] = {"component", "key", "attention"};
enum { CODA_COMPONENT, CODA_KEY, CODA_ATTENTION, CODA_KINDS };

static eg_status coda_prompt_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const coda_prompt *m = options;
    out->train = "[coda_prompt]";
    out->offers = EG_OFFERS_TASK_IDS;
    int64_t tasks = in->scenario ? eg_scenario_n_tasks(in->scenario) : 0;
    return tasks && m->pool % tasks
               ? eg_fail(EG_EINVAL, "%lld components cannot be shared evenly by %lld tasks",
                         (long long)m->pool, (long long)tasks)
               : EG_OK;
}

typedef struct coda_name {
    char text[64];
} coda_name;

static coda_name coda_prompt_name(int kind, int64_t block)
{
    coda_name n;
    snprintf(n.text, sizeof n.text, "coda_prompt.%s.%lld", coda_prompt_kinds[kind],
             (long long)block);
    return n;
}

/* Rows of a block, [pool, size], of unit length on the mean. */
static eg_node *coda_prompt_rows(const coda_prompt *m, const eg_net *net, eg_graph *g,
                                 coda_name name, int64_t size)
{
    return eg_net_param(net, g, name.text, eg_dims(m->pool, size),
                        (eg_init){.kind = EG_INIT_UNIFORM, .a = sqrt(3 / (double)size)});
}

/* Which components count: [1, pool]; NULL: all. */
static eg_node *coda_prompt_open(const coda_prompt *m, eg_graph *g)
{
    eg_node *met = eg_prompts_met(g);
    if (!met)
        return NULL;
    int64_t n = met->shape.dim[0], each = m->pool / n;
    met = eg_expand(g, eg_reshape(g, met, eg_dims(n, 1)), eg_dims(n, each));
    return eg_reshape(g, met, eg_dims(1, n * each));
}

/* w [n, pool]: the cosine of q * A_m with K_m, of all by three products. */
static eg_node *coda_prompt_weights(eg_graph *g, eg_node *q, eg_node *keys, eg_node *attention)
{
    eg_node *directions = eg_mul(g, attention, eg_l2_normalize(g, keys));
    eg_node *along = eg_product(g, q, directions, false, true);
    eg_node *squares =
        eg_product(g, eg_mul(g, q, q), eg_mul(g, attention, attention), false, true);
    return eg_div(g, along, eg_sqrt(g, eg_affine(g, squares, 1, 1e-24)));
}

static eg_node *coda_prompt_features(const void *options, const eg_net *net, eg_graph *g,
                                     eg_node *x)
{
    const coda_prompt *m = options;
    eg_node *prefixes[EG_PROMPTS_DEPTH] = {0};
    if (!eg_prompts_fit(net, g, (eg_prompted){0, m->blocks}))
        return g->poison;
    eg_node *q = eg_prompts_query(net, g, x), *t = eg_net_tokens(net, g, x);
    if (eg_is_poison(t) || eg_is_poison(q))
        return g->poison;
    int64_t n = t->shape.dim[0], w = t->shape.dim[2], d = q->shape.dim[1];
    eg_node *open = coda_prompt_open(m, g);
    for (int64_t b = 0; b < m->blocks; b++) {
        eg_node *keys = coda_prompt_rows(m, net, g, coda_prompt_name(CODA_KEY, b), d);
        eg_node *at = coda_prompt_rows(m, net, g, coda_prompt_name(CODA_ATTENTION, b), d);
        eg_node *weights = coda_prompt_weights(g, q, keys, at);
        eg_node *parts =
            coda_prompt_rows(m, net, g, coda_prompt_name(CODA_COMPONENT, b), m->length * 2 * w);
        weights = open ? eg_mul(g, weights, open) : weights;
        prefixes[b] = eg_reshape(g, eg_product(g, weights, parts, false, false),
                                 eg_dims(n, m->length, 2 * w));
    }
    return eg_prompts_features(net, g, x, prefixes);
}

/* |B B' - 1|^2 / M^2 of the M rows that count: |B B'|^2 - 2 |B|^2 + M, over M^2. */
static eg_node *coda_prompt_angles(eg_graph *g, eg_node *rows, eg_node *open)
{
    double all = (double)rows->shape.dim[0];
    if (open)
        rows = eg_mul(g, rows, eg_reshape(g, open, eg_dims(rows->shape.dim[0], 1)));
    eg_node *gram = eg_product(g, rows, rows, false, true);
    eg_node *squares = eg_sum(g, eg_mul(g, gram, gram), EG_ALL_AXES);
    eg_node *lengths = eg_sum(g, eg_mul(g, rows, rows), EG_ALL_AXES);
    eg_node *off = eg_sub(g, squares, eg_affine(g, lengths, 2, 0));
    if (!open)
        return eg_affine(g, off, 1 / (all * all), 1 / all);
    eg_node *n = eg_sum(g, open, EG_ALL_AXES);
    return eg_div(g, eg_add(g, off, n), eg_mul(g, n, n));
}

static eg_node *coda_prompt_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const coda_prompt *m = self;
    const eg_params *p = eg_net_params(c->net);
    eg_node *open = coda_prompt_open(m, g);
    for (int64_t b = 0; m->ortho > 0 && b < m->blocks; b++)
        for (int k = 0; k < CODA_KINDS; k++) {
            coda_name name = coda_prompt_name(k, b);
            const eg_param_info *t = eg_params_named(p, name.text);
            eg_node *rows = coda_prompt_rows(m, c->net, g, name, (int64_t)t->size / m->pool);
            eg_node *off = coda_prompt_angles(g, rows, open);
            loss = eg_add(g, loss, eg_affine(g, eg_reshape(g, off, loss->shape), m->ortho, 0));
        }
    return loss;
}

/* Copies, or zeroes without `from`, the rows of components whose task the client does not have
 * now. */
static void coda_prompt_hold(const coda_prompt *m, const eg_client *c, const float *from,
                             float *to)
{
    const eg_params *p = eg_net_params(c->net);
    int64_t tasks = eg_scenario_n_tasks(c->scenario), each = m->pool / tasks;
    for (int64_t i = 0; i < m->blocks * CODA_KINDS; i++) {
        coda_name name = coda_prompt_name((int)(i % CODA_KINDS), i / CODA_KINDS);
        const eg_param_info *t = eg_params_named(p, name.text);
        size_t width = t->size / (size_t)m->pool;
        for (int64_t row = 0; row < m->pool; row++) {
            bool now = false;
            for (int64_t k = 0; k < c->view.n_spans; k++)
                now |= c->view.spans[k].task == row / each;
            size_t at = t->offset + (size_t)row * width;
            if (!now && from)
                memcpy(to + at, from + at, width * sizeof *to);
            else if (!now)
                memset(to + at, 0, width * sizeof *to);
        }
    }
}

static eg_status coda_prompt_grad(void *self, eg_client *c)
{
    coda_prompt_hold(self, c, NULL, c->grad);
    return EG_OK;
}

/* What an optimiser does without a gradient, such as decay, does not last. */
static eg_status coda_prompt_trained(void *self, eg_client *c)
{
    if (c->global)
        coda_prompt_hold(self, c, c->global, c->param);
    return EG_OK;
}

const eg_method eg_method_coda_prompt = {
    .component = {"coda_prompt",
                  "prompts in a frozen transformer as sums of components weighed by attention",
                  sizeof(coda_prompt), coda_prompt_opts},
    .setup = coda_prompt_setup,
    .features = coda_prompt_features,
    .loss = coda_prompt_loss,
    .client = {.size = sizeof(coda_prompt),
               .grad = coda_prompt_grad,
               .trained = coda_prompt_trained},
};
