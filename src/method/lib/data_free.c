/* data_free.c - legacies: made by the server when a period ends, brought to each client once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/data_free.h"

#include "base/base.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float closed_output = -1e9f; /* e to this is 0 */

eg_data_free_name eg_data_free_named(const char *part, const char *what)
{
    eg_data_free_name name;
    snprintf(name.text, sizeof name.text, "%s.%s", part, what);
    return name;
}

eg_status eg_data_free_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const eg_data_free *is = options;
    if (in->train->rotations)
        return eg_fail(EG_ENOTSUP, "its generator draws upright images alone; "
                                   "train.rotations must be false");
    out->images = out->classes = out->global = out->shares_plain = true;
    if (is->boundary == EG_BY_TASK)
        out->offers = EG_OFFERS_BOUNDARIES | EG_OFFERS_COMMON_TASKS;
    return EG_OK;
}

void eg_open_classes(const float *mask, int64_t classes, float *open)
{
    for (int64_t y = 0; y < classes; y++)
        open[y] = mask[y] > 0 ? 0 : closed_output;
}

/* --- The client. */

/* The record a client makes of what it was sent. */
static eg_status legacy_fill(const eg_client *c, const char *part, const eg_bundle *from,
                             eg_bundle *to)
{
    double with_model;
    eg_data_free_name param = eg_data_free_named(part, "model.param");
    EG_TRY(eg_bundle_copy(to, from, eg_data_free_named(part, "drawn.").text));
    EG_TRY(eg_bundle_copy(to, from, eg_data_free_named(part, "model.").text));
    eg_bundle_scalar_of(from, eg_data_free_named(part, "drawn.model").text, &with_model);
    if (with_model == 0 || eg_bundle_find(to, param.text, NULL))
        return EG_OK;
    EG_TRY(eg_bundle_add_flat(to, param.text, c->global, c->n_params));
    return c->n_state ? eg_bundle_add_flat(to, eg_data_free_named(part, "model.state").text,
                                           c->global_state, c->n_state)
                      : EG_OK;
}

eg_status eg_data_free_receive(eg_client *c, const eg_bundle *from, const eg_bundle **legacy)
{
    const char *part = eg_client_part(c);
    eg_data_free_name name = eg_data_free_named(part, "legacy");
    double version;
    if (eg_bundle_scalar_of(from, eg_data_free_named(part, "drawn.version").text, &version)) {
        eg_bundle *record;
        EG_TRY(eg_bundle_new(&record));
        EG_TRY(eg_bundle_filled(record, legacy_fill(c, part, from, record)));
        EG_TRY(eg_client_keep(c, name.text, record));
    }
    return eg_client_recall(c, name.text, legacy);
}

/* Marks the classes of the client's stage: its own, or with EG_SERVER anybody's. */
static void stage_classes(const eg_client *c, int64_t whose, float *mask)
{
    const int32_t *classes;
    for (int64_t k = 0; k < c->view.n_spans; k++) {
        int64_t n = eg_scenario_classes(c->scenario, whose, c->view.spans[k].task, &classes);
        for (int64_t i = 0; i < n; i++)
            mask[classes[i]] = 1;
    }
}

void eg_stage_classes(const eg_client *c, float *mask)
{
    memset(mask, 0, (size_t)c->n_classes * sizeof *mask);
    stage_classes(c, EG_SERVER, mask);
}

eg_status eg_data_free_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    float *mask;
    (void)self;
    if (exchange != EG_TRAINING)
        return EG_OK;
    EG_TRY(eg_bundle_room(to, eg_data_free_named(eg_client_part(c), "has").text,
                          eg_dims(c->n_classes), &mask));
    stage_classes(c, c->id, mask);
    return EG_OK;
}

