/* fedcil.c - class-incremental learning with generative replay (Qi et al., ICLR 2023,
 * arXiv:2302.13001).
 * SPDX-License-Identifier: Apache-2.0
 *
 * The run's network is the critic of an ACGAN: its second head tells real images from drawn
 * ones. Client: trains critic and generator, replays the past with the
 * generator that its last task left, and is held to what the global generator draws (Equations
 * 12 to 14). Server (fedcil_server.c): averages both networks, a class's outputs over those who
 * have seen it, and consolidates them on what the clients' generators draw (Equation 10).
 *
 * In Equations 12 to 14 the minus before KL would maximise it: it is minimised here, as in the
 * published code, and gradients flow through both of its arguments. Equation 12 takes the
 * generator of the last task, as printed. Equation 14's KL against a one-hot label would be
 * infinite: it is the cross entropy. In a task's first round there is no consistency, as in the
 * published code; `agrees: always` is Equation 16, which has it in every round.
 *
 * {consistency: 0, steps: 0, heads: mean} is FedAvg with an ACGAN. {consistency: 0, heads:
 * mean} with server.bn: keep comes nearest to what the published code carries out: neither
 * averages the statistics of batch norms, but there a client's own last from round to round,
 * while here it begins every round with the server's.
 */
#include "method/lib/fedcil.h"

#include "engine/generator/acgan.h"
#include "engine/graph/graph.h"
#include "engine/model/acgan.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- The client. */

/* The part's random draws of a batch. */
enum { DRAW_FAKES, DRAW_MORE_FAKES, DRAW_REPLAY, DRAW_AGREE, DRAW_PAIR, DRAW_ANY, DRAW_TEACH };

static void fedcil_client_fini(void *self)
{
    eg_fedcil_client *f = self;
    eg_label_set_fini(&f->now);
    eg_label_set_fini(&f->before);
    eg_label_set_fini(&f->mine);
    eg_label_set_fini(&f->all);
}

static eg_status client_open(eg_fedcil_client *f, eg_client *c)
{
    eg_fedcil_spec whole, drawing;
    eg_label_set *sets[] = {&f->now, &f->before, &f->mine, &f->all};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        EG_TRY(eg_label_set_init(sets[i], c->n_classes));
    eg_fedcil_describe(&f->is, c->net, false, &whole);
    eg_fedcil_describe(&f->is, c->net, true, &drawing);
    EG_TRY(eg_worker_generator(c->worker, "fedcil.own", &whole.is, &f->own));
    EG_TRY(eg_worker_generator(c->worker, "fedcil.past", &drawing.is, &f->past));
    return eg_worker_generator(c->worker, "fedcil.global", &drawing.is, &f->global);
}

static void client_copy(const eg_learner *from, eg_learner *to)
{
    memcpy(to->param, from->param, from->n_params * sizeof *from->param);
    if (from->n_state)
        memcpy(to->state, from->state, from->n_state * sizeof *from->state);
}

