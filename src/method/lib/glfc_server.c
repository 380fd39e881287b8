/* glfc_server.c - GLFC's proxy: images from gradients, and the best models on them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * In a round in which gradients come, each becomes some images, on all workers; they take the
 * place of those there were, the second slot's model moves to the first, and no model is the
 * best any more. In every round with images the new global model is the second slot's if it is
 * right on as many of them as the best so far.
 */
#include "method/lib/glfc.h"
#include "method/lib/inversion.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GLFC_DRAW };

static const char *const glfc_slots[] = {"glfc.older", "glfc.newer"};

void eg_glfc_server_fini(void *self)
{
    eg_glfc_server *p = self;
    free(p->gradients);
    free(p->x);
    free(p->labels);
    eg_bundle_free(p->slots[0]);
    eg_bundle_free(p->slots[1]);
}

static size_t glfc_pixels(const eg_net *net)
{
    const eg_net_spec *s = eg_net_spec_of(net);
    return (size_t)(s->channels * s->height * s->width);
}

/* A slot's model, out of a bundle in which its names begin so; none if there is none. */
static eg_status glfc_take_slot(eg_glfc_server *p, int slot, const eg_server *s,
                                const eg_bundle *from)
{
    eg_learner *l;
    bool found;
    EG_TRY(eg_learner_new(eg_net_params(s->net), &l));
    eg_status status = eg_learner_recall(l, glfc_slots[slot], from, &found);
    if (status == EG_OK && found) {
        status = eg_bundle_new(&p->slots[slot]);
        if (status == EG_OK)
            status = eg_learner_keep(l, "at", p->slots[slot]);
    }
    eg_learner_free(l);
    return status;
}

static eg_status glfc_recall(eg_glfc_server *p, const eg_server *s, const eg_bundle *kept)
{
    size_t pixels = glfc_pixels(s->net), all;
    const float *x = eg_bundle_find(kept, "glfc.x", &all), *labels;
    eg_bundle_scalar_of(kept, "glfc.best", &p->best);
    for (int i = 0; i < 2; i++)
        EG_TRY(glfc_take_slot(p, i, s, kept));
    if (!x || all % pixels)
        return EG_OK;
    p->n = (int64_t)(all / pixels);
    EG_TRY(eg_bundle_need_counts(kept, "glfc.labels", (size_t)p->n,
                                 eg_net_spec_of(s->net)->classes - 1, &labels));
    EG_TRY(eg_alloc(all, sizeof *p->x, &p->x));
    EG_TRY(eg_alloc((size_t)p->n, sizeof *p->labels, &p->labels));
    memcpy(p->x, x, all * sizeof *x);
    memcpy(p->labels, labels, (size_t)p->n * sizeof *labels);
    return EG_OK;
}

eg_status eg_glfc_begin(void *self, eg_server *s)
{
    eg_glfc_server *p = self;
    const eg_bundle *kept;
    eg_inversion shape;
    EG_TRY(eg_inversion_open(&shape, s->net, EG_GLFC_SEED));
    p->size = eg_inversion_size(&shape);
    eg_inversion_close(&shape);
    EG_TRY(eg_server_recall(s, "glfc", &kept));
    return kept ? glfc_recall(p, s, kept) : EG_OK;
}

/* Both slots' models, under their names. */
static eg_status glfc_put_slots(const eg_glfc_server *p, const eg_server *s, eg_bundle *to)
{
    eg_learner *l;
    bool found;
    EG_TRY(eg_learner_new(eg_net_params(s->net), &l));
    eg_status status = EG_OK;
    for (int i = 0; i < 2 && status == EG_OK; i++) {
        if (!p->slots[i])
            continue;
        status = eg_learner_recall(l, "at", p->slots[i], &found);
        if (status == EG_OK)
            status = eg_learner_keep(l, glfc_slots[i], to);
    }
    eg_learner_free(l);
    return status;
}

static eg_status glfc_fill_record(const eg_glfc_server *p, const eg_server *s, eg_bundle *to)
{
    EG_TRY(eg_bundle_scalar(to, "glfc.best", p->best));
    EG_TRY(glfc_put_slots(p, s, to));
    if (p->n == 0)
        return EG_OK;
    EG_TRY(eg_bundle_add_flat(to, "glfc.x", p->x, (size_t)p->n * glfc_pixels(s->net)));
    return eg_bundle_add_flat(to, "glfc.labels", p->labels, (size_t)p->n);
}

eg_status eg_glfc_save(void *self, eg_server *s)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, glfc_fill_record(self, s, record)));
    return eg_server_keep(s, "glfc", record);
}

/* The older slot is filled first: with one model that is the one there is. */
eg_status eg_glfc_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    return exchange == EG_TRAINING ? glfc_put_slots(self, s, to) : EG_OK;
}

