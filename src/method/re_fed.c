/* re_fed.c - clients that cache what matters (Li et al., Towards Efficient Replay in Federated
 * Incremental Learning).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: there is room for `size` samples, M, old and new together. When a task with N new
 * samples begins, the samples of the stages before it, those still cached and those new since,
 * are ranked, and the first M - N are cached; with N >= M none are, and M of the new ones are
 * drawn. The client then trains on cached and new samples alike (Eq. 6). A stage's data arrive
 * whether or not the client is chosen to train in it. The policy `re-fed` ranks by the gradient
 * norms of a personalised informative model (Eq. 3 to 5, pim.h); the others are to compare
 * with. What ranks stands at w^{t-1}, the global model that the last task left, also for a
 * client that is chosen late in the new one (Algorithm 2): where tasks are common the server
 * sends it along. Elsewhere it is the model that the client stands at. Server: the usual mean.
 *
 * With `every` nothing needs to say where tasks begin: samples that a client has left behind
 * wait, and once that many wait they are ranked with the cache.
 */
#include "base/base.h"
#include "base/real.h"
#include "method/choice.h"
#include "method/lib/last_task.h"
#include "method/lib/pim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum re_fed_policy {
    RE_FED_PIM,
    RE_FED_RANDOM,
    RE_FED_RESERVOIR,
    RE_FED_HERDING,
    RE_FED_LOSS,
} re_fed_policy;

enum { RE_FED_CHOICE, RE_FED_CUT, RE_FED_ORDER }; /* its draws */
enum { RE_FED_SHARES = 20 }; /* of so many classes at most each one's share is noted */

typedef struct re_fed {
    int64_t size, epochs, every;
    double lambda, lr;
    int emphasis, policy;
} re_fed;

typedef struct re_fed_client {
    re_fed is;
    eg_sample *cache; /* [n_cache], the most wanted first */
    int64_t n_cache;
    int64_t ranked;  /* stages before this one are in the cache, or gone */
    int64_t seen;    /* samples that a reservoir was offered */
    eg_weights left; /* w^{t-1}; NULL members: the client stands there */
} re_fed_client;

typedef struct re_fed_server {
    re_fed is;
    bool ranks; /* by a model, when common tasks begin */
    eg_last_task last;
} re_fed_server;

// clang-format off
static const eg_opt re_fed_opts[] = {
    EG_OPT_INT(re_fed, size, 1000, 1, 1e9, "samples a client has room for, old and new together"),
    EG_OPT_INT(re_fed, epochs, 40, 1, 100000, "passes of the personalised model over the old samples"),
    EG_OPT_INT(re_fed, every, 0, 0, 1e9, "rank once so many samples wait (they come on top of size), without boundaries; 0: when a task begins"),
    EG_OPT_REAL(re_fed, lambda, 0.5, 1e-9, 1, "how local the personalised model is; towards 0: the global one"),
    EG_OPT_REAL(re_fed, lr, 0, 0, 1e3, "step size of the personalised model; 0: that of the training in this round"),
    EG_OPT_CHOICE(re_fed, emphasis, 0, "epochs whose gradient norms count most; late: the lowest early scores", "early|average|late|late-weight"),
    EG_OPT_CHOICE(re_fed, policy, 0, "what is cached", "re-fed|random|reservoir|herding|loss"),
    EG_OPT_END,
};
// clang-format on

/* lr: the step size of the training. */
static eg_pim re_fed_pim(const re_fed *r, double lr)
{
    return (eg_pim){.epochs = r->epochs,
                    .lr = r->lr > 0 ? r->lr : lr,
                    .pull = eg_pim_pull(r->lambda),
                    .emphasis = (eg_emphasis)r->emphasis};
}

static eg_status re_fed_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const re_fed *r = options;
    const eg_scenario *s = in->scenario;
    eg_pim pim = re_fed_pim(r, in->train->lr);  /* no schedule rises above it */
    out->classes = r->policy == RE_FED_HERDING; /* it herds class by class */
    out->sums = out->late = true;               /* it asks only who took part */
    if (s && !r->every && !(eg_scenario_offers(s) & EG_OFFERS_BOUNDARIES))
        return eg_fail(
            EG_ENOTSUP,
            "ranks the cache when a task begins, and scenario '%s' does not announce "
            "that; set every: N to rank after every N samples",
            eg_scenario_name(s));
    return r->policy == RE_FED_PIM ? eg_pim_check(&pim) : EG_OK;
}

