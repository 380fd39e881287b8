/* fedcil_server.c - FedCIL's server: the mean of generators, outputs by who has seen a class,
 * and what it keeps of every client.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/model/net.h"
#include "method/lib/fedcil.h"
#include "method/mean.h"

#include <engram/gallery.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of this round's uploads. */
struct eg_fedcil_sums {
    eg_weighted_mean param, state; /* of generators */
    double *heads;   /* [n_params]: of the head's rows, by those who have seen the class */
    double *weights; /* [classes] */
};

void eg_fedcil_record_name(int64_t client, char out[48])
{
    snprintf(out, 48, "fedcil.client%lld", (long long)client);
}

static void server_free_sums(struct eg_fedcil_sums *sums)
{
    if (!sums)
        return;
    eg_mean_fini(&sums->param);
    eg_mean_fini(&sums->state);
    free(sums->heads);
    free(sums->weights);
    free(sums);
}

void eg_fedcil_server_fini(void *self)
{
    eg_fedcil_server *f = self;
    eg_generator_free(f->own);
    eg_learner_free(f->critic);
    eg_label_set_fini(&f->known);
    eg_label_set_fini(&f->now);
    eg_label_set_fini(&f->past);
    server_free_sums(f->sums);
    free(f->clients);
}

static eg_status server_open(eg_fedcil_server *f, const eg_server *s)
{
    eg_fedcil_spec spec;
    char adam[160];
    int64_t classes = eg_net_spec_of(s->net)->classes;
    eg_label_set *sets[] = {&f->known, &f->now, &f->past};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        EG_TRY(eg_label_set_init(sets[i], classes));
    eg_fedcil_describe(&f->is, s->net, false, &spec);
    EG_TRY(eg_generator_new(&spec.is, &f->own));
    EG_TRY(eg_learner_new(eg_net_params(s->net), &f->critic));
    snprintf(adam, sizeof adam, "lr=%.9g beta1=%.9g beta2=%.9g weight_decay=%.9g", f->is.lr,
             f->is.beta1, f->is.beta2, f->is.weight_decay);
    EG_TRY(eg_learner_optimize(f->critic, "adam", adam));
    EG_TRY(eg_alloc(1, sizeof *f->sums, &f->sums));
    EG_TRY(eg_mean_init(&f->sums->param, f->own->learners[0]->n_params));
    EG_TRY(eg_mean_init(&f->sums->state, f->own->learners[0]->n_state));
    EG_TRY(eg_alloc(s->n_params, sizeof *f->sums->heads, &f->sums->heads));
    return eg_alloc((size_t)classes, sizeof *f->sums->weights, &f->sums->weights);
}

eg_status eg_fedcil_begin(void *self, eg_server *s)
{
    eg_fedcil_server *f = self;
    const eg_bundle *kept;
    bool found;
    EG_TRY(server_open(f, s));
    eg_generator_init(f->own, s->seed);
    EG_TRY(eg_server_recall(s, "fedcil", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_learner_recall(f->own->learners[0], "fedcil.generator", kept, &found));
    EG_TRY(eg_learner_recall_optimizer(f->own->learners[0], "fedcil.generator", kept));
    EG_TRY(eg_learner_recall_optimizer(f->critic, "fedcil.critic", kept));
    return eg_label_set_read(&f->known, "fedcil.known", kept);
}

static eg_status server_fill_record(const eg_fedcil_server *f, eg_bundle *to)
{
    EG_TRY(eg_learner_keep(f->own->learners[0], "fedcil.generator", to));
    EG_TRY(eg_learner_keep_optimizer(f->own->learners[0], "fedcil.generator", to));
    EG_TRY(eg_learner_keep_optimizer(f->critic, "fedcil.critic", to));
    return eg_label_set_write(&f->known, "fedcil.known", to);
}

eg_status eg_fedcil_save(void *self, eg_server *s)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, server_fill_record(self, record)));
    return eg_server_keep(s, "fedcil", record);
}

eg_status eg_fedcil_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    const eg_fedcil_server *f = self;
    (void)s, (void)exchange;
    EG_TRY(eg_learner_keep(f->own->learners[0], "fedcil.generator", to));
    return eg_label_set_write(&f->known, "fedcil.known", to);
}

/* An upload's generator and labels. */
static eg_status server_read(eg_fedcil_server *f, const eg_bundle *from, const float **param,
                             const float **state)
{
    const eg_learner *l = f->own->learners[0];
    EG_TRY(eg_bundle_need(from, "fedcil.generator.param", l->n_params, param));
    EG_TRY(eg_bundle_need(from, "fedcil.generator.state", l->n_state, state));
    EG_TRY(eg_label_set_read(&f->now, "fedcil.now", from));
    EG_TRY(eg_label_set_read(&f->past, "fedcil.before", from));
    EG_TRY(eg_bundle_need_count(from, "fedcil.tasks", EG_FEDCIL_MOST_TASKS, &f->tasks));
    return f->now.n > 0 ? EG_OK : eg_fail(EG_EINVAL, "'fedcil.now' has no class");
}

eg_status eg_fedcil_accept(void *self, eg_server *s, int exchange, int64_t client,
                           const eg_bundle *from)
{
    const float *param, *state;
    (void)s, (void)exchange, (void)client;
    return server_read(self, from, &param, &state);
}

/* Calls row(context, class, offset, n) for every row of every tensor of the head. */
typedef void (*server_visit)(void *context, int64_t class, size_t offset, size_t n);
static void server_each_row(const eg_net *net, server_visit row, void *context)
{
    size_t head, side;
    const eg_params *p = eg_net_params(net);
    eg_net_heads(net, &head, &side);
    for (size_t i = head; i < side; i++) {
        const eg_param_info *t = eg_params_at(p, i);
        size_t n = t->size / (size_t)t->shape.dim[0];
        for (int64_t k = 0; k < t->shape.dim[0]; k++)
            row(context, k, t->offset + (size_t)k * n, n);
    }
}