eg_node *eg_new_classes_loss(eg_client *c, eg_graph *g, eg_node *loss)
{
    const char *part = eg_client_part(c);
    eg_node *open =
        eg_input(g, eg_data_free_named(part, "open").text, eg_dims(c->batch, c->n_classes));
    eg_node *labels = eg_input(g, eg_data_free_named(part, "labels").text, eg_dims(c->batch));
    eg_node *own = eg_add(g, eg_client_outputs_of(c, g, c->features), open);
    return eg_add(g, eg_sub(g, loss, c->plain), eg_cross_entropy(g, own, labels, NULL));
}

void eg_new_classes_fill(eg_client *c)
{
    const char *part = eg_client_part(c);
    float *open = eg_plan_input(c->plan, eg_data_free_named(part, "open").text);
    memcpy(eg_plan_input(c->plan, eg_data_free_named(part, "labels").text), c->labels,
           (size_t)c->batch * sizeof *c->labels);
    int64_t k = c->n_classes;
    float *first = open; /* [batch, n_classes]: the mask is made where the first row will be */
    eg_stage_classes(c, first);
    eg_open_classes(first, k, first);
    for (int64_t i = c->batch - 1; i >= 0; i--) {
        bool old = first[(int64_t)c->labels[i]] < 0;
        if (old)
            memset(open + i * k, 0, (size_t)k * sizeof *open);
        else if (i > 0)
            memcpy(open + i * k, first, (size_t)k * sizeof *open);
    }
}

int64_t eg_data_free_rows(const eg_data_free *is, const eg_client *c)
{
    return is->replay ? is->replay : c->train->batch;
}

void eg_data_free_replay(eg_client *c, int64_t rows, int64_t n, size_t n_tensors,
                         const eg_drawn_rows *tensors)
{
    eg_rng rng = eg_client_stream(c, EG_DATA_FREE_REPLAY);
    for (int64_t i = 0; i < rows; i++) {
        int64_t row = (int64_t)eg_rng_below(&rng, (uint64_t)n);
        for (size_t t = 0; t < n_tensors; t++)
            memcpy(eg_plan_input(c->plan, tensors[t].input) + i * tensors[t].d,
                   tensors[t].values + row * tensors[t].d,
                   (size_t)tensors[t].d * sizeof(float));
    }
}

/* --- The server. */

void eg_data_free_fini(void *self)
{
    eg_data_free_server *d = self;
    free(d->has);
    free(d->met);
}

static eg_status data_free_take(eg_data_free_server *d, const char *part, size_t n_clients,
                                size_t classes, const eg_bundle *kept)
{
    const float *has, *met;
    EG_TRY(eg_bundle_need_count(kept, eg_data_free_named(part, "period").text, 1 << 24,
                                &d->period));
    EG_TRY(eg_bundle_need_count(kept, eg_data_free_named(part, "version").text, 1 << 24,
                                &d->version));
    EG_TRY(eg_bundle_need_counts(kept, eg_data_free_named(part, "has").text, n_clients, 1 << 24,
                                 &has));
    EG_TRY(eg_bundle_need_counts(kept, eg_data_free_named(part, "met").text, classes, 1, &met));
    memcpy(d->has, has, n_clients * sizeof *has);
    memcpy(d->met, met, classes * sizeof *met);
    return EG_OK;
}

eg_status eg_data_free_begin(void *self, eg_server *s)
{
    eg_data_free_server *d = self;
    size_t n_clients = (size_t)eg_scenario_n_clients(s->scenario);
    size_t classes = (size_t)eg_net_spec_of(s->net)->classes;
    const eg_bundle *kept;
    EG_TRY(eg_alloc(n_clients, sizeof *d->has, &d->has));
    EG_TRY(eg_alloc(classes, sizeof *d->met, &d->met));
    EG_TRY(eg_server_recall(s, eg_server_part(s), &kept));
    return kept ? data_free_take(d, eg_server_part(s), n_clients, classes, kept) : EG_OK;
}