/* What training left last time: the generator's Adam goes on, its weights are the server's. */
static eg_status client_recall(eg_fedcil_client *f, eg_client *c)
{
    const eg_bundle *kept;
    bool found;
    EG_TRY(eg_client_recall(c, "fedcil", &kept));
    if (kept)
        EG_TRY(eg_learner_recall_optimizer(f->own->learners[0], "fedcil.own", kept));
    else
        eg_optimizer_reset(f->own->learners[0]->optimizer);
    EG_TRY(eg_client_recall(c, "fedcil.past", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_label_set_read(&f->before, "fedcil.before", kept));
    EG_TRY(eg_bundle_need_count(kept, "fedcil.tasks", EG_FEDCIL_MOST_TASKS, &f->tasks));
    EG_TRY(eg_learner_recall(f->past->learners[0], "fedcil.past", kept, &found));
    f->replays = found && f->before.n > 0;
    return EG_OK;
}

/* What is known of the past; it is also sent. */
static eg_status client_fill_past(const eg_fedcil_client *f, eg_bundle *to)
{
    EG_TRY(eg_bundle_scalar(to, "fedcil.tasks", (double)f->tasks));
    return eg_label_set_write(&f->before, "fedcil.before", to);
}

/* A task has ended: the generator as training left it, before anything was averaged, is what
 * the past is replayed with from now on. */
static eg_status client_turn_past(eg_fedcil_client *f, eg_client *c)
{
    const eg_bundle *kept;
    eg_bundle *record;
    bool found;
    EG_TRY(eg_client_recall(c, "fedcil", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_learner_recall(f->past->learners[0], "fedcil.own", kept, &found));
    EG_TRY(eg_label_set_read(&f->mine, "fedcil.now", kept));
    eg_label_set_join(&f->before, f->mine.mask);
    f->replays = found && f->before.n > 0;
    f->tasks++;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(
        eg_bundle_filled(record, eg_learner_keep(f->past->learners[0], "fedcil.past", record)));
    EG_TRY(eg_bundle_filled(record, client_fill_past(f, record)));
    return eg_client_keep(c, "fedcil.past", record);
}

static eg_status fedcil_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    eg_fedcil_client *f = self;
    bool found;
    (void)exchange;
    EG_TRY(client_open(f, c));
    EG_TRY(eg_learner_recall(f->own->learners[0], "fedcil.generator", from, &found));
    if (!found)
        return eg_fail(EG_EFORMAT, "the server sent no generator");
    client_copy(f->own->learners[0], f->global->learners[0]);
    EG_TRY(eg_label_set_read(&f->all, "fedcil.known", from));
    EG_TRY(client_recall(f, c));
    bool by_round = f->is.boundary == EG_FEDCIL_BY_ROUND;
    if (by_round)
        EG_TRY(client_turn_past(f, c));
    bool later = by_round ? c->has_trained : !c->view.first;
    f->agrees =
        f->is.consistency > 0 && f->all.n > 0 && (later || f->is.agrees == EG_FEDCIL_ALWAYS);
    return EG_OK;
}

static eg_status fedcil_task(void *self, eg_client *c)
{
    eg_fedcil_client *f = self;
    bool ended = f->is.boundary == EG_FEDCIL_BY_TASK && c->view.left >= 0;
    return ended ? client_turn_past(f, c) : EG_OK;
}

/* The classes that the client has now. */
static eg_status fedcil_samples(void *self, eg_client *c)
{
    eg_fedcil_client *f = self;
    for (int64_t k = 0; k < c->view.n_spans; k++) {
        const int32_t *classes;
        int64_t n = eg_scenario_classes(c->scenario, c->id, c->view.spans[k].task, &classes);
        for (int64_t i = 0; i < n; i++)
            eg_label_set_add(&f->now, classes[i]);
    }
    eg_label_set_join(&f->mine, f->now.mask);
    eg_label_set_join(&f->mine, f->before.mask);
    return EG_OK;
}

static uint32_t fedcil_form(void *self, eg_client *c)
{
    const eg_fedcil_client *f = self;
    (void)c;
    return (f->replays ? 1U : 0U) | (f->agrees ? 2U : 0U);
}

/* Rows of one's own as inputs, and what the critic makes of them. */
typedef struct client_rows {
    eg_node *features, *labels;
} client_rows;

static eg_node *client_features(eg_client *c, eg_graph *g, const char *x, int64_t n)
{
    const eg_net_spec *s = eg_net_spec_of(c->net);
    eg_node *rows = eg_input(g, x, eg_dims(n, s->channels, s->height, s->width));
    return eg_net_features(c->net, g, rows);
}

static client_rows client_input(eg_client *c, eg_graph *g, const char *x, const char *labels)
{
    int64_t n = c->train->batch;
    return (client_rows){client_features(c, g, x, n), eg_input(g, labels, eg_dims(n))};
}

static eg_node *client_judged(eg_client *c, eg_graph *g, client_rows rows, bool real)
{
    return eg_acgan_judged(c->net, g, rows.features, rows.labels, real);
}

/* KL(C(a) || C(b)), mean over rows; its gradient flows through both. */
static eg_node *client_kl(eg_client *c, eg_graph *g, eg_node *a, eg_node *b)
{
    eg_node *p = eg_softmax(g, eg_net_head(c->net, g, a));
    return eg_kl_divergence(g, eg_log_softmax(g, eg_net_head(c->net, g, b)), p);
}

/* Equations 12 to 14; replayed is NULL without a past. */
static eg_node *client_consistency(eg_client *c, eg_graph *g, const client_rows *replayed)
{
    client_rows any = client_input(c, g, "fedcil.any", "fedcil.any labels");
    eg_node *pair = client_features(c, g, "fedcil.pair", c->batch);
    eg_node *told = eg_cross_entropy(g, eg_net_head(c->net, g, any.features), any.labels, NULL);
    eg_node *sum = eg_add(g, client_kl(c, g, c->features, pair), told);
    if (!replayed)
        return sum;
    eg_node *agree = client_features(c, g, "fedcil.agree", c->train->batch);
    return eg_add(g, sum, client_kl(c, g, replayed->features, agree));
}

/* What L_c has beside the batch's own cross entropy. */
static eg_node *client_beside(eg_client *c, eg_graph *g)
{
    client_rows fakes = client_input(c, g, "fedcil.fakes", "fedcil.fakes labels");
    eg_node *side = eg_net_side(c->net, g, c->features);
    eg_node *real = eg_bce_with_logits(g, side, eg_constant(g, eg_node_shape(side), 1));
    return eg_add(g, real, client_judged(c, g, fakes, false));
}

/* The batch's own term of classes: its plain loss, or what a head of another kind has for it.
 */
static eg_node *client_told(eg_client *c, eg_graph *g)
{
    eg_acgan_cosine cosine;
    return eg_acgan_cosine_of(c->net, &cosine)
               ? eg_acgan_told(c->net, g, c->features, eg_find_input(g, "labels"))
               : c->plain;
}

static eg_node *fedcil_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const eg_fedcil_client *f = self;
    client_rows replayed = {0};
    eg_node *terms = client_beside(c, g), *told = client_told(c, g);
    if (eg_graph_status(g) != EG_OK)
        return loss;
    if (told != c->plain)
        loss = eg_add(g, loss, eg_sub(g, told, c->plain));
    if (f->replays) {
        client_rows more = client_input(c, g, "fedcil.more", "fedcil.more labels");
        replayed = client_input(c, g, "fedcil.replay", "fedcil.replay labels");
        terms = eg_add(g, terms, client_judged(c, g, replayed, true));
        terms = eg_add(g, terms, client_judged(c, g, more, false));
        terms = eg_affine(g, eg_sub(g, terms, told), 0.5, 0); /* loss has it once */
    }
    if (f->agrees) {
        eg_node *all = client_consistency(c, g, f->replays ? &replayed : NULL);
        terms = eg_add(g, terms, eg_affine(g, all, f->is.consistency, 0));
    }
    return eg_add(g, loss, terms);
}

