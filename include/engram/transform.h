/* engram/transform.h - from rows of a table to a batch of floats.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A recipe says what a task does to its images. It is made once and never changes; any number
 * of threads may fill batches with it. Order: rotation, permutation, crop, flip, scaling and
 * normalisation, cutout, four rotations.
 */
#ifndef EG_TRANSFORM_H
#define EG_TRANSFORM_H

#include <engram/box.h>
#include <engram/data.h>
#include <engram/rng.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define EG_MAX_NORM 16 /* channels that can be normalised each by its own mean */

/* What to do; a zeroed struct only scales bytes to [0, 1]. */
typedef struct eg_transform {
    double angle;               /* rotation in degrees, counter-clockwise */
    const int32_t *permutation; /* [h w]: where each output pixel comes from; NULL: none */
    int64_t pad;                /* random crop: zeros added around, then cut back; 0: none */
    bool flip;                  /* left to right, with probability 1/2 */
    int64_t n_norm;             /* channels given below; 1: the same for all; 0: none */
    double mean[EG_MAX_NORM], std[EG_MAX_NORM];
    const double *means, *stds; /* [channels] in place of these, for any number; or NULL */
    bool normalised;     /* samples, all floats, have been: only what padding becomes follows */
    int64_t cutout;      /* side of a square of zeros at a random place, clipped; 0: none */
    bool four_rotations; /* each sample becomes four, turned by 0, 90, 180 and 270 degrees
                            counter-clockwise, with labels 4 y + 0 .. 4 y + 3 */
} eg_transform;

typedef struct eg_recipe eg_recipe;

/* Prepares a transform for samples of t's shape; nothing of how or t is kept. EG_EINVAL names
 * what does not fit. */
eg_status eg_recipe_new(const eg_transform *how, const eg_table *t, eg_recipe **out);
void eg_recipe_free(eg_recipe *r);

/* Samples that come out for each one that goes in: 1, or 4 with four_rotations. */
int64_t eg_recipe_fan(const eg_recipe *r);

/* True when filling draws random numbers. */
bool eg_recipe_is_random(const eg_recipe *r);

/* Fills x [n fan, c, h, w] with the samples rows[0 .. n-1] of t. rng may be NULL when nothing
 * is random. For each sample in order are drawn, if asked for: crop row and column, below(2 pad
 * + 1) each; flip, below(2); cutout's centre row and column, below(h) and below(w). */
void eg_recipe_fill(const eg_recipe *r, const eg_table *t, const int64_t *rows, size_t n,
                    eg_rng *rng, float *x);

/* How the crop and the flip of the next sample filled with rng move what is on it. Nothing is
 * drawn from rng. */
eg_box_move eg_recipe_next(const eg_recipe *r, const eg_rng *rng);

/* Where each pixel of a rotated image comes from: map[i] is an input pixel, or -1 for zero.
 * Nearest neighbour about the centre of a height x width image; angles that are multiples of 90
 * move pixels exactly (90 and 270 only when the image is square). */
void eg_rotation_map(int64_t height, int64_t width, double degrees, int32_t *map);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
