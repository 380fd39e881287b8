/* detection.c - a sample has boxes: YOLO's loss; what is judged is mean average precision.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loss is that of YOLO's second version (Redmon and Farhadi, 2017): the sum over anchors
 * and cells, and the mean over images, of
 *   place |(sigmoid(tx), sigmoid(ty), tw, th) - (x, y, log w/a, log h/b)|^2
 *   + object (sigmoid(to) - overlap)^2 + class (- log softmax(scores) at the class),
 * with the weights and truths of region_truth.c: where no true box is learned, place and class
 * weigh nothing, and the overlap is 0.
 */
#include <engram/target.h>

#include "base/base.h"
#include "base/real.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DETECTION_SURE 0.005 /* what is less sure is not looked at */
#define DETECTION_MOST 0.45  /* overlap of two boxes that are one */

/* The sizes of all true boxes: [n, 2]. */
static eg_status detection_sizes(const eg_aiming *in, float **out, int64_t *n)
{
    size_t most = 0;
    for (size_t i = 0; i < in->n_train; i++)
        most += (size_t)(in->train[i].n * in->train[i].target_width / EG_BOX_SIZE);
    EG_TRY(eg_alloc(2 * most + 1, sizeof **out, out));
    *n = 0;
    for (size_t i = 0; i < in->n_train; i++)
        for (int64_t k = 0; k < in->train[i].n * in->train[i].target_width; k += EG_BOX_SIZE) {
            eg_box b;
            memcpy(&b, in->train[i].target + k, sizeof b);
            if (b.label >= 0)
                (*out)[2 * *n] = b.w, (*out)[2 * (*n)++ + 1] = b.h;
        }
    return EG_OK;
}

/* Anchors by the training boxes, and as the network's option. */
static eg_status detection_fit(eg_aim *a, const eg_aiming *in)
{
    eg_region *r = &a->region;
    float *sizes;
    int64_t n;
    EG_TRY(detection_sizes(in, &sizes, &n));
    eg_status s = eg_boxes_shapes(sizes, n, r->anchors, r->anchor[0]);
    free(sizes);
    int used = snprintf(a->model, sizeof a->model, "anchors=[");
    for (int64_t i = 0; i < 2 * r->anchors; i++)
        used += snprintf(a->model + used, sizeof a->model - (size_t)used, "%s%.9g",
                         i ? ", " : "", r->anchor[i / 2][i % 2]);
    snprintf(a->model + used, sizeof a->model - (size_t)used, "]");
    return s;
}

static eg_status detection_settle(eg_aim *a, const eg_aiming *in)
{
    const eg_table *t = &in->train[0];
    eg_region *r = &a->region;
    if (!in->model->region)
        return eg_fail(EG_ENOTSUP,
                       "%s tells classes; boxes need a network that looks for them, as "
                       "tiny-yolo",
                       in->model->component.name);
    in->model->region(in->options, t->height, t->width, a->classes, r);
    if (r->rows < 1 || r->columns < 1)
        return eg_fail(EG_ESHAPE, "images of %lldx%lld are too small for %s",
                       (long long)t->height, (long long)t->width, in->model->component.name);
    a->outputs = r->anchors * (5 + r->classes) * r->rows * r->columns;
    return r->anchor[0][0] > 0 ? EG_OK : detection_fit(a, in);
}

/* Numbers `from` to `from + n` of every anchor and cell. */
static eg_node *detection_part(eg_graph *g, eg_node *x, int64_t from, int64_t n)
{
    return eg_slice(g, x, 2, from, n);
}

/* weight |x - truth|^2, summed for each row. */
static eg_node *detection_squares(eg_graph *g, eg_node *x, eg_node *truth, eg_node *weight)
{
    eg_node *gap = eg_sub(g, x, truth);
    return eg_sum(g, eg_mul(g, weight, eg_mul(g, gap, gap)),
                  EG_AXIS(1) | EG_AXIS(2) | EG_AXIS(3) | EG_AXIS(4));
}

/* The weighted cross entropies, summed for each row. scores, truth and weight [n, anchors, ..,
 * rows, columns] */