/* The generator's step: at the critic as it stands. */
static eg_status client_teach(eg_fedcil_client *f, eg_client *c)
{
    const eg_lesson lesson = {.key = "fedcil.lesson",
                              .loss = eg_acgan_fool,
                              .context = (void *)(uintptr_t)c->net, /* only read */
                              .table = eg_net_params(c->net),
                              .param = c->param,
                              .state = c->state,
                              .pull = f->is.pull,
                              .anchor = f->global->learners[0]->param};
    int64_t n = c->train->batch;
    eg_rng rng = eg_client_stream(c, DRAW_TEACH);
    float *labels;
    double loss = 0;
    EG_TRY(eg_alloc((size_t)n, sizeof *labels, &labels));
    eg_labels_draw(&rng, f->mine.list, f->mine.n, n, labels);
    eg_status s = eg_generator_teach(f->own, &lesson, labels, n, &rng, &loss);
    f->loss += loss;
    free(labels);
    return s;
}

/* Drawings into the inputs of a name, of labels that are drawn from a set. */
typedef struct client_drawing {
    const char *x, *labels;
    eg_generator *from;
    const eg_label_set *of;
    uint32_t draw;
    bool batch; /* in training form */
} client_drawing;

static eg_status client_draw(eg_client *c, const client_drawing *d)
{
    int64_t n = c->train->batch;
    eg_rng rng = eg_client_stream(c, d->draw);
    float *x = eg_plan_input(c->plan, d->x), *labels = eg_plan_input(c->plan, d->labels);
    eg_labels_draw(&rng, d->of->list, d->of->n, n, labels);
    return d->batch ? eg_generator_draw_batch(d->from, labels, n, &rng, x)
                    : eg_generator_draw(d->from, labels, n, &rng, x);
}

/* What the global generator draws of given labels [n]. */
static eg_status client_draw_alike(eg_fedcil_client *f, eg_client *c, const float *labels,
                                   int64_t n, uint32_t draw, const char *x)
{
    eg_rng rng = eg_client_stream(c, draw);
    return eg_generator_draw(f->global, labels, n, &rng, eg_plan_input(c->plan, x));
}

