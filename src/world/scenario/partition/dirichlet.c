/* dirichlet.c - each class of a task spread over the clients in Dirichlet proportions; a client
 * that has its fair share gets no more; drawn again until the smallest client has enough.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <math.h>
#include <stdlib.h>

enum { DIRICHLET_FIRST = 10 }; /* draws after which it is known whether more are in vain */

typedef struct dirichlet {
    double alpha;
    int64_t min, tries;
} dirichlet;

// clang-format off
static const eg_opt dirichlet_opts[] = {
    EG_OPT_REAL(dirichlet, alpha, 0.3, 1e-6, 1e6, "concentration: small is uneven"),
    EG_OPT_INT(dirichlet, min, 10, 0, 1e9, "samples every client must have in every task"),
    EG_OPT_INT(dirichlet, tries, 10000, 1, 1e6, "draws before giving up"),
    EG_OPT_END,
};
// clang-format on

typedef struct dirichlet_draw {
    const eg_stock *pool;
    int64_t n;      /* clients */
    double *share;  /* [n] */
    int64_t *held;  /* [n] */
    int64_t *count; /* [n_classes, n] */
} dirichlet_draw;

/* Shares of one class: those of clients with their fair share fall to the others. */
static void dirichlet_shares(const dirichlet_draw *d, double alpha, eg_rng *r)
{
    eg_rng_dirichlet(r, alpha, (size_t)d->n, d->share);
    double sum = 0;
    int64_t open = 0;
    for (int64_t j = 0; j < d->n; j++) {
        bool full = d->held[j] * d->n >= d->pool->n;
        if (full)
            d->share[j] = 0;
        open += !full;
        sum += d->share[j];
    }
    for (int64_t j = 0; j < d->n; j++) {
        if (sum > 0)
            d->share[j] /= sum;
        else if (d->held[j] * d->n < d->pool->n)
            d->share[j] = 1.0 / (double)open;
    }
}

/* One try: how many samples of each class every client gets. Returns the smallest client's. */
static int64_t dirichlet_try(const dirichlet *p, dirichlet_draw *d, eg_rng *r)
{
    for (int64_t j = 0; j < d->n; j++)
        d->held[j] = 0;
    for (int64_t k = 0; k < d->pool->n_classes; k++) {
        int64_t first = d->pool->first[k], size = d->pool->first[k + 1] - first, cut = 0;
        eg_rng_shuffle(r, (size_t)size, d->pool->ids + first);
        dirichlet_shares(d, p->alpha, r);
        double sum = 0;
        for (int64_t j = 0; j < d->n; j++) {
            sum += d->share[j];
            int64_t next = j == d->n - 1 ? size : (int64_t)floor(sum * (double)size);
            next = next > size ? size : next; /* the sum may round to just above one */
            d->count[k * d->n + j] = next - cut;
            d->held[j] += next - cut;
            cut = next;
        }
    }
    int64_t least = d->held[0];
    for (int64_t j = 1; j < d->n; j++)
        least = d->held[j] < least ? d->held[j] : least;
    return least;
}

/* Clients with too few samples. */
static int64_t dirichlet_short(const dirichlet *p, const dirichlet_draw *d)
{
    int64_t n = 0;
    for (int64_t j = 0; j < d->n; j++)
        n += d->held[j] < p->min;
    return n;
}

/* Whether all further draws would be in vain, by the share of clients that had too few in the
 * first ones: if half of it were true, and clients were independent, then all the draws allowed
 * would bring less than 1e-9 good ones. With few clients that is never so. */
static bool dirichlet_is_hopeless(const dirichlet *p, const dirichlet_draw *d, double share)
{
    return (double)d->n * log1p(-share / 2) + log((double)p->tries) < log(1e-9);
}

static eg_status dirichlet_draw_task(const dirichlet *p, eg_deal *s, int64_t t,
                                     dirichlet_draw *d)
{
    eg_rng r = eg_rng_at(s->seed, EG_NOBODY, (uint32_t)t, EG_FOR_PARTITION);
    if (d->pool->n < p->min * d->n)
        return eg_fail(EG_EINVAL,
                       "partition.min: task %lld has %lld samples, %lld clients with at least "
                       "%lld each need %lld",
                       (long long)t, (long long)d->pool->n, (long long)d->n, (long long)p->min,
                       (long long)(p->min * d->n));
    double share = 0; /* of the clients, with too few, mean over the first draws */
    for (int64_t i = 0; dirichlet_try(p, d, &r) < p->min;) {
        share += i < DIRICHLET_FIRST
                     ? (double)dirichlet_short(p, d) / (double)d->n / DIRICHLET_FIRST
                     : 0;
        if (++i == DIRICHLET_FIRST && dirichlet_is_hopeless(p, d, share))
            return eg_fail(
                EG_EINVAL,
                "partition.min: with alpha %g some %.2g of the %lld clients of task "
                "%lld have fewer than %lld samples in every draw; lower min or raise "
                "alpha",
                p->alpha, share, (long long)d->n, (long long)t, (long long)p->min);
        if (i == p->tries)
            return eg_fail(
                EG_EINVAL,
                "partition.min: in %lld draws with alpha %g some client of task %lld "
                "always had fewer than %lld samples",
                (long long)p->tries, p->alpha, (long long)t, (long long)p->min);
    }
    return EG_OK;
}

static eg_status dirichlet_task(const void *self, eg_deal *s, int64_t t, const eg_stock *pool)
{
    const dirichlet *p = self;
    dirichlet_draw d = {.pool = pool};
    int64_t *workers;
    EG_TRY(eg_deal_workers(s, t, &workers, &d.n));
    eg_status status = eg_alloc((size_t)d.n, sizeof *d.share, &d.share);
    if (status == EG_OK)
        status = eg_alloc((size_t)d.n, sizeof *d.held, &d.held);
    if (status == EG_OK)
        status = eg_alloc((size_t)(d.n * pool->n_classes), sizeof *d.count, &d.count);
    if (status == EG_OK)
        status = dirichlet_draw_task(p, s, t, &d);
    int64_t at = 0;
    for (int64_t i = 0; i < d.n * pool->n_classes && status == EG_OK; i++) {
        status = eg_deal_give(s, workers[i % d.n], t, pool->ids + at, d.count[i]);
        at += d.count[i];
    }
    free(workers);
    free(d.share);
    free(d.held);
    free(d.count);
    return status;
}

const eg_partition eg_partition_dirichlet = {
    .component =
        {"dirichlet",
         "each class of a task spread over the clients in Dirichlet(alpha) proportions",
         sizeof(dirichlet), dirichlet_opts},
    .task = dirichlet_task,
};
