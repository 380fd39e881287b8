/* fedspace.c - prototypes for asynchronous tasks (Shenaj et al., 2023, arXiv:2304.03626).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: at the model it receives it measures a prototype of each of its classes and a radius
 * (Equations 4, 5), and uploads them. Its loss gains lambda_p times the cross entropy of the
 * head on prototypes, with noise, of classes outside its task (Equations 7, 8), and lambda_r
 * times a contrast of its features with each other and with prototypes (Equation 9). Server:
 * prototypes follow the clients' by a moving average (Equation 6), the model goes only a part
 * rho of the way to the clients' mean (Equation 10).
 *
 * In Equations 4, 5 and 9 the printed 1/|D| stands for the number of terms, in Equation 8 the
 * sum for a mean. Equation 9 draws from all known prototypes, not only from those outside the
 * task as the text says: nothing else would align a class with its past. `draws: others` is the
 * text.
 *
 * The release measures after training, with crops and flips; keeps a client's first radius for
 * good; forgets prototypes of classes that no client of the round has in its task, and brings
 * those of which none has a sample to 0.9 of what they were; until there are global ones uses
 * the client's own; and has another denominator in Equation 9.
 */
#include <engram/method.h>
#include <engram/op.h>

#include "base/base.h"
#include "method/lib/prototypes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fedspace {
    double lambda_p, lambda_r, rho, beta;
    int prototypes; /* of "global|local" */
    int draws;      /* of "all|others" */
    int variant;    /* of "paper|release": an eg_measure */
} fedspace;

typedef struct fedspace_client {
    fedspace is;
    eg_prototypes received, own, now; /* the server's; of its record; of this turn */
    eg_draws old, all;                /* of Equation 8, of Equation 9 */
    bool teaches, aligns;             /* whether each has a term in this turn */
    float *classes, *weights;         /* [2 train.batch]: of what Equation 9 compares */
} fedspace_client;

typedef struct fedspace_server {
    fedspace is;
    eg_prototypes known, arrived;
    double *sums, *weights; /* [classes, d], [classes]: of this round's uploads */
    bool *empty;            /* [classes]: in the task of a client that has no sample of it */
    double radius, radius_weight;
} fedspace_server;

// clang-format off
static const eg_opt fedspace_opts[] = {
    EG_OPT_REAL(fedspace, lambda_p, 0.01, 0, 1e6, "weight of the head's loss on other classes' prototypes"),
    EG_OPT_REAL(fedspace, lambda_r, 0.01, 0, 1e6, "weight of the contrast of features and prototypes"),
    EG_OPT_REAL(fedspace, rho, 0.5, 0, 1, "how far the model goes to the clients' mean; 1: all the way"),
    EG_OPT_REAL(fedspace, beta, 0.1, 0, 1, "share of this round's clients in a class's prototype; 1: theirs alone"),
    EG_OPT_CHOICE(fedspace, prototypes, 0,
                  "whose are used: all clients' together, or the client's own of all classes it has had", "global|local"),
    EG_OPT_CHOICE(fedspace, draws, 0,
                  "prototypes in the contrast: all, or those of classes outside the client's task", "all|others"),
    EG_OPT_CHOICE(fedspace, variant, 0,
                  "paper: prototypes at the received model, of samples as they are, that stay; release: as its "
                  "public code, after training, with crops and flips, and gone unless renewed", "paper|release"),
    EG_OPT_END,
};
// clang-format on

static const char fedspace_name[] = "fedspace";
static const char fedspace_dense[] = "fedspace.dense";
static const char fedspace_empty[] = "fedspace.empty"; /* an upload's, of the release */
enum { FEDSPACE_CONTRAST_DRAW = 1 };                   /* Equation 8 has draw 0 */

static bool fedspace_releases(const fedspace *f)
{
    return f->variant == EG_MEASURE_RELEASE;
}

/* Where sums alone are told: n e of each class and n, and n r of all and n, dense. */
enum { FEDSPACE_MOST = 65536 }; /* the most of an element */

static eg_status fedspace_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const fedspace *f = options;
    EG_TRY(eg_prototypes_setup(options, in, out));
    out->sums = true;
    return in->hides && fedspace_releases(f)
               ? eg_fail(EG_ENOTSUP, "the release tells the server which classes each client "
                                     "lacks, which secure and dp hide: set fedspace.variant to "
                                     "paper")
               : EG_OK;
}

