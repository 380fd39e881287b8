/* dark.h - dark experience replay: what DER and DER++ share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loss gains alpha times the mean squared error, over rows and classes, between the
 * network's logits for rows of the memory and the logits they were stored with; with beta, also
 * beta times the cross entropy of a second, independent draw with its labels. Each draw has a
 * forward pass of its own, so that batch norm sees the batch, then each draw, by itself. A
 * factor of 0 is no term at all, nor is there one while the memory is empty.
 */
#ifndef EG_DARK_H
#define EG_DARK_H

#include <engram/method.h>

typedef struct eg_dark {
    double alpha, beta;
    int64_t batch;
} eg_dark;

/* What tells two parts apart: their inputs in the graph, and where in a step's stream of
 * EG_FOR_REPLAY they draw, so that no two parts draw the same rows. */
typedef struct eg_dark_names {
    const char *x, *logits;        /* of the draw that keeps its logits */
    const char *second_x, *labels; /* of the draw with labels; NULL: there is none */
    uint64_t block, second_block;  /* first blocks; batch s begins s << 32 after them */
} eg_dark_names;

/* The hooks of these names. */
int64_t eg_dark_aside(void *self, eg_client *c);
eg_node *eg_dark_loss(const eg_dark *d, const eg_dark_names *names, eg_client *c, eg_graph *g,
                      eg_node *loss);
eg_status eg_dark_fill(const eg_dark *d, const eg_dark_names *names, eg_client *c);

#endif
