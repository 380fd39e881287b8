/* dgr.c - deep generative replay (Shin et al., 2017, arXiv:1705.08690) on every client, as
 * FedCIL compares with it: classifiers are averaged, generators stay.
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a client's second task on its loss is `share` times that of the batch and the rest that
 * of as many rows that its last task's generator draws and its last task's model labels. After
 * the last batch the generator, a wgan-gp, goes on from where it was, on images of this task
 * and drawn ones of the past in the same shares.
 */
#include <engram/gallery.h>
#include <engram/method.h>
#include <engram/op.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dgr {
    double share, lr;
    int64_t steps, images, width;
} dgr;

typedef struct dgr_client {
    dgr is;
    eg_generator *own, *past;
    eg_learner *labeller; /* the model as the last task left it; NULL in the first task */
} dgr_client;

enum { DGR_REPLAY, DGR_PICK, DGR_PAST, DGR_TRAIN }; /* its draws */

// clang-format off
static const eg_opt dgr_opts[] = {
    EG_OPT_REAL(dgr, share, 0.3, 0.01, 1, "of new data in the loss and in the generator's images"),
    EG_OPT_INT(dgr, steps, 0, 0, 1e7, "critic's steps per round; 0: as many as the model has batches"),
    EG_OPT_INT(dgr, images, 1000, 32, 1e7, "of the task that the generator sees in a round, at most"),
    EG_OPT_INT(dgr, width, 0, 0, 1024, "of the generator: channels of the largest maps; 0: by the image"),
    EG_OPT_REAL(dgr, lr, 1e-4, 0, 1, "step size of its Adams"),
    EG_OPT_END,
};
// clang-format on

static eg_status dgr_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options;
    if (in->train->rotations)
        return eg_fail(EG_EINVAL, "its generator draws upright images alone; "
                                  "train.rotations must be false");
    out->images = out->classes = true;
    out->shares_plain = true;
    out->offers = EG_OFFERS_BOUNDARIES;
    return EG_OK;
}

static eg_status dgr_open(dgr_client *d, eg_client *c)
{
    char options[96];
    const eg_net_spec *n = eg_net_spec_of(c->net);
    snprintf(options, sizeof options, "width=%lld lr=%.9g", (long long)d->is.width, d->is.lr);
    eg_generator_spec spec = {.kind = "wgan-gp",
                              .options = options,
                              .channels = n->channels,
                              .height = n->height,
                              .width = n->width,
                              .classes = n->classes};
    EG_TRY(eg_worker_generator(c->worker, "dgr.own", &spec, &d->own));
    spec.draws_only = true;
    return eg_worker_generator(c->worker, "dgr.past", &spec, &d->past);
}

/* The past as a record tells it: what draws and what labels. */
static eg_status dgr_take_past(dgr_client *d, eg_client *c, const eg_bundle *from)
{
    bool draws, labels;
    EG_TRY(eg_worker_learner(c->worker, "dgr.labeller", eg_net_params(c->net), &d->labeller));
    EG_TRY(eg_learner_recall(d->labeller, "dgr.model", from, &labels));
    EG_TRY(eg_learner_recall(d->past->learners[0], "dgr.generator", from, &draws));
    if (!draws || !labels)
        d->labeller = NULL;
    return EG_OK;
}

static eg_status dgr_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    dgr_client *d = self;
    const eg_bundle *kept;
    bool found = false;
    (void)exchange, (void)from;
    EG_TRY(dgr_open(d, c));
    EG_TRY(eg_client_recall(c, "dgr", &kept));
    if (kept)
        EG_TRY(eg_generator_recall(d->own, "dgr", EG_WHOLE_GENERATOR, kept, &found));
    if (!found)
        eg_generator_init(d->own, c->seed ^ (uint64_t)c->id << 32);
    EG_TRY(eg_client_recall(c, "dgr.past", &kept));
    return kept ? dgr_take_past(d, c, kept) : EG_OK;
}

