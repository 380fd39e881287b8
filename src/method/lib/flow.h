/* flow.h - a conditional normalising flow: rows of features from noise, and back.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Four times a fixed permutation (twice the reverse, twice a random one) and an affine coupling
 * (Dinh et al., 2017): of the permuted row (a, b) the first half stays and b becomes
 * s(a, y) b + t(a, y), s = sigmoid(u + 2) + 0.001. Shift and scale come from a network: a, and
 * the label's one-hot row, into `hidden` units, two blocks h + L(l(L(l(h)))) sigmoid(G y), l a
 * leaky relu of 0.01, and out. What comes out of the last is standard normal noise.
 */
#ifndef EG_FLOW_H
#define EG_FLOW_H

#include <engram/learner.h>
#include <engram/program.h>

typedef struct eg_flow {
    int64_t d, classes, hidden;
    eg_params *table;
    eg_learner *own;
    float *order; /* [2, 3, d]: where columns come from: reversed, by two random permutations;
                     then the way back */
    eg_program *step, *codes, *draws;
} eg_flow;

/* With weights of zero. Zeroed bytes may be closed. d is at least 2. */
eg_status eg_flow_open(eg_flow *f, int64_t d, int64_t classes, int64_t hidden);
void eg_flow_close(eg_flow *f);

/* Records codes [n, d] of rows x [n, d] with labels as one-hot rows y [n, classes], and the
 * logarithm of the determinant [n, 1]. */
eg_node *eg_flow_codes(const eg_flow *f, eg_graph *g, eg_node *x, eg_node *y,
                       eg_node **log_det);

/* One step of its optimiser along the mean of -log p(x | y) of n rows, plus share times that of
 * m further rows (0: none). *loss may be NULL. A step that is not finite is not taken. */
typedef struct eg_flow_rows {
    int64_t n;
    const float *x, *labels; /* [n, d], [n] */
} eg_flow_rows;
eg_status eg_flow_learn(eg_flow *f, const eg_flow_rows *rows, const eg_flow_rows *more,
                        double share, double *loss);

/* The codes [n, d] of rows, and log p(x | y) [n]. */
eg_status eg_flow_look(eg_flow *f, const eg_flow_rows *rows, float *codes, float *logs);

/* Rows x [n, d] of noise [n, d] and labels [n]. */
eg_status eg_flow_draw(eg_flow *f, int64_t n, const float *noise, const float *labels,
                       float *x);

#endif