eg_status eg_glfc_accept(void *self, eg_server *s, int exchange, int64_t client,
                         const eg_bundle *from)
{
    const eg_glfc_server *p = self;
    int64_t n = 0;
    const float *values;
    (void)client;
    if (exchange != EG_TRAINING || !eg_bundle_find(from, "glfc.gradients", NULL))
        return EG_OK;
    EG_TRY(eg_bundle_need_count(from, "glfc.n", eg_net_spec_of(s->net)->classes, &n));
    return eg_bundle_need(from, "glfc.gradients", (size_t)n * p->size, &values);
}

eg_status eg_glfc_collect(void *self, eg_server *s, int exchange, int64_t client,
                          const eg_bundle *from)
{
    eg_glfc_server *p = self;
    size_t all;
    const float *values = eg_bundle_find(from, "glfc.gradients", &all);
    (void)s, (void)client;
    if (exchange != EG_TRAINING || !values)
        return EG_OK;
    for (size_t i = 0; i < all / p->size; i++) {
        EG_TRY(eg_grow(&p->gradients, (size_t)p->n_gradients, &p->cap,
                       p->size * sizeof *p->gradients));
        memcpy(p->gradients + (size_t)p->n_gradients++ * p->size, values + i * p->size,
               p->size * sizeof *values);
    }
    return EG_OK;
}

/* --- Work: a gradient becomes images, or images are looked at. */

static eg_status glfc_reconstruct(const eg_glfc *is, const eg_piece *piece, eg_bundle *to)
{
    eg_inversion v;
    eg_inversion_search search = {.steps = is->steps, .keep = is->keep, .lr = is->lr};
    double gap = INFINITY;
    int64_t n = 0;
    float *x;
    EG_TRY(eg_inversion_open(&v, piece->net, EG_GLFC_SEED));
    eg_status s =
        eg_bundle_need(piece->from, "gradient", eg_inversion_size(&v), &search.gradient);
    if (s == EG_OK) {
        eg_rng rng = eg_piece_stream(piece, piece->i, GLFC_DRAW);
        search.label = eg_inversion_label(&v, search.gradient);
        s = eg_alloc((size_t)is->keep * glfc_pixels(piece->net), sizeof *x, &x);
        if (s == EG_OK)
            s = eg_inversion_find(&v, &search, &rng, x, &n, &gap);
        if (s == EG_OK && n > 0)
            s = eg_bundle_add_flat(to, "x", x, (size_t)n * glfc_pixels(piece->net));
        if (s == EG_OK)
            s = eg_bundle_scalar(to, "label", (double)search.label);
        if (s == EG_OK)
            s = eg_bundle_scalar(to, "gap", isfinite(gap) ? gap : -1);
        free(x);
    }
    eg_inversion_close(&v);
    return s;
}

static void glfc_record_look(void *context, eg_graph *g, int64_t n)
{
    const eg_net *net = context;
    const eg_net_spec *s = eg_net_spec_of(net);
    eg_graph_set_training(g, false);
    eg_output(
        g, "outputs",
        eg_net_forward(net, g, eg_input(g, "x", eg_dims(n, s->channels, s->height, s->width))));
}

/* How many of the images the model has right. */
static eg_status glfc_look(const eg_piece *piece, eg_bundle *to)
{
    size_t pixels = glfc_pixels(piece->net), all, n_params, n_state;
    int64_t k = eg_net_spec_of(piece->net)->classes, right = 0;
    const float *x = eg_bundle_find(piece->from, "x", &all), *labels, *param, *state = NULL;
    const eg_params *table = eg_net_params(piece->net);
    eg_program *program;
    eg_plan *plan;
    n_params = eg_params_length(table), n_state = eg_state_length(table);
    EG_TRY(eg_bundle_need(piece->from, "labels", all / pixels, &labels));
    EG_TRY(eg_bundle_need(piece->from, "param", n_params, &param));
    if (n_state)
        EG_TRY(eg_bundle_need(piece->from, "state", n_state, &state));
    EG_TRY(eg_worker_program(piece->worker, "glfc.look", glfc_record_look,
                             (void *)(uintptr_t)piece->net, &program));
    EG_TRY(eg_program_read(program, table, &(eg_weights){param, state}));
    EG_TRY(eg_program_plan(program, 1, &plan));
    for (size_t i = 0; i < all / pixels; i++) {
        memcpy(eg_plan_input(plan, "x"), x + i * pixels, pixels * sizeof *x);
        EG_TRY(eg_plan_run(plan));
        const float *z = eg_plan_output(plan, "outputs");
        int64_t best = 0;
        for (int64_t y = 1; y < k; y++)
            best = z[y] > z[best] ? y : best;
        right += best == (int64_t)labels[i];
    }
    return eg_bundle_scalar(to, "right", (double)right);
}

