/* lbfgs.h - L-BFGS (Liu and Nocedal, 1989) with a fixed step size, by PyTorch's rule.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_LBFGS_H
#define EG_LBFGS_H

#include <engram/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EG_LBFGS_HISTORY = 100 };

typedef struct eg_lbfgs {
    size_t n;
    int64_t steps, pairs; /* pairs of differences there are, at most EG_LBFGS_HISTORY */
    double *s, *y;        /* [EG_LBFGS_HISTORY, n]: of x and of gradients, the oldest first */
    double *rho;          /* [EG_LBFGS_HISTORY] */
    double *last, *d;     /* [n]: the last gradient and direction */
    double scale, length; /* of the first Hessian; of the last step */
} eg_lbfgs;

/* Zeroed bytes may be given to fini. */
eg_status eg_lbfgs_init(eg_lbfgs *l, size_t n);
void eg_lbfgs_fini(eg_lbfgs *l);

/* One step of x [n] from where its gradient is g [n]. The first goes min(1, 1 / |g|_1) lr along
 * -g, later ones lr along the quasi-Newton direction. False: the direction no longer leads down
 * or moves nothing, so x stays. */
bool eg_lbfgs_step(eg_lbfgs *l, float *x, const float *g, double lr);

#endif
