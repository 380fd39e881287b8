/* chain.c - the parts of a run: what they wish together, and every hook of theirs, in order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/chain.h"

#include "base/base.h"
#include "engine/graph/flops.h"
#include "engine/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_parts_add(eg_parts *p, const eg_method *m)
{
    if (p->n == EG_MAX_PARTS)
        return eg_fail(EG_EINVAL, "a method has at most %d parts", EG_MAX_PARTS);
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].method == m)
            return eg_fail(EG_EINVAL, "the part '%s' is there twice", m->component.name);
    void *options;
    EG_TRY(eg_component_new(&m->component, &options));
    p->at[p->n++] = (eg_part){m, options};
    return EG_OK;
}

void eg_parts_free(eg_parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->at[i].options);
    *p = (eg_parts){0};
}

bool eg_parts_has(const eg_parts *p, const char *part)
{
    for (size_t i = 0; i < p->n; i++)
        if (eg_name_equal(p->at[i].method->component.name, part))
            return true;
    return false;
}

bool eg_parts_own(const eg_parts *p, const char *entry)
{
    for (size_t i = 0; i < p->n; i++) {
        size_t n = strlen(p->at[i].method->component.name);
        if (strncmp(entry, p->at[i].method->component.name, n) == 0 && entry[n] == '.')
            return true;
    }
    return false;
}

void eg_parts_each(const eg_parts *p, eg_part_visit visit, void *to)
{
    for (size_t i = 0; i < p->n; i++)
        visit(to, p->at[i].method, p->at[i].options);
}

const char *eg_parts_name(const eg_parts *p, size_t i)
{
    return p->at[i].method->component.name;
}

const char *eg_parts_stream(const eg_parts *p, size_t i)
{
    const eg_method *m = p->at[i].method;
    return m->draws_as ? m->draws_as : m->component.name;
}

void eg_parts_names(const eg_parts *p, const char *names[EG_MAX_PARTS])
{
    for (size_t i = 0; i < p->n; i++)
        names[i] = p->at[i].method->component.name;
}

eg_status eg_parts_set(eg_parts *p, const char *part, const char *option, const char *value)
{
    for (size_t i = 0; i < p->n; i++)
        if (eg_name_equal(p->at[i].method->component.name, part))
            return eg_opts_set(p->at[i].method->component.opts, p->at[i].options, option,
                               value);
    return EG_ENOENT;
}

/* The name of the first of two parts that want what only one may have. */
typedef struct parts_claim {
    const char *side, *plain, *outputs, *models, *answers, *fills, *logits;
    const char *personal, *global; /* and of those that exclude each other */
} parts_claim;

static eg_status parts_claim_one(const char **first, const char *name, const char *what)
{
    if (*first)
        return eg_fail(EG_EINVAL, "'%s' and '%s' both %s", *first, name, what);
    *first = name;
    return EG_OK;
}

static eg_replay_inputs parts_inputs(size_t number)
{
    eg_replay_inputs names;
    snprintf(names.x, sizeof names.x, "replay %zu x", number);
    snprintf(names.labels, sizeof names.labels, "replay %zu labels", number);
    snprintf(names.logits, sizeof names.logits, "replay %zu logits", number);
    return names;
}

static void parts_add_lists(eg_agreement *a, size_t part, const eg_wishes *w)
{
    for (size_t k = 0; k < EG_MAX_REPLAYS && w->replays[k].rows > 0; k++) {
        a->replays[a->n_replays].part = part;
        a->replays[a->n_replays].index = k;
        a->replays[a->n_replays].inputs = parts_inputs(a->n_replays);
        a->replays[a->n_replays++].is = w->replays[k];
        a->fixed_rows &= !w->replays[k].joins;
    }
    for (size_t k = 0; k < EG_MAX_UPLOADS && w->uploads[k]; k++)
        a->uploads[a->n_uploads++] = w->uploads[k];
    for (int k = 0; k < EG_MAX_EXCHANGES && w->exchanges[k].name; k++) {
        a->exchanges[a->n_exchanges].part = part;
        a->exchanges[a->n_exchanges].number = k + 1;
        a->exchanges[a->n_exchanges++].is = w->exchanges[k];
    }
}

