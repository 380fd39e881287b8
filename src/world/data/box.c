/* box.c - boxes overlap, move with their image, are suppressed, and have typical shapes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/box.h>

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Length that two intervals have in common. */
static double box_common(double a, double a_size, double b, double b_size)
{
    double from = fmax(a - a_size / 2, b - b_size / 2);
    double to = fmin(a + a_size / 2, b + b_size / 2);
    return to > from ? to - from : 0;
}

double eg_box_overlap(const eg_box *a, const eg_box *b)
{
    double w = box_common((double)a->x, (double)a->w, (double)b->x, (double)b->w);
    double h = box_common((double)a->y, (double)a->h, (double)b->y, (double)b->h);
    double of_a = (double)a->w * (double)a->h, of_b = (double)b->w * (double)b->h;
    double all = a->label <= EG_CROWD   ? of_b
                 : b->label <= EG_CROWD ? of_a
                                        : of_a + of_b - w * h;
    return all > 0 ? w * h / all : 0;
}

/* The part of an interval within [0, 1]; false if its middle is outside. */
static bool box_clip(float *middle, float *size)
{
    double from = fmax(0, (double)*middle - (double)*size / 2);
    double to = fmin(1, (double)*middle + (double)*size / 2);
    bool inside = *middle >= 0 && *middle < 1 && to > from;
    *middle = (float)((from + to) / 2);
    *size = (float)(to - from);
    return inside;
}

void eg_boxes_move(float *target, int64_t width, const eg_box_move *how)
{
    int64_t kept = 0;
    for (int64_t i = 0; i + EG_BOX_SIZE <= width; i += EG_BOX_SIZE) {
        eg_box b;
        memcpy(&b, target + i, sizeof b);
        if (b.label == EG_NO_BOX)
            continue;
        b.x -= (float)how->left, b.y -= (float)how->top;
        bool there = box_clip(&b.x, &b.w), level = box_clip(&b.y, &b.h);
        b.x = how->flip ? 1 - b.x : b.x;
        if (!there || !level)
            continue;
        memcpy(target + kept, &b, sizeof b);
        kept += EG_BOX_SIZE;
    }
    for (int64_t i = kept; i + EG_BOX_SIZE <= width; i += EG_BOX_SIZE)
        memcpy(target + i, &(eg_box){.label = EG_NO_BOX}, sizeof(eg_box));
}

/* Puts the surest in front, the earlier of equals first: insertion, since lists are short and
 * mostly in order of cells. */
static void box_sort(eg_found *found, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        eg_found one = found[i];
        int64_t k = i;
        for (; k > 0 && found[k - 1].score < one.score; k--)
            found[k] = found[k - 1];
        found[k] = one;
    }
}

int64_t eg_boxes_suppress(eg_found *found, int64_t n, double most)
{
    int64_t kept = 0;
    box_sort(found, n);
    for (int64_t i = 0; i < n; i++) {
        bool free = true;
        int64_t same = 0;
        for (int64_t k = 0; k < kept && free; k++)
            if ((int64_t)found[k].box.label == (int64_t)found[i].box.label)
                free = ++same < EG_MOST_FOUND &&
                       eg_box_overlap(&found[k].box, &found[i].box) <= most;
        if (free)
            found[kept++] = found[i];
    }
    return kept;
}

static int box_compare(const void *a, const void *b)
{
    const float *x = a, *y = b;
    float of_x = x[0] * x[1], of_y = y[0] * y[1];
    if (of_x < of_y || of_x > of_y)
        return of_x > of_y ? 1 : -1;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* The overlap of two sizes with one centre. */
static double box_alike(const float *size, const double *shape)
{
    double common = fmin((double)size[0], shape[0]) * fmin((double)size[1], shape[1]);
    return common / ((double)size[0] * (double)size[1] + shape[0] * shape[1] - common + 1e-300);
}

static int64_t box_nearest(const float *size, const double *shapes, int64_t n)
{
    int64_t best = 0;
    for (int64_t k = 1; k < n; k++)
        if (box_alike(size, shapes + 2 * k) > box_alike(size, shapes + 2 * best))
            best = k;
    return best;
}

/* One pass of k-means; whether a size changed its shape. sums: [n, 3] */
static bool box_pass(const float *sizes, int64_t n_sizes, int64_t n, double *shapes,
                     int32_t *of, double *sums)
{
    bool moved = false;
    memset(sums, 0, (size_t)(3 * n) * sizeof *sums);
    for (int64_t i = 0; i < n_sizes; i++) {
        int32_t k = (int32_t)box_nearest(sizes + 2 * i, shapes, n);
        moved |= of[i] != k;
        of[i] = k;
        sums[3 * k] += (double)sizes[2 * i];
        sums[3 * k + 1] += (double)sizes[2 * i + 1];
        sums[3 * k + 2]++;
    }
    for (int64_t k = 0; k < n; k++)
        for (int j = 0; j < 2 && sums[3 * k + 2] > 0; j++)
            shapes[2 * k + j] = sums[3 * k + j] / sums[3 * k + 2];
    return moved;
}

static int box_compare_shapes(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (x[0] * x[1] > y[0] * y[1]) - (x[0] * x[1] < y[0] * y[1]);
}

eg_status eg_boxes_shapes(const float *sizes, int64_t n_sizes, int64_t n, double *shapes)
{
    enum { PASSES = 300 };
    float *sorted;
    int32_t *of;
    int64_t different = 0;
    EG_TRY(eg_alloc((size_t)(2 * n_sizes) + (size_t)(6 * n) + 2, sizeof *sorted, &sorted));
    eg_status s = eg_alloc((size_t)n_sizes + 1, sizeof *of, &of);
    if (s != EG_OK) {
        free(sorted);
        return s;
    }
    if (n_sizes)
        memcpy(sorted, sizes, (size_t)(2 * n_sizes) * sizeof *sorted);
    qsort(sorted, (size_t)n_sizes, 2 * sizeof *sorted, box_compare);
    for (int64_t i = 0; i < n_sizes; i++) /* each different size once, in its place */
        if (different == 0 || box_compare(sorted + 2 * (different - 1), sorted + 2 * i))
            memmove(sorted + 2 * different++, sorted + 2 * i, 2 * sizeof *sorted);
    if (different < n)
        s = eg_fail(EG_EINVAL, "%lld boxes of different sizes are too few for %lld anchors",
                    (long long)different, (long long)n);
    for (int64_t k = 0; k < 2 * n && s == EG_OK; k++)
        shapes[k] = (double)sorted[2 * ((2 * (k / 2) + 1) * different / (2 * n)) + k % 2];
    double sums[3 * EG_MAX_BOXES];
    EG_ASSERT(n <= EG_MAX_BOXES);
    for (int64_t i = 0; i < n_sizes; i++)
        of[i] = -1;
    for (int i = 0; i < PASSES && s == EG_OK; i++)
        if (!box_pass(sizes, n_sizes, n, shapes, of, sums))
            break;
    if (s == EG_OK)
        qsort(shapes, (size_t)n, 2 * sizeof *shapes, box_compare_shapes);
    free(of);
    free(sorted);
    return s;
}
