/* probe.c - how much of a data set a linear layer can tell from an encoder's features.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Features are taken once, in eval form, of images without crops or flips. They are brought to
 * mean 0 and deviation 1, both of the training set, so that encoders of any scale compare.
 */
#include "run/pretrain/encoder.h"

#include "base/base.h"
#include "run/experiment/feed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROBE_EPOCHS = 30, PROBE_BATCH = 64 };
#define PROBE_LR "0.001"

/* A split's images, and what an encoder makes of them. */
typedef struct probe_split {
    eg_table table;
    eg_recipe *recipe;
    float *features; /* [n, d] */
    int64_t *order;  /* [n]: of the epoch */
    int64_t d;
} probe_split;

static void probe_fini(probe_split *p)
{
    eg_table_fini(&p->table);
    eg_recipe_free(p->recipe);
    free(p->features);
    free(p->order);
}

static eg_status probe_fill_images(void *context, int64_t first, int64_t count, float *x,
                                   float *labels)
{
    const probe_split *p = context;
    eg_recipe_fill(p->recipe, &p->table, p->order + first, (size_t)count, NULL, x);
    for (int64_t i = 0; i < count; i++)
        labels[i] = (float)p->table.y[p->order[first + i]];
    return EG_OK;
}

static eg_status probe_fill_features(void *context, int64_t first, int64_t count, float *x,
                                     float *labels)
{
    const probe_split *p = context;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = p->order[first + i];
        for (int64_t j = 0; j < p->d; j++)
            *x++ = p->features[row * p->d + j];
        labels[i] = (float)p->table.y[row];
    }
    return EG_OK;
}

static void probe_sort(probe_split *p)
{
    for (int64_t i = 0; i < p->table.n; i++)
        p->order[i] = i;
}

/* Loads a split as the run would see it. */
static eg_status probe_load(const eg_experiment *e, const eg_encoder *c, const char *dir,
                            const eg_dataset *set, eg_split split, probe_split *p)
{
    const eg_net_spec *s = eg_net_spec_of(c->net);
    const void *options = NULL;
    bool own = false;
    for (size_t i = 0; i < e->n_sources && !own; i++)
        if (e->sets[i] == set)
            own = true, options = e->set_options[i];
    EG_TRY(eg_dataset_load(set, options, &(eg_origin){.dir = dir}, split, &p->table));
    if (own)
        EG_TRY(eg_scale_table(&p->table, e->scale * e->data.share));
    if (p->table.channels != s->channels)
        EG_TRY(eg_table_set_channels(&p->table, s->channels));
    if (p->table.height != s->height || p->table.width != s->width)
        EG_TRY(eg_table_resize(&p->table, s->height, s->width));
    EG_TRY(eg_recipe_new(&c->norm, &p->table, &p->recipe));
    p->d = eg_net_n_features(c->net);
    EG_TRY(eg_alloc((size_t)(p->table.n * p->d), sizeof *p->features, &p->features));
    EG_TRY(eg_alloc((size_t)p->table.n, sizeof *p->order, &p->order));
    probe_sort(p);
    return EG_OK;
}

/* Both splits by the mean and deviation of the first. */
static void probe_normalise(probe_split split[2])
{
    int64_t d = split[0].d;
    for (int64_t j = 0; j < d; j++) {
        double sum = 0, squares = 0, n = (double)split[0].table.n;
        for (int64_t i = 0; i < split[0].table.n; i++)
            sum += (double)split[0].features[i * d + j];
        for (int64_t i = 0; i < split[0].table.n; i++)
            squares += pow((double)split[0].features[i * d + j] - sum / n, 2);
        double deviation = sqrt(squares / n), scale = deviation > 1e-12 ? 1 / deviation : 0;
        for (int k = 0; k < 2; k++)
            for (int64_t i = 0; i < split[k].table.n; i++) {
                float *x = &split[k].features[i * d + j];
                *x = (float)(((double)*x - sum / n) * scale);
            }
    }
}

