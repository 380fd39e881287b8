/* lora.c - low-rank adaptation (Hu et al., 2021, arXiv:2106.09685): a matrix W of the frozen
 * network becomes W + alpha / rank B A, of which only the factors are trained.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A [rank, in] begins uniform as PyTorch's linear layers do, B [out, rank] as zeros, so that
 * the network begins as it was. The factors and the head are trained, sent and averaged.
 */
#include "engine/graph/graph.h"

#include <engram/method.h>
#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct lora {
    int64_t rank;
    double alpha;
    char matrices[EG_OPT_TEXT_SIZE];
} lora;

// clang-format off
static const eg_opt lora_opts[] = {
    EG_OPT_INT(lora, rank, 4, 1, 4096, "numbers that stand between a matrix's inputs and outputs"),
    EG_OPT_REAL(lora, alpha, 4, 1e-6, 1e6, "the factors count alpha / rank"),
    EG_OPT_TEXT(lora, matrices, "qkv query value q_lin v_lin", "layers that have factors, by the last word of their names"),
    EG_OPT_END,
};
// clang-format on

static eg_status lora_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->train = "[lora]";
    return EG_OK;
}

/* Whether a tensor is the weight of one of the layers: "blocks.0.attn.qkv.weight". */
static bool lora_has(const lora *m, const char *name)
{
    static const char end[] = ".weight";
    size_t n = strlen(name), tail = sizeof end - 1;
    if (n <= tail || strcmp(name + n - tail, end) != 0)
        return false;
    size_t stop = n - tail, from = stop;
    while (from > 0 && name[from - 1] != '.')
        from--;
    for (const char *at = m->matrices; *at;) {
        size_t word = strcspn(at, " ,");
        if (word == stop - from && word > 0 && strncmp(at, name + from, word) == 0)
            return true;
        at += word + (at[word] != 0);
    }
    return false;
}

static eg_node *lora_adapt(void *context, eg_graph *g, eg_params *p, const char *name,
                           eg_node *w)
{
    const lora *m = context;
    char a[128], b[128];
    if (w->shape.rank != 2 || !lora_has(m, name))
        return w;
    int64_t out = w->shape.dim[0], in = w->shape.dim[1];
    snprintf(a, sizeof a, "lora.%.100s.A", name);
    snprintf(b, sizeof b, "lora.%.100s.B", name);
    eg_node *down = eg_param(g, p, a, eg_dims(m->rank, in),
                             (eg_init){.kind = EG_INIT_UNIFORM, .a = 1 / sqrt((double)in)});
    eg_node *up = eg_param(g, p, b, eg_dims(out, m->rank), (eg_init){.kind = EG_INIT_CONSTANT});
    return eg_add(
        g, w,
        eg_affine(g, eg_product(g, up, down, false, false), m->alpha / (double)m->rank, 0));
}

static eg_node *lora_features(const void *options, const eg_net *net, eg_graph *g, eg_node *x)
{
    eg_graph_adapt(g, lora_adapt, (void *)(uintptr_t)options);
    eg_node *features = eg_net_own_features(net, g, x);
    eg_graph_adapt(g, NULL, NULL);
    return features;
}

const eg_method eg_method_lora = {
    .component = {"lora", "factors of low rank beside the weights of a frozen network",
                  sizeof(lora), lora_opts},
    .setup = lora_setup,
    .features = lora_features,
};
