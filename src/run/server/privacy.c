/* privacy.c - what of differential privacy a run has spent, and the noise it adds.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sampled: each release of an exchange is a mechanism of its own, with noise of sigma clips.
 * Where the clip adapts (Andrew et al., 2021, arXiv:1905.03871) the noisy share of clients that
 * were short enough moves it, and the noise of the changes is so much larger that both together
 * cost what sigma does.
 *
 * FTRL (Kairouz et al., 2021, arXiv:2103.00039): the changes of all rounds together have the
 * noise of the nodes of a binary tree that make up the rounds so far. A node's noise follows
 * from a key of the system's generator, so that it is made again and not kept. A run that goes
 * on begins a tree anew, since it may release a round twice.
 */
#include "run/server/privacy.h"

#include "io/file.h"
#include "run/privacy/noise.h"

#include <engram/privacy.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRIVACY_PATH = 640, PRIVACY_TREES = 4096, PRIVACY_BYTES = 1 << 30 };
#define PRIVACY_NEVER (INT64_MIN / 2)

/* What is in the file, before the clients' last rounds. */
typedef struct privacy_head {
    char magic[8];
    int64_t released[EG_ALL_EXCHANGES]; /* of each exchange */
    double clip;
    int64_t n_trees, leaves[PRIVACY_TREES]; /* of each tree of the training exchange */
    int64_t n_clients;
} privacy_head;

struct eg_privacy {
    eg_privacy_how is;
    char path[PRIVACY_PATH];
    privacy_head h;
    int64_t *last;    /* [n_clients]: the round of each one's last contribution */
    eg_secret trees;  /* of which all nodes' keys follow */
    eg_dp_spent once; /* one release by the sampled mechanism */
};
static const char privacy_magic[8] = "EGPRIV1";

static bool privacy_grows_trees(const eg_privacy *p)
{
    return p->is.opts->kind == EG_DP_FTRL;
}

static eg_status privacy_save(const eg_privacy *p)
{
    const eg_bytes parts[] = {{&p->h, sizeof p->h},
                              {p->last, (size_t)p->h.n_clients * sizeof *p->last}};
    return eg_file_write(p->path, parts, 2);
}

static eg_status privacy_load(eg_privacy *p)
{
    unsigned char *bytes;
    size_t n, rest = (size_t)p->is.n_clients * sizeof *p->last;
    eg_status s = eg_file_read(p->path, PRIVACY_BYTES, &bytes, &n);
    if (s == EG_ENOENT)
        return EG_OK; /* nothing was released yet */
    EG_TRY(s);
    privacy_head h;
    bool good = n == sizeof h + rest;
    if (good)
        memcpy(&h, bytes, sizeof h);
    good = good && memcmp(h.magic, privacy_magic, sizeof h.magic) == 0 &&
           h.n_clients == p->is.n_clients && h.n_trees >= 0 && h.n_trees < PRIVACY_TREES &&
           h.clip > 0;
    if (good) {
        p->h = h;
        memcpy(p->last, bytes + sizeof h, rest);
    }
    free(bytes);
    return good ? EG_OK
                : eg_fail(EG_EFORMAT, "%s does not say what privacy was spent", p->path);
}

/* The effective noise of the changes beside that of the count by which the clip adapts. */
static double privacy_count_sigma(const eg_privacy *p)
{
    return eg_privacy_cohort(p) / 20;
}

static eg_status privacy_check_adaptive(const eg_privacy *p)
{
    if (p->is.opts->adaptive && !(2 * privacy_count_sigma(p) > p->is.opts->sigma))
        return eg_fail(EG_EINVAL,
                       "dp.adaptive: with %g clients in a round the noise of the clip "
                       "alone costs more than dp.sigma %g: it must be below %g",
                       eg_privacy_cohort(p), p->is.opts->sigma, 2 * privacy_count_sigma(p));
    return EG_OK;
}

