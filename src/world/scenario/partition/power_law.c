/* power_law.c - client sizes from a power law, each client's classes in Dirichlet proportions
 * while stocks last (FedSpace: Shenaj et al., 2023).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/real.h"
#include "world/scenario/scenario.h"

#include <math.h>
#include <stdlib.h>

typedef struct power_law {
    double exponent, alpha;
} power_law;

// clang-format off
static const eg_opt power_law_opts[] = {
    EG_OPT_REAL(power_law, exponent, 3, 0.01, 1000, "sizes go as U^(1/exponent), U uniform"),
    EG_OPT_REAL(power_law, alpha, 3, 1e-6, 1e6, "concentration of a client's classes"),
    EG_OPT_END,
};
// clang-format on

typedef struct power_law_draw {
    int64_t n, n_classes;
    double *size;    /* [n], then */
    double *share;   /* [n_classes] */
    int64_t *target; /* [n]: samples a client should have */
    int64_t *got;    /* [n] */
    int64_t *left;   /* [n_classes] */
    int64_t *count;  /* [n, n_classes] */
} power_law_draw;

static void power_law_fini(power_law_draw *d)
{
    free(d->size);
    free(d->share);
    free(d->target);
    free(d->got);
    free(d->left);
    free(d->count);
}

static eg_status power_law_init(power_law_draw *d, int64_t n, int64_t n_classes)
{
    *d = (power_law_draw){.n = n, .n_classes = n_classes};
    EG_TRY(eg_alloc((size_t)n, sizeof *d->size, &d->size));
    EG_TRY(eg_alloc((size_t)n_classes, sizeof *d->share, &d->share));
    EG_TRY(eg_alloc((size_t)n, sizeof *d->target, &d->target));
    EG_TRY(eg_alloc((size_t)n, sizeof *d->got, &d->got));
    EG_TRY(eg_alloc((size_t)n_classes, sizeof *d->left, &d->left));
    return eg_alloc((size_t)(n * n_classes), sizeof *d->count, &d->count);
}

static void power_law_sizes(const power_law *p, power_law_draw *d, int64_t total, eg_rng *r)
{
    double sum = 0;
    for (int64_t i = 0; i < d->n; i++)
        sum += d->size[i] = eg_real_pow(eg_rng_unit(r), 1 / p->exponent);
    int64_t rest = total;
    for (int64_t i = 0; i < d->n; i++) {
        d->target[i] = (int64_t)rint((double)total * d->size[i] / sum);
        rest -= d->target[i];
    }
    while (rest != 0) {
        int64_t i = (int64_t)eg_rng_below(r, (uint64_t)d->n);
        if (rest < 0 && d->target[i] == 0)
            continue;
        d->target[i] += rest > 0 ? 1 : -1;
        rest += rest > 0 ? -1 : 1;
    }
}

static void power_law_classes(const power_law *p, power_law_draw *d, int64_t i, eg_rng *r)
{
    int64_t open = 0, at = 0;
    for (int64_t k = 0; k < d->n_classes; k++)
        open += d->left[k] > 0;
    if (open == 0)
        return;
    eg_rng_dirichlet(r, p->alpha, (size_t)open, d->share);
    for (int64_t k = 0; k < d->n_classes; k++) {
        if (d->left[k] == 0)
            continue;
        int64_t want = (int64_t)rint(d->share[at++] * (double)d->target[i]);
        want = want > d->left[k] ? d->left[k] : want;
        d->count[i * d->n_classes + k] = want;
        d->left[k] -= want;
        d->got[i] += want;
    }
}

/* What is left goes, class by class, to the first clients still short. */
static void power_law_leftovers(power_law_draw *d)
{
    int64_t i = 0;
    for (int64_t k = 0; k < d->n_classes; k++)
        while (d->left[k] > 0) {
            while (d->got[i] >= d->target[i])
                i++;
            d->count[i * d->n_classes + k]++;
            d->got[i]++;
            d->left[k]--;
        }
}

static eg_status power_law_give(eg_deal *s, size_t source, const eg_stock *pool,
                                const power_law_draw *d, eg_rng *r)
{
    for (int64_t k = 0; k < d->n_classes; k++) {
        int64_t at = pool->first[k];
        eg_rng_shuffle(r, (size_t)(pool->first[k + 1] - at), pool->ids + at);
        for (int64_t i = 0; i < d->n; i++) {
            int64_t n = d->count[i * d->n_classes + k];
            EG_TRY(eg_deal_give_source(s, i, source, pool->ids + at, n));
            at += n;
        }
    }
    return EG_OK;
}

static eg_status power_law_source(const power_law *p, eg_deal *s, size_t source)
{
    eg_stock pool;
    power_law_draw d = {0};
    eg_rng r = eg_rng_at(s->seed, EG_NOBODY, (uint32_t)source, EG_FOR_PARTITION);
    eg_status status = eg_stock_source(s, source, &pool);
    if (status == EG_OK)
        status = power_law_init(&d, s->n_clients, pool.n_classes);
    if (status == EG_OK) {
        power_law_sizes(p, &d, pool.n, &r);
        for (int64_t k = 0; k < d.n_classes; k++)
            d.left[k] = pool.first[k + 1] - pool.first[k];
        for (int64_t i = 0; i < d.n; i++)
            power_law_classes(p, &d, i, &r);
        power_law_leftovers(&d);
        status = power_law_give(s, source, &pool, &d, &r);
    }
    power_law_fini(&d);
    eg_stock_fini(&pool);
    return status;
}

static eg_status power_law_split(const void *self, eg_deal *s)
{
    EG_TRY(eg_deal_needs_all(s));
    for (size_t i = 0; i < s->n_sources; i++)
        EG_TRY(power_law_source(self, s, i));
    return EG_OK;
}

const eg_partition eg_partition_power_law = {
    .component =
        {"power_law",
         "client sizes from a power law, each client's classes in Dirichlet proportions",
         sizeof(power_law), power_law_opts},
    .split = power_law_split,
};
