/* engram/privacy.h - what differential privacy costs: epsilon, by Renyi's divergence.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two runs are neighbours if one has one client more. What is spent is a bound of Renyi's
 * divergence at the orders 2 to 256, to which every mechanism adds its own; an epsilon for a
 * delta follows from it (Mironov, Talwar, Zhang, 2019, arXiv:1908.10530; Canonne, Kamath,
 * Steinke, 2020, arXiv:2004.00010). All are pure functions that any thread may call.
 */
#ifndef EG_PRIVACY_H
#define EG_PRIVACY_H

#include <engram/base.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum { EG_DP_MIN_ORDER = 2, EG_DP_MAX_ORDER = 256 };

/* Zeros: nothing is spent. */
typedef struct eg_dp_spent {
    double rdp[EG_DP_MAX_ORDER + 1]; /* by order; those below the first are not used */
} eg_dp_spent;

/* Adds `rounds` releases of a sum with normal noise of sigma times the most that one client can
 * change it, to which each client contributed with probability q. */
void eg_dp_spend(eg_dp_spent *s, double q, double sigma, double rounds);

/* Adds a release whose noise stands against `squared` as the square of what one client can
 * change in all: a tree of sums, say. */
void eg_dp_spend_gaussian(eg_dp_spent *s, double squared, double sigma);

/* The least epsilon over the orders, at least 0; *order: at which (may be NULL). */
double eg_dp_epsilon(const eg_dp_spent *s, double delta, int *order);

/* Of `rounds` alike. */
double eg_dp_epsilon_of(double q, double sigma, double rounds, double delta);

/* The smallest sigma, to six digits, whose epsilon is not above the one wanted. EG_EINVAL: an
 * argument is out of range; ENOTSUP: no sigma up to a million gives so little. */
eg_status eg_dp_sigma_for(double q, double epsilon, double rounds, double delta, double *out);

/* A tree of sums over `rounds` leaves (Kairouz et al., 2021, arXiv:2103.00039): the most that
 * the squares of one client's shares in its nodes can add up to, in squares of one
 * contribution, if between two of its contributions lie at least `separation` rounds. */
double eg_dp_tree_squared(int64_t rounds, int64_t separation);

/* EG_EINVAL, with one sentence: q is not above 0 and up to 1, sigma not above 0, delta not
 * between 0 and 1, rounds not from 1 on. */
eg_status eg_dp_check(double q, double sigma, double rounds, double delta);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
