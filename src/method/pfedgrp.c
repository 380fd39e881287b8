/* pfedgrp.c - real-time personalised federated continual learning by generative replay.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: it has a small generator for every class it has met. It starts from the average of
 * the last uploads and trains on the round's images and on drawings of the classes it lacks
 * (class_replay.h); its outputs on these are pulled towards those of its personal model, which
 * is the guide too. Then it trains the generators that need it. It sends its model, the
 * generators that changed, without their critics, and the shares of the classes it has met.
 * Server: for every client it draws from that client's generators, guided by that client's last
 * upload, and mixes this round's uploads with the weights that suit the drawings best
 * (mixture.h): the client's personal model, by which it is tested. The average is the plain
 * mean.
 *
 * No client receives a generator. The server, however, has those of all clients, and can draw
 * from them whatever it likes.
 */
#include "method/lib/pfedgrp.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- The server. */

#define SERVER_PARAM  EG_PFEDGRP ".param"
#define SERVER_STATE  EG_PFEDGRP ".state"
#define SERVER_ROUND  EG_PFEDGRP ".round"
#define SERVER_N      EG_PFEDGRP ".n"
#define SERVER_CLIENT EG_PFEDGRP ".client"

/* "pfedgrp.client.3", "pfedgrp.personal.3"; a client's k-th generator is "pfedgrp.client.3.k".
 */
static eg_class_name server_name(const char *what, int64_t client)
{
    eg_class_name name;
    snprintf(name.text, sizeof name.text, EG_PFEDGRP ".%s.%lld", what, (long long)client);
    return name;
}

static eg_class_name server_generator_name(int64_t client, int64_t k)
{
    eg_class_name name;
    snprintf(name.text, sizeof name.text, EG_PFEDGRP ".client.%lld.%lld", (long long)client,
             (long long)k);
    return name;
}

static void server_fini(void *self)
{
    eg_pfedgrp_server *p = self;
    eg_generator_free(p->shape);
}

/* A generator's tensors in a bundle. */
typedef struct server_tensors {
    const float *param, *state;
    size_t n_params, n_state;
} server_tensors;

static server_tensors server_find(const eg_pfedgrp_server *p, const eg_bundle *from, int64_t k)
{
    eg_class_name prefix = eg_class_name_of(EG_PFEDGRP, eg_pfedgrp_class(&p->is, k));
    server_tensors t;
    char name[128];
    snprintf(name, sizeof name, "%s.generator.param", prefix.text);
    t.param = eg_bundle_find(from, name, &t.n_params);
    snprintf(name, sizeof name, "%s.generator.state", prefix.text);
    t.state = eg_bundle_find(from, name, &t.n_state);
    return t;
}

static eg_status server_accept_share(const eg_pfedgrp_server *p, const eg_bundle *from)
{
    size_t n;
    double sum = 0;
    const float *share = eg_bundle_find(from, EG_PFEDGRP_SHARE, &n);
    if (!share || n != (size_t)p->classes)
        return eg_fail(EG_ESHAPE, "tensor '%s': %zu values, not %lld", EG_PFEDGRP_SHARE, n,
                       (long long)p->classes);
    for (size_t i = 0; i < n; i++) {
        if (share[i] < 0)
            return eg_fail(EG_EINVAL, "class %zu has a share of %g", i, (double)share[i]);
        sum += (double)share[i];
    }
    return fabs(sum - 1) < 1e-3 ? EG_OK
                                : eg_fail(EG_EINVAL, "the shares of classes add up to %g", sum);
}

