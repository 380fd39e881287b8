/* precision.c - average precision by the rules of COCO's evaluation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of every class of every image the surest 100 boxes are taken, in order of their scores. Each
 * takes, for each overlap that is asked for, the true box that it overlaps most among those
 * still free; where several do alike, the last. What then overlaps only a crowd does not count.
 * Over all images in order of scores, precision at recall r is the best precision at any recall
 * of r or more, read at r = 0, 0.01, ..., 1; their mean is the average precision.
 */
#include <engram/box.h>

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* A box that was found: by bits for each overlap, whether it is right, and whether it counts.
 */
typedef struct precision_item {
    float score;
    int32_t label;
    uint16_t right, counts;
} precision_item;

struct eg_precision {
    int64_t classes;
    size_t n, cap;
    precision_item *items; /* [n] */
    int64_t *truths;       /* [classes] */
};

eg_status eg_precision_new(int64_t classes, eg_precision **out)
{
    eg_precision *p;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *p, &p));
    p->classes = classes;
    eg_status s = eg_alloc((size_t)classes, sizeof *p->truths, &p->truths);
    if (s == EG_OK)
        *out = p;
    else
        eg_precision_free(p);
    return s;
}

void eg_precision_free(eg_precision *p)
{
    if (!p)
        return;
    free(p->items);
    free(p->truths);
    free(p);
}

/* The class of a true box, crowds included; -1: there is no box. */
static int64_t precision_class(const eg_box *b)
{
    return b->label <= EG_CROWD ? EG_CROWD - (int64_t)b->label : (int64_t)b->label;
}

/* True boxes of one class on one image. */
typedef struct precision_truth {
    int64_t n;
    eg_box box[EG_MAX_BOXES];
    uint16_t taken[EG_MAX_BOXES]; /* by bits for each overlap */
} precision_truth;

static void precision_collect(const float *target, int64_t width, int64_t class,
                              precision_truth *out)
{
    out->n = 0;
    for (int crowd = 0; crowd < 2; crowd++) /* crowds come last */
        for (int64_t i = 0; i + EG_BOX_SIZE <= width && out->n < EG_MAX_BOXES;
             i += EG_BOX_SIZE) {
            eg_box b;
            memcpy(&b, target + i, sizeof b);
            if (precision_class(&b) != class || (b.label <= EG_CROWD) != (crowd == 1))
                continue;
            out->taken[out->n] = 0;
            out->box[out->n++] = b;
        }
}

/* What a found box takes at overlap number k: the true box, or -1. */
static int64_t precision_take(const precision_truth *t, const eg_box *box, int k)
{
    double best = 0.5 + 0.05 * k;
    int64_t taken = -1;
    for (int64_t i = 0; i < t->n; i++) {
        bool crowd = t->box[i].label <= EG_CROWD;
        if (t->taken[i] >> k & 1 && !crowd)
            continue;
        if (taken >= 0 && crowd && t->box[taken].label > EG_CROWD)
            break; /* a true box goes before crowds */
        double overlap = eg_box_overlap(&t->box[i], box);
        if (overlap >= best)
            best = overlap, taken = i;
    }
    return taken;
}

static precision_item precision_judge(precision_truth *t, const eg_found *f)
{
    precision_item item = {.score = f->score, .label = (int32_t)f->box.label};
    for (int k = 0; k < EG_OVERLAPS; k++) {
        int64_t taken = precision_take(t, &f->box, k);
        bool crowd = taken >= 0 && t->box[taken].label <= EG_CROWD;
        if (taken >= 0)
            t->taken[taken] = (uint16_t)(t->taken[taken] | 1u << k);
        if (taken >= 0 && !crowd)
            item.right = (uint16_t)(item.right | 1u << k);
        if (!crowd)
            item.counts = (uint16_t)(item.counts | 1u << k);
    }
    return item;
}