eg_status eg_privacy_open(const eg_privacy_how *how, eg_privacy **out)
{
    eg_privacy *p;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *p, &p));
    p->is = *how;
    memcpy(p->h.magic, privacy_magic, sizeof p->h.magic);
    p->h.clip = how->opts->clip;
    p->h.n_clients = how->n_clients;
    int n = snprintf(p->path, sizeof p->path, "%s/privacy", how->store);
    eg_status s = n < PRIVACY_PATH ? EG_OK : eg_fail(EG_EINVAL, "the path is too long");
    if (s == EG_OK)
        s = eg_alloc((size_t)how->n_clients, sizeof *p->last, &p->last);
    for (int64_t i = 0; s == EG_OK && i < how->n_clients; i++)
        p->last[i] = PRIVACY_NEVER;
    if (s == EG_OK)
        s = privacy_check_adaptive(p);
    if (s == EG_OK && how->resume)
        s = privacy_load(p);
    if (s == EG_OK) {
        p->h.n_trees++;
        eg_noise_key(p->trees);
        eg_dp_spend(&p->once, how->q > 0 ? how->q : 1, how->opts->sigma, 1);
        *out = p;
        return EG_OK;
    }
    eg_privacy_close(p);
    return s;
}

void eg_privacy_close(eg_privacy *p)
{
    if (!p)
        return;
    eg_wipe(p->trees, sizeof p->trees);
    free(p->last);
    free(p);
}

double eg_privacy_clip(const eg_privacy *p, size_t exchange)
{
    double own = p->is.opts->exchange_clip;
    if (exchange == EG_TRAINING)
        return p->h.clip;
    return own > 0 ? own : p->is.opts->clip;
}

double eg_privacy_cohort(const eg_privacy *p)
{
    return p->is.q > 0 ? p->is.q * (double)p->is.n_clients : (double)p->is.n_wanted;
}

/* --- What is spent. */

static void privacy_spend(const eg_privacy *p, eg_dp_spent *s, size_t exchange, int64_t more)
{
    const eg_dp_opts *o = p->is.opts;
    int64_t separation = o->separation > 0 ? o->separation : INT64_MAX;
    if (!privacy_grows_trees(p)) {
        for (int a = EG_DP_MIN_ORDER; a <= EG_DP_MAX_ORDER; a++)
            s->rdp[a] += (double)(p->h.released[exchange] + more) * p->once.rdp[a];
        return;
    }
    for (int64_t k = 0; k < p->h.n_trees; k++) {
        int64_t leaves = exchange == EG_TRAINING ? p->h.leaves[k] : 0;
        leaves += k + 1 == p->h.n_trees ? more : 0;
        if (exchange == EG_TRAINING && leaves > 0)
            eg_dp_spend_gaussian(s, eg_dp_tree_squared(leaves, separation), o->sigma);
    }
    if (exchange !=
        EG_TRAINING) { /* each time for itself; one client is in each at most once */
        double times = (double)(p->h.released[exchange] + more);
        if (o->separation > 0)
            times = ceil(times / (double)o->separation);
        else
            times = fmin(times, 1);
        eg_dp_spend_gaussian(s, times, o->sigma);
    }
}

static double privacy_epsilon(const eg_privacy *p, size_t n_exchanges)
{
    eg_dp_spent s = {0};
    for (size_t x = 0; x < EG_ALL_EXCHANGES; x++)
        if (p->h.released[x] > 0 || x < n_exchanges)
            privacy_spend(p, &s, x, x < n_exchanges);
    return eg_dp_epsilon(&s, p->is.opts->delta, NULL);
}

double eg_privacy_epsilon(const eg_privacy *p)
{
    return privacy_epsilon(p, 0);
}

double eg_privacy_epsilon_next(const eg_privacy *p, size_t n_exchanges)
{
    return privacy_epsilon(p, n_exchanges);
}