/* Every tensor of the part must be the shares or one of a whole generator. */
static eg_status server_accept(void *self, eg_server *s, int exchange, int64_t client,
                               const eg_bundle *from)
{
    const eg_pfedgrp_server *p = self;
    const eg_learner *shape = p->shape->learners[0];
    size_t known = 1, own = 0; /* the shares */
    eg_bundle_entry e;
    (void)s, (void)exchange, (void)client;
    EG_TRY(server_accept_share(p, from));
    for (int64_t k = 0; k < eg_pfedgrp_n_generators(&p->is, p->classes); k++) {
        server_tensors t = server_find(p, from, k);
        if (!t.param && !t.state)
            continue;
        if (t.n_params != shape->n_params || t.n_state != shape->n_state)
            return eg_fail(EG_ESHAPE, "generator %lld has %zu and %zu values, not %zu and %zu",
                           (long long)k, t.n_params, t.n_state, shape->n_params,
                           shape->n_state);
        known += shape->n_state > 0 ? 2 : 1;
    }
    for (size_t i = 0; i < eg_bundle_n(from); i++) {
        eg_bundle_at(from, i, &e);
        own += strncmp(e.name, EG_PFEDGRP ".", strlen(EG_PFEDGRP) + 1) == 0;
    }
    return own == known ? EG_OK
                        : eg_fail(EG_EINVAL, "%zu of its entries are no generator's",
                                  own > known ? own - known : known - own);
}

static eg_status server_fill_client(const eg_server *s, int64_t client, const eg_bundle *from,
                                    eg_bundle *to)
{
    double n = 0;
    size_t n_share;
    const float *share = eg_bundle_find(from, EG_PFEDGRP_SHARE, &n_share);
    eg_bundle_scalar_of(from, "samples", &n);
    EG_TRY(eg_bundle_scalar(to, SERVER_CLIENT, (double)client));
    EG_TRY(eg_bundle_scalar(to, SERVER_ROUND, (double)s->round));
    EG_TRY(eg_bundle_scalar(to, SERVER_N, n));
    EG_TRY(eg_bundle_add_flat(to, EG_PFEDGRP_SHARE, share, n_share));
    EG_TRY(
        eg_bundle_add_flat(to, SERVER_PARAM, eg_bundle_find(from, "param", NULL), s->n_params));
    return s->n_state ? eg_bundle_add_flat(to, SERVER_STATE,
                                           eg_bundle_find(from, "state", NULL), s->n_state)
                      : EG_OK;
}

static eg_status server_keep_generator(const eg_pfedgrp_server *p, eg_server *s, int64_t client,
                                       int64_t k, const server_tensors *t)
{
    eg_class_name prefix = eg_class_name_of(EG_PFEDGRP, eg_pfedgrp_class(&p->is, k));
    eg_learner drawing = *p->shape->learners[0]; /* with other values */
    eg_bundle *record;
    char name[128];
    drawing.param = (float *)(uintptr_t)t->param; /* only read */
    drawing.state = (float *)(uintptr_t)t->state;
    snprintf(name, sizeof name, "%s.generator", prefix.text);
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, eg_learner_keep(&drawing, name, record)));
    EG_TRY(eg_server_keep(s, server_generator_name(client, k).text, record));
    return eg_server_release(s, server_generator_name(client, k).text);
}

static eg_status server_collect(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from)
{
    const eg_pfedgrp_server *p = self;
    eg_bundle *record;
    (void)exchange;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, server_fill_client(s, client, from, record)));
    EG_TRY(eg_server_keep(s, server_name("client", client).text, record));
    EG_TRY(eg_pfedgrp_release(s, client));
    for (int64_t k = 0; k < eg_pfedgrp_n_generators(&p->is, p->classes); k++) {
        server_tensors t = server_find(p, from, k);
        if (t.param)
            EG_TRY(server_keep_generator(p, s, client, k, &t));
    }
    return EG_OK;
}

eg_status eg_pfedgrp_release(eg_server *s, int64_t client)
{
    return eg_server_release(s, server_name("client", client).text);
}