static eg_status precision_add_class(eg_precision *p, int64_t class, const eg_found *found,
                                     int64_t n, const float *target, int64_t width)
{
    precision_truth truth;
    int64_t some = 0;
    precision_collect(target, width, class, &truth);
    for (int64_t i = 0; i < truth.n; i++)
        p->truths[class] += truth.box[i].label > EG_CROWD;
    for (int64_t i = 0; i < n && some < EG_MOST_FOUND; i++) {
        if ((int64_t)found[i].box.label != class)
            continue;
        EG_TRY(eg_grow(&p->items, p->n, &p->cap, sizeof *p->items));
        p->items[p->n++] = precision_judge(&truth, &found[i]);
        some++;
    }
    return EG_OK;
}

eg_status eg_precision_add(eg_precision *p, const eg_found *found, int64_t n,
                           const float *target, int64_t width)
{
    for (int64_t class = 0; class < p->classes; class ++)
        EG_TRY(precision_add_class(p, class, found, n, target, width));
    return EG_OK;
}

/* An item in its place, since equals keep their order. */
typedef struct precision_place {
    float score;
    uint32_t at;
} precision_place;

static int precision_compare(const void *a, const void *b)
{
    const precision_place *x = a, *y = b;
    if (x->score < y->score || x->score > y->score)
        return x->score < y->score ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

/* One class at one overlap: fills precision at each recall, and returns its mean. */
static double precision_curve(const eg_precision *p, const precision_place *order, size_t n,
                              int k, int64_t truths, double *best, float *curve)
{
    int64_t right = 0, wrong = 0, at = 0;
    size_t counted = 0;
    double sum = 0;
    int64_t *hits = (int64_t *)(best + n); /* right ones up to each place */
    for (size_t i = 0; i < n; i++) {
        const precision_item *item = &p->items[order[i].at];
        if (!(item->counts >> k & 1))
            continue;
        right += item->right >> k & 1, wrong += !(item->right >> k & 1);
        best[counted] = (double)right / (double)(right + wrong);
        hits[counted++] = right;
    }
    for (size_t i = counted; i-- > 1;)
        best[i - 1] = best[i] > best[i - 1] ? best[i] : best[i - 1];
    for (int r = 0; r < EG_RECALLS; r++) {
        double recall = (double)r * 0.01; /* as its program has them */
        while (at < (int64_t)counted && (double)hits[at] / (double)truths < recall)
            at++;
        double here = at < (int64_t)counted ? best[at] : 0;
        sum += here;
        if (curve)
            curve[r] = (float)here;
    }
    return sum / EG_RECALLS;
}

/* The places of a class's items, the surest first. */
static size_t precision_order(const eg_precision *p, int64_t class, precision_place *order)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].label == class)
            order[n++] = (precision_place){p->items[i].score, (uint32_t)i};
    qsort(order, n, sizeof *order, precision_compare);
    return n;
}

eg_status eg_precision_get(const eg_precision *p, eg_precisions *out)
{
    precision_place *order;
    double *scratch; /* [2, n] */
    int64_t counted = 0;
    out->at_half = out->mean = 0;
    EG_TRY(eg_alloc(p->n + 1, sizeof *order, &order));
    eg_status s = eg_alloc(2 * p->n + 1, sizeof *scratch, &scratch);
    for (int64_t c = 0; c < p->classes && s == EG_OK; c++) {
        float *curve = out->curve ? out->curve + c * EG_RECALLS : NULL;
        double half = -1, mean = 0;
        size_t n = precision_order(p, c, order);
        for (int k = 0; k < EG_OVERLAPS && p->truths[c] > 0; k++) {
            double one =
                precision_curve(p, order, n, k, p->truths[c], scratch, k == 0 ? curve : NULL);
            half = k == 0 ? one : half;
            mean += one / EG_OVERLAPS;
        }
        counted += p->truths[c] > 0;
        out->at_half += half >= 0 ? half : 0, out->mean += mean;
        if (out->half)
            out->half[c] = half;
        if (out->each)
            out->each[c] = half >= 0 ? mean : -1;
        for (int r = 0; r < EG_RECALLS && curve && half < 0; r++)
            curve[r] = -1;
    }
    if (counted)
        out->at_half /= (double)counted, out->mean /= (double)counted;
    if (s == EG_OK)
        free(scratch);
    free(order);
    return s;
}
