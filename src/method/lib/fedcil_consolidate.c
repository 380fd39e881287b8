/* fedcil_consolidate.c - FedCIL's server learns from what the clients' generators draw
 * (Equation 10).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every step takes a batch, as large as the clients' own, of labels uniform over all clients'
 * classes of now, each drawn by a client that has it, and once there is a past as many of past
 * classes, each drawn by a generator that a client's last task left. All rows are drawn first,
 * on all workers.
 */
#include "base/base.h"
#include "engine/generator/acgan.h"
#include "method/lib/fedcil.h"

#include <stdlib.h>
#include <string.h>

enum { DRAW_PLAN, DRAW_ROWS, DRAW_STEPS }; /* the part's random draws */

/* Rows that are drawn for all steps: half of them of now, half of the past. */
typedef struct pool {
    int64_t n, pixels;
    float *x, *labels; /* [n, pixels], [n] */
    int64_t *by;       /* [n]: the place in `clients` of whoever draws it */
} pool;

typedef struct consolidation {
    eg_fedcil_server *f;
    eg_server *s;
    const eg_bundle **kept; /* [n_clients]: what is kept of each */
    pool pools[2];          /* of now, of the past */
    int64_t n_pieces;
    int64_t *pieces; /* [n_pieces]: twice the place in `clients` of who draws, and the half */
} consolidation;

static void pool_fini(pool *p)
{
    free(p->x);
    free(p->labels);
    free(p->by);
}

static const char *const pool_masks[] = {"now", "past"};
static const char *const pool_networks[] = {"now", "last"};
static const char *const pool_prefixes[] = {"now.", "last."};

/* Whether a client can draw a class. */
static bool pool_offers(const eg_bundle *kept, int half, int64_t label)
{
    size_t n;
    const float *mask = eg_bundle_find(kept, pool_masks[half], &n);
    const char *network = half ? "last.param" : "now.param";
    return mask && mask[label] != 0 && eg_bundle_find(kept, network, NULL);
}

/* Who draws a class, one after the other: *n of them. */
static void pool_givers(const consolidation *k, int half, int64_t label, int64_t *by,
                        int64_t *n)
{
    *n = 0;
    for (size_t i = 0; i < k->f->n_clients; i++)
        if (pool_offers(k->kept[i], half, label))
            by[(*n)++] = (int64_t)i;
}

/* Says which labels are drawn by whom. Without any that can be drawn the pool stays empty. */
static eg_status pool_plan(consolidation *k, int half, int64_t n, eg_label_set *labels,
                           int64_t *givers)
{
    pool *p = &k->pools[half];
    eg_rng rng = eg_server_stream(k->s, half, DRAW_PLAN);
    int64_t n_givers;
    eg_label_set_clear(labels);
    for (int64_t c = 0; c < labels->classes; c++) {
        pool_givers(k, half, c, givers, &n_givers);
        if (n_givers > 0)
            eg_label_set_add(labels, c);
    }
    if (labels->n == 0)
        return EG_OK;
    p->n = n, p->pixels = k->f->own->pixels;
    EG_TRY(eg_alloc((size_t)(n * p->pixels), sizeof *p->x, &p->x));
    EG_TRY(eg_alloc((size_t)n, sizeof *p->labels, &p->labels));
    EG_TRY(eg_alloc((size_t)n, sizeof *p->by, &p->by));
    eg_labels_draw(&rng, labels->list, labels->n, n, p->labels);
    for (int64_t i = 0; i < n; i++) {
        pool_givers(k, half, (int64_t)p->labels[i], givers, &n_givers);
        p->by[i] = givers[eg_rng_below(&rng, (uint64_t)n_givers)];
    }
    return EG_OK;
}

/* Which client and half piece i is of. */
static const pool *pool_of(const consolidation *k, int64_t i, int64_t *who, int *half)
{
    *who = k->pieces[i] / 2;
    *half = (int)(k->pieces[i] % 2);
    return &k->pools[*half];
}