static eg_status fedspace_sums(const void *options, const eg_net *net, int exchange,
                               eg_bundle *out)
{
    const fedspace *f = options;
    int64_t classes = eg_net_spec_of(net)->classes, d = eg_net_n_features(net);
    float *values;
    (void)exchange;
    if (f->prototypes == 1)
        return EG_OK;
    EG_TRY(eg_bundle_room(out, fedspace_dense, eg_dims(classes + 1, d + 1), &values));
    values[0] = FEDSPACE_MOST;
    return EG_OK;
}

/* Which prototypes the terms draw from, and whether there are such. */
static eg_status fedspace_choose(fedspace_client *f, const eg_client *c)
{
    bool local = f->is.prototypes == 1;
    if (fedspace_releases(&f->is) && eg_prototypes_count(&f->received) == 0)
        local = true;
    const eg_prototypes *from = local ? &f->own : &f->received;
    EG_TRY(eg_draws_init(&f->old, from, c, false));
    EG_TRY(eg_draws_init(&f->all, from, c, f->is.draws == 0));
    bool usable = from->radius > 0 || !fedspace_releases(&f->is);
    f->teaches = usable && f->old.n > 0 && f->is.lambda_p > 0;
    f->aligns = usable && f->all.n > 0 && f->is.lambda_r > 0;
    return EG_OK;
}

static eg_status fedspace_download(void *self, eg_client *c, int exchange,
                                   const eg_bundle *from)
{
    fedspace_client *f = self;
    (void)exchange;
    EG_TRY(eg_prototypes_init(&f->received, c->scenario, c->net));
    EG_TRY(eg_prototypes_init(&f->own, c->scenario, c->net));
    EG_TRY(eg_prototypes_init(&f->now, c->scenario, c->net));
    EG_TRY(eg_alloc(2 * (size_t)c->train->batch, sizeof *f->classes, &f->classes));
    EG_TRY(eg_alloc(2 * (size_t)c->train->batch, sizeof *f->weights, &f->weights));
    EG_TRY(eg_prototypes_read(&f->received, fedspace_name, from));
    EG_TRY(eg_prototypes_recall(&f->own, fedspace_name, c));
    EG_TRY(fedspace_choose(f, c));
    return fedspace_releases(&f->is) ? EG_OK
                                     : eg_prototypes_measure(&f->now, c, EG_MEASURE_PAPER);
}

static void fedspace_client_fini(void *self)
{
    fedspace_client *f = self;
    eg_prototypes_fini(&f->received);
    eg_prototypes_fini(&f->own);
    eg_prototypes_fini(&f->now);
    free(f->old.classes);
    free(f->all.classes);
    free(f->classes);
    free(f->weights);
}

/* The terms there are, and how many samples they are for: the rows of a memory that join the
 * batch are not among them. */
static uint32_t fedspace_form(void *self, eg_client *c)
{
    const fedspace_client *f = self;
    return (uint32_t)c->n_drawn << 2 | (uint32_t)f->teaches << 1 | (uint32_t)f->aligns;
}

/* Features [n, d] of the batch's own samples, upright. */
static eg_node *fedspace_upright(eg_client *c, eg_graph *g)
{
    int64_t fan = eg_train_fan(c->train), d = eg_net_n_features(c->net);
    eg_node *own = eg_slice(g, c->features, 0, 0, c->n_drawn);
    return eg_slice(g, eg_reshape(g, own, eg_dims(c->n_drawn / fan, fan * d)), 1, 0, d);
}

/* Equation 9. pairs [2n, 2n] weighs each pair of a class; others [2n, 2n] is 1 where the second
 * of a pair is in the denominator for the first. */
static eg_node *fedspace_contrast(const fedspace_client *f, eg_client *c, eg_graph *g)
{
    int64_t n = eg_draws_count(c), d = eg_net_n_features(c->net);
    eg_node *drawn = eg_input(g, "fedspace.drawn", eg_dims(n, d));
    eg_node *pairs = eg_input(g, "fedspace.pairs", eg_dims(2 * n, 2 * n));
    eg_node *others = eg_input(g, "fedspace.others", eg_dims(2 * n, 2 * n));
    eg_node *both[] = {fedspace_upright(c, g), drawn};
    eg_node *unit = eg_l2_normalize(g, eg_concat(g, 2, both, 0));
    eg_node *cosines = eg_product(g, unit, unit, false, true);
    eg_node *powers = eg_exp(g, cosines);
    eg_node *rest = eg_sum(g, eg_mul(g, powers, others), EG_AXIS(1));
    eg_node *below = fedspace_releases(&f->is) ? eg_affine(g, rest, 1, 1) /* a spare exp(0) */
                                               : eg_add(g, powers, rest);
    eg_node *terms = eg_mul(g, eg_sub(g, eg_log(g, below), cosines), pairs);
    return eg_sum(g, terms, EG_ALL_AXES);
}