static eg_node *detection_kinds(const eg_region *r, eg_graph *g, eg_node *scores,
                                eg_node *truth, eg_node *weight)
{
    static const int last[] = {0, 1, 3, 4, 2};
    int64_t n = eg_node_shape(scores).dim[0], each = r->anchors * r->rows * r->columns;
    eg_node *rows = eg_reshape(g, eg_transpose(g, scores, last), eg_dims(n * each, r->classes));
    eg_node *kinds = eg_one_hot(g, eg_reshape(g, truth, eg_dims(n * each)), r->classes);
    eg_node *loss = eg_cross_entropies(g, rows, kinds);
    loss = eg_mul(g, eg_reshape(g, loss, eg_dims(n, each)),
                  eg_reshape(g, weight, eg_dims(n, each)));
    return eg_reshape(g, eg_sum(g, loss, EG_AXIS(1)), eg_dims(n));
}

static eg_node *detection_losses(const eg_aim *a, eg_graph *g, eg_node *outputs,
                                 eg_node *targets)
{
    enum { PLACE = 4, OVERLAP = 4, CLASS, OF_PLACE, OF_OBJECT, OF_CLASS }; /* of the truth */
    const eg_region *r = &a->region;
    eg_node *truth = eg_stop_gradient(g, eg_region_truth(g, outputs, targets, r));
    if (eg_graph_status(g) != EG_OK)
        return truth;
    int64_t n = eg_node_shape(outputs).dim[0];
    eg_node *x =
        eg_reshape(g, outputs, eg_dims(n, r->anchors, 5 + r->classes, r->rows, r->columns));
    eg_node *place = detection_part(g, truth, OF_PLACE, 1);
    eg_node *middle = detection_squares(g, eg_sigmoid(g, detection_part(g, x, 0, 2)),
                                        detection_part(g, truth, 0, 2), place);
    eg_node *size =
        detection_squares(g, detection_part(g, x, 2, 2), detection_part(g, truth, 2, 2), place);
    eg_node *object = detection_squares(g, eg_sigmoid(g, detection_part(g, x, PLACE, 1)),
                                        detection_part(g, truth, OVERLAP, 1),
                                        detection_part(g, truth, OF_OBJECT, 1));
    eg_node *kinds = detection_kinds(r, g, detection_part(g, x, 5, r->classes),
                                     detection_part(g, truth, CLASS, 1),
                                     detection_part(g, truth, OF_CLASS, 1));
    eg_node *boxes = eg_add(g, eg_add(g, middle, size), object);
    return eg_add(g, eg_reshape(g, boxes, eg_dims(n)), kinds);
}

static eg_node *detection_loss(const eg_aim *a, eg_graph *g, eg_node *outputs, eg_node *targets)
{
    eg_node *mean = eg_mean(g, detection_losses(a, g, outputs, targets), EG_ALL_AXES);
    return eg_reshape(g, mean, eg_scalar());
}

static void detection_move(const eg_aim *a, float *target, const eg_box_move *how)
{
    eg_boxes_move(target, a->width, how);
}

int64_t eg_region_found(const eg_region *r, const float *outputs, eg_found *found)
{
    int64_t cells = r->rows * r->columns, n = 0;
    for (int64_t i = 0; i < r->anchors * cells; i++) {
        int64_t anchor = i / cells, cell = i % cells;
        const float *t = outputs + anchor * (5 + r->classes) * cells + cell;
        double sure = 1 / (1 + eg_real_exp(-(double)t[4 * cells])), most = -INFINITY, sum = 0;
        if (!(sure > DETECTION_SURE))
            continue;
        for (int64_t k = 0; k < r->classes; k++)
            most = fmax(most, (double)t[(5 + k) * cells]);
        for (int64_t k = 0; k < r->classes; k++)
            sum += eg_real_exp((double)t[(5 + k) * cells] - most);
        int64_t row = cell / r->columns, column = cell % r->columns;
        eg_box b = {
            .x = (float)(((double)column + 1 / (1 + eg_real_exp(-(double)t[0]))) /
                         (double)r->columns),
            .y = (float)(((double)row + 1 / (1 + eg_real_exp(-(double)t[cells]))) /
                         (double)r->rows),
            .w = (float)(r->anchor[anchor][0] * eg_real_exp(fmin((double)t[2 * cells], 20))),
            .h = (float)(r->anchor[anchor][1] * eg_real_exp(fmin((double)t[3 * cells], 20)))};
        for (int64_t k = 0; k < r->classes; k++) {
            double score = sure * eg_real_exp((double)t[(5 + k) * cells] - most) / sum;
            b.label = (float)k;
            if (score > DETECTION_SURE)
                found[n++] = (eg_found){b, (float)score};
        }
    }
    return eg_boxes_suppress(found, n, DETECTION_MOST);
}