/* Who draws anything, of now or of the past. */
static eg_status pool_pieces(consolidation *k)
{
    EG_TRY(eg_alloc(2 * k->f->n_clients, sizeof *k->pieces, &k->pieces));
    for (int64_t at = 0; at < 2 * (int64_t)k->f->n_clients; at++) {
        const pool *p = &k->pools[at % 2];
        bool draws = false;
        for (int64_t i = 0; i < p->n && !draws; i++)
            draws = p->by[i] == at / 2;
        if (draws)
            k->pieces[k->n_pieces++] = at;
    }
    return EG_OK;
}

/* What piece i needs: a client's generator and the labels it draws. */
static eg_status pool_give(void *context, int64_t i, eg_bundle *to)
{
    const consolidation *k = context;
    int64_t who, n = 0;
    int half;
    const pool *p = pool_of(k, i, &who, &half);
    float *labels;
    EG_TRY(eg_alloc((size_t)p->n, sizeof *labels, &labels));
    for (int64_t row = 0; row < p->n; row++)
        if (p->by[row] == who)
            labels[n++] = p->labels[row];
    eg_status s = eg_bundle_add_flat(to, "labels", labels, (size_t)n);
    free(labels);
    EG_TRY(s);
    EG_TRY(eg_bundle_scalar(to, "half", half));
    EG_TRY(eg_bundle_scalar(to, "stream", (double)(2 * k->f->clients[who] + half)));
    return eg_bundle_copy(to, k->kept[who], pool_prefixes[half]);
}

eg_status eg_fedcil_work(const void *options, const eg_piece *piece, eg_bundle *to)
{
    size_t n;
    const float *labels = eg_bundle_find(piece->from, "labels", &n);
    int64_t half, stream;
    eg_fedcil_spec spec;
    eg_generator *m;
    bool found;
    float *x;
    EG_TRY(eg_bundle_need_count(piece->from, "half", 1, &half));
    EG_TRY(eg_bundle_need_count(piece->from, "stream", UINT32_MAX, &stream));
    eg_fedcil_describe(options, piece->net, true, &spec);
    EG_TRY(eg_worker_generator(piece->worker, "fedcil.guest", &spec.is, &m));
    EG_TRY(eg_learner_recall(m->learners[0], pool_networks[half], piece->from, &found));
    if (!found || !labels)
        return eg_fail(EG_ENOENT, "there is nothing to draw with");
    eg_rng rng = eg_piece_stream(piece, stream, DRAW_ROWS);
    EG_TRY(eg_bundle_room(to, "x", eg_dims((int64_t)n, m->pixels), &x));
    return eg_generator_draw(m, labels, (int64_t)n, &rng, x);
}

/* Puts what piece i drew where it belongs. */
static eg_status pool_take(void *context, int64_t i, const eg_bundle *from)
{
    consolidation *k = context;
    int64_t who, n = 0;
    int half;
    const pool *p = pool_of(k, i, &who, &half);
    const float *x;
    for (int64_t row = 0; row < p->n; row++)
        n += p->by[row] == who;
    EG_TRY(eg_bundle_need(from, "x", (size_t)(n * p->pixels), &x));
    n = 0;
    for (int64_t row = 0; row < p->n; row++)
        if (p->by[row] == who)
            memcpy(p->x + row * p->pixels, x + n++ * p->pixels, (size_t)p->pixels * sizeof *x);
    return EG_OK;
}

static eg_images pool_batch(const consolidation *k, int half, int64_t step)
{
    const pool *p = &k->pools[half];
    int64_t batch = k->s->train->batch, at = step * batch;
    return (eg_images){p->n ? batch : 0, p->x + at * p->pixels, p->labels + at};
}

