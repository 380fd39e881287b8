/* predict.c - what a saved model says of images whose classes nobody knows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/predict.h>

#include "io/image.h"
#include "run/experiment/experiment.h"
#include "world/data/letterbox.h"
#include "world/data/mark.h"

#include <engram/target.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREDICT_FILES = 4096 };

typedef struct predict_call {
    int64_t n_classes;
    float *probability;         /* [n_classes] */
    const eg_aim *aim;          /* of boxes; NULL: classes are told */
    eg_found *found;            /* [anchors, cells, classes] */
    const eg_letterbox *frames; /* [n] where pictures lie in rows; NULL: all over them */
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

/* The boxes of a row, as shares of its picture. */
static eg_status predict_boxes(const predict_call *c, int64_t row, const float *outputs)
{
    eg_prediction p = {.index = row, .n_classes = c->n_classes, .best = -1, .found = c->found};
    p.n_found = eg_region_found(&c->aim->region, outputs, c->found);
    for (int64_t i = 0; i < p.n_found && c->frames; i++)
        c->found[i].box = eg_letterbox_out(&c->frames[row], c->found[i].box);
    return c->visit(c->context, &p);
}

static eg_status predict_row(void *to, int64_t row, const float *logits)
{
    const predict_call *c = to;
    if (c->aim)
        return predict_boxes(c, row, logits);
    eg_prediction p = {.index = row,
                       .n_classes = c->n_classes,
                       .logits = logits,
                       .probability = c->probability,
                       .best = predict_softmax(logits, c->n_classes, c->probability)};
    return c->visit(c->context, &p);
}

static eg_status predict_all(eg_saved *s, eg_table *t, predict_call *c)
{
    c->n_classes = eg_saved_n_classes(s);
    c->aim = eg_saved_aim(s);
    size_t places = c->aim ? (size_t)(c->aim->outputs / (5 + c->n_classes)) : 0;
    EG_TRY(eg_alloc((size_t)c->n_classes, sizeof *c->probability, &c->probability));
    eg_status status = eg_alloc(places * (size_t)c->n_classes + 1, sizeof *c->found, &c->found);
    if (status == EG_OK)
        status = eg_saved_each(s, t, NULL, t->n, predict_row, c);
    free(c->found);
    free(c->probability);
    return status;
}

eg_status eg_predict_table(eg_saved *s, eg_table *t, eg_predict_visit visit, void *context)
{
    predict_call c = {.visit = visit, .context = context};
    return predict_all(s, t, &c);
}

bool eg_saved_finds_boxes(const eg_saved *s)
{
    return eg_saved_aim(s) != NULL;
}