/* Appends a stage's samples to list [n]; when they are more than there is room for, only those
 * that the client drew when it met them. */
static void re_fed_take_stage(const re_fed *r, const eg_client *c, int64_t stage,
                              eg_sample *list, int64_t *n)
{
    int64_t n_spans, count = 0;
    eg_sample *added = list + *n;
    const eg_span *spans = eg_scenario_spans(c->scenario, c->id, stage, &n_spans);
    for (int64_t k = 0; k < n_spans; k++)
        for (int64_t i = 0; i < spans[k].n; i++)
            added[count++] = (eg_sample){spans[k].task, spans[k].ids[i]};
    eg_rng rng = eg_client_stage_stream(c, stage, RE_FED_CUT); /* the same in every round */
    for (int64_t i = 0; count > r->size && i < r->size; i++) {
        int64_t j = i + (int64_t)eg_rng_below(&rng, (uint64_t)(count - i));
        eg_sample drawn = added[j];
        added[j] = added[i];
        added[i] = drawn;
    }
    *n += count < r->size ? count : r->size;
}

/* How many samples the stages from `ranked` on to this one brought. */
static int64_t re_fed_waiting(const re_fed_client *r, const eg_client *c)
{
    int64_t n = 0, n_spans;
    for (int64_t stage = r->ranked; stage < c->view.stage; stage++) {
        const eg_span *spans = eg_scenario_spans(c->scenario, c->id, stage, &n_spans);
        for (int64_t k = 0; k < n_spans; k++)
            n += spans[k].n;
    }
    return n;
}

static int64_t re_fed_room(const re_fed *r, const eg_client *c)
{
    return c->view.n < r->size ? r->size - c->view.n : 0;
}

/* Notes the mean score of what is offered, and of the first `room` in this order. Scores are
 * negated where the lowest are wanted. */
static eg_status re_fed_note_scores(eg_client *c, const double *scores, const int64_t *order,
                                    int64_t n, int64_t room)
{
    double offered = 0, cached = 0;
    for (int64_t i = 0; i < n; i++) {
        offered += fabs(scores[order[i]]);
        cached += i < room ? fabs(scores[order[i]]) : 0;
    }
    EG_TRY(eg_client_note(c, "re_fed.score offered", offered / (double)n));
    return eg_client_note(c, "re_fed.score cached", cached / (double)room);
}

/* Orders candidates [n], more than there is room for, by the personalised model's scores, or by
 * their losses. */
static eg_status re_fed_order_scores(const re_fed_client *k, eg_client *c,
                                     const eg_sample *candidates, int64_t n, int64_t *order)
{
    const re_fed *r = &k->is;
    double *scores;
    float *losses = NULL;
    eg_pim pim = re_fed_pim(r, c->lr);
    EG_TRY(eg_alloc((size_t)n, sizeof *scores, &scores));
    eg_status s;
    if (r->policy == RE_FED_LOSS) {
        s = eg_alloc((size_t)n, sizeof *losses, &losses);
        if (s == EG_OK)
            s = eg_client_look(c, &k->left, &(eg_rows){.n = n, .samples = candidates},
                               &(eg_look){.losses = losses});
        for (int64_t i = 0; i < n && s == EG_OK; i++)
            scores[i] = (double)losses[i];
    } else {
        eg_rng rng = eg_client_stream(c, RE_FED_ORDER);
        s = eg_pim_score(c, &pim, &k->left, &(eg_pim_samples){candidates, n, &rng}, scores);
        for (int64_t i = 0; i < n && pim.emphasis == EG_EMPHASIS_LATE; i++)
            scores[i] = -scores[i];
    }
    if (s == EG_OK)
        s = eg_choose_highest(scores, n, order);
    if (s == EG_OK)
        s = re_fed_note_scores(c, scores, order, n, re_fed_room(r, c));
    free(scores);
    free(losses);
    return s;
}

/* The labels [n] of candidates; x [one sample] is scratch. */
static void re_fed_labels(eg_client *c, const eg_sample *candidates, int64_t n, float *x,
                          float *labels)
{
    for (int64_t i = 0; i < n; i++)
        eg_client_feed(c, &candidates[i], 1, x, &labels[i]);
}

