/* score.h - what a network that has learned the real images makes of drawings.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_SCORE_H
#define EG_CLI_SCORE_H

#include "drawing.h"

typedef struct score_judge score_judge;

/* A cnn-small trained on the images of a source (all classes), and tested: *accuracy. */
eg_status score_judge_new(const drawing_source *source, score_judge **out, double *accuracy);
void score_judge_free(score_judge *j);             /* NULL is fine */
int64_t score_judge_classes(const score_judge *j); /* of the real images */

/* Of drawings x [n, c, h, w] of one class: how many it takes for that class; the Frechet
 * distance, in what its head sees, to the real training images of the class; and for
 * comparison that of as many real test images. */
typedef struct score {
    double agreement, distance, real;
} score;
eg_status score_drawings(score_judge *j, const float *x, int64_t n, int64_t label, score *out);

#endif