static eg_status parts_join(const eg_method *m, size_t part, const eg_wishes *w,
                            parts_claim *claims, eg_agreement *a)
{
    if (w->side)
        EG_TRY(parts_claim_one(&claims->side, m->component.name, "want a second head"));
    if (w->shares_plain)
        EG_TRY(parts_claim_one(&claims->plain, m->component.name,
                               "reweigh the batch's own cross entropy"));
    if (m->outputs)
        EG_TRY(parts_claim_one(&claims->outputs, m->component.name, "make the outputs"));
    if (m->answers)
        EG_TRY(parts_claim_one(&claims->answers, m->component.name, "answer tests"));
    if (w->fills)
        EG_TRY(parts_claim_one(&claims->fills, m->component.name, "fill the memory"));
    if (m->server.model_of)
        EG_TRY(parts_claim_one(&claims->models, m->component.name, "have models of clients"));
    claims->personal = w->personal ? m->component.name : claims->personal;
    if (w->train && a->all.train && strcmp(w->train, a->all.train) != 0)
        return eg_fail(EG_EINVAL, "'%s' trains %s, another part %s", m->component.name,
                       w->train, a->all.train);
    a->all.train = w->train ? w->train : a->all.train;
    claims->logits = w->logits ? m->component.name : claims->logits;
    claims->global = w->global ? m->component.name : claims->global;
    if (claims->personal && claims->global)
        return eg_fail(EG_EINVAL, "'%s' needs the global model, which '%s' does without",
                       claims->global, claims->personal);
    a->all.offers |= w->offers;
    a->all.global |= w->global;
    a->all.memory |= w->memory;
    a->all.logits |= w->logits;
    a->all.insert_once |= w->insert_once;
    a->all.fills |= w->fills;
    a->all.images |= w->images;
    a->all.pixels |= w->pixels;
    a->all.personal |= w->personal;
    a->all.plain_mean |= w->plain_mean;
    a->all.rests |= w->rests;
    a->all.shares_plain |= w->shares_plain;
    a->all.side += w->side;
    a->outputs = m->outputs ? part : a->outputs;
    a->answers = m->answers ? part : a->answers;
    a->weighs |= m->server.weight != NULL;
    a->sends_each |= m->server.send_one != NULL;
    a->shows |= m->client.exhibit != NULL;
    a->has_models |= m->server.model_of != NULL;
    a->fixed_rows &= !m->client.samples && !w->rests;
    parts_add_lists(a, part, w);
    return EG_OK;
}

eg_status eg_parts_setup(const eg_parts *p, const eg_setting *in, bool has_memory,
                         eg_agreement *out)
{
    parts_claim claims = {0};
    *out = (eg_agreement){.outputs = EG_MAX_PARTS,
                          .answers = EG_MAX_PARTS,
                          .fixed_rows = true,
                          .n_exchanges = 1,
                          .hides = in->hides};
    out->exchanges[0].part = EG_MAX_PARTS;
    out->exchanges[0].is.name = "training";
    if (p->n == 0)
        return eg_fail(EG_EINVAL, "a run needs a method");
    for (size_t i = 0; i < p->n; i++) {
        const eg_method *m = p->at[i].method;
        eg_wishes w = {0};
        if (m->setup)
            EG_TRY(eg_blame(m->setup(p->at[i].options, in, &w), "%s", m->component.name));
        if (in->scenario)
            EG_TRY(eg_scenario_require(in->scenario, m->component.name, w.offers));
        if (w.classes && in->target && !in->target->classes)
            return eg_fail(EG_ENOTSUP,
                           "%s needs one class for each sample; the targets of these data are "
                           "%s",
                           m->component.name, in->target->things);
        if (in->hides)
            EG_TRY(eg_part_check_sums(m, &w));
        if (in->late)
            EG_TRY(eg_part_check_late(m, &w));
        if (w.memory && !has_memory)
            return eg_fail(EG_EINVAL, "%s needs a memory; set memory.kind", m->component.name);
        EG_TRY(parts_join(m, i, &w, &claims, out));
    }
    if (claims.fills && out->all.logits)
        return eg_fail(EG_EINVAL, "'%s' fills the memory without the outputs that '%s' needs",
                       claims.fills, claims.logits);
    return EG_OK;
}

/* The part whose answers tests take; NULL: none. */
static const eg_part *parts_answering(const eg_parts *p, const eg_agreement *a)
{
    return a->answers < EG_MAX_PARTS ? &p->at[a->answers] : NULL;
}