static eg_status re_fed_order_herding(eg_client *c, const eg_weights *at,
                                      const eg_sample *candidates, int64_t n, int64_t room,
                                      int64_t *order)
{
    const eg_net_spec *net = eg_net_spec_of(c->net);
    size_t sample = (size_t)(net->channels * net->height * net->width), rows = (size_t)n;
    int64_t d = eg_net_n_features(c->net);
    float *scratch;
    EG_TRY(eg_alloc(rows * (size_t)d + rows + sample, sizeof *scratch, &scratch));
    float *features = scratch, *labels = features + rows * (size_t)d, *x = labels + rows;
    eg_status s = eg_client_look(c, at, &(eg_rows){.n = n, .samples = candidates},
                                 &(eg_look){.features = features});
    re_fed_labels(c, candidates, n, x, labels);
    if (s == EG_OK)
        s = eg_choose_herding(features, labels, n, d, room, order);
    free(scratch);
    return s;
}

/* Fills order with the candidates to keep, the most wanted first; *kept: how many. */
static eg_status re_fed_order(re_fed_client *r, eg_client *c, const eg_sample *candidates,
                              int64_t n, int64_t *order, int64_t *kept)
{
    int64_t room = re_fed_room(&r->is, c);
    eg_rng rng = eg_client_stream(c, RE_FED_CHOICE);
    *kept = n < room ? n : room;
    if (r->is.policy == RE_FED_RESERVOIR) {
        *kept = eg_choose_reservoir(&rng, r->n_cache, r->seen, n, room, order);
        r->seen += n - r->n_cache;
        return EG_OK;
    }
    if (n <= room || room == 0 || r->is.policy == RE_FED_RANDOM) {
        eg_choose_random(&rng, n, order);
        return EG_OK;
    }
    return r->is.policy == RE_FED_HERDING
               ? re_fed_order_herding(c, &r->left, candidates, n, room, order)
               : re_fed_order_scores(r, c, candidates, n, order);
}

/* Of how many equally frequent classes samples would be as mixed as these: e to the entropy of
 * the shares, counts [n] of a total. */
static double re_fed_mixture(const int64_t *counts, int64_t n, int64_t total)
{
    double entropy = 0;
    for (int64_t k = 0; k < n; k++) {
        double share = (double)counts[k] / (double)total;
        entropy -= share > 0 ? share * eg_real_log(share) : 0;
    }
    return eg_real_exp(entropy);
}

/* Notes whether the cache crowds: how many classes are offered, how many are in it, and each
 * one's share. order [kept] are the candidates [n] that are cached. */
static eg_status re_fed_note_classes(eg_client *c, const eg_sample *candidates, int64_t n,
                                     const int64_t *order, int64_t kept)
{
    const eg_net_spec *net = eg_net_spec_of(c->net);
    int64_t n_classes = c->n_classes / eg_train_fan(c->train), *counts;
    size_t sample = (size_t)(net->channels * net->height * net->width);
    float *x;
    EG_TRY(eg_alloc((size_t)(2 * n_classes), sizeof *counts, &counts));
    eg_status s = eg_alloc(sample + (size_t)n, sizeof *x, &x);
    if (s != EG_OK)
        goto done;
    float *labels = x + sample;
    int64_t *cached = counts + n_classes;
    re_fed_labels(c, candidates, n, x, labels);
    for (int64_t i = 0; i < n; i++)
        counts[(int64_t)labels[i] / eg_train_fan(c->train)]++;
    for (int64_t i = 0; i < kept; i++)
        cached[(int64_t)labels[order[i]] / eg_train_fan(c->train)]++;
    s = eg_client_note(c, "re_fed.classes offered", re_fed_mixture(counts, n_classes, n));
    if (s == EG_OK)
        s = eg_client_note(c, "re_fed.classes cached", re_fed_mixture(cached, n_classes, kept));
    for (int64_t k = 0; k < n_classes && n_classes <= RE_FED_SHARES && s == EG_OK; k++) {
        char name[64];
        snprintf(name, sizeof name, "re_fed.share of class %lld", (long long)k);
        s = eg_client_note(c, name, (double)cached[k] / (double)kept);
    }
done:
    free(counts);
    free(x);
    return s;
}

