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

#include <stdlib.h>
#include <string.h>

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
    p->turn.guide = (eg_point){(float *)(uintptr_t)c->global,
                               (float *)(uintptr_t)c->global_state}; /* only read */
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
               .fini = eg_pfedgrp_fini,
               .begin = eg_pfedgrp_begin,
               .accept = eg_pfedgrp_accept,
               .collect = eg_pfedgrp_collect,
               .finish = eg_pfedgrp_finish,
               .work = eg_pfedgrp_work,
               .model_of = eg_pfedgrp_model_of,
               .exhibit = eg_pfedgrp_exhibit},
};
