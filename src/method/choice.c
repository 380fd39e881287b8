/* choice.c - ranks, reservoirs and herding over sample numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/choice.h"

#include "base/base.h"
#include "engine/graph/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct choice_rank {
    double score;
    int64_t at;
} choice_rank;

static int choice_compare(const void *a, const void *b)
{
    const choice_rank *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

eg_status eg_choose_highest(const double *scores, int64_t n, int64_t *order)
{
    choice_rank *ranks;
    EG_TRY(eg_alloc((size_t)n, sizeof *ranks, &ranks));
    for (int64_t i = 0; i < n; i++)
        ranks[i] = (choice_rank){scores[i], i};
    if (n > 0)
        qsort(ranks, (size_t)n, sizeof *ranks, choice_compare);
    for (int64_t i = 0; i < n; i++)
        order[i] = ranks[i].at;
    free(ranks);
    return EG_OK;
}

void eg_choose_random(eg_rng *rng, int64_t n, int64_t *order)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    eg_rng_shuffle(rng, (size_t)n, order);
}

int64_t eg_choose_reservoir(eg_rng *rng, int64_t kept, int64_t seen, int64_t n, int64_t room,
                            int64_t *order)
{
    int64_t first = kept;
    eg_choose_random(rng, kept, order);
    kept = kept < room ? kept : room;
    for (int64_t i = first; i < n; i++) {
        seen++;
        int64_t slot = kept < room ? kept++ : (int64_t)eg_rng_below(rng, (uint64_t)seen);
        if (slot < room)
            order[slot] = i;
    }
    /* Early samples sit in early slots: shuffled, any beginning is a fair choice too. */
    eg_rng_shuffle(rng, (size_t)kept, order);
    return kept;
}

/* One class: its members, those chosen moved to the front, and what herding sums. */
typedef struct choice_class {
    float label;
    int64_t n, chosen;
    int64_t *members; /* [n] */
    float *mean;      /* [d], of all members */
    float *miss;      /* [d]: the sum of those chosen, less k means when choosing number k */
} choice_class;

typedef struct choice_herd {
    int64_t n, d, n_classes;
    float *features;       /* [n, d], of length 1 */
    int64_t *members;      /* [n], class by class */
    float *sums;           /* [n_classes, 2, d] */
    choice_class *classes; /* [n_classes], by rising label */
} choice_herd;

/* Divides every row by its length; a row of zeros stays. */
static void choice_normalize(float *features, int64_t n, int64_t d)
{
    for (int64_t i = 0; i < n; i++) {
        float *row = features + i * d;
        double square;
        eg_kernels_get()->dot(&square, row, row, (size_t)d);
        for (int64_t j = 0; j < d && square > 0; j++)
            row[j] = (float)((double)row[j] / sqrt(square));
    }
}

/* Sorts the samples into classes; ranks' score is the label turned round, to rise. */
static eg_status choice_sort(choice_herd *h, const float *labels)
{
    double *scores;
    EG_TRY(eg_alloc((size_t)h->n, sizeof *scores, &scores));
    for (int64_t i = 0; i < h->n; i++)
        scores[i] = -(double)labels[i];
    eg_status s = eg_choose_highest(scores, h->n, h->members);
    free(scores);
    for (int64_t i = 0; i < h->n && s == EG_OK; i++) {
        float label = labels[h->members[i]];
        if (h->n_classes == 0 || h->classes[h->n_classes - 1].label != label)
            h->classes[h->n_classes++] =
                (choice_class){.label = label, .members = h->members + i};
        h->classes[h->n_classes - 1].n++;
    }
    return s;
}

static eg_status choice_open(choice_herd *h, const float *labels)
{
    EG_TRY(eg_alloc((size_t)h->n, sizeof *h->members, &h->members));
    EG_TRY(eg_alloc((size_t)h->n, sizeof *h->classes, &h->classes));
    EG_TRY(choice_sort(h, labels));
    EG_TRY(eg_alloc((size_t)(h->n_classes * 2 * h->d), sizeof *h->sums, &h->sums));
    for (int64_t k = 0; k < h->n_classes; k++) {
        choice_class *c = &h->classes[k];
        c->mean = h->sums + 2 * k * h->d;
        c->miss = c->mean + h->d;
        for (int64_t i = 0; i < c->n; i++)
            eg_kernels_get()->axpy(c->mean, 1 / (float)c->n, h->features + c->members[i] * h->d,
                                   (size_t)h->d);
    }
    return EG_OK;
}

/* The next of a class. With sum S of those chosen, number k and mean m, the distance
 * |m - (S + f) / k|^2 is least where |f|^2 + 2 f.(S - k m) is. */
static int64_t choice_next(const choice_herd *h, choice_class *c)
{
    size_t d = (size_t)h->d;
    double best = INFINITY;
    int64_t at = c->chosen;
    eg_kernels_get()->axpy(c->miss, -1, c->mean, d);
    for (int64_t i = c->chosen; i < c->n; i++) {
        const float *f = h->features + c->members[i] * h->d;
        double square, cross;
        eg_kernels_get()->dot(&square, f, f, d);
        eg_kernels_get()->dot(&cross, f, c->miss, d);
        if (square + 2 * cross < best)
            best = square + 2 * cross, at = i;
    }
    int64_t taken = c->members[at];
    eg_kernels_get()->axpy(c->miss, 1, h->features + taken * h->d, d);
    c->members[at] = c->members[c->chosen];
    c->members[c->chosen++] = taken;
    return taken;
}

eg_status eg_choose_herding(float *features, const float *labels, int64_t n, int64_t d,
                            int64_t room, int64_t *order)
{
    choice_herd h = {.n = n, .d = d, .features = features};
    int64_t got = 0;
    room = room < n ? room : n;
    choice_normalize(features, n, d);
    eg_status s = choice_open(&h, labels);
    while (s == EG_OK && got < room)
        for (int64_t k = 0; k < h.n_classes && got < room; k++)
            if (h.classes[k].chosen < h.classes[k].n)
                order[got++] = choice_next(&h, &h.classes[k]);
    free(h.members);
    free(h.classes);
    free(h.sums);
    return s;
}