static eg_status data_free_fill(const eg_data_free_server *d, const eg_server *s, eg_bundle *to)
{
    const char *part = eg_server_part(s);
    size_t n_clients = (size_t)eg_scenario_n_clients(s->scenario);
    size_t classes = (size_t)eg_net_spec_of(s->net)->classes;
    EG_TRY(eg_bundle_scalar(to, eg_data_free_named(part, "period").text, (double)d->period));
    EG_TRY(eg_bundle_scalar(to, eg_data_free_named(part, "version").text, (double)d->version));
    EG_TRY(eg_bundle_add_flat(to, eg_data_free_named(part, "has").text, d->has, n_clients));
    return eg_bundle_add_flat(to, eg_data_free_named(part, "met").text, d->met, classes);
}

eg_status eg_data_free_save(void *self, eg_server *s)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, data_free_fill(self, s, record)));
    return eg_server_keep(s, eg_server_part(s), record);
}

/* What the work hook is given: the model, the classes met, what the last legacy drew with. */
static eg_status data_free_give(const eg_data_free_server *d, eg_server *s, eg_bundle *to)
{
    const char *part = eg_server_part(s);
    const eg_bundle *last;
    EG_TRY(eg_bundle_add_flat(to, "param", s->param, s->n_params));
    if (s->n_state)
        EG_TRY(eg_bundle_add_flat(to, "state", s->state, s->n_state));
    EG_TRY(eg_bundle_add_flat(to, "met", d->met, (size_t)eg_net_spec_of(s->net)->classes));
    EG_TRY(eg_server_recall(s, eg_data_free_named(part, "legacy").text, &last));
    return last ? eg_bundle_copy(to, last, eg_data_free_named(part, "drawn.with.").text)
                : EG_OK;
}

typedef struct data_free_making {
    eg_data_free_server *d;
    eg_server *s;
} data_free_making;

/* The legacy as the server keeps it: what was made, its version, and the model if it is asked
 * for. */
static eg_status data_free_record(const data_free_making *m, const eg_bundle *from,
                                  eg_bundle *to)
{
    const eg_server *s = m->s;
    const char *part = eg_server_part(s);
    double with_model;
    EG_TRY(eg_bundle_copy(to, from, eg_data_free_named(part, "drawn.").text));
    EG_TRY(eg_bundle_scalar(to, eg_data_free_named(part, "drawn.version").text,
                            (double)(m->d->version + 1)));
    eg_bundle_scalar_of(from, eg_data_free_named(part, "drawn.model").text, &with_model);
    if (with_model == 0)
        return EG_OK;
    EG_TRY(eg_bundle_add_flat(to, eg_data_free_named(part, "model.param").text, s->param,
                              s->n_params));
    return s->n_state ? eg_bundle_add_flat(to, eg_data_free_named(part, "model.state").text,
                                           s->state, s->n_state)
                      : EG_OK;
}

/* What came of it is a legacy, unless nothing did: then the last one stays. */
static eg_status data_free_taken(void *context, int64_t i, const eg_bundle *from)
{
    const data_free_making *m = context;
    const char *part = eg_server_part(m->s);
    double loss;
    eg_bundle *record;
    (void)i;
    bool made = eg_bundle_scalar_of(from, eg_data_free_named(part, "loss").text, &loss);
    EG_TRY(eg_server_note(m->s, "drawing loss", made ? loss : (double)NAN));
    if (!made)
        return EG_OK;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, data_free_record(m, from, record)));
    m->d->version++;
    return eg_server_keep(m->s, eg_data_free_named(part, "legacy").text, record);
}

static eg_status data_free_make(eg_data_free_server *d, eg_server *s)
{
    data_free_making making = {d, s};
    eg_bundle *all;
    EG_TRY(eg_bundle_new(&all));
    eg_status status = data_free_give(d, s, all);
    if (status == EG_OK)
        status = eg_server_share(
            s, &(eg_work){.n = 1, .all = all, .take = data_free_taken, .context = &making});
    eg_bundle_free(all);
    return status;
}