static eg_node *fedspace_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const fedspace_client *f = self;
    if (f->teaches)
        loss = eg_add(g, loss,
                      eg_affine(g, eg_draws_loss(fedspace_name, c, g), f->is.lambda_p, 0));
    if (f->aligns)
        loss = eg_add(g, loss, eg_affine(g, fedspace_contrast(f, c, g), f->is.lambda_r, 0));
    return loss;
}

/* How many of n vectors are of class k. */
static int64_t fedspace_members(const float *classes, int64_t n, float k)
{
    int64_t members = 0;
    for (int64_t i = 0; i < n; i++)
        members += classes[i] >= k && classes[i] <= k;
    return members;
}

/* Anchors: vectors of the client's classes that are not alone. The paper has the mean over
 * these classes of the mean over pairs; the release the sum of each anchor's mean, over all n
 * vectors. weights [n]: of each pair of an anchor. */
static void fedspace_weigh(const fedspace_client *f, const eg_client *c, int64_t n,
                           float *weights)
{
    double n_classes = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t members = fedspace_members(f->classes, n, f->classes[i]);
        bool anchor = members > 1 && eg_prototypes_is_current(c, (int64_t)f->classes[i]);
        double pairs = (double)members * (double)(members - 1);
        n_classes += anchor ? 1 / (double)members : 0;
        weights[i] = (float)(anchor ? 1 / pairs : 0);
        if (anchor && fedspace_releases(&f->is))
            weights[i] = (float)(1 / (double)((members - 1) * n));
    }
    for (int64_t i = 0; i < n && !fedspace_releases(&f->is); i++)
        weights[i] /= n_classes > 0 ? (float)n_classes : 1;
}

static void fedspace_fill_contrast(fedspace_client *f, eg_client *c)
{
    int64_t n = eg_draws_count(c), all = 2 * n, fan = eg_train_fan(c->train);
    float *pairs = eg_plan_input(c->plan, "fedspace.pairs");   /* [all, all] */
    float *others = eg_plan_input(c->plan, "fedspace.others"); /* [all, all] */
    bool release = fedspace_releases(&f->is);
    for (int64_t i = 0; i < n; i++) {
        int64_t label = (int64_t)c->labels[i * fan] / fan;
        f->classes[i] = (float)label;
    }
    eg_draws_fill(&f->all, c, FEDSPACE_CONTRAST_DRAW, n,
                  eg_plan_input(c->plan, "fedspace.drawn"), f->classes + n);
    fedspace_weigh(f, c, all, f->weights);
    for (int64_t i = 0; i < all; i++)
        for (int64_t j = 0; j < all; j++) {
            bool same = f->classes[i] >= f->classes[j] && f->classes[i] <= f->classes[j];
            *pairs++ = same && i != j ? f->weights[i] : 0;
            *others++ = (release ? i != j : !same) ? 1 : 0;
        }
}

static eg_status fedspace_fill(void *self, eg_client *c)
{
    fedspace_client *f = self;
    if (f->teaches)
        eg_draws_fill_loss(&f->old, fedspace_name, c);
    if (f->aligns)
        fedspace_fill_contrast(f, c);
    return EG_OK;
}

/* The release's prototypes, and its radius: the client's first. */
static eg_status fedspace_trained(void *self, eg_client *c)
{
    fedspace_client *f = self;
    if (!fedspace_releases(&f->is))
        return EG_OK;
    EG_TRY(eg_prototypes_measure(&f->now, c, EG_MEASURE_RELEASE));
    f->now.radius = f->own.radius >= 0 ? f->own.radius : f->now.radius;
    return EG_OK;
}

/* The release's client tells of all classes of its task: "fedspace.empty" [m] are those without
 * a sample. */
static eg_status fedspace_tell_empty(const fedspace_client *f, const eg_client *c,
                                     eg_bundle *to)
{
    int64_t n = 0;
    float *classes;
    for (int64_t k = 0; k < f->now.n_classes; k++)
        n += !f->now.known[k] && eg_prototypes_is_current(c, k);
    if (n == 0)
        return EG_OK;
    EG_TRY(eg_bundle_room(to, fedspace_empty, eg_dims(n), &classes));
    for (int64_t k = 0; k < f->now.n_classes; k++)
        if (!f->now.known[k] && eg_prototypes_is_current(c, k))
            *classes++ = (float)k;
    return EG_OK;
}