/* Ranks what the client has from before this stage, and caches the best. */
static eg_status re_fed_rank(re_fed_client *r, eg_client *c)
{
    size_t most = (size_t)(r->n_cache + re_fed_waiting(r, c));
    int64_t n = r->n_cache, kept = 0, *order = NULL;
    eg_sample *candidates, *cache = NULL;
    EG_TRY(eg_alloc(most, sizeof *candidates, &candidates));
    if (n > 0)
        memcpy(candidates, r->cache, (size_t)n * sizeof *candidates);
    for (int64_t stage = r->ranked; stage < c->view.stage; stage++)
        re_fed_take_stage(&r->is, c, stage, candidates, &n);
    eg_status s = eg_alloc((size_t)n, sizeof *order, &order);
    if (s == EG_OK)
        s = re_fed_order(r, c, candidates, n, order, &kept);
    if (s == EG_OK && kept > 0 && c->aim->kind->classes)
        s = re_fed_note_classes(c, candidates, n, order, kept);
    if (s == EG_OK)
        s = eg_alloc((size_t)kept, sizeof *cache, &cache);
    if (s == EG_OK) {
        for (int64_t i = 0; i < kept; i++)
            cache[i] = candidates[order[i]];
        free(r->cache);
        r->cache = cache, r->n_cache = kept, r->ranked = c->view.stage;
    }
    free(candidates);
    free(order);
    return s;
}

static eg_status re_fed_task(void *self, eg_client *c)
{
    re_fed_client *r = self;
    return r->is.every ? EG_OK : re_fed_rank(r, c);
}

/* Leaves of the round's own samples only those the client drew; what other parts added stays.
 */
static eg_status re_fed_cut(const re_fed *r, eg_client *c)
{
    eg_sample *own;
    int64_t n = 0, others = c->n_samples - c->view.n_padded;
    EG_TRY(eg_alloc((size_t)c->view.n, sizeof *own, &own));
    re_fed_take_stage(r, c, c->view.stage, own, &n);
    memcpy(c->samples, own, (size_t)n * sizeof *own);
    memmove(c->samples + n, c->samples + c->view.n_padded, (size_t)others * sizeof *c->samples);
    c->n_samples = n + others;
    free(own);
    return EG_OK;
}

static eg_status re_fed_samples(void *self, eg_client *c)
{
    re_fed_client *r = self;
    if (r->is.every && re_fed_waiting(r, c) >= r->is.every)
        EG_TRY(re_fed_rank(r, c));
    if (c->view.n > r->is.size)
        EG_TRY(re_fed_cut(&r->is, c));
    /* A larger stage than the cache was ranked for takes the room of the least wanted. */
    int64_t room = re_fed_room(&r->is, c), n = r->n_cache < room ? r->n_cache : room;
    for (int64_t i = 0; i < n; i++)
        EG_TRY(eg_client_add_sample(c, r->cache[i].task, r->cache[i].id));
    return EG_OK;
}

static eg_status re_fed_put(const re_fed_client *r, eg_bundle *to)
{
    float *rows;
    EG_TRY(eg_bundle_scalar(to, "re_fed.ranked", (double)r->ranked));
    EG_TRY(eg_bundle_scalar(to, "re_fed.seen", (double)r->seen));
    if (r->n_cache == 0)
        return EG_OK;
    EG_TRY(eg_bundle_room(to, "re_fed.cache", eg_dims(r->n_cache, 2), &rows));
    for (int64_t i = 0; i < r->n_cache; i++) {
        const eg_sample *s = &r->cache[i];
        if (s->id >= 1 << 24 || s->task >= 1 << 24) /* floats count no further */
            return eg_fail(EG_ENOTSUP,
                           "sample %lld of task %lld: the cache can note 2^24 at most",
                           (long long)s->id, (long long)s->task);
        rows[2 * i] = (float)s->task;
        rows[2 * i + 1] = (float)s->id;
    }
    return EG_OK;
}

static eg_status re_fed_trained(void *self, eg_client *c)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, re_fed_put(self, record)));
    return eg_client_keep(c, "re_fed", record);
}