typedef struct detection_judge {
    const eg_aim *aim;
    eg_precision *precision;
    eg_found *found; /* [anchors, cells, classes] */
    bool tells;
    int64_t n, of; /* images so far, and in all */
    int64_t next;  /* of those that are shown */
    float *shown;  /* [n_shown]: image, class, x, y, w, h, score of each box */
    size_t n_shown, cap_shown;
} detection_judge;

enum { SHOWN_SIZE = 7 }; /* floats of a box that is shown */

static void detection_judge_free(void *judge)
{
    detection_judge *j = judge;
    if (!j)
        return;
    eg_precision_free(j->precision);
    free(j->found);
    free(j->shown);
    free(j);
}

static eg_status detection_judge_new(const eg_aim *a, int64_t n, bool tells, void **judge)
{
    const eg_region *r = &a->region;
    detection_judge *j;
    EG_TRY(eg_alloc(1, sizeof *j, &j));
    *judge = j;
    j->aim = a, j->of = n, j->tells = tells;
    EG_TRY(eg_precision_new(a->classes, &j->precision));
    return eg_alloc((size_t)(r->anchors * r->rows * r->columns * r->classes), sizeof *j->found,
                    &j->found);
}

/* Keeps what was found on an image to be shown. */
static eg_status detection_show(detection_judge *j, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < SHOWN_SIZE; k++) {
            size_t at = j->n_shown;
            EG_TRY(eg_grow(&j->shown, at, &j->cap_shown, sizeof *j->shown));
            const eg_box *b = &j->found[i].box;
            const float row[SHOWN_SIZE] = {(float)j->next, b->label,         b->x, b->y, b->w,
                                           b->h,           j->found[i].score};
            j->shown[j->n_shown++] = row[k];
        }
    j->next++;
    return EG_OK;
}

static eg_status detection_judge_add(void *judge, int64_t n, const float *outputs,
                                     const float *targets)
{
    detection_judge *j = judge;
    const eg_aim *a = j->aim;
    for (int64_t i = 0; i < n; i++, j->n++) {
        int64_t found = eg_region_found(&a->region, outputs + i * a->outputs, j->found);
        EG_TRY(
            eg_precision_add(j->precision, j->found, found, targets + i * a->width, a->width));
        if (j->tells && j->next < eg_shown_rows(j->of) && j->n == eg_shown_row(j->of, j->next))
            EG_TRY(detection_show(j, found));
    }
    return EG_OK;
}

static eg_status detection_judge_end(void *judge, eg_bundle *to)
{
    const detection_judge *j = judge;
    int64_t classes = j->aim->classes;
    double *by_class; /* [2, classes] */
    float *rates, *curve = NULL;
    EG_TRY(eg_bundle_room(to, "rates", eg_dims(2 * (1 + classes)), &rates));
    if (j->tells)
        EG_TRY(eg_bundle_room(to, "curve", eg_dims(classes, EG_RECALLS), &curve));
    if (j->n_shown)
        EG_TRY(eg_bundle_add(to, "found", eg_dims((int64_t)j->n_shown / SHOWN_SIZE, SHOWN_SIZE),
                             j->shown));
    EG_TRY(eg_alloc(2 * (size_t)classes, sizeof *by_class, &by_class));
    eg_precisions p = {.half = by_class, .each = by_class + classes, .curve = curve};
    eg_status s = eg_precision_get(j->precision, &p);
    rates[0] = (float)p.at_half, rates[1] = (float)p.mean;
    for (int64_t k = 0; k < 2 * classes; k++)
        rates[2 + k] = (float)by_class[k];
    free(by_class);
    return s;
}

static const char *const detection_rates[] = {"map_50", "map", NULL};

const eg_target eg_target_detection = {
    .component = {"detection", "boxes on each sample: YOLO's loss, mean average precision", 0,
                  NULL},
    .things = "boxes",
    .rates = detection_rates,
    .by_class = true,
    .settle = detection_settle,
    .loss = detection_loss,
    .losses = detection_losses,
    .move = detection_move,
    .judge_new = detection_judge_new,
    .judge_free = detection_judge_free,
    .judge_add = detection_judge_add,
    .judge_end = detection_judge_end,
};