eg_status eg_pfedgrp_read(const eg_bundle *from, const eg_net *net, eg_pfedgrp_known *out)
{
    const eg_params *like = eg_net_params(net);
    size_t n;
    *out = (eg_pfedgrp_known){.share = eg_bundle_find(from, EG_PFEDGRP_SHARE, &n)};
    out->classes = (int64_t)n;
    if (n == 0 || eg_net_spec_of(net)->classes % out->classes != 0)
        return eg_fail(EG_ESHAPE, "tensor '%s': %zu values", EG_PFEDGRP_SHARE, n);
    EG_TRY(eg_bundle_need_count(from, SERVER_CLIENT, INT64_C(1) << 40, &out->client));
    EG_TRY(eg_bundle_need_count(from, SERVER_ROUND, INT64_C(1) << 40, &out->round));
    EG_TRY(eg_bundle_need_count(from, SERVER_N, INT64_C(1) << 40, &out->n));
    EG_TRY(eg_bundle_need(from, SERVER_PARAM, eg_params_length(like), &out->param));
    return eg_state_length(like)
               ? eg_bundle_need(from, SERVER_STATE, eg_state_length(like), &out->state)
               : EG_OK;
}

eg_status eg_pfedgrp_recall(const eg_pfedgrp_server *p, eg_server *s, int64_t client,
                            eg_pfedgrp_known *out, bool *found)
{
    const eg_bundle *kept;
    EG_TRY(eg_server_recall(s, server_name("client", client).text, &kept));
    *found = kept != NULL;
    if (!kept)
        return EG_OK;
    EG_TRY(eg_pfedgrp_read(kept, s->net, out));
    return out->client == client && out->classes == p->classes
               ? EG_OK
               : eg_fail(EG_EINVAL, "the record is of another client or of other classes");
}

eg_status eg_pfedgrp_give(const eg_pfedgrp_server *p, eg_server *s, int64_t client,
                          eg_bundle *to)
{
    const eg_bundle *kept;
    EG_TRY(eg_server_recall(s, server_name("client", client).text, &kept));
    EG_TRY(eg_bundle_copy(to, kept, ""));
    EG_TRY(eg_pfedgrp_release(s, client));
    for (int64_t k = 0; k < eg_pfedgrp_n_generators(&p->is, p->classes); k++) {
        eg_class_name name = server_generator_name(client, k);
        EG_TRY(eg_server_recall(s, name.text, &kept));
        if (kept)
            EG_TRY(eg_bundle_copy(to, kept, ""));
        EG_TRY(eg_server_release(s, name.text));
    }
    return EG_OK;
}

/* Gives a machine a client's k-th generator, of which no other copy stays in memory. *found:
 * there is one. */
static eg_status server_recall_generator(const eg_pfedgrp_server *p, eg_server *s,
                                         int64_t client, int64_t k, bool *found)
{
    eg_class_name name = server_generator_name(client, k);
    eg_class_name prefix = eg_class_name_of(EG_PFEDGRP, eg_pfedgrp_class(&p->is, k));
    const eg_bundle *kept;
    *found = false;
    EG_TRY(eg_server_recall(s, name.text, &kept));
    if (kept)
        EG_TRY(eg_generator_recall(p->shape, prefix.text, EG_DRAWING_ALONE, kept, found));
    return eg_server_release(s, name.text);
}

/* A personal model that was kept. */
static eg_status server_read_personal(const eg_server *s, const eg_bundle *kept,
                                      const float **param, const float **state)
{
    EG_TRY(eg_bundle_need(kept, SERVER_PARAM, s->n_params, param));
    return s->n_state ? eg_bundle_need(kept, SERVER_STATE, s->n_state, state) : EG_OK;
}

static eg_status server_begin(void *self, eg_server *s)
{
    eg_pfedgrp_server *p = self;
    eg_generator_spec spec = eg_class_spec(&p->is.replay, s->net);
    p->classes = eg_scenario_n_classes(s->scenario);
    spec.draws_only = true;
    return eg_generator_new(&spec, &p->shape);
}

static eg_status server_fill_personal(const eg_server *s, const float *param,
                                      const float *state, eg_bundle *to)
{
    EG_TRY(eg_bundle_add_flat(to, SERVER_PARAM, param, s->n_params));
    return s->n_state ? eg_bundle_add_flat(to, SERVER_STATE, state, s->n_state) : EG_OK;
}

