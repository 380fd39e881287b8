/* found.c - what the server's model finds on test images: curves, and images with their boxes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is shown is what was found with some surety. A found box is right if it takes a true box
 * of its class that no surer one has, with half of both in common; true boxes that nobody takes
 * are missed. Crowds are neither.
 */
#include "io/disk.h"
#include "io/image.h"
#include "run/client/worker.h"
#include "run/server/federation.h"

#include <engram/box.h>
#include <engram/target.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOUND_SURE 0.25  /* what is less sure is not shown */
enum { FOUND_SIZE = 7 }; /* floats of a box in what a judge tells */

/* One task's event in the making. */
typedef struct found {
    const eg_federation *f;
    const eg_table *t;
    int64_t *ids;       /* the task's test samples */
    const float *boxes; /* [n_found, FOUND_SIZE]: image, class, x, y, w, h, score */
    size_t n_found;
    int64_t *classes, *half, *each, *curve; /* [classes]; the last [classes, EG_BOXES_CURVE] */
    int64_t *shown;                         /* [n_shown] */
    size_t n_shown, cap_shown;
    eg_boxes_event event;
} found;

/* A share of 1 as the log has it. */
static int64_t found_share(double x)
{
    return llround(fmin(1, fmax(0, x)) * EG_BOXES_SHARE);
}

/* Adds a box to those that are shown. */
static eg_status found_show(found *s, int64_t image, eg_boxes_is is, const eg_box *b,
                            double score)
{
    double w = (double)b->w / 2, h = (double)b->h / 2, x = (double)b->x, y = (double)b->y;
    int64_t label = b->label <= EG_CROWD ? 0 : (int64_t)b->label;
    const int64_t row[EG_BOXES_SIZE] = {image,
                                        is,
                                        label,
                                        found_share(x - w),
                                        found_share(y - h),
                                        found_share(x + w),
                                        found_share(y + h),
                                        found_share(score)};
    for (int k = 0; k < EG_BOXES_SIZE; k++) {
        EG_TRY(eg_grow(&s->shown, s->n_shown, &s->cap_shown, sizeof *s->shown));
        s->shown[s->n_shown++] = row[k];
    }
    return EG_OK;
}

/* What a found box is, by the boxes of its image that are still free; -1: it lies on a crowd.
 */
static int found_judge(const eg_box *b, const float *target, int64_t width, bool *taken)
{
    double most = 0.5;
    int64_t best = -1;
    bool crowd = false;
    for (int64_t i = 0; i < width / EG_BOX_SIZE; i++) {
        eg_box t;
        memcpy(&t, target + i * EG_BOX_SIZE, sizeof t);
        double overlap = taken[i] || t.label == EG_NO_BOX ? 0 : eg_box_overlap(&t, b);
        crowd |= t.label == (float)EG_CROWD - b->label && overlap >= 0.5;
        if (t.label == b->label && overlap >= most)
            most = overlap, best = i;
    }
    if (best >= 0)
        taken[best] = true;
    return best >= 0 ? EG_BOXES_RIGHT : crowd ? -1 : EG_BOXES_WRONG;
}

/* The boxes of shown image number k, which is sample `row`. */
static eg_status found_image(found *s, int64_t k, int64_t row)
{
    const float *target = s->t->target + row * s->t->target_width;
    bool taken[EG_MAX_BOXES] = {false};
    int64_t width = s->t->target_width;
    if (width > EG_MAX_BOXES * EG_BOX_SIZE)
        width = EG_MAX_BOXES * EG_BOX_SIZE;
    for (size_t i = 0; i < s->n_found; i++) {
        const float *at = s->boxes + i * FOUND_SIZE;
        eg_box b;
        memcpy(&b, at + 1, sizeof b);
        if ((int64_t)at[0] != k || (double)at[6] < FOUND_SURE)
            continue;
        int is = found_judge(&b, target, width, taken);
        if (is >= 0)
            EG_TRY(found_show(s, k, (eg_boxes_is)is, &b, (double)at[6]));
    }
    for (int64_t i = 0; i < width / EG_BOX_SIZE; i++) {
        eg_box b;
        memcpy(&b, target + i * EG_BOX_SIZE, sizeof b);
        if (b.label >= 0 && !taken[i])
            EG_TRY(found_show(s, k, EG_BOXES_MISSED, &b, 0));
    }
    return EG_OK;
}

/* One value of a table's sample as a byte. */
static uint8_t found_byte(const eg_table *t, size_t at)
{
    return t->u8 ? t->u8[at] : (uint8_t)lrintf(fminf(1, fmaxf(0, t->f32[at])) * 255);
}

