/* cfed.c - distillation on a surrogate data set (Ma et al., 2022, "CFeD", IJCAI).
 * SPDX-License-Identifier: Apache-2.0
 *
 * From its second task on a client either trains on its own samples by the cross entropy, or,
 * in a share of the rounds that moves from client to client, on its part of a public data set,
 * whose labels nobody needs, by lambda times the mean of -sum_k p_k log q_k, where p and q are
 * the softmax at `temperature` of the outputs of the model that it received when the task
 * began, and of its own. Server: the plain mean of both groups. The paper's further steps on
 * the server are left out, as Fed-A-GEM's comparison has it.
 *
 * The public images are scaled to those of the run. Each client keeps its part as a record.
 */
#include "method/lib/teacher.h"

#include "base/base.h"

#include <engram/data.h>
#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cfed {
    char surrogate[EG_OPT_TEXT_SIZE];
    int64_t rows;
    double share, lambda, temperature;
} cfed;

typedef struct cfed_client {
    cfed is;
    eg_learner *teacher; /* NULL in the first task */
    bool distils;        /* in this round */
} cfed_client;

// clang-format off
static const eg_opt cfed_opts[] = {
    EG_OPT_TEXT(cfed, surrogate, "fractals train=2000 points=2000", "the public data set, and options of it: 'cifar100', 'glyphs classes=26 first=10'"),
    EG_OPT_INT(cfed, rows, 200, 1, 1000000, "of it for each client"),
    EG_OPT_REAL(cfed, share, 0.4, 0, 1, "of the clients of a round that learn from it"),
    EG_OPT_REAL(cfed, lambda, 0.1, 0, 1e6, "weight of the distillation"),
    EG_OPT_REAL(cfed, temperature, 2, 1e-3, 1e3, "what outputs are divided by"),
    EG_OPT_END,
};
// clang-format on

/* The data set of a text, with its options, to be freed. */
static eg_status cfed_data(const char *text, const eg_dataset **set, void **options)
{
    char name[64];
    size_t n = strcspn(text, " ");
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : 0), text);
    *set = eg_dataset_find(name);
    if (!*set)
        return eg_fail(EG_ENOENT, "surrogate: there is no data set '%s'", name);
    EG_TRY(eg_component_new(&(*set)->component, options));
    eg_status s = eg_opts_set_text((*set)->component.opts, *options, text + n);
    if (s != EG_OK) {
        free(*options);
        *options = NULL;
    }
    return eg_blame(s, "surrogate: %s", name);
}

static eg_status cfed_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const cfed *is = options;
    const eg_dataset *set;
    void *of_set;
    if (in->train->rotations)
        return eg_fail(EG_ENOTSUP, "what it distils is upright: train.rotations must be false");
    EG_TRY(cfed_data(is->surrogate, &set, &of_set));
    free(of_set);
    out->offers = EG_OFFERS_BOUNDARIES;
    out->images = out->classes = out->global = true;
    out->shares_plain = out->plain_mean = true;
    return EG_OK;
}

/* A fraction of all numbers, spread evenly, which moves on by one in each round. */
static bool cfed_turn(int64_t id, int64_t round, double share)
{
    double at = (double)(id + round);
    return floor((at + 1) * share + 1e-9) > floor(at * share + 1e-9);
}

/* The client's part of the table as pixels within [-1, 1]. */
static eg_status cfed_fill(const cfed *is, const eg_client *c, const eg_table *t, eg_bundle *to)
{
    int64_t rows = is->rows < t->n ? is->rows : t->n;
    size_t sample = eg_table_sample(t);
    float *x;
    EG_TRY(eg_bundle_room(to, "x", eg_dims(rows, (int64_t)sample), &x));
    for (int64_t i = 0; i < rows; i++) {
        size_t from = (size_t)((c->id * is->rows + i) % t->n) * sample;
        for (size_t k = 0; k < sample; k++, x++)
            *x = t->u8 ? (float)t->u8[from + k] / 127.5F - 1 : 2 * t->f32[from + k] - 1;
    }
    return EG_OK;
}