eg_status eg_pfedgrp_keep_personal(eg_server *s, int64_t client, const float *param,
                                   const float *state)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, server_fill_personal(s, param, state, record)));
    EG_TRY(eg_server_keep(s, server_name("personal", client).text, record));
    return eg_server_release(s, server_name("personal", client).text);
}

static eg_status server_model_of(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    const eg_bundle *kept;
    const float *param, *state = NULL;
    (void)self;
    EG_TRY(eg_server_recall(s, server_name("personal", client).text, &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(server_read_personal(s, kept, &param, &state));
    EG_TRY(eg_server_add_model(s, param, state, to));
    return eg_server_release(s, server_name("personal", client).text);
}

/* All clients' generators. A gallery is of one kind: where a part before has filled it, its
 * generators stay alone. */
static eg_status server_exhibit(void *self, eg_server *s, eg_gallery *to)
{
    eg_pfedgrp_server *p = self;
    if (eg_gallery_n(to) > 0)
        return EG_OK;
    for (int64_t c = 0; c < eg_scenario_n_clients(s->scenario); c++)
        for (int64_t k = 0;
             k < eg_pfedgrp_n_generators(&p->is, p->classes) && eg_gallery_wants(to, c); k++) {
            eg_drawer who = {c, eg_pfedgrp_class(&p->is, k)};
            bool found;
            EG_TRY(server_recall_generator(p, s, c, k, &found));
            if (found)
                EG_TRY(eg_gallery_add(to, p->shape, who));
        }
    return EG_OK;
}

/* --- The client, and the part. */

typedef struct pfedgrp_client {
    eg_pfedgrp is;
    eg_class_replay turn;
} pfedgrp_client;

// clang-format off
static const eg_opt pfedgrp_opts[] = {
    EG_CLASS_REPLAY_OPTS(0.3),
    EG_OPT_CHOICE(eg_pfedgrp, start, 0, "the model that a client trains", "average|personal"),
    EG_OPT_INT_AS("server_epochs", eg_pfedgrp, server.epochs, 20, 0, 1e6,
                  "passes over a client's drawings to find its personal weights on the server, which has all "
                  "clients' generators and can draw from them"),
    EG_OPT_INT_AS("server_batch", eg_pfedgrp, server.batch, 64, 1, 1e6, "drawings of a step there"),
    EG_OPT_REAL_AS("server_lr", eg_pfedgrp, server.lr, 0.01, 0, 1e3, "its size"),
    EG_OPT_REAL_AS("server_momentum", eg_pfedgrp, server.momentum, 0.9, 0, 1, "share of the last step that is kept"),
    EG_OPT_REAL_AS("server_decay", eg_pfedgrp, server.decay, 0.01, 0, 1e3, "pull towards equal weights"),
    EG_OPT_CHOICE_AS("server_weights", eg_pfedgrp, server.moves, EG_MIXTURE_SIMPLEX,
                     "what is moved there: the weights, which stay at least 0 and one in all, or logits of them",
                     "simplex|softmax"),
    EG_OPT_END,
};
// clang-format on

static eg_status pfedgrp_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const eg_pfedgrp *p = options;
    out->plain_mean = out->global = true;
    return eg_class_replay_setup(&p->replay, in, out);
}

/* A client that was sent a model of its own was sent everybody's too, below it. From here on
 * that is the model it received: terms of other parts that hold it to where it starts count
 * from there. */
static void pfedgrp_start(eg_client *c, const eg_bundle *from)
{
    const eg_bundle *all = eg_bundle_below(from);
    const float *param = all ? eg_bundle_find(all, "param", NULL) : NULL;
    if (!param || c->global != eg_bundle_find(from, "param", NULL))
        return; /* there is just one, or the client goes on from where it was */
    c->global = param;
    memcpy(c->param, param, c->n_params * sizeof *param);
    if (!c->n_state)
        return;
    c->global_state = eg_bundle_find(all, "state", NULL);
    memcpy(c->state, c->global_state, c->n_state * sizeof *c->state);
}

static eg_status pfedgrp_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    pfedgrp_client *p = self;
    (void)exchange;
    p->turn.guide = (eg_weights){c->global, c->global_state};
    if (p->is.start == EG_START_AVERAGE)
        pfedgrp_start(c, from);
    return eg_class_replay_begin(&p->turn, &p->is.replay, EG_PFEDGRP, c);
}