eg_status eg_answers_know(const eg_method *m, const void *options, const eg_net *net,
                          eg_bundle **out)
{
    EG_TRY(eg_bundle_new(out));
    eg_status s = m->know ? m->know(options, net, *out) : EG_OK;
    bool fits = eg_bundle_n(*out) <= EG_MAX_KNOWN;
    for (size_t i = 0; i < eg_bundle_n(*out) && fits; i++) {
        eg_bundle_entry e;
        eg_bundle_at(*out, i, &e);
        fits = !e.is_scalar && e.values;
    }
    if (s == EG_OK && !fits)
        s = eg_fail(EG_EINVAL, "answers know up to %d tensors and no scalar", EG_MAX_KNOWN);
    if (s != EG_OK) {
        eg_bundle_free(*out);
        *out = NULL;
    }
    return eg_blame(s, "%s", m->component.name);
}

eg_status eg_parts_known(const eg_parts *p, const eg_agreement *a, const eg_net *net,
                         eg_bundle **out)
{
    const eg_part *part = parts_answering(p, a);
    *out = NULL;
    return part ? eg_answers_know(part->method, part->options, net, out) : EG_OK;
}

eg_node *eg_answers_record(const eg_method *m, const void *options, const eg_net *net,
                           const eg_bundle *known, eg_graph *g, eg_asked in)
{
    eg_bundle_entry e;
    for (size_t i = 0; i < eg_bundle_n(known); i++) {
        eg_bundle_at(known, i, &e);
        eg_node *there = eg_find_input(g, e.name); /* a test answers twice */
        in.known[i] = there ? there : eg_input(g, e.name, e.shape);
    }
    return m->answers(options, net, g, &in);
}

eg_status eg_answers_fill(eg_plan *plan, const eg_bundle *known, const eg_bundle *values)
{
    eg_bundle_entry e;
    for (size_t i = 0; i < eg_bundle_n(known); i++) {
        eg_bundle_at(known, i, &e);
        float *to = eg_plan_input(plan, e.name);
        if (values && eg_bundle_find(values, e.name, NULL))
            EG_TRY(eg_bundle_need(values, e.name, e.n, &e.values));
        if (to) /* the answers need not use all that is known */
            memcpy(to, e.values, e.n * sizeof *to);
    }
    return EG_OK;
}

static size_t chain_size(const eg_chain *k, size_t i)
{
    const eg_method *m = k->parts->at[i].method;
    size_t half = k->is_server ? m->server.size : m->client.size;
    return half ? half : m->component.size;
}

eg_status eg_chain_open(eg_chain *k, const eg_parts *parts, const eg_agreement *agreed,
                        bool is_server)
{
    *k = (eg_chain){.parts = parts, .agreed = agreed, .is_server = is_server};
    for (size_t i = 0; i < parts->n; i++) {
        const eg_component half = {.name = parts->at[i].method->component.name,
                                   .size = chain_size(k, i)};
        EG_TRY(eg_component_new(&half, &k->states[i]));
    }
    eg_chain_reset(k);
    return EG_OK;
}

static void chain_end(eg_chain *k, size_t i)
{
    const eg_method *m = k->parts->at[i].method;
    void (*fini)(void *) = k->is_server ? m->server.fini : m->client.fini;
    if (k->states[i] && fini)
        fini(k->states[i]);
}

void eg_chain_close(eg_chain *k)
{
    for (size_t i = 0; k->parts && i < k->parts->n; i++) {
        chain_end(k, i);
        free(k->states[i]);
    }
    *k = (eg_chain){0};
}

void eg_chain_reset(eg_chain *k)
{
    for (size_t i = 0; i < k->parts->n; i++) {
        size_t size = k->parts->at[i].method->component.size;
        chain_end(k, i);
        memset(k->states[i], 0, chain_size(k, i));
        if (size)
            memcpy(k->states[i], k->parts->at[i].options, size);
    }
}

static bool chain_has(const eg_chain *k, size_t x, size_t part)
{
    size_t whose = k->agreed->exchanges[x].part;
    return whose == EG_MAX_PARTS || whose == part;
}

static int chain_number(const eg_chain *k, size_t x)
{
    return k->agreed->exchanges[x].number;
}

/* A walk over the parts that have a share in an exchange (training is everybody's). Every
 * hook is timed for its part. */
typedef struct chain_walk {
    eg_chain *k;
    size_t exchange, next;
    size_t *part; /* of the client or the server: whose hook runs */
    const eg_method *method;
    void *self; /* the part's state */
    double since;
    uint64_t flops;
    eg_status status; /* a failure ends the walk */
} chain_walk;

static chain_walk chain_begin(eg_chain *k, size_t *part, size_t exchange)
{
    return (chain_walk){.k = k, .part = part, .exchange = exchange};
}