/* The answer where sums alone are told. */
static eg_status fedspace_tell_dense(const fedspace_client *f, const eg_client *c,
                                     eg_bundle *to)
{
    const eg_prototypes *p = &f->now;
    int64_t classes = eg_net_spec_of(c->net)->classes, row = p->d + 1;
    float *dense, n = (float)c->view.n;
    EG_TRY(eg_bundle_room(to, fedspace_dense, eg_dims(classes + 1, row), &dense));
    for (int64_t k = 0; k < p->n_classes; k++) {
        for (int64_t j = 0; p->known[k] && j < p->d; j++)
            dense[k * row + j] = n * p->means[k * p->d + j];
        dense[k * row + p->d] = p->known[k] ? n : 0;
    }
    if (p->radius >= 0) {
        dense[classes * row] = n * (float)p->radius;
        dense[classes * row + p->d] = n;
    }
    return EG_OK;
}

static eg_status fedspace_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    fedspace_client *f = self;
    bool local = f->is.prototypes == 1;
    (void)exchange;
    if (local || fedspace_releases(&f->is)) {
        eg_prototypes_update(&f->own, &f->now);
        EG_TRY(eg_prototypes_keep(&f->own, fedspace_name, c));
    }
    if (!local && fedspace_releases(&f->is))
        EG_TRY(fedspace_tell_empty(f, c, to));
    if (local)
        return EG_OK;
    return c->hides ? fedspace_tell_dense(f, c, to)
                    : eg_prototypes_write(&f->now, fedspace_name, to);
}

static eg_status fedspace_begin(void *self, eg_server *s)
{
    fedspace_server *f = self;
    const eg_bundle *kept;
    EG_TRY(eg_prototypes_init(&f->known, s->scenario, s->net));
    EG_TRY(eg_prototypes_init(&f->arrived, s->scenario, s->net));
    size_t classes = (size_t)f->known.n_classes, d = (size_t)f->known.d;
    EG_TRY(eg_alloc(classes * d, sizeof *f->sums, &f->sums));
    EG_TRY(eg_alloc(classes, sizeof *f->weights, &f->weights));
    EG_TRY(eg_alloc(classes, sizeof *f->empty, &f->empty));
    EG_TRY(eg_server_recall(s, fedspace_name, &kept));
    return kept ? eg_prototypes_read(&f->known, fedspace_name, kept) : EG_OK;
}

static void fedspace_server_fini(void *self)
{
    fedspace_server *f = self;
    eg_prototypes_fini(&f->known);
    eg_prototypes_fini(&f->arrived);
    free(f->sums);
    free(f->weights);
    free(f->empty);
}

/* All known prototypes. Sums begin anew: those of a round that was skipped count for nothing.
 */
static eg_status fedspace_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    fedspace_server *f = self;
    size_t classes = (size_t)f->known.n_classes, d = (size_t)f->known.d;
    (void)s, (void)exchange;
    memset(f->sums, 0, classes * d * sizeof *f->sums);
    memset(f->weights, 0, classes * sizeof *f->weights);
    memset(f->empty, 0, classes * sizeof *f->empty);
    f->radius = f->radius_weight = 0;
    return eg_prototypes_write(&f->known, fedspace_name, to);
}

static eg_status fedspace_accept(void *self, eg_server *s, int exchange, int64_t client,
                                 const eg_bundle *from)
{
    fedspace_server *f = self;
    (void)s, (void)exchange, (void)client;
    if (f->is.prototypes == 1)
        return EG_OK;
    size_t n;
    const float *empty = eg_bundle_find(from, fedspace_empty, &n);
    EG_TRY(eg_prototypes_check_classes(&f->known, empty, n));
    eg_prototypes_clear(&f->arrived);
    EG_TRY(eg_prototypes_read(&f->arrived, fedspace_name, from));
    return eg_prototypes_count(&f->arrived) ? EG_OK
                                            : eg_fail(EG_ENOENT, "prototypes are missing");
}

/* The mean of what clients told: a class's prototype is a quotient, so their number does not
 * matter. A sum of weights that rounding brought near 0 is none. */
static eg_status fedspace_collect_dense(fedspace_server *f, const eg_server *s,
                                        const eg_bundle *from)
{
    size_t n;
    const float *dense = eg_bundle_find(from, fedspace_dense, &n);
    int64_t classes = eg_net_spec_of(s->net)->classes, row = f->known.d + 1;
    if (!dense)
        return EG_OK;
    for (int64_t k = 0; k < f->known.n_classes; k++) {
        float weight = dense[k * row + f->known.d];
        if (!(weight > 1e-3f))
            continue;
        for (int64_t j = 0; j < f->known.d; j++)
            f->sums[k * f->known.d + j] = (double)dense[k * row + j];
        f->weights[k] = (double)weight;
    }
    if (dense[classes * row + f->known.d] > 1e-3f) {
        f->radius = fmax((double)dense[classes * row], 0);
        f->radius_weight = (double)dense[classes * row + f->known.d];
    }
    return EG_OK;
}

