/* server.c - the rules of server optimisers. With d = mean - before:
 *   sgd       w = before + lr d
 *   momentum  m = beta1 m + d;  w = before + lr m
 *   the rest  m = beta1 m + (1 - beta1) d;  w = before + lr m / (sqrt(v) + tau)
 *   adagrad   v = v + d^2
 *   adam      v = beta2 v + (1 - beta2) d^2
 *   yogi      v = v - (1 - beta2) d^2 sign(v - d^2)
 * m begins at 0 and v at tau^2, the least that Algorithm 2 of arXiv:2003.00295 allows; like
 * there, nothing corrects for the beginning.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/optim/server.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER_M, SERVER_V, SERVER_SLOTS };

struct eg_server_optimizer {
    eg_server_optimizer_opts opts;
    size_t n;
    int n_slots;
    float *slots[SERVER_SLOTS]; /* each [n] */
    float *next[SERVER_SLOTS];  /* likewise: as the last step would have them */
};

static int server_n_slots(eg_server_rule rule)
{
    static const int n[] = {
        [EG_SERVER_NONE] = 0, [EG_SERVER_SGD] = 0,     [EG_SERVER_MOMENTUM] = 1,
        [EG_SERVER_ADAM] = 2, [EG_SERVER_ADAGRAD] = 2, [EG_SERVER_YOGI] = 2};
    return n[rule];
}

eg_status eg_server_optimizer_new(const eg_server_optimizer_opts *opts, size_t n,
                                  eg_server_optimizer **out)
{
    eg_server_optimizer *o;
    *out = NULL;
    EG_ASSERT(opts->rule != EG_SERVER_NONE);
    EG_TRY(eg_alloc(1, sizeof *o, &o));
    o->opts = *opts;
    o->n = n;
    o->n_slots = server_n_slots((eg_server_rule)opts->rule);
    if (opts->lr == 0)
        o->opts.lr = o->n_slots < 2 ? 1 : 0.01;
    eg_status s = EG_OK;
    for (int i = 0; i < o->n_slots && s == EG_OK; i++) {
        s = eg_alloc(n, sizeof(float), &o->slots[i]);
        if (s == EG_OK)
            s = eg_alloc(n, sizeof(float), &o->next[i]);
    }
    if (s != EG_OK) {
        eg_server_optimizer_free(o);
        return s;
    }
    for (size_t i = 0; i < n && o->n_slots > SERVER_V; i++)
        o->slots[SERVER_V][i] = (float)(opts->tau * opts->tau);
    *out = o;
    return EG_OK;
}

void eg_server_optimizer_free(eg_server_optimizer *o)
{
    if (!o)
        return;
    for (int i = 0; i < SERVER_SLOTS; i++) {
        free(o->slots[i]);
        free(o->next[i]);
    }
    free(o);
}

/* The new mean square of an adaptive rule. */
static double server_square(const eg_server_optimizer_opts *p, double v, double d)
{
    double square = d * d, sign = (v > square) - (v < square);
    switch ((eg_server_rule)p->rule) {
    case EG_SERVER_ADAGRAD:
        return v + square;
    case EG_SERVER_ADAM:
        return p->beta2 * v + (1 - p->beta2) * square;
    case EG_SERVER_YOGI:
        return v - (1 - p->beta2) * square * sign;
    default:
        return v;
    }
}

/* The step of parameter i along its change d. */
static double server_move(const eg_server_optimizer *o, size_t i, double d)
{
    const eg_server_optimizer_opts *p = &o->opts;
    if (o->n_slots == 0)
        return p->lr * d;
    bool adapts = o->n_slots > SERVER_V;
    double m = (double)o->slots[SERVER_M][i];
    double kept = p->beta1 * m + (adapts ? (1 - p->beta1) * d : d);
    o->next[SERVER_M][i] = (float)kept;
    if (!adapts)
        return p->lr * kept;
    double square = server_square(p, (double)o->slots[SERVER_V][i], d);
    o->next[SERVER_V][i] = (float)square;
    return p->lr * kept / (sqrt(square) + p->tau);
}

void eg_server_optimizer_step(eg_server_optimizer *o, const float *before, const float *mean,
                              float *out)
{
    for (size_t i = 0; i < o->n; i++) {
        double was = (double)before[i];
        out[i] = (float)(was + server_move(o, i, (double)mean[i] - was));
    }
}

bool eg_server_optimizer_keep(eg_server_optimizer *o)
{
    for (int i = 0; i < o->n_slots; i++)
        if (!eg_all_finite(o->next[i], o->n))
            return false;
    for (int i = 0; i < o->n_slots; i++) {
        float *kept = o->next[i];
        o->next[i] = o->slots[i];
        o->slots[i] = kept;
    }
    return true;
}

const float *eg_server_optimizer_slot(const eg_server_optimizer *o, int i)
{
    return i >= 0 && i < o->n_slots ? o->slots[i] : NULL;
}

void eg_server_optimizer_restore(eg_server_optimizer *o, const float *const *slots)
{
    for (int i = 0; i < o->n_slots; i++)
        memcpy(o->slots[i], slots[i], o->n * sizeof(float));
}
