/* class_replay_turn.c - a client's turn with drawn rows: what it has met, what it draws, and
 * the pull towards the guide's outputs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/class_replay.h"

#include "base/base.h"

#include <engram/op.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN_DRAWING }; /* its draws; training generators has others */

eg_status eg_class_replay_setup(const eg_class_replay_opts *o, const eg_setting *in,
                                eg_wishes *out)
{
    out->images = out->classes = true;
    if (!eg_generator_find(o->generator))
        return EG_ENOENT;
    if (o->generators == EG_ONE_FOR_ALL && !o->guided)
        return eg_fail(EG_EINVAL, "the drawings of a single generator have no class but the "
                                  "guide's: set guided to true");
    if (o->lambda > 0 && in->augments)
        return eg_fail(EG_EINVAL,
                       "lambda pulls a drawing towards the guide's outputs for it as "
                       "it was drawn, but data.crop, data.flip and data.cutout change "
                       "it: set lambda to 0, or leave these out");
    return EG_OK;
}

eg_status eg_class_replay_check(const eg_class_replay_opts *o, const eg_net *net)
{
    eg_generator_spec spec = eg_class_spec(o, net);
    eg_generator *m;
    spec.draws_only = true;
    EG_TRY(eg_generator_new(&spec, &m));
    eg_generator_free(m);
    return EG_OK;
}

static eg_status turn_look(void *context, const float *x, int64_t n, float *logits)
{
    const eg_class_looker *l = context;
    return eg_client_look(l->c, &l->at, &(eg_rows){.n = n, .x = x},
                          &(eg_look){.logits = logits});
}

eg_class_guide eg_class_guide_of(eg_class_looker *l)
{
    return (eg_class_guide){.look = turn_look,
                            .context = l,
                            .outputs = l->c->n_classes,
                            .fan = eg_train_fan(l->c->train),
                            .decides = true};
}

/* What the client has met and what it has generators for. */
static eg_status turn_recall(eg_class_replay *r, eg_client *c)
{
    enum { MOST = 1 << 24 }; /* floats count no further */
    size_t n = (size_t)r->classes;
    const eg_bundle *kept;
    const float *ever, *has;
    char name[64];
    EG_TRY(eg_client_recall(c, r->part, &kept));
    if (!kept)
        return EG_OK;
    snprintf(name, sizeof name, "%s.ever", r->part);
    EG_TRY(eg_bundle_need_counts(kept, name, n, MOST, &ever));
    snprintf(name, sizeof name, "%s.has", r->part);
    EG_TRY(eg_bundle_need_counts(kept, name, n, 1, &has));
    memcpy(r->ever, ever, n * sizeof *ever);
    memcpy(r->has, has, n * sizeof *has);
    return EG_OK;
}

eg_status eg_class_replay_begin(eg_class_replay *r, const eg_class_replay_opts *o,
                                const char *part, eg_client *c)
{
    size_t n;
    r->is = o, r->part = part;
    r->classes = eg_scenario_n_classes(c->scenario);
    n = (size_t)r->classes;
    EG_TRY(eg_alloc(4 * n, sizeof *r->now, &r->now));
    r->ever = r->now + n, r->has = r->ever + n, r->changed = r->has + n;
    return turn_recall(r, c);
}

void eg_class_replay_fini(eg_class_replay *r)
{
    eg_class_drawings_fini(&r->drawn);
    free(r->now);
    free(r->own);
    free(r->labels);
}

/* The round's own images and their classes, and how many there are of each. */
static eg_status turn_gather(eg_class_replay *r, eg_client *c)
{
    const eg_net_spec *net = eg_net_spec_of(c->net);
    const eg_view *v = &c->view;
    float *x; /* one image, of which only the label is wanted */
    EG_TRY(eg_alloc((size_t)v->n, sizeof *r->own, &r->own));
    EG_TRY(eg_alloc((size_t)v->n, sizeof *r->labels, &r->labels));
    EG_TRY(eg_alloc((size_t)(net->channels * net->height * net->width), sizeof *x, &x));
    for (int64_t k = 0; k < v->n_spans; k++)
        for (int64_t i = 0; i < v->spans[k].n; i++, r->n++) {
            r->own[r->n] = (eg_sample){v->spans[k].task, v->spans[k].ids[i]};
            eg_client_feed(c, &r->own[r->n], 1, x, r->labels + r->n);
        }
    free(x);
    for (int64_t i = 0; i < r->n; i++) {
        int64_t class = (int64_t)r->labels[i] / eg_train_fan(c->train);
        r->labels[i] = (float)class;
        r->now[class]++;
        r->ever[class]++;
    }
    return EG_OK;
}