static eg_status dgr_fill_past(const eg_learner *generator, const eg_learner *model,
                               eg_bundle *to)
{
    EG_TRY(eg_learner_keep(generator, "dgr.generator", to));
    return eg_learner_keep(model, "dgr.model", to);
}

/* A task has ended: generator and model as training left them are the past. */
static eg_status dgr_task(void *self, eg_client *c)
{
    dgr_client *d = self;
    const eg_bundle *model;
    eg_bundle *record;
    bool found;
    EG_TRY(eg_client_recall(c, "dgr.model", &model));
    if (!model)
        return EG_OK;
    EG_TRY(eg_worker_learner(c->worker, "dgr.labeller", eg_net_params(c->net), &d->labeller));
    EG_TRY(eg_learner_recall(d->labeller, "dgr.model", model, &found));
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, dgr_fill_past(d->own->learners[0], d->labeller, record)));
    EG_TRY(dgr_take_past(d, c, record));
    return eg_client_keep(c, "dgr.past", record);
}

static uint32_t dgr_form(void *self, eg_client *c)
{
    const dgr_client *d = self;
    (void)c;
    return d->labeller != NULL;
}

static eg_node *dgr_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const dgr_client *d = self;
    const eg_net_spec *n = eg_net_spec_of(c->net);
    int64_t rows = c->train->batch;
    if (!d->labeller)
        return loss;
    eg_node *x = eg_input(g, "dgr.x", eg_dims(rows, n->channels, n->height, n->width));
    eg_node *labels = eg_input(g, "dgr.labels", eg_dims(rows));
    eg_node *outputs = eg_client_counted(c, g, eg_client_outputs(c, g, x));
    eg_node *past = eg_cross_entropy(g, outputs, labels, NULL);
    /* The batch's own cross entropy keeps its share; other parts' terms stay. */
    return eg_add(g, loss, eg_affine(g, eg_sub(g, past, c->plain), 1 - d->is.share, 0));
}

/* Rows of the past: x [n, ...], and the labels that the past's model gives them [n]. */
static eg_status dgr_replay(dgr_client *d, eg_client *c, eg_rng *rng, int64_t n, float *x,
                            float *labels)
{
    const eg_weights at = {d->labeller->param, d->labeller->state};
    float *logits;
    memset(labels, 0, (size_t)n * sizeof *labels);
    EG_TRY(eg_generator_draw(d->past, labels, n, rng, x));
    EG_TRY(eg_alloc((size_t)(n * c->n_classes), sizeof *logits, &logits));
    eg_status s = eg_client_look(c, &at, &(eg_rows){.n = n, .x = x, .labels = labels},
                                 &(eg_look){.logits = logits});
    for (int64_t i = 0; s == EG_OK && i < n; i++) {
        const float *row = logits + i * c->n_classes;
        for (int64_t k = 1; k < c->n_classes; k++)
            if (row[k] > row[(int64_t)labels[i]])
                labels[i] = (float)k;
    }
    free(logits);
    return s;
}

static eg_status dgr_fill(void *self, eg_client *c)
{
    dgr_client *d = self;
    eg_rng rng = eg_client_stream(c, DGR_REPLAY);
    return d->labeller
               ? dgr_replay(d, c, &rng, c->train->batch, eg_plan_input(c->plan, "dgr.x"),
                            eg_plan_input(c->plan, "dgr.labels"))
               : EG_OK;
}

/* Some of the round's samples, without order: *n of them. Free *out. */
static eg_status dgr_pick(const dgr_client *d, eg_client *c, eg_sample **out, int64_t *n)
{
    eg_rng rng = eg_client_stream(c, DGR_PICK);
    *n = 0;
    EG_TRY(eg_alloc((size_t)c->n_samples, sizeof **out, out));
    for (int64_t i = 0; i < c->n_samples; i++)
        if (c->samples[i].task >= 0) /* not a row that another part made */
            (*out)[(*n)++] = c->samples[i];
    for (int64_t i = 0; i < *n; i++) {
        int64_t k = i + (int64_t)eg_rng_below(&rng, (uint64_t)(*n - i));
        eg_sample swap = (*out)[i];
        (*out)[i] = (*out)[k], (*out)[k] = swap;
    }
    *n = *n < d->is.images ? *n : d->is.images;
    return EG_OK;
}

