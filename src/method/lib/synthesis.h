/* synthesis.h - drawings that a model is sure of, with its outputs for them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What TARGET's and LANDER's servers do when a period ends. Each round takes one batch of noise
 * and of labels of classes met, and lets the generator take `steps` steps of Adam along
 *   statistics * gap + sure * CE(t(x), y) - contrast * mean(agree KL(t(x) || s(x))) + pull,
 * t the model in eval form over the classes met, gap that of its batch norms (EG_GAP_NORMS), s
 * a student, which counts once `warmup` rounds are over, agree 1 where both have one answer.
 * The batch as drawn at the step with the least loss is kept. Then the student takes `lessons`
 * steps of SGD along KL(t(x) / T || s(x) / T) on batches of all that was kept so far.
 */
#ifndef EG_SYNTHESIS_H
#define EG_SYNTHESIS_H

#include "method/lib/data_free.h"

/* What LANDER adds: anchors [classes, d] of labels, which noise is made of and the second
 * head's outputs a(x) are pulled to: anchor * max(0, mean (a(x) - e_y)^2 - bound). NULL:
 * nothing. */
typedef struct eg_anchors {
    const float *values;
    int64_t d;
} eg_anchors;

/* The work hook but for the anchors: fills the legacy with "<part>.drawn.x" [n, pixels],
 * "told" [n, classes], the model's outputs for them, "open" [classes], the classes met, and
 * with anchors "side" [n, d], the second head's outputs; and with "<part>.loss". */
eg_status eg_synthesis(const void *options, const eg_piece *piece, const eg_anchors *anchors,
                       eg_bundle *to);

/* Records the loss of n drawings: for synthesis, and for tests. Inputs "noise", "labels",
 * "open" [1, classes], "contrast" and with anchors "anchors" [n, d]; outputs "images", "told",
 * "side", "loss". */
typedef struct eg_synthesis_step {
    const eg_data_free *is;
    const struct eg_drawer *drawer;
    const eg_net *model, *student;
    int64_t anchors; /* d of anchors; 0: none */
} eg_synthesis_step;
void eg_synthesis_record(void *context, eg_graph *g, int64_t n);

#endif