/* Steps to the next part; false: there is none, or the last one failed. */
static bool chain_next(chain_walk *w)
{
    while (w->next < w->k->parts->n && !chain_has(w->k, w->exchange, w->next))
        w->next++;
    if (w->status != EG_OK || w->next >= w->k->parts->n)
        return false;
    w->method = w->k->parts->at[w->next].method;
    w->self = w->k->states[w->next++];
    return true;
}

/* The part's hook begins: true, so that it can stand in a condition. */
static bool chain_starts(chain_walk *w)
{
    *w->part = w->next - 1;
    w->since = eg_seconds();
    w->flops = eg_flops();
    return true;
}

/* It has ended: a failure gets the part's name before it. */
static void chain_ends(chain_walk *w, eg_status s)
{
    w->status = eg_blame(s, "%s", w->method->component.name);
    w->k->seconds[w->next - 1] += eg_seconds() - w->since;
    w->k->flops += eg_flops() - w->flops;
}

/* Calls a hook of each part that has it, until one fails. */
#define CHAIN_CALL(walk, hook, ...)                                                            \
    while (chain_next(walk))                                                                   \
        if ((walk)->method->hook && chain_starts(walk))                                        \
    chain_ends(walk, (walk)->method->hook((walk)->self, __VA_ARGS__))

eg_status eg_chain_download(eg_chain *k, eg_client *c, size_t x, const eg_bundle *from)
{
    chain_walk w = chain_begin(k, &c->part, x);
    CHAIN_CALL(&w, client.download, c, chain_number(k, x), from);
    return w.status;
}

eg_status eg_chain_task(eg_chain *k, eg_client *c)
{
    chain_walk w = chain_begin(k, &c->part, EG_TRAINING);
    CHAIN_CALL(&w, client.task, c);
    return w.status;
}

eg_status eg_chain_samples(eg_chain *k, eg_client *c)
{
    chain_walk w = chain_begin(k, &c->part, EG_TRAINING);
    CHAIN_CALL(&w, client.samples, c);
    return w.status;
}

eg_node *eg_chain_outputs(const eg_chain *k, const eg_net *net, eg_graph *g, eg_node *features,
                          eg_node *tasks)
{
    const eg_part *part = &k->parts->at[k->agreed->outputs];
    return part->method->outputs(part->options, net, g, features, tasks);
}

eg_node *eg_chain_loss(eg_chain *k, eg_client *c, eg_graph *g, eg_node *loss)
{
    chain_walk w = chain_begin(k, &c->part, EG_TRAINING);
    while (chain_next(&w))
        if (w.method->loss && chain_starts(&w)) {
            loss = w.method->loss(w.self, c, g, loss);
            chain_ends(&w, EG_OK);
        }
    return loss;
}

uint64_t eg_chain_form(eg_chain *k, eg_client *c, uint64_t form)
{
    chain_walk w = chain_begin(k, &c->part, EG_TRAINING);
    while (chain_next(&w))
        if (w.method->form && chain_starts(&w)) {
            form = form * 65537 + w.method->form(w.self, c);
            chain_ends(&w, EG_OK);
        }
    return form;
}

eg_status eg_chain_fill(eg_chain *k, eg_client *c)
{
    chain_walk w = chain_begin(k, &c->part, EG_TRAINING);
    CHAIN_CALL(&w, fill, c);
    return w.status;
}

eg_status eg_chain_grad(eg_chain *k, eg_client *c)
{
    chain_walk w = chain_begin(k, &c->part, EG_TRAINING);
    CHAIN_CALL(&w, client.grad, c);
    return w.status;
}

eg_status eg_chain_trained(eg_chain *k, eg_client *c)
{
    chain_walk w = chain_begin(k, &c->part, EG_TRAINING);
    CHAIN_CALL(&w, client.trained, c);
    return w.status;
}

eg_status eg_chain_answer(eg_chain *k, eg_client *c, size_t x, eg_bundle *to)
{
    chain_walk w = chain_begin(k, &c->part, x);
    CHAIN_CALL(&w, client.answer, c, chain_number(k, x), to);
    return w.status;
}

eg_status eg_chain_show(eg_chain *k, eg_client *c, struct eg_gallery *to)
{
    chain_walk w = chain_begin(k, &c->part, EG_TRAINING);
    CHAIN_CALL(&w, client.exhibit, c, to);
    return w.status;
}

eg_status eg_chain_know_own(eg_chain *k, eg_client *c, eg_bundle *to)
{
    chain_walk w = chain_begin(k, &c->part, EG_TRAINING);
    CHAIN_CALL(&w, client.know, c, to);
    return w.status;
}