bool eg_privacy_allows(const eg_privacy *p, int64_t client, int64_t round, size_t exchange)
{
    int64_t last = p->last[client], apart = p->is.opts->separation;
    if (!privacy_grows_trees(p))
        return true;
    if (exchange != EG_TRAINING)
        return last == round;
    return last == PRIVACY_NEVER || (apart > 0 && round - last >= apart);
}

void eg_privacy_note(eg_privacy *p, int64_t client, int64_t round)
{
    p->last[client] = round;
}

/* --- Noise. */

static void privacy_key(const eg_privacy *p, int64_t round, size_t exchange, int what,
                        eg_secret out)
{
    const int64_t of[] = {(int64_t)p->is.seed, round, (int64_t)exchange, what};
    if (p->is.opts->noise == 1)
        eg_noise_key_of(of, sizeof of, out);
    else
        eg_noise_key(out);
}

static void privacy_add(const eg_privacy *p, int64_t round, size_t exchange, int what,
                        double deviation, double *x, size_t n)
{
    eg_secret key;
    privacy_key(p, round, exchange, what, key);
    eg_noise_add(key, deviation, x, n);
    eg_wipe(key, sizeof key);
}

/* The noise of the nodes that make up the first `leaves` leaves, times -1 or 1. */
static eg_status privacy_add_tree(const eg_privacy *p, int64_t leaves, double sign, double *x,
                                  size_t n)
{
    double *noise, deviation = p->is.opts->sigma * p->is.opts->clip;
    eg_secret key;
    EG_TRY(eg_alloc(n, sizeof *noise, &noise));
    for (int64_t size = 1, end = leaves; end > 0; size *= 2) {
        if (!(end & size))
            continue;
        const int64_t of[] = {(int64_t)p->is.seed, p->h.n_trees, size, end};
        const eg_piece_of pieces[] = {{p->trees, EG_SECRET}, {of, sizeof of}};
        eg_digest("engram tree node", pieces, p->is.opts->noise == 1 ? 0 : 2, key);
        if (p->is.opts->noise == 1)
            eg_noise_key_of(of, sizeof of, key);
        memset(noise, 0, n * sizeof *noise);
        eg_noise_add(key, deviation, noise, n);
        for (size_t i = 0; i < n; i++)
            x[i] += sign * noise[i];
        end -= size;
    }
    eg_wipe(key, sizeof key);
    eg_wipe(noise, n * sizeof *noise);
    free(noise);
    return EG_OK;
}

/* The share that was short enough, with its noise, moves the clip. */
static void privacy_adapt(eg_privacy *p, int64_t round, double *short_ones)
{
    const eg_dp_opts *o = &*p->is.opts;
    privacy_add(p, round, EG_TRAINING, 1, privacy_count_sigma(p), short_ones, 1);
    double share = *short_ones / eg_privacy_cohort(p) + 0.5;
    p->h.clip *= exp(-o->rate * (share - o->quantile));
    p->h.clip = fmin(fmax(p->h.clip, 1e-6), 1e6);
}

eg_status eg_privacy_release(eg_privacy *p, int64_t round, size_t exchange, double *x, size_t n,
                             double *short_ones)
{
    const eg_dp_opts *o = p->is.opts;
    double sigma = o->sigma, clip = eg_privacy_clip(p, exchange);
    bool grows = privacy_grows_trees(p) && exchange == EG_TRAINING;
    int64_t *leaves = &p->h.leaves[p->h.n_trees - 1];
    p->h.released[exchange]++;
    *leaves += grows;
    EG_TRY(privacy_save(p));
    if (grows) {
        EG_TRY(privacy_add_tree(p, *leaves, 1, x, n));
        return privacy_add_tree(p, *leaves - 1, -1, x, n);
    }
    if (short_ones) { /* both together cost what sigma does */
        sigma = pow(pow(sigma, -2) - pow(2 * privacy_count_sigma(p), -2), -0.5);
        privacy_adapt(p, round, short_ones);
    }
    privacy_add(p, round, exchange, 0, sigma * clip, x, n);
    return short_ones ? privacy_save(p) : EG_OK;
}