static eg_status client_fill_consistency(eg_fedcil_client *f, eg_client *c)
{
    const client_drawing any = {"fedcil.any", "fedcil.any labels", f->global, &f->all, DRAW_ANY,
                                false};
    EG_TRY(client_draw(c, &any));
    EG_TRY(client_draw_alike(f, c, c->labels, c->batch, DRAW_PAIR, "fedcil.pair"));
    return f->replays ? client_draw_alike(f, c, eg_plan_input(c->plan, "fedcil.replay labels"),
                                          c->train->batch, DRAW_AGREE, "fedcil.agree")
                      : EG_OK;
}

static eg_status fedcil_fill(void *self, eg_client *c)
{
    eg_fedcil_client *f = self;
    const client_drawing drawings[] = {
        {"fedcil.fakes", "fedcil.fakes labels", f->own, &f->mine, DRAW_FAKES, true},
        {"fedcil.more", "fedcil.more labels", f->own, &f->mine, DRAW_MORE_FAKES, true},
        {"fedcil.replay", "fedcil.replay labels", f->past, &f->before, DRAW_REPLAY, false},
    };
    if (c->n_batches > 0)
        EG_TRY(client_teach(f, c));
    for (size_t i = 0; i < (f->replays ? 3 : 1); i++)
        EG_TRY(client_draw(c, &drawings[i]));
    return f->agrees ? client_fill_consistency(f, c) : EG_OK;
}

static eg_status client_fill_record(const eg_fedcil_client *f, eg_bundle *to)
{
    EG_TRY(eg_learner_keep(f->own->learners[0], "fedcil.own", to));
    EG_TRY(eg_learner_keep_optimizer(f->own->learners[0], "fedcil.own", to));
    return eg_label_set_write(&f->now, "fedcil.now", to);
}

static eg_status fedcil_trained(void *self, eg_client *c)
{
    eg_fedcil_client *f = self;
    eg_bundle *record;
    if (c->n_batches > 0)
        EG_TRY(client_teach(f, c));
    EG_TRY(
        eg_client_note(c, "generator loss", f->loss / (double)(c->n_batches + !c->n_batches)));
    EG_TRY(eg_fedcil_note_alike(f, c));
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, client_fill_record(f, record)));
    return eg_client_keep(c, "fedcil", record);
}

static eg_status fedcil_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const eg_fedcil_client *f = self;
    (void)c, (void)exchange;
    EG_TRY(eg_learner_keep(f->own->learners[0], "fedcil.generator", to));
    EG_TRY(eg_label_set_write(&f->now, "fedcil.now", to));
    return client_fill_past(f, to);
}

/* --- The part. */

// clang-format off
static const eg_opt fedcil_opts[] = {
    EG_OPT_REAL(eg_fedcil, consistency, 1, 0, 1e6, "weight of each of the three consistency losses"),
    EG_OPT_CHOICE(eg_fedcil, agrees, EG_FEDCIL_LATER,
                  "whether they count from a task's second round on, or always", "later|always"),
    EG_OPT_REAL(eg_fedcil, pull, 0, 0, 1e3, "of the generator to the one it received: FedProx's strength for it"),
    EG_OPT_INT(eg_fedcil, steps, 100, 0, 1e6, "steps of the server's consolidation; 0: none"),
    EG_OPT_CHOICE(eg_fedcil, heads, EG_FEDCIL_HEADS_SEEN,
                  "a class's outputs are averaged over clients that have seen it, or over all", "seen|mean"),
    EG_OPT_CHOICE(eg_fedcil, boundary, EG_FEDCIL_BY_TASK,
                  "what was learned becomes the past when a task ends, or with every round", "task|round"),
    EG_OPT_INT(eg_fedcil, width, 64, 4, 1024, "of the generator: channels of the largest maps"),
    EG_OPT_CHOICE(eg_fedcil, form, EG_ACGAN_MNIST, "of the generator: layers as published for MNIST or for CIFAR-10",
                  EG_ACGAN_FORMS),
    EG_OPT_REAL(eg_fedcil, lr, 1e-4, 0, 1, "step size of the generators' Adam, and of the server's"),
    EG_OPT_REAL(eg_fedcil, beta1, 0.5, 0, 0.999, "its first decay"),
    EG_OPT_REAL(eg_fedcil, beta2, 0.99, 0, 0.9999, "its second decay"),
    EG_OPT_REAL(eg_fedcil, weight_decay, 1e-5, 0, 1, "its weight decay"),
    EG_OPT_END,
};
// clang-format on