eg_node *eg_chain_answers(const eg_chain *k, const eg_net *net, const eg_bundle *known,
                          eg_graph *g, eg_asked in)
{
    const eg_part *part = parts_answering(k->parts, k->agreed);
    return part ? eg_answers_record(part->method, part->options, net, known, g, in)
                : in.outputs;
}

eg_status eg_chain_begin(eg_chain *k, eg_server *s)
{
    chain_walk w = chain_begin(k, &s->part, EG_TRAINING);
    CHAIN_CALL(&w, server.begin, s);
    return w.status;
}

bool eg_chain_wants(eg_chain *k, eg_server *s, size_t x)
{
    bool wanted = true;
    chain_walk w = chain_begin(k, &s->part, x);
    while (chain_next(&w))
        if (w.method->server.wants && chain_starts(&w)) {
            wanted &= w.method->server.wants(w.self, s, chain_number(k, x));
            chain_ends(&w, EG_OK);
        }
    return wanted;
}

eg_status eg_chain_send(eg_chain *k, eg_server *s, size_t x, eg_bundle *to)
{
    chain_walk w = chain_begin(k, &s->part, x);
    CHAIN_CALL(&w, server.send, s, chain_number(k, x), to);
    return w.status;
}

eg_status eg_chain_send_one(eg_chain *k, eg_server *s, int64_t client, eg_bundle *to)
{
    chain_walk w = chain_begin(k, &s->part, EG_TRAINING);
    CHAIN_CALL(&w, server.send_one, s, client, to);
    return w.status;
}

eg_status eg_chain_accept(eg_chain *k, eg_server *s, size_t x, int64_t client,
                          const eg_bundle *from)
{
    chain_walk w = chain_begin(k, &s->part, x);
    CHAIN_CALL(&w, server.accept, s, chain_number(k, x), client, from);
    return w.status;
}

double eg_chain_weight(eg_chain *k, eg_server *s, int64_t client, const eg_bundle *from)
{
    double factor = 1;
    chain_walk w = chain_begin(k, &s->part, EG_TRAINING);
    while (chain_next(&w))
        if (w.method->server.weight && chain_starts(&w)) {
            factor *= w.method->server.weight(w.self, s, client, from);
            chain_ends(&w, EG_OK);
        }
    return factor;
}

eg_status eg_chain_collect(eg_chain *k, eg_server *s, size_t x, int64_t client,
                           const eg_bundle *from)
{
    chain_walk w = chain_begin(k, &s->part, x);
    CHAIN_CALL(&w, server.collect, s, chain_number(k, x), client, from);
    return w.status;
}

eg_status eg_chain_refine(eg_chain *k, eg_server *s, float *param, float *state)
{
    chain_walk w = chain_begin(k, &s->part, EG_TRAINING);
    CHAIN_CALL(&w, server.refine, s, param, state);
    return w.status;
}

/* Its time counts where it is waited for. */
eg_status eg_chain_work(const eg_chain *k, size_t part, const eg_piece *p, eg_bundle *to)
{
    const eg_part *is = &k->parts->at[part];
    if (!is->method->server.work)
        return eg_fail(EG_EINVAL, "there is no such work");
    return eg_blame(is->method->server.work(is->options, p, to), "%s",
                    is->method->component.name);
}

eg_status eg_chain_finish(eg_chain *k, eg_server *s, size_t x)
{
    chain_walk w = chain_begin(k, &s->part, x);
    CHAIN_CALL(&w, server.finish, s, chain_number(k, x));
    return w.status;
}

eg_status eg_chain_model_of(eg_chain *k, eg_server *s, int64_t client, eg_bundle *to)
{
    chain_walk w = chain_begin(k, &s->part, EG_TRAINING);
    CHAIN_CALL(&w, server.model_of, s, client, to);
    return w.status;
}

eg_status eg_chain_save(eg_chain *k, eg_server *s)
{
    chain_walk w = chain_begin(k, &s->part, EG_TRAINING);
    CHAIN_CALL(&w, server.save, s);
    return w.status;
}

eg_status eg_chain_exhibit(eg_chain *k, eg_server *s, struct eg_gallery *to)
{
    chain_walk w = chain_begin(k, &s->part, EG_TRAINING);
    CHAIN_CALL(&w, server.exhibit, s, to);
    return w.status;
}

eg_status eg_chain_know(eg_chain *k, eg_server *s, eg_bundle *to)
{
    chain_walk w = chain_begin(k, &s->part, EG_TRAINING);
    CHAIN_CALL(&w, server.know, s, to);
    return w.status;
}