typedef struct server_rows {
    const eg_fedcil_server *f;
    const float *from; /* [n_params]: an upload's */
    float *to;         /* [n_params]: the mean */
    double weight;
} server_rows;

static void server_add_row(void *context, int64_t class, size_t offset, size_t n)
{
    const server_rows *r = context;
    bool seen = r->f->now.mask[class] != 0 || r->f->past.mask[class] != 0;
    for (size_t i = offset; seen && i < offset + n; i++)
        r->f->sums->heads[i] += r->weight * (double)r->from[i];
}

static void server_put_row(void *context, int64_t class, size_t offset, size_t n)
{
    const server_rows *r = context;
    double weight = r->f->sums->weights[class];
    for (size_t i = offset; weight > 0 && i < offset + n; i++)
        r->to[i] = (float)(r->f->sums->heads[i] / weight);
}

/* Fills what is kept of a client: its generator now, and that of its last task, which is the
 * one kept before if a task has ended since then. */
static eg_status server_fill_client(eg_fedcil_server *f, const eg_bundle *before,
                                    const float *param, const float *state, eg_bundle *to)
{
    const eg_learner *l = f->own->learners[0];
    const float *last = NULL, *last_state = NULL;
    EG_TRY(eg_bundle_add_flat(to, "now.param", param, l->n_params));
    EG_TRY(eg_bundle_add_flat(to, "now.state", state, l->n_state));
    EG_TRY(eg_label_set_write(&f->now, "now", to));
    EG_TRY(eg_label_set_write(&f->past, "past", to));
    EG_TRY(eg_bundle_scalar(to, "tasks", (double)f->tasks));
    if (!before || f->past.n == 0)
        return EG_OK;
    int64_t then;
    EG_TRY(eg_bundle_need_count(before, "tasks", EG_FEDCIL_MOST_TASKS, &then));
    bool ended = then != f->tasks;
    last = eg_bundle_find(before, ended ? "now.param" : "last.param", NULL);
    last_state = eg_bundle_find(before, ended ? "now.state" : "last.state", NULL);
    if (!last || !last_state)
        return EG_OK;
    EG_TRY(eg_bundle_add_flat(to, "last.param", last, l->n_params));
    return eg_bundle_add_flat(to, "last.state", last_state, l->n_state);
}

static eg_status server_keep_client(eg_fedcil_server *f, eg_server *s, int64_t client,
                                    const float *param, const float *state)
{
    char name[48];
    const eg_bundle *before;
    eg_bundle *record;
    eg_fedcil_record_name(client, name);
    EG_TRY(eg_server_recall(s, name, &before));
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, server_fill_client(f, before, param, state, record)));
    return eg_server_keep(s, name, record);
}

eg_status eg_fedcil_collect(void *self, eg_server *s, int exchange, int64_t client,
                            const eg_bundle *from)
{
    eg_fedcil_server *f = self;
    const float *param, *state;
    server_rows rows = {.f = f};
    (void)exchange;
    EG_TRY(server_read(f, from, &param, &state));
    EG_TRY(eg_server_flat(s, from, "param", &rows.from));
    eg_bundle_scalar_of(from, "samples", &rows.weight);
    EG_TRY(eg_mean_add(&f->sums->param, param, rows.weight));
    EG_TRY(eg_mean_add(&f->sums->state, state, rows.weight));
    server_each_row(s->net, server_add_row, &rows);
    for (int64_t k = 0; k < f->now.classes; k++)
        if (f->now.mask[k] != 0 || f->past.mask[k] != 0)
            f->sums->weights[k] += rows.weight;
    eg_label_set_join(&f->known, f->now.mask);
    eg_label_set_join(&f->known, f->past.mask);
    EG_TRY(server_keep_client(f, s, client, param, state));
    EG_TRY(eg_grow(&f->clients, f->n_clients, &f->cap_clients, sizeof *f->clients));
    f->clients[f->n_clients++] = client;
    return EG_OK;
}

static void server_reset(eg_fedcil_server *f, const eg_server *s)
{
    eg_mean_reset(&f->sums->param);
    eg_mean_reset(&f->sums->state);
    memset(f->sums->heads, 0, s->n_params * sizeof *f->sums->heads);
    memset(f->sums->weights, 0, (size_t)f->known.classes * sizeof *f->sums->weights);
    f->n_clients = 0;
}

eg_status eg_fedcil_refine(void *self, eg_server *s, float *param, float *state)
{
    eg_fedcil_server *f = self;
    eg_learner *own = f->own->learners[0];
    server_rows rows = {.f = f, .to = param};
    if (f->n_clients == 0)
        return EG_OK;
    EG_TRY(eg_mean_get(&f->sums->param, own->param));
    if (!s->keeps_statistics)
        EG_TRY(eg_mean_get(&f->sums->state, own->state));
    if (f->is.heads == EG_FEDCIL_HEADS_SEEN)
        server_each_row(s->net, server_put_row, &rows);
    if (f->is.steps > 0)
        EG_TRY(eg_fedcil_consolidate(f, s, param, state));
    server_reset(f, s);
    return EG_OK;
}

eg_status eg_fedcil_exhibit(void *self, eg_server *s, struct eg_gallery *to)
{
    const eg_fedcil_server *f = self;
    (void)s;
    if (eg_gallery_n(to) > 0) /* another part's: a gallery is of one kind */
        return EG_OK;
    return eg_gallery_add(to, f->own, (eg_drawer){.client = -1, .label = -1});
}