/* Writes the shown images, one below the other. */
static eg_status found_picture(const found *s, int64_t task)
{
    const eg_table *t = s->t;
    char folder[EG_RUN_PATH], path[EG_RUN_PATH];
    size_t area = (size_t)(t->height * t->width), channels = t->channels == 3 ? 3 : 1;
    eg_image im = {.channels = (int64_t)channels,
                   .height = s->event.images * t->height,
                   .width = t->width};
    EG_TRY(eg_run_file(s->f->folder_path, EG_RUN_BOXES, folder));
    EG_TRY(eg_disk_make_folder(folder));
    EG_TRY(eg_run_boxes(s->f->folder_path, task, path));
    EG_TRY(eg_alloc((size_t)s->event.images * area, channels, &im.pixels));
    for (int64_t k = 0; k < s->event.images; k++)
        for (size_t i = 0; i < area; i++)
            for (size_t c = 0; c < channels; c++) {
                size_t row = (size_t)s->ids[k];
                im.pixels[((size_t)k * area + i) * channels + c] =
                    found_byte(t, row * eg_table_sample(t) + c * area + i);
            }
    eg_status status = eg_png_save(path, &im);
    eg_image_fini(&im);
    return status;
}

/* The curves of the classes that have true boxes. rates: 2, then [2, classes]; curve: [classes,
 * EG_RECALLS] */
static void found_curves(found *s, const float *rates, const float *curve)
{
    int64_t classes = s->f->feed.aim.classes;
    for (int64_t k = 0; k < classes; k++) {
        size_t n = s->event.n_classes;
        if (rates[2 + k] < 0)
            continue;
        s->classes[n] = k;
        s->half[n] = found_share((double)rates[2 + k]);
        s->each[n] = found_share((double)rates[2 + classes + k]);
        for (int64_t r = 0; r < EG_RECALLS; r++)
            s->curve[n * EG_BOXES_CURVE + (size_t)r] =
                found_share((double)curve[k * EG_RECALLS + r]);
        s->event.n_classes++;
    }
    s->event.n_curve = s->event.n_classes * EG_BOXES_CURVE;
}

static eg_status found_fill(found *s, int64_t task, const eg_bundle *told)
{
    const eg_feed *feed = &s->f->feed;
    size_t classes = (size_t)feed->aim.classes;
    const float *rates, *curve;
    char name[96];
    snprintf(name, sizeof name, EG_JUDGED "rates", "test", (long long)task);
    EG_TRY(eg_bundle_need(told, name, 2 + 2 * classes, &rates));
    snprintf(name, sizeof name, EG_JUDGED "curve", "test", (long long)task);
    EG_TRY(eg_bundle_need(told, name, classes * EG_RECALLS, &curve));
    found_curves(s, rates, curve);
    snprintf(name, sizeof name, EG_JUDGED "found", "test", (long long)task);
    s->boxes = eg_bundle_find(told, name, &s->n_found);
    s->n_found /= FOUND_SIZE;
    int64_t n = eg_scenario_test(feed->scenario, EG_SERVER, task, s->ids);
    s->event.images = eg_shown_rows(n);
    s->event.height = s->t->height, s->event.width = s->t->width;
    for (int64_t k = 0; k < s->event.images; k++) { /* rows grow, so that none is lost */
        s->ids[k] = s->ids[eg_shown_row(n, k)];
        EG_TRY(found_image(s, k, s->ids[k]));
    }
    return found_picture(s, task);
}

static eg_status found_task(eg_federation *f, int64_t round, int64_t task,
                            const eg_bundle *told)
{
    enum { LISTS = 3 + EG_BOXES_CURVE }; /* numbers of a class */
    size_t classes = (size_t)f->feed.aim.classes;
    found s = {.f = f, .t = eg_feed_tested(&f->feed, task, false)};
    EG_TRY(eg_alloc((size_t)eg_scenario_max_test(f->feed.scenario) + 1, sizeof *s.ids, &s.ids));
    eg_status status = eg_alloc(classes * LISTS, sizeof *s.classes, &s.classes);
    if (status == EG_OK) {
        s.half = s.classes + classes, s.each = s.half + classes, s.curve = s.each + classes;
        s.event.round = round, s.event.task = task;
        s.event.classes = s.classes, s.event.half = s.half, s.event.each = s.each;
        s.event.curve = s.curve;
        status = found_fill(&s, task, told);
    }
    s.event.boxes = s.shown, s.event.n_boxes = s.n_shown;
    if (status == EG_OK)
        status = eg_run_write_boxes(f->folder, &s.event);
    free(s.classes);
    free(s.shown);
    free(s.ids);
    return status;
}

eg_status eg_federation_log_boxes(eg_federation *f, int64_t round, const eg_bundle *told)
{
    char name[96];
    for (int64_t t = 0; t < f->feed.n_tasks; t++) {
        snprintf(name, sizeof name, EG_JUDGED "curve", "test", (long long)t);
        if (eg_bundle_find(told, name, NULL)) /* else it was not tested, or tells of no boxes */
            EG_TRY(found_task(f, round, t, told));
    }
    return EG_OK;
}