static eg_status fedspace_collect(void *self, eg_server *s, int exchange, int64_t client,
                                  const eg_bundle *from)
{
    fedspace_server *f = self;
    const eg_prototypes *p = &f->arrived;
    double samples = 0;
    (void)exchange;
    if (f->is.prototypes == 1)
        return EG_OK;
    if (client == EG_SERVER)
        return fedspace_collect_dense(f, s, from);
    eg_bundle_scalar_of(from, "samples", &samples);
    eg_prototypes_clear(&f->arrived);
    EG_TRY(eg_prototypes_read(&f->arrived, fedspace_name, from));
    for (int64_t k = 0; k < p->n_classes; k++) {
        for (int64_t j = k * p->d; p->known[k] && j < (k + 1) * p->d; j++)
            f->sums[j] += samples * (double)p->means[j];
        f->weights[k] += p->known[k] ? samples : 0;
    }
    size_t n;
    const float *empty = eg_bundle_find(from, fedspace_empty, &n);
    for (size_t i = 0; i < n; i++)
        f->empty[(int64_t)empty[i]] = true;
    f->radius += p->radius >= 0 ? samples * p->radius : 0;
    f->radius_weight += p->radius >= 0 ? samples : 0;
    return EG_OK;
}

/* Equation 6 for one class. Without a sample anywhere the release's new mean is zero. */
static void fedspace_renew(fedspace_server *f, int64_t class)
{
    eg_prototypes *p = &f->known;
    double keep = p->known[class] ? 1 - f->is.beta : 0;
    double weight = f->weights[class] > 0 ? f->weights[class] : 1;
    for (int64_t j = class * p->d; j < (class + 1) * p->d; j++)
        p->means[j] = (float)((1 - keep) * f->sums[j] / weight +
                              (keep > 0 ? keep * (double)p->means[j] : 0));
    p->known[class] = true;
}

static eg_status fedspace_finish(void *self, eg_server *s, int exchange)
{
    fedspace_server *f = self;
    (void)exchange;
    if (f->is.prototypes == 1 || (fedspace_releases(&f->is) && s->round == 0))
        return EG_OK; /* the release begins with the second round */
    for (int64_t k = 0; k < f->known.n_classes; k++) {
        if (f->weights[k] > 0 || (f->empty[k] && f->known.known[k]))
            fedspace_renew(f, k);
        else if (fedspace_releases(&f->is))
            f->known.known[k] = false;
    }
    if (f->radius_weight > 0)
        f->known.radius = f->radius / f->radius_weight;
    return EG_OK;
}

/* Equation 10, batch norm's statistics too. */
static eg_status fedspace_refine(void *self, eg_server *s, float *param, float *state)
{
    const fedspace *f = self;
    const float rho = (float)f->rho;
    if (f->rho >= 1)
        return EG_OK;
    for (size_t i = 0; i < s->n_params; i++)
        param[i] = rho * param[i] + (1 - rho) * s->param[i];
    for (size_t i = 0; i < s->n_state; i++)
        state[i] = rho * state[i] + (1 - rho) * s->state[i];
    return EG_OK;
}

static eg_status fedspace_save(void *self, eg_server *s)
{
    const fedspace_server *f = self;
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, eg_prototypes_write(&f->known, fedspace_name, record)));
    return eg_server_keep(s, fedspace_name, record);
}

const eg_method eg_method_fedspace = {
    .component =
        {"fedspace",
         "prototypes of all clients' classes, a contrast of features, slow aggregation",
         sizeof(fedspace), fedspace_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = fedspace_setup,
    .sums = fedspace_sums,
    .loss = fedspace_loss,
    .form = fedspace_form,
    .fill = fedspace_fill,
    .client = {.size = sizeof(fedspace_client),
               .fini = fedspace_client_fini,
               .download = fedspace_download,
               .trained = fedspace_trained,
               .answer = fedspace_answer},
    .server = {.size = sizeof(fedspace_server),
               .fini = fedspace_server_fini,
               .begin = fedspace_begin,
               .send = fedspace_send,
               .accept = fedspace_accept,
               .collect = fedspace_collect,
               .refine = fedspace_refine,
               .finish = fedspace_finish,
               .save = fedspace_save},
};