static eg_status cfed_load(const cfed *is, eg_client *c, eg_bundle *to)
{
    const eg_net_spec *spec = eg_net_spec_of(c->net);
    const eg_dataset *set;
    void *options;
    eg_table t = {0};
    EG_TRY(cfed_data(is->surrogate, &set, &options));
    eg_status s = eg_dataset_load(set, options, &(eg_origin){.seed = c->seed}, EG_TRAIN, &t);
    free(options);
    if (s == EG_OK && (t.height != spec->height || t.width != spec->width))
        s = eg_table_resize(&t, spec->height, spec->width);
    if (s == EG_OK && t.channels != spec->channels)
        s = eg_table_set_channels(&t, spec->channels);
    if (s == EG_OK)
        s = cfed_fill(is, c, &t, to);
    eg_table_fini(&t);
    return s;
}

/* The client's part: from its records, or from the data set when it is first asked for. */
static eg_status cfed_part(const cfed *is, eg_client *c, const float **x, int64_t *n)
{
    const eg_net_spec *spec = eg_net_spec_of(c->net);
    const eg_bundle *kept;
    size_t all;
    EG_TRY(eg_client_recall(c, "cfed.surrogate", &kept));
    if (!kept) {
        eg_bundle *record;
        EG_TRY(eg_bundle_new(&record));
        EG_TRY(eg_bundle_filled(record, cfed_load(is, c, record)));
        EG_TRY(eg_client_keep(c, "cfed.surrogate", record));
        EG_TRY(eg_client_recall(c, "cfed.surrogate", &kept));
    }
    *x = eg_bundle_find(kept, "x", &all);
    *n = (int64_t)all / (spec->channels * spec->height * spec->width);
    return EG_OK;
}

static eg_status cfed_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    cfed_client *p = self;
    (void)from;
    if (exchange != EG_TRAINING)
        return EG_OK;
    EG_TRY(eg_client_stage_model(c, "cfed.model", &p->teacher));
    p->distils = p->teacher && cfed_turn(c->id, c->round, p->is.share);
    return EG_OK;
}

/* The public rows take the place of the client's own. */
static eg_status cfed_samples(void *self, eg_client *c)
{
    const cfed_client *p = self;
    const float *x;
    float *labels;
    int64_t n;
    if (!p->distils)
        return EG_OK;
    EG_TRY(cfed_part(&p->is, c, &x, &n));
    EG_TRY(eg_alloc((size_t)n, sizeof *labels, &labels)); /* which count for nothing */
    c->n_samples = 0;
    eg_status s = eg_client_add_rows(c, x, labels, n);
    free(labels);
    return s;
}

static uint32_t cfed_form(void *self, eg_client *c)
{
    const cfed_client *p = self;
    (void)c;
    return p->distils;
}

static eg_node *cfed_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const cfed_client *p = self;
    if (!p->distils)
        return loss;
    eg_node *told = eg_input(g, "cfed.told", eg_dims(c->batch, c->n_classes));
    eg_node *own = eg_client_outputs_of(c, g, c->features);
    eg_node *held = eg_teacher_loss(g, told, own, p->is.temperature, NULL);
    return eg_add(g, eg_sub(g, loss, c->plain), eg_affine(g, held, p->is.lambda, 0));
}

static eg_status cfed_tell(void *self, eg_client *c)
{
    const cfed_client *p = self;
    return p->distils
               ? eg_teacher_tell(c, p->teacher->param, p->teacher->state, "cfed.told", NULL)
               : EG_OK;
}

const eg_method eg_method_cfed = {
    .component = {"cfed",
                  "some clients distil the old model on a public data set, others train",
                  sizeof(cfed), cfed_opts},
    .setup = cfed_setup,
    .loss = cfed_loss,
    .form = cfed_form,
    .fill = cfed_tell,
    .client = {.size = sizeof(cfed_client), .download = cfed_download, .samples = cfed_samples},
};