const char *eg_saved_class(const eg_saved *s, int64_t class, char name[EG_CLASS_NAME])
{
    const char *at = eg_saved_note(s, "names");
    for (int64_t k = 0; at && k < class; k++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (at)
        snprintf(name, EG_CLASS_NAME, "%.*s", (int)strcspn(at, "\n"), at);
    return at && class >= 0 ? name : NULL;
}

/* What becomes of a picture within its row of t. */
static eg_status predict_frame(const eg_image *im, eg_table *t, int64_t row,
                               eg_letterbox *frame)
{
    *frame = eg_letterbox_fit(im, t->height, t->width);
    return eg_letterbox_place(frame, im, t->channels, t->u8 + (size_t)row * eg_table_sample(t));
}

/* A picture that fills a row of t. */
static eg_status predict_fill(const eg_image *im, const eg_net_spec *made, eg_table *t,
                              int64_t row)
{
    eg_table one = {0};
    eg_status status = eg_table_alloc_u8(&one, 1, im->channels, im->height, im->width, 1);
    size_t area = (size_t)(im->height * im->width), channels = (size_t)im->channels;
    for (size_t c = 0; c < channels && status == EG_OK; c++)
        for (size_t i = 0; i < area; i++)
            one.u8[c * area + i] = im->pixels[i * channels + c];
    if (status == EG_OK && one.channels != made->channels)
        status = eg_table_set_channels(&one, made->channels);
    if (status == EG_OK && (one.height != made->height || one.width != made->width))
        status = eg_table_resize(&one, made->height, made->width);
    if (status == EG_OK)
        memcpy(t->u8 + (size_t)row * eg_table_sample(t), one.u8, eg_table_sample(t));
    eg_table_fini(&one);
    return status;
}

/* Reads a picture into a row of t, which has its size; of a model that looks for boxes it keeps
 * its shape. */
static eg_status predict_read(const char *path, eg_saved *s, eg_table *t, int64_t row,
                              eg_letterbox *frame)
{
    eg_image im;
    EG_TRY(eg_image_load(path, &im));
    eg_status status = eg_saved_aim(s)
                           ? predict_frame(&im, t, row, frame)
                           : predict_fill(&im, eg_net_spec_of(eg_saved_net(s)), t, row);
    eg_image_fini(&im);
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
    eg_letterbox *frames;
    predict_call c = {.visit = visit, .context = context};
    EG_TRY(eg_alloc(n, sizeof *frames, &frames));
    c.frames = frames;
    eg_status status = eg_table_alloc_u8(&t, (int64_t)n, made->channels, made->height,
                                         made->width, eg_saved_n_classes(s));
    for (size_t i = 0; i < n && status == EG_OK; i++)
        status = predict_read(paths[i], s, &t, (int64_t)i, &frames[i]);
    if (status == EG_OK)
        status = predict_all(s, &t, &c);
    eg_table_fini(&t);
    free(frames);
    return status;
}

/* The picture in RGB. */
static eg_status predict_colours(const char *path, eg_image *out)
{
    eg_image im;
    EG_TRY(eg_image_load(path, &im));
    *out = (eg_image){.height = im.height, .width = im.width, .channels = 3};
    size_t area = (size_t)(im.height * im.width), channels = (size_t)im.channels;
    eg_status s = eg_alloc(area, 3, &out->pixels);
    for (size_t i = 0; i < 3 * area && s == EG_OK; i++)
        out->pixels[i] = im.pixels[i / 3 * channels + (channels == 3 ? i % 3 : 0)];
    eg_image_fini(&im);
    return s;
}

eg_status eg_predict_draw(const eg_saved *s, const char *picture, const eg_prediction *p,
                          double sure, const char *out)
{
    eg_image im;
    EG_TRY(predict_colours(picture, &im));
    const eg_mark_area all = {0, 0, im.height, im.width};
    for (int64_t i = p->n_found; i-- > 0;) { /* the surest on top */
        const eg_found *f = &p->found[i];
        char name[EG_CLASS_NAME], text[EG_CLASS_NAME + 8];
        const char *class = eg_saved_class(s, (int64_t)f->box.label, name);
        if ((double)f->score < sure)
            continue;
        if (class)
            snprintf(text, sizeof text, "%s %.0f%%", class, 100 * (double)f->score);
        else
            snprintf(text, sizeof text, "%d %.0f%%", (int)f->box.label, 100 * (double)f->score);
        eg_mark_box(&im, &all, &f->box, eg_mark_thickness(im.height, im.width), text);
    }
    eg_status status = eg_png_save(out, &im);
    eg_image_fini(&im);
    return status;
}

/* A test of boxes under way. */
typedef struct predict_test {
    const eg_table *t;
    eg_precision *precision;
} predict_test;

static eg_status predict_judge(void *context, const eg_prediction *p)
{
    const predict_test *x = context;
    return eg_precision_add(x->precision, p->found, p->n_found,
                            x->t->target + p->index * x->t->target_width, x->t->target_width);
}

eg_status eg_saved_precision(eg_saved *s, eg_table *t, eg_precisions *out)
{
    predict_test x = {.t = t};
    if (!eg_saved_aim(s))
        return eg_fail(EG_EINVAL, "the model tells classes, and looks for no boxes");
    if (!t->target || t->target_width % EG_BOX_SIZE != 0)
        return eg_fail(EG_EINVAL, "the model looks for boxes, and these samples have none");
    if (t->classes > eg_saved_n_classes(s))
        return eg_fail(EG_EINVAL, "the data has boxes of %lld classes, the network knows %lld",
                       (long long)t->classes, (long long)eg_saved_n_classes(s));
    EG_TRY(eg_precision_new(eg_saved_n_classes(s), &x.precision));
    eg_status status = eg_predict_table(s, t, predict_judge, &x);
    if (status == EG_OK)
        status = eg_precision_get(x.precision, out);
    eg_precision_free(x.precision);
    return status;
}