/* A period that began after another one makes a legacy of what that one left. */
eg_status eg_data_free_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    eg_data_free_server *d = self;
    int64_t last = d->period;
    (void)to;
    if (exchange != EG_TRAINING)
        return EG_OK;
    d->period = d->is.boundary == EG_BY_ROUND ? s->round + 1
                                              : eg_scenario_period(s->scenario, s->round);
    bool any = false;
    for (int64_t y = 0; y < eg_net_spec_of(s->net)->classes; y++)
        any = any || d->met[y] > 0;
    return last > 0 && last != d->period && any ? data_free_make(d, s) : EG_OK;
}

eg_status eg_data_free_send_one(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    const eg_data_free_server *d = self;
    const char *part = eg_server_part(s);
    const eg_bundle *legacy;
    if ((int64_t)d->has[client] == d->version)
        return EG_OK;
    EG_TRY(eg_server_recall(s, eg_data_free_named(part, "legacy").text, &legacy));
    if (!legacy)
        return EG_OK;
    EG_TRY(eg_bundle_copy(to, legacy, eg_data_free_named(part, "drawn.").text));
    const float *param =
        eg_bundle_find(legacy, eg_data_free_named(part, "model.param").text, NULL);
    bool moved = param && memcmp(param, s->param, s->n_params * sizeof *param) != 0;
    return moved ? eg_bundle_copy(to, legacy, eg_data_free_named(part, "model.").text) : EG_OK;
}

eg_status eg_data_free_accept(void *self, eg_server *s, int exchange, int64_t client,
                              const eg_bundle *from)
{
    const float *mask;
    (void)self, (void)client;
    return exchange == EG_TRAINING
               ? eg_bundle_need_counts(from, eg_data_free_named(eg_server_part(s), "has").text,
                                       (size_t)eg_net_spec_of(s->net)->classes, 1, &mask)
               : EG_OK;
}

eg_status eg_data_free_collect(void *self, eg_server *s, int exchange, int64_t client,
                               const eg_bundle *from)
{
    eg_data_free_server *d = self;
    if (exchange != EG_TRAINING)
        return EG_OK;
    const float *mask =
        eg_bundle_find(from, eg_data_free_named(eg_server_part(s), "has").text, NULL);
    for (int64_t y = 0; y < eg_net_spec_of(s->net)->classes; y++)
        d->met[y] = mask[y] > 0 ? 1 : d->met[y];
    d->has[client] = (float)d->version;
    return EG_OK;
}

eg_status eg_data_free_ask(const void *options, const eg_piece *piece, eg_data_free_task *out)
{
    size_t n_params = eg_params_length(eg_net_params(piece->net));
    size_t n_state = eg_state_length(eg_net_params(piece->net));
    const float *param, *state = NULL;
    *out = (eg_data_free_task){.is = options, .piece = piece};
    out->classes = eg_net_spec_of(piece->net)->classes;
    EG_TRY(eg_bundle_need(piece->from, "param", n_params, &param));
    if (n_state)
        EG_TRY(eg_bundle_need(piece->from, "state", n_state, &state));
    EG_TRY(eg_bundle_need_counts(piece->from, "met", (size_t)out->classes, 1, &out->met));
    out->at = (eg_weights){param, state};
    for (int64_t y = 0; y < out->classes; y++)
        out->n_met += out->met[y] > 0;
    return out->n_met > 0 ? EG_OK : eg_fail(EG_EINVAL, "there is no class to draw");
}

int64_t eg_data_free_class(const eg_data_free_task *t, eg_rng *rng)
{
    int64_t left = (int64_t)eg_rng_below(rng, (uint64_t)t->n_met), y = 0;
    for (; t->met[y] <= 0 || left > 0; y++)
        left -= t->met[y] > 0;
    return y;
}