eg_status eg_glfc_work(const void *options, const eg_piece *piece, eg_bundle *to)
{
    return eg_bundle_find(piece->from, "gradient", NULL) ? glfc_reconstruct(options, piece, to)
                                                         : glfc_look(piece, to);
}

/* --- The proxy's round. */

typedef struct glfc_round {
    eg_glfc_server *p;
    eg_server *s;
    double right, gap;
} glfc_round;

static eg_status glfc_give(void *context, int64_t i, eg_bundle *to)
{
    const eg_glfc_server *p = ((const glfc_round *)context)->p;
    return eg_bundle_add_flat(to, "gradient", p->gradients + (size_t)i * p->size, p->size);
}

static eg_status glfc_taken(void *context, int64_t i, const eg_bundle *from)
{
    glfc_round *r = context;
    eg_glfc_server *p = r->p;
    size_t pixels = glfc_pixels(r->s->net), all;
    const float *x = eg_bundle_find(from, "x", &all);
    double gap;
    int64_t label;
    EG_TRY(eg_bundle_need_count(from, "label", eg_net_spec_of(r->s->net)->classes - 1, &label));
    eg_bundle_scalar_of(from, "gap", &gap);
    r->gap += (gap - r->gap) / (double)(i + 1);
    for (size_t k = 0; x && k < all / pixels; k++, p->n++) {
        memcpy(p->x + (size_t)p->n * pixels, x + k * pixels, pixels * sizeof *x);
        p->labels[p->n] = (float)label;
    }
    return EG_OK;
}

/* Images of the gradients that came take the place of those there were. */
static eg_status glfc_renew(glfc_round *r)
{
    eg_glfc_server *p = r->p;
    size_t room = (size_t)(p->n_gradients * p->is.keep);
    free(p->x);
    free(p->labels);
    p->x = p->labels = NULL, p->n = 0;
    EG_TRY(eg_alloc(room * glfc_pixels(r->s->net), sizeof *p->x, &p->x));
    EG_TRY(eg_alloc(room, sizeof *p->labels, &p->labels));
    EG_TRY(eg_server_share(
        r->s,
        &(eg_work){.n = p->n_gradients, .give = glfc_give, .take = glfc_taken, .context = r}));
    EG_TRY(eg_server_note(r->s, "glfc.gap", r->gap));
    p->n_gradients = 0, p->best = 0;
    if (!p->slots[1])
        return EG_OK;
    eg_bundle_free(p->slots[0]);
    p->slots[0] = p->slots[1], p->slots[1] = NULL;
    return EG_OK;
}

static eg_status glfc_looked(void *context, int64_t i, const eg_bundle *from)
{
    (void)i;
    eg_bundle_scalar_of(from, "right", &((glfc_round *)context)->right);
    return EG_OK;
}

static eg_status glfc_fill_look(const glfc_round *r, eg_bundle *to)
{
    const eg_glfc_server *p = r->p;
    EG_TRY(eg_bundle_add_flat(to, "x", p->x, (size_t)p->n * glfc_pixels(r->s->net)));
    EG_TRY(eg_bundle_add_flat(to, "labels", p->labels, (size_t)p->n));
    EG_TRY(eg_bundle_add_flat(to, "param", r->s->param, r->s->n_params));
    return r->s->n_state ? eg_bundle_add_flat(to, "state", r->s->state, r->s->n_state) : EG_OK;
}

/* Asks how good the new model is on the images; the best one has the second slot. */
static eg_status glfc_judge(glfc_round *r)
{
    eg_glfc_server *p = r->p;
    eg_bundle *all, *slot;
    EG_TRY(eg_bundle_new(&all));
    eg_status s = glfc_fill_look(r, all);
    if (s == EG_OK)
        s = eg_server_share(r->s,
                            &(eg_work){.n = 1, .all = all, .take = glfc_looked, .context = r});
    eg_bundle_free(all);
    EG_TRY(s);
    double accuracy = r->right / (double)p->n;
    EG_TRY(eg_server_note(r->s, "glfc.accuracy", accuracy));
    if (accuracy < p->best)
        return EG_OK;
    p->best = accuracy;
    EG_TRY(eg_bundle_new(&slot));
    eg_bundle_free(p->slots[1]);
    p->slots[1] = slot;
    EG_TRY(eg_bundle_add_flat(slot, "at.param", r->s->param, r->s->n_params));
    return r->s->n_state ? eg_bundle_add_flat(slot, "at.state", r->s->state, r->s->n_state)
                         : EG_OK;
}

eg_status eg_glfc_finish(void *self, eg_server *s, int exchange)
{
    eg_glfc_server *p = self;
    glfc_round r = {.p = p, .s = s};
    if (exchange != EG_TRAINING)
        return EG_OK;
    if (p->n_gradients > 0)
        EG_TRY(glfc_renew(&r));
    return p->n > 0 ? glfc_judge(&r) : EG_OK;
}
