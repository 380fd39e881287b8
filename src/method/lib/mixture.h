/* mixture.h - a network whose weights are a weighted sum of others', and the weights of the sum
 * that suit some rows best.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All w are alike at first. What is moved is w itself, brought back to the nearest point of the
 * simplex after each step, or a in w = softmax(a). The mixed network is sum_u w_u theta_u;
 * batch norm's statistics are mixed alike, used as they are (eval form), and constant in the
 * gradient: dL/dw_u = <dL/dtheta, theta_u>.
 */
#ifndef EG_MIXTURE_H
#define EG_MIXTURE_H

#include <engram/network.h>

typedef struct eg_mixture {
    const eg_net *net;
    int64_t n;                  /* networks */
    const float *const *params; /* [n][n_params] */
    const float *const *states; /* [n][n_state] */
    size_t n_params, n_state;
} eg_mixture;

/* How w is found: stochastic gradient descent. */
enum { EG_MIXTURE_SIMPLEX, EG_MIXTURE_SOFTMAX };
typedef struct eg_mixture_opts {
    int64_t epochs, batch;
    double lr, momentum, decay;
    int moves; /* w itself, or a */
} eg_mixture_opts;

/* param [n_params] and state [n_state] of the mixture with weights w [n]. */
void eg_mixture_take(const eg_mixture *m, const double *w, float *param, float *state);

/* The rows' mean cross entropy at weights w [n], and its gradient by them, dw [n]; both may be
 * NULL. state: NULL, or statistics to use in place of the mixed ones. labels [n] are outputs.
 */
eg_status eg_mixture_loss(const eg_mixture *m, eg_worker *on, const double *w,
                          const eg_rows *rows, const float *state, double *loss, double *dw);

/* Trains the weights w [n] on rows. *finite: they are; if not, w are all alike. */
eg_status eg_mixture_fit(const eg_mixture *m, eg_worker *on, const eg_mixture_opts *o,
                         const eg_rows *rows, eg_rng *rng, double *w, bool *finite);

#endif