static eg_status consolidate_steps(consolidation *k)
{
    eg_fedcil_server *f = k->f;
    eg_rng rng = eg_server_stream(k->s, 0, DRAW_STEPS);
    double sums[EG_MAX_LEARNERS] = {0};
    for (int64_t i = 0; i < f->is.steps; i++) {
        double losses[EG_MAX_LEARNERS];
        eg_server_moment(k->s, i, f->is.steps);
        const eg_acgan_step step = {.critic = k->s->net,
                                    .learner = f->critic,
                                    .now = pool_batch(k, 0, i),
                                    .past = pool_batch(k, 1, i),
                                    .n_labels = f->known.n,
                                    .labels = f->known.list};
        EG_TRY(eg_acgan_learn(f->own, &step, &rng, losses));
        sums[0] += losses[0], sums[1] += losses[1];
    }
    EG_TRY(eg_server_note(k->s, "consolidation generator loss", sums[0] / (double)f->is.steps));
    return eg_server_note(k->s, "consolidation critic loss", sums[1] / (double)f->is.steps);
}

static bool consolidate_is_finite(const eg_learner *l)
{
    return eg_all_finite(l->param, l->n_params) && eg_all_finite(l->state, l->n_state);
}

/* A learner's values as they are before the steps; NULL members if there is no memory. */
static eg_status consolidate_guarded(consolidation *k, float *param, float *state)
{
    eg_fedcil_server *f = k->f;
    eg_bundle *before;
    bool found;
    EG_TRY(eg_bundle_new(&before));
    eg_status s = eg_generator_keep(f->own, "own", EG_WHOLE_GENERATOR, before);
    if (s == EG_OK)
        s = eg_learner_keep_optimizer(f->critic, "critic", before);
    if (s == EG_OK)
        s = consolidate_steps(k);
    bool good = s == EG_OK && consolidate_is_finite(f->critic) &&
                consolidate_is_finite(f->own->learners[0]);
    if (good) {
        memcpy(param, f->critic->param, f->critic->n_params * sizeof *param);
        if (f->critic->n_state)
            memcpy(state, f->critic->state, f->critic->n_state * sizeof *state);
    } else if (s == EG_OK || s == EG_EINVAL) { /* it diverged: the mean stays */
        s = eg_generator_recall(f->own, "own", EG_WHOLE_GENERATOR, before, &found);
        if (s == EG_OK)
            s = eg_learner_recall_optimizer(f->critic, "critic", before);
        if (s == EG_OK)
            s = eg_server_note(k->s, "consolidation undone", 1);
    }
    eg_bundle_free(before);
    return s;
}

static eg_status consolidate(consolidation *k, float *param, float *state)
{
    eg_fedcil_server *f = k->f;
    int64_t n = f->is.steps * k->s->train->batch, *givers;
    char name[48];
    for (size_t i = 0; i < f->n_clients; i++) {
        eg_fedcil_record_name(f->clients[i], name);
        EG_TRY(eg_server_recall(k->s, name, &k->kept[i]));
    }
    EG_TRY(eg_alloc(f->n_clients, sizeof *givers, &givers));
    eg_status s = pool_plan(k, 0, n, &f->now, givers);
    if (s == EG_OK)
        s = pool_plan(k, 1, n, &f->past, givers);
    free(givers);
    EG_TRY(s);
    EG_TRY(pool_pieces(k));
    const eg_work work = {.n = k->n_pieces, .give = pool_give, .take = pool_take, .context = k};
    EG_TRY(eg_server_share(k->s, &work));
    memcpy(f->critic->param, param, f->critic->n_params * sizeof *param);
    if (f->critic->n_state)
        memcpy(f->critic->state, state, f->critic->n_state * sizeof *state);
    return consolidate_guarded(k, param, state);
}

eg_status eg_fedcil_consolidate(eg_fedcil_server *f, eg_server *s, float *param, float *state)
{
    consolidation k = {.f = f, .s = s};
    EG_TRY(eg_alloc(f->n_clients, sizeof *k.kept, &k.kept));
    eg_status status = consolidate(&k, param, state);
    pool_fini(&k.pools[0]);
    pool_fini(&k.pools[1]);
    free(k.kept);
    free(k.pieces);
    return status;
}