static eg_status pfedgrp_samples(void *self, eg_client *c)
{
    pfedgrp_client *p = self;
    return eg_class_replay_samples(&p->turn, c);
}

static uint32_t pfedgrp_form(void *self, eg_client *c)
{
    const pfedgrp_client *p = self;
    (void)c;
    return eg_class_replay_pulls(&p->turn);
}

static eg_node *pfedgrp_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    pfedgrp_client *p = self;
    return eg_class_replay_loss(&p->turn, c, g, loss);
}

static eg_status pfedgrp_fill(void *self, eg_client *c)
{
    pfedgrp_client *p = self;
    return eg_class_replay_fill(&p->turn, c);
}

static eg_status pfedgrp_trained(void *self, eg_client *c)
{
    pfedgrp_client *p = self;
    return eg_class_replay_trained(&p->turn, c);
}

/* The shares of the classes in all that it has met. */
static eg_status pfedgrp_put_share(const eg_class_replay *r, eg_bundle *to)
{
    float *share;
    double sum = 0;
    EG_TRY(eg_bundle_room(to, EG_PFEDGRP_SHARE, eg_dims(r->classes), &share));
    for (int64_t k = 0; k < r->classes; k++)
        sum += (double)r->ever[k];
    for (int64_t k = 0; k < r->classes; k++)
        share[k] = (float)((double)r->ever[k] / sum);
    return EG_OK;
}

static eg_status pfedgrp_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const pfedgrp_client *p = self;
    const eg_class_replay *r = &p->turn;
    bool all = false, found;
    eg_generator *m;
    (void)exchange;
    EG_TRY(pfedgrp_put_share(r, to));
    EG_TRY(eg_class_machine(c->worker, EG_PFEDGRP, &p->is.replay, c->net, &m));
    for (int64_t k = 0; k < r->classes; k++)
        all |= r->changed[k] != 0;
    for (int64_t k = 0; k < eg_pfedgrp_n_generators(&p->is, r->classes); k++) {
        int64_t class = eg_pfedgrp_class(&p->is, k);
        if (!(class == EG_ANY_CLASS ? all : r->changed[class] != 0))
            continue;
        EG_TRY(eg_class_recall(&(eg_class_place){c, EG_PFEDGRP, class}, m, EG_DRAWING_ALONE,
                               &found));
        EG_TRY(eg_generator_keep(m, eg_class_name_of(EG_PFEDGRP, class).text, EG_DRAWING_ALONE,
                                 to));
    }
    return EG_OK;
}

static void pfedgrp_fini(void *self)
{
    pfedgrp_client *p = self;
    eg_class_replay_fini(&p->turn);
}

const eg_method eg_method_pfedgrp = {
    .component =
        {"pfedgrp",
         "replays drawings of past classes; personal mixtures of all models, for which "
         "the server can draw from every client's generators",
         sizeof(eg_pfedgrp), pfedgrp_opts},
    .leaves = EG_LEAVES_FIGURES | EG_LEAVES_GENERATORS,
    .setup = pfedgrp_setup,
    .loss = pfedgrp_loss,
    .form = pfedgrp_form,
    .fill = pfedgrp_fill,
    .client = {.size = sizeof(pfedgrp_client),
               .fini = pfedgrp_fini,
               .download = pfedgrp_download,
               .samples = pfedgrp_samples,
               .trained = pfedgrp_trained,
               .answer = pfedgrp_answer},
    .server = {.size = sizeof(eg_pfedgrp_server),
               .fini = server_fini,
               .begin = server_begin,
               .accept = server_accept,
               .collect = server_collect,
               .finish = eg_pfedgrp_finish,
               .work = eg_pfedgrp_work,
               .model_of = server_model_of,
               .exhibit = server_exhibit},
};
