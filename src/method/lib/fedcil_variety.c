/* fedcil_variety.c - whether a client's generator still draws different images of a class.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/fedcil.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VARIETY_LOOK = 256, VARIETY_ROWS = 32, VARIETY_DRAW = 15 }; /* the last: its stream */

/* Images of one class that differ by less than this share of what real ones do are all alike.
 */
static const double variety_least = 0.05;

/* The standard deviation of n images, over all pixels: x [n, pixels]. */
static double variety_of(const float *x, int64_t n, int64_t pixels)
{
    double sum = 0;
    for (int64_t p = 0; p < pixels; p++) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            mean += (double)x[i * pixels + p] / (double)n;
        for (int64_t i = 0; i < n; i++)
            squares += (x[i * pixels + p] - mean) * (x[i * pixels + p] - mean);
        sum += squares / (double)n;
    }
    return sqrt(sum / (double)pixels);
}

/* Moves the images of a class to the front of `to`: as many as there are, up to VARIETY_ROWS.
 */
static int64_t variety_pick(const float *x, const float *labels, int64_t n, float label,
                            int64_t pixels, float *to)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n && found < VARIETY_ROWS; i++)
        if (labels[i] == label)
            memcpy(to + found++ * pixels, x + i * pixels, (size_t)pixels * sizeof *x);
    return found;
}

/* Whether drawings of a class are all alike, beside n real rows of all classes. */
static eg_status variety_judge(const eg_fedcil_client *f, eg_client *c, float label,
                               const float *x, const float *labels, int64_t n, float *scratch,
                               bool *alike)
{
    int64_t pixels = f->own->pixels, n_real;
    float same[VARIETY_ROWS];
    eg_rng rng = eg_client_stream(c, VARIETY_DRAW);
    *alike = false;
    n_real = variety_pick(x, labels, n, label, pixels, scratch);
    if (n_real < 2)
        return EG_OK;
    double real = variety_of(scratch, n_real, pixels);
    for (int i = 0; i < VARIETY_ROWS; i++)
        same[i] = label;
    EG_TRY(eg_generator_draw(f->own, same, VARIETY_ROWS, &rng, scratch));
    *alike = variety_of(scratch, VARIETY_ROWS, pixels) < variety_least * real;
    return EG_OK;
}

/* Some of the round's samples as they are; returns how many. */
static int64_t variety_feed(eg_client *c, int64_t pixels, float *x, float *labels)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->n_samples && n < VARIETY_LOOK; i++)
        if (c->samples[i].task >= 0) { /* not a row that another part made */
            eg_client_feed(c, &c->samples[i], 1, x + n * pixels, labels + n);
            n++;
        }
    return n;
}

eg_status eg_fedcil_note_alike(const eg_fedcil_client *f, eg_client *c)
{
    int64_t pixels = f->own->pixels, n_alike = 0;
    float labels[VARIETY_LOOK], *x, *scratch;
    EG_TRY(eg_alloc((size_t)((VARIETY_LOOK + VARIETY_ROWS) * pixels), sizeof *x, &x));
    scratch = x + VARIETY_LOOK * pixels;
    int64_t n = variety_feed(c, pixels, x, labels);
    eg_status s = EG_OK;
    for (int64_t k = 0; k < f->now.n && s == EG_OK; k++) {
        bool alike;
        s = variety_judge(f, c, f->now.list[k], x, labels, n, scratch, &alike);
        n_alike += s == EG_OK && alike;
    }
    free(x);
    if (s == EG_OK && n_alike > 0)
        s = eg_client_note(c, "classes drawn all alike", (double)n_alike);
    return s;
}
