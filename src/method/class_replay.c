/* class_replay.c - replay of drawings, with a small generator for every class: pFedGRP's
 * client alone, "FedAVG-replay" in its paper; with pfedgraph before it, "pFedGraph-replay".
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: trains on drawings of the classes it lacks among the round's own images, then trains
 * the generators that need it (class_replay.h). Server: the usual mean; no generator leaves a
 * client.
 */
#include "method/class_replay.h"

typedef struct class_replay {
    eg_class_replay_opts is;
} class_replay;

typedef struct class_replay_client {
    class_replay is;
    eg_class_replay turn;
} class_replay_client;

// clang-format off
static const eg_opt class_replay_opts[] = {
    EG_CLASS_REPLAY_OPTS(0),
    EG_OPT_END,
};
// clang-format on

static eg_status class_replay_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const class_replay *p = options;
    (void)in;
    return eg_class_replay_setup(&p->is, out);
}

static eg_status class_replay_download(void *self, eg_client *c, int exchange,
                                       const eg_bundle *from)
{
    class_replay_client *p = self;
    (void)exchange, (void)from;
    return eg_class_replay_begin(&p->turn, &p->is.is, "class_replay", c);
}

static eg_status class_replay_samples(void *self, eg_client *c)
{
    class_replay_client *p = self;
    return eg_class_replay_samples(&p->turn, c);
}

static uint32_t class_replay_form(void *self, eg_client *c)
{
    const class_replay_client *p = self;
    (void)c;
    return eg_class_replay_pulls(&p->turn);
}

static eg_node *class_replay_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    class_replay_client *p = self;
    return eg_class_replay_loss(&p->turn, c, g, loss);
}

static eg_status class_replay_fill(void *self, eg_client *c)
{
    class_replay_client *p = self;
    return eg_class_replay_fill(&p->turn, c);
}

static eg_status class_replay_trained(void *self, eg_client *c)
{
    class_replay_client *p = self;
    return eg_class_replay_trained(&p->turn, c);
}

static void class_replay_fini(void *self)
{
    class_replay_client *p = self;
    eg_class_replay_fini(&p->turn);
}

static eg_status class_replay_begin(void *self, eg_server *s)
{
    const class_replay *p = self;
    return eg_class_replay_check(&p->is, s->net);
}

const eg_method eg_method_class_replay = {
    .component = {"class_replay",
                  "replays drawings of past classes, each by a small generator of its own",
                  sizeof(class_replay), class_replay_opts},
    .setup = class_replay_setup,
    .loss = class_replay_loss,
    .form = class_replay_form,
    .fill = class_replay_fill,
    .client = {.size = sizeof(class_replay_client),
               .fini = class_replay_fini,
               .download = class_replay_download,
               .samples = class_replay_samples,
               .trained = class_replay_trained},
    .server = {.begin = class_replay_begin},
};