/* Draws from every generator that is asked for rows: one per class, or the single one. */
static eg_status turn_draw(eg_class_replay *r, eg_client *c, int64_t *left)
{
    eg_class_looker at = {c, r->guide};
    eg_class_guide guide = eg_class_guide_of(&at);
    eg_class_wish w = {
        .classes = r->classes, .tries = r->is->tries, .left = left, .guide = &guide};
    eg_rng rng = eg_client_stream(c, TURN_DRAWING);
    bool single = r->is->generators == EG_ONE_FOR_ALL;
    int64_t refused = 0;
    guide.decides = r->is->guided;
    EG_TRY(eg_class_machine(c->worker, r->part, r->is, c->net, &w.m));
    for (w.class = single ? EG_ANY_CLASS : 0; w.class < (single ? 0 : r->classes); w.class ++) {
        bool found;
        int64_t before = r->drawn.n;
        if (!single && left[w.class] == 0)
            continue;
        EG_TRY(eg_class_recall(&(eg_class_place){c, r->part, w.class}, w.m, EG_DRAWING_ALONE,
                               &found));
        if (!found)
            continue;
        EG_TRY(eg_class_draw(&w, &rng, &r->drawn));
        refused += r->drawn.n == before;
    }
    char note[64];
    snprintf(note, sizeof note, "%s.refused", r->part); /* generators of which none was taken */
    return refused > 0 ? eg_client_note(c, note, (double)refused) : EG_OK;
}

static eg_status turn_note_drawings(const eg_class_replay *r, eg_client *c)
{
    char name[64];
    snprintf(name, sizeof name, "%s.drawn", r->part);
    EG_TRY(eg_client_note(c, name, (double)r->drawn.n));
    snprintf(name, sizeof name, "%s.accepted", r->part);
    return r->drawn.tried > 0
               ? eg_client_note(c, name, (double)r->drawn.n / (double)r->drawn.tried)
               : EG_OK;
}

eg_status eg_class_replay_samples(eg_class_replay *r, eg_client *c)
{
    int64_t *left, wanted = 0;
    EG_TRY(turn_gather(r, c));
    EG_TRY(eg_alloc((size_t)r->classes, sizeof *left, &left));
    eg_class_amounts(r->classes, r->now, r->ever, r->has, left);
    for (int64_t i = 0; i < r->classes; i++)
        wanted += left[i];
    eg_status s = wanted > 0 ? turn_draw(r, c, left) : EG_OK;
    free(left);
    EG_TRY(s);
    r->first = c->n_rows;
    EG_TRY(turn_note_drawings(r, c));
    return r->drawn.n > 0 ? eg_client_add_rows(c, r->drawn.x, r->drawn.labels, r->drawn.n)
                          : EG_OK;
}

bool eg_class_replay_pulls(const eg_class_replay *r)
{
    return r->is->lambda > 0 && r->drawn.n > 0;
}

typedef struct turn_inputs {
    char guide[64], drawn[64];
} turn_inputs;

static turn_inputs turn_names(const eg_class_replay *r)
{
    turn_inputs names;
    snprintf(names.guide, sizeof names.guide, "%s.guide", r->part);
    snprintf(names.drawn, sizeof names.drawn, "%s.drawn", r->part);
    return names;
}

/* Equation 2 of pFedGRP: lambda times the sum over drawn rows of the mean squared distance from
 * the guide's outputs, over the rows of the batch. */
eg_node *eg_class_replay_loss(eg_class_replay *r, eg_client *c, eg_graph *g, eg_node *loss)
{
    if (!eg_class_replay_pulls(r))
        return loss;
    turn_inputs names = turn_names(r);
    eg_node *guide = eg_input(g, names.guide, eg_dims(c->batch, c->n_classes));
    eg_node *drawn = eg_input(g, names.drawn, eg_dims(c->batch, 1));
    eg_node *off = eg_sub(g, eg_client_outputs_of(c, g, c->features), guide);
    eg_node *pull = eg_mean(g, eg_mul(g, drawn, eg_mul(g, off, off)), EG_ALL_AXES);
    return eg_add(g, loss, eg_affine(g, pull, r->is->lambda, 0));
}

/* A row that was turned has no outputs of the guide, and is not pulled. */
eg_status eg_class_replay_fill(eg_class_replay *r, eg_client *c)
{
    if (!eg_class_replay_pulls(r))
        return EG_OK;
    turn_inputs names = turn_names(r);
    size_t outputs = (size_t)c->n_classes;
    float *guide = eg_plan_input(c->plan, names.guide);
    float *drawn = eg_plan_input(c->plan, names.drawn);
    memset(guide, 0, (size_t)c->batch * outputs * sizeof *guide);
    memset(drawn, 0, (size_t)c->batch * sizeof *drawn);
    for (int64_t i = 0; i < c->n_drawn; i += eg_train_fan(c->train)) {
        int64_t row = c->drawn[i].id - r->first;
        if (c->drawn[i].task != EG_OWN_ROW || row < 0 || row >= r->drawn.n)
            continue;
        drawn[i] = 1;
        memcpy(guide + (size_t)i * outputs, r->drawn.logits + (size_t)row * outputs,
               outputs * sizeof *guide);
    }
    return EG_OK;
}

static eg_status turn_fill_record(const eg_class_replay *r, eg_bundle *to)
{
    char name[64];
    snprintf(name, sizeof name, "%s.ever", r->part);
    EG_TRY(eg_bundle_add_flat(to, name, r->ever, (size_t)r->classes));
    snprintf(name, sizeof name, "%s.has", r->part);
    return eg_bundle_add_flat(to, name, r->has, (size_t)r->classes);
}

eg_status eg_class_replay_trained(eg_class_replay *r, eg_client *c)
{
    eg_bundle *record;
    EG_TRY(eg_class_replay_update(r, c));
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, turn_fill_record(r, record)));
    return eg_client_keep(c, r->part, record);
}