static eg_status probe_epochs(probe_split split[2], eg_trainer *t, double *accuracy)
{
    const eg_trainer_samples train = {split[0].table.n, probe_fill_features, &split[0]};
    const eg_trainer_samples test = {split[1].table.n, probe_fill_features, &split[1]};
    EG_TRY(eg_trainer_set(t, "lr", PROBE_LR));
    for (uint32_t epoch = 0; epoch < PROBE_EPOCHS; epoch++) {
        eg_rng rng = eg_rng_at(0, 0, epoch, EG_FOR_SHUFFLE);
        eg_rng_shuffle(&rng, (size_t)train.n, split[0].order);
        for (int64_t at = 0; at < train.n; at += PROBE_BATCH) {
            int64_t left = train.n - at;
            EG_TRY(
                eg_trainer_step(t, &train, at, left < PROBE_BATCH ? left : PROBE_BATCH, NULL));
        }
    }
    probe_sort(&split[0]);
    return eg_trainer_test(t, &test, accuracy);
}

/* A linear layer on the features there are. */
static eg_status probe_learn(probe_split split[2], double *accuracy)
{
    const eg_net_spec spec = {.model = "mlp",
                              .options = "depth=0",
                              .channels = 1,
                              .height = 1,
                              .width = split[0].d,
                              .classes = split[0].table.classes};
    eg_net *net;
    eg_trainer *t = NULL;
    EG_TRY(eg_net_new(&spec, &net));
    eg_status s = eg_trainer_new(
        &(eg_trainer_spec){.net = net, .optimizer = "adam", .temperature = 1}, &t);
    if (s == EG_OK)
        s = probe_epochs(split, t, accuracy);
    eg_trainer_free(t);
    eg_net_free(net);
    return s;
}

/* The features of both splits by an encoder: kept values, or (NULL) as it was drawn. */
static eg_status probe_encode(const eg_encoder *c, const char *path, probe_split split[2])
{
    eg_trainer *t;
    EG_TRY(eg_trainer_new(&(eg_trainer_spec){.net = c->net,
                                             .optimizer = "adam",
                                             .temperature = 1,
                                             .seed = (uint64_t)c->opts->seed},
                          &t));
    eg_status s = EG_OK;
    if (path)
        s = eg_params_load(eg_net_params(c->net), path, eg_trainer_values(t),
                           eg_trainer_state(t));
    for (int k = 0; k < 2 && s == EG_OK; k++)
        s = eg_trainer_features(
            t, &(eg_trainer_samples){split[k].table.n, probe_fill_images, &split[k]},
            split[k].features);
    eg_trainer_free(t);
    if (s == EG_OK)
        probe_normalise(split);
    return s;
}

static eg_status probe_both(const eg_encoder *c, const char *path, probe_split split[2],
                            eg_probe *out)
{
    EG_TRY(probe_encode(c, path, split));
    EG_TRY(probe_learn(split, &out->pretrained));
    EG_TRY(probe_encode(c, NULL, split));
    return probe_learn(split, &out->drawn);
}

eg_status eg_pretrain_probe(const eg_experiment *e, const eg_pretrain_how *how,
                            const eg_pretrained *encoder, const eg_dataset *set, eg_probe *out)
{
    probe_split split[2] = {0};
    eg_encoder c;
    eg_feed f;
    EG_TRY(eg_feed_open(e, 0, how->data_dir, &f));
    eg_net_spec spec = eg_feed_net(e, &f);
    eg_status s = eg_encoder_init(e, &spec, &c);
    eg_feed_close(&f);
    EG_TRY(s);
    for (int k = 0; k < 2 && s == EG_OK; k++)
        s = probe_load(e, &c, how->data_dir, set, k ? EG_TEST : EG_TRAIN, &split[k]);
    if (s == EG_OK)
        s = probe_both(&c, encoder->path, split, out);
    out->n_train = split[0].table.n;
    out->n_test = split[1].table.n;
    out->classes = split[0].table.classes;
    for (int k = 0; k < 2; k++)
        probe_fini(&split[k]);
    eg_encoder_fini(&c);
    return s;
}