/* Pairs of a task and a sample, each of which there must be. */
static eg_status re_fed_read_cache(re_fed_client *r, const eg_client *c, const eg_bundle *kept)
{
    const float *rows;
    size_t n;
    if (!eg_bundle_find(kept, "re_fed.cache", &n))
        return EG_OK; /* it is empty yet */
    EG_TRY(eg_bundle_need_counts(kept, "re_fed.cache", n / 2 * 2, (1 << 24) - 1, &rows));
    if ((int64_t)(n / 2) > r->seen && r->is.policy == RE_FED_RESERVOIR)
        return eg_fail(EG_EINVAL, "a cache of %zu samples of which it has seen %lld", n / 2,
                       (long long)r->seen);
    EG_TRY(eg_alloc(n / 2, sizeof *r->cache, &r->cache));
    r->n_cache = (int64_t)(n / 2);
    for (int64_t i = 0; i < r->n_cache; i++) {
        eg_sample s = {(int64_t)rows[2 * i], (int64_t)rows[2 * i + 1]};
        if (!eg_client_knows(c, &s))
            return eg_fail(EG_EINVAL, "the cache has sample %lld of task %lld, which is none",
                           (long long)s.id, (long long)s.task);
        r->cache[i] = s;
    }
    return EG_OK;
}

static eg_status re_fed_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    re_fed_client *r = self;
    const eg_bundle *kept;
    (void)exchange;
    EG_TRY(eg_last_task_read(c, "re_fed", from, &r->left));
    EG_TRY(eg_client_recall(c, "re_fed", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_bundle_need_count(kept, "re_fed.ranked", c->view.stage, &r->ranked));
    EG_TRY(eg_bundle_need_count(kept, "re_fed.seen", INT64_C(1) << 53, &r->seen));
    return re_fed_read_cache(r, c, kept);
}

static void re_fed_fini(void *self)
{
    re_fed_client *r = self;
    free(r->cache);
}

static eg_status re_fed_begin(void *self, eg_server *s)
{
    re_fed_server *r = self;
    const eg_bundle *kept;
    r->ranks = r->is.policy != RE_FED_RANDOM && r->is.policy != RE_FED_RESERVOIR &&
               !r->is.every && eg_scenario_offers(s->scenario) & EG_OFFERS_COMMON_TASKS;
    if (!r->ranks)
        return EG_OK;
    EG_TRY(eg_server_recall(s, "re_fed", &kept));
    return eg_last_task_init(&r->last, s, "re_fed", kept);
}

static eg_status re_fed_save(void *self, eg_server *s)
{
    const re_fed_server *r = self;
    eg_bundle *record;
    if (!r->ranks)
        return EG_OK;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, eg_last_task_keep(&r->last, s, "re_fed", record)));
    return eg_server_keep(s, "re_fed", record);
}

static eg_status re_fed_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    re_fed_server *r = self;
    (void)exchange, (void)to;
    if (r->ranks)
        eg_last_task_turn(&r->last, s);
    return EG_OK;
}

static eg_status re_fed_send_one(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    const re_fed_server *r = self;
    return r->ranks ? eg_last_task_send(&r->last, s, "re_fed", client, to) : EG_OK;
}

static eg_status re_fed_collect(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from)
{
    re_fed_server *r = self;
    (void)exchange, (void)from;
    if (r->ranks && client != EG_SERVER)
        eg_last_task_collect(&r->last, client);
    for (size_t i = 0; r->ranks && client == EG_SERVER && i < s->n_summed; i++)
        eg_last_task_collect(&r->last, s->summed[i]);
    return EG_OK;
}

static void re_fed_server_fini(void *self)
{
    re_fed_server *r = self;
    eg_last_task_fini(&r->last);
}

const eg_method eg_method_re_fed = {
    .component = {"re_fed",
                  "caches old samples with the largest gradients at a personalised model",
                  sizeof(re_fed), re_fed_opts},
    .setup = re_fed_setup,
    .client = {.size = sizeof(re_fed_client),
               .fini = re_fed_fini,
               .download = re_fed_download,
               .task = re_fed_task,
               .samples = re_fed_samples,
               .trained = re_fed_trained},
    .server = {.size = sizeof(re_fed_server),
               .fini = re_fed_server_fini,
               .begin = re_fed_begin,
               .send = re_fed_send,
               .send_one = re_fed_send_one,
               .collect = re_fed_collect,
               .save = re_fed_save},
};