static eg_status fedcil_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const eg_fedcil *f = options;
    if (in->train->rotations)
        return eg_fail(EG_EINVAL, "its generator draws upright images alone; "
                                  "train.rotations must be false");
    if (f->heads == EG_FEDCIL_HEADS_SEEN && in->other_mean)
        return eg_fail(EG_EINVAL,
                       "heads: seen puts means of its own in the place of what "
                       "server.mean or server.optimizer makes of the head: set heads "
                       "to mean");
    out->side = 1;
    out->images = out->classes = true;
    out->shares_plain = true;
    out->global = true;
    out->offers = f->boundary == EG_FEDCIL_BY_TASK ? EG_OFFERS_BOUNDARIES : 0;
    return EG_OK;
}

void eg_fedcil_describe(const eg_fedcil *f, const eg_net *net, bool draws_only,
                        eg_fedcil_spec *out)
{
    const eg_net_spec *n = eg_net_spec_of(net);
    snprintf(out->options, sizeof out->options,
             "width=%lld form=%s lr=%.9g beta1=%.9g beta2=%.9g weight_decay=%.9g",
             (long long)f->width, f->form == EG_ACGAN_CIFAR ? "cifar" : "mnist", f->lr,
             f->beta1, f->beta2, f->weight_decay);
    out->is = (eg_generator_spec){.kind = "acgan",
                                  .options = out->options,
                                  .channels = n->channels,
                                  .height = n->height,
                                  .width = n->width,
                                  .classes = n->classes,
                                  .draws_only = draws_only};
}

eg_status eg_label_set_init(eg_label_set *s, int64_t classes)
{
    s->classes = classes;
    EG_TRY(eg_alloc((size_t)classes, sizeof *s->mask, &s->mask));
    return eg_alloc((size_t)classes, sizeof *s->list, &s->list);
}

void eg_label_set_fini(eg_label_set *s)
{
    free(s->mask);
    free(s->list);
}

void eg_label_set_clear(eg_label_set *s)
{
    memset(s->mask, 0, (size_t)s->classes * sizeof *s->mask);
    s->n = 0;
}

void eg_label_set_join(eg_label_set *s, const float *mask)
{
    s->n = 0;
    for (int64_t i = 0; i < s->classes; i++) {
        if (mask[i] != 0)
            s->mask[i] = 1;
        if (s->mask[i] != 0)
            s->list[s->n++] = (float)i;
    }
}

void eg_label_set_add(eg_label_set *s, int64_t label)
{
    s->mask[label] = 1;
    eg_label_set_join(s, s->mask);
}

eg_status eg_label_set_write(const eg_label_set *s, const char *name, eg_bundle *to)
{
    return eg_bundle_add_flat(to, name, s->mask, (size_t)s->classes);
}

eg_status eg_label_set_read(eg_label_set *s, const char *name, const eg_bundle *from)
{
    const float *mask;
    EG_TRY(eg_bundle_need_counts(from, name, (size_t)s->classes, 1, &mask));
    eg_label_set_clear(s);
    eg_label_set_join(s, mask);
    return EG_OK;
}

const eg_method eg_method_fedcil = {
    .component = {"fedcil", "generative replay with an ACGAN, consolidated by the server",
                  sizeof(eg_fedcil), fedcil_opts},
    .leaves = EG_LEAVES_FIGURES | EG_LEAVES_GENERATORS,
    .setup = fedcil_setup,
    .loss = fedcil_loss,
    .form = fedcil_form,
    .fill = fedcil_fill,
    .client = {.size = sizeof(eg_fedcil_client),
               .fini = fedcil_client_fini,
               .download = fedcil_download,
               .task = fedcil_task,
               .samples = fedcil_samples,
               .trained = fedcil_trained,
               .answer = fedcil_answer},
    .server = {.size = sizeof(eg_fedcil_server),
               .fini = eg_fedcil_server_fini,
               .begin = eg_fedcil_begin,
               .send = eg_fedcil_send,
               .accept = eg_fedcil_accept,
               .collect = eg_fedcil_collect,
               .refine = eg_fedcil_refine,
               .work = eg_fedcil_work,
               .save = eg_fedcil_save,
               .exhibit = eg_fedcil_exhibit},
};
