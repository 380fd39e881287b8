/* score.c - a cnn-small judges drawings by the real images it has learned.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "score.h"

#include <engram/metric.h>
#include <engram/trainer.h>

#include <stdlib.h>
#include <string.h>

enum { SCORE_EPOCHS = 3, SCORE_BATCH = 32, SCORE_SEED = 1 };

struct score_judge {
    drawing_images train, test;
    eg_net *net;
    eg_trainer *trainer;
    int64_t *order; /* [train.n] */
};

/* Images of which some rows are looked at. */
typedef struct score_rows {
    const float *x, *labels;
    const int64_t *rows; /* NULL: all, in order */
    int64_t label;       /* of all, if labels is NULL */
    size_t pixels;
} score_rows;

static eg_status score_fill(void *context, int64_t first, int64_t count, float *x,
                            float *labels)
{
    const score_rows *r = context;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = r->rows ? r->rows[first + i] : first + i;
        memcpy(x + (size_t)i * r->pixels, r->x + (size_t)row * r->pixels,
               r->pixels * sizeof *x);
        labels[i] = r->labels ? r->labels[row] : (float)r->label;
    }
    return EG_OK;
}

static size_t score_pixels(const score_judge *j)
{
    return (size_t)(j->train.channels * j->train.height * j->train.width);
}

static eg_status score_train(score_judge *j, double *accuracy)
{
    score_rows learned = {j->train.x, j->train.labels, j->order, 0, score_pixels(j)};
    score_rows held = {j->test.x, j->test.labels, NULL, 0, score_pixels(j)};
    const eg_trainer_samples all = {j->train.n, score_fill, &learned};
    for (int64_t i = 0; i < j->train.n; i++)
        j->order[i] = i;
    for (uint32_t e = 0; e < SCORE_EPOCHS; e++) {
        eg_rng rng = eg_rng_at(SCORE_SEED, 0, e, EG_FOR_SHUFFLE);
        eg_rng_shuffle(&rng, (size_t)j->train.n, j->order);
        for (int64_t at = 0; at < j->train.n; at += SCORE_BATCH) {
            int64_t n = j->train.n - at < SCORE_BATCH ? j->train.n - at : SCORE_BATCH;
            EG_TRY(eg_trainer_step(j->trainer, &all, at, n, NULL));
        }
    }
    return eg_trainer_test(j->trainer, &(eg_trainer_samples){j->test.n, score_fill, &held},
                           accuracy);
}

static eg_status score_open(score_judge *j, const drawing_source *source, double *accuracy)
{
    drawing_source from = *source;
    from.only = -1, from.split = EG_TRAIN;
    EG_TRY(drawing_load(&from, &j->train));
    from.split = EG_TEST;
    EG_TRY(drawing_load(&from, &j->test));
    const eg_net_spec spec = {.model = "cnn-small",
                              .channels = j->train.channels,
                              .height = j->train.height,
                              .width = j->train.width,
                              .classes = j->train.classes};
    EG_TRY(eg_net_new(&spec, &j->net));
    j->order = calloc((size_t)j->train.n, sizeof *j->order);
    if (!j->order)
        return eg_fail(EG_ENOMEM, "no memory for %lld images", (long long)j->train.n);
    EG_TRY(eg_trainer_new(
        &(eg_trainer_spec){
            .net = j->net, .optimizer = "sgd", .temperature = 1, .seed = SCORE_SEED},
        &j->trainer));
    EG_TRY(eg_trainer_set(j->trainer, "lr", "0.01"));
    EG_TRY(eg_trainer_set(j->trainer, "momentum", "0.9"));
    return score_train(j, accuracy);
}

eg_status score_judge_new(const drawing_source *source, score_judge **out, double *accuracy)
{
    score_judge *j = calloc(1, sizeof *j);
    *out = NULL;
    if (!j)
        return eg_fail(EG_ENOMEM, "no memory for a judge");
    eg_status s = score_open(j, source, accuracy);
    if (s == EG_OK)
        *out = j;
    else
        score_judge_free(j);
    return s;
}

void score_judge_free(score_judge *j)
{
    if (!j)
        return;
    eg_trainer_free(j->trainer);
    eg_net_free(j->net);
    drawing_fini(&j->train);
    drawing_fini(&j->test);
    free(j->order);
    free(j);
}

int64_t score_judge_classes(const score_judge *j)
{
    return j->train.classes;
}

/* Features [n, d] of the images of a class, at most so many; *n is how many there are. */
static eg_status score_features(score_judge *j, const drawing_images *of, int64_t label,
                                int64_t most, float **out, int64_t *n)
{
    score_rows rows = {of->x, of->labels, j->order, label, score_pixels(j)};
    *n = 0;
    for (int64_t i = 0; i < of->n && *n < most && *n < j->train.n; i++)
        if ((int64_t)of->labels[i] == label)
            j->order[(*n)++] = i;
    *out = calloc((size_t)(*n * eg_net_n_features(j->net)) + 1, sizeof **out);
    if (!*out)
        return eg_fail(EG_ENOMEM, "no memory for %lld images", (long long)*n);
    return eg_trainer_features(j->trainer, &(eg_trainer_samples){*n, score_fill, &rows}, *out);
}

eg_status score_drawings(score_judge *j, const float *x, int64_t n, int64_t label, score *out)
{
    int64_t dim = eg_net_n_features(j->net), n_train = 0, n_test = 0;
    score_rows rows = {x, NULL, NULL, label, score_pixels(j)};
    const eg_trainer_samples drawn = {n, score_fill, &rows};
    float *train = NULL, *test = NULL;
    float *features = calloc((size_t)(n * dim), sizeof *features);
    eg_status s = features ? eg_trainer_test(j->trainer, &drawn, &out->agreement)
                           : eg_fail(EG_ENOMEM, "no memory for %lld drawings", (long long)n);
    if (s == EG_OK)
        s = eg_trainer_features(j->trainer, &drawn, features);
    if (s == EG_OK)
        s = score_features(j, &j->train, label, j->train.n, &train, &n_train);
    if (s == EG_OK)
        s = score_features(j, &j->test, label, n, &test, &n_test);
    if (s == EG_OK)
        s = eg_frechet(features, n, train, n_train, dim, &out->distance);
    if (s == EG_OK)
        s = eg_frechet(test, n_test, train, n_train, dim, &out->real);
    free(features);
    free(train);
    free(test);
    return s;
}