/* The generator's images: n of this task and, with a past, drawn ones beside them. */
static eg_status dgr_gather(dgr_client *d, eg_client *c, const eg_sample *samples, int64_t n,
                            eg_images *out)
{
    int64_t drawn = d->labeller ? (int64_t)((double)n * (1 / d->is.share - 1)) : 0;
    eg_rng rng = eg_client_stream(c, DGR_PAST);
    float *x, *labels;
    EG_TRY(eg_alloc((size_t)((n + drawn) * d->own->pixels), sizeof *x, &x));
    out->x = x, out->n = n + drawn;
    EG_TRY(eg_alloc((size_t)(n + drawn), sizeof *labels, &labels));
    out->labels = labels;
    eg_client_feed(c, samples, n, x, labels);
    return drawn ? eg_generator_draw(d->past, labels + n, drawn, &rng, x + n * d->own->pixels)
                 : EG_OK;
}

/* A class that has too few images, or a generator that diverges, costs the round's update. */
static eg_status dgr_learn(dgr_client *d, eg_client *c, const eg_images *on)
{
    eg_rng rng = eg_client_stream(c, DGR_TRAIN);
    double losses[EG_MAX_LEARNERS];
    int64_t steps = d->is.steps ? d->is.steps : c->n_batches;
    eg_bundle *record;
    eg_status s = eg_generator_train(d->own, on, steps, &rng, losses);
    if (s == EG_EINVAL)
        return eg_client_note(c, "generator not trained", 1);
    EG_TRY(s);
    EG_TRY(eg_client_note(c, "critic loss", losses[1]));
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(
        eg_bundle_filled(record, eg_generator_keep(d->own, "dgr", EG_WHOLE_GENERATOR, record)));
    return eg_client_keep(c, "dgr", record);
}

static eg_status dgr_trained(void *self, eg_client *c)
{
    dgr_client *d = self;
    eg_sample *samples = NULL;
    eg_images on = {0};
    int64_t n;
    eg_status s = dgr_pick(d, c, &samples, &n);
    if (s == EG_OK)
        s = dgr_gather(d, c, samples, n, &on);
    if (s == EG_OK)
        s = dgr_learn(d, c, &on);
    free(samples);
    free((float *)(uintptr_t)on.x);
    free((float *)(uintptr_t)on.labels);
    return s == EG_OK ? eg_client_keep_model(c, "dgr.model") : s;
}

static eg_status dgr_exhibit(void *self, eg_client *c, eg_gallery *to)
{
    dgr_client *d = self;
    const eg_bundle *kept;
    bool found = false;
    if (eg_gallery_n(to) > 0) /* another part's: a gallery is of one kind */
        return EG_OK;
    EG_TRY(dgr_open(d, c));
    EG_TRY(eg_client_recall(c, "dgr", &kept));
    if (kept)
        EG_TRY(eg_generator_recall(d->own, "dgr", EG_DRAWING_ALONE, kept, &found));
    return found ? eg_gallery_add(to, d->own, (eg_drawer){.client = c->id, .label = -1})
                 : EG_OK;
}

const eg_method eg_method_dgr = {
    .component = {"dgr", "deep generative replay: each client keeps a generator of its own",
                  sizeof(dgr), dgr_opts},
    .setup = dgr_setup,
    .loss = dgr_loss,
    .form = dgr_form,
    .fill = dgr_fill,
    .client = {.size = sizeof(dgr_client),
               .download = dgr_download,
               .task = dgr_task,
               .trained = dgr_trained,
               .exhibit = dgr_exhibit},
};
