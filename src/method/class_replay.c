/* class_replay.c - replay of drawings, with a small generator for every class: pFedGRP's
 * client alone, "FedAVG-replay" in its paper; with pfedgraph before it, "pFedGraph-replay".
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: trains on drawings of the classes it lacks among the round's own images, then trains
 * the generators that need it (class_replay.h). Server: the usual mean; no generator leaves a
 * client.
 */
#include "method/lib/class_replay.h"

#include <engram/gallery.h>

#define CLASS_REPLAY "class_replay" /* what its records begin with */

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
    return eg_class_replay_setup(&p->is, in, out);
}

static eg_status class_replay_download(void *self, eg_client *c, int exchange,
                                       const eg_bundle *from)
{
    class_replay_client *p = self;
    (void)exchange, (void)from;
    return eg_class_replay_begin(&p->turn, &p->is.is, CLASS_REPLAY, c);
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

/* The generators of all classes there are; or the single one. */
static eg_status class_replay_exhibit(void *self, eg_client *c, eg_gallery *to)
{
    const class_replay_client *p = self;
    bool single = p->is.is.generators == EG_ONE_FOR_ALL;
    int64_t classes = eg_net_spec_of(c->net)->classes;
    eg_generator *m;
    if (eg_gallery_n(to) > 0) /* another part's: a gallery is of one kind */
        return EG_OK;
    EG_TRY(eg_class_machine(c->worker, CLASS_REPLAY, &p->is.is, c->net, &m));
    for (int64_t k = single ? EG_ANY_CLASS : 0; k < (single ? 0 : classes); k++) {
        bool found;
        EG_TRY(eg_class_recall(&(eg_class_place){c, CLASS_REPLAY, k}, m, EG_DRAWING_ALONE,
                               &found));
        if (found)
            EG_TRY(eg_gallery_add(to, m, (eg_drawer){.client = c->id, .label = k}));
    }
    return EG_OK;
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
               .trained = class_replay_trained,
               .exhibit = class_replay_exhibit},
    .server = {.begin = class_replay_begin},
};
