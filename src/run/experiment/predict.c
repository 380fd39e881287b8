/* predict.c - what a saved model says of images whose classes nobody knows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/predict.h>

#include "io/image.h"
#include "run/experiment/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PREDICT_FILES = 4096 };

typedef struct predict_call {
    int64_t n_classes;
    float *probability; /* [n_classes] */
    eg_predict_visit visit;
    void *context;
} predict_call;

/* The softmax, in double and less the largest logit, so that nothing overflows. */
static int32_t predict_softmax(const float *logits, int64_t n, float *out)
{
    int64_t best = 0;
    double sum = 0;
    for (int64_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - (double)logits[best]);
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(exp((double)logits[i] - (double)logits[best]) / sum);
    return (int32_t)best;
}

static eg_status predict_row(void *to, int64_t row, const float *logits)
{
    const predict_call *c = to;
    eg_prediction p = {.index = row,
                       .n_classes = c->n_classes,
                       .logits = logits,
                       .probability = c->probability,
                       .best = predict_softmax(logits, c->n_classes, c->probability)};
    return c->visit(c->context, &p);
}

eg_status eg_predict_table(eg_saved *s, eg_table *t, eg_predict_visit visit, void *context)
{
    predict_call c = {eg_saved_n_classes(s), NULL, visit, context};
    EG_TRY(eg_alloc((size_t)c.n_classes, sizeof *c.probability, &c.probability));
    eg_status status = eg_saved_each(s, t, NULL, t->n, predict_row, &c);
    free(c.probability);
    return status;
}

/* Reads a picture into a row of t, which has its size. */
static eg_status predict_read(const char *path, eg_saved *s, eg_table *t, int64_t row)
{
    const eg_net_spec *made = eg_net_spec_of(eg_saved_net(s));
    eg_table one = {0};
    eg_image im;
    EG_TRY(eg_image_load(path, &im));
    eg_status status = eg_table_alloc_u8(&one, 1, im.channels, im.height, im.width, 1);
    size_t area = (size_t)(im.height * im.width), channels = (size_t)im.channels;
    for (size_t c = 0; c < channels && status == EG_OK; c++)
        for (size_t i = 0; i < area; i++)
            one.u8[c * area + i] = im.pixels[i * channels + c];
    eg_image_fini(&im);
    if (status == EG_OK && one.channels != made->channels)
        status = eg_table_set_channels(&one, made->channels);
    if (status == EG_OK && (one.height != made->height || one.width != made->width))
        status = eg_table_resize(&one, made->height, made->width);
    if (status == EG_OK)
        memcpy(t->u8 + (size_t)row * eg_table_sample(t), one.u8, eg_table_sample(t));
    eg_table_fini(&one);
    return eg_blame(status, "%s", path);
}

eg_status eg_predict_files(eg_saved *s, const char *const *paths, size_t n,
                           eg_predict_visit visit, void *context)
{
    const eg_net_spec *made = eg_net_spec_of(eg_saved_net(s));
    eg_table t = {0};
    if (n == 0 || n > PREDICT_FILES)
        return eg_fail(EG_EINVAL, "%zu pictures at a time: there may be 1 to %d", n,
                       PREDICT_FILES);
    EG_TRY(eg_table_alloc_u8(&t, (int64_t)n, made->channels, made->height, made->width,
                             eg_saved_n_classes(s)));
    eg_status status = EG_OK;
    for (size_t i = 0; i < n && status == EG_OK; i++)
        status = predict_read(paths[i], s, &t, (int64_t)i);
    if (status == EG_OK)
        status = eg_predict_table(s, &t, visit, context);
    eg_table_fini(&t);
    return status;
}
