/* hide.h - a client's answers where the server learns sums alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_HIDE_H
#define EG_HIDE_H

#include "run/client/worker.h"

/* A step of the exchange that is not its third; the
 * third, once the answer is there: its vector takes the answer's place. What is wrong with the
 * client's own answer, or with what the server says, is an answer, too: why it takes no part.
 */
#define EG_HIDDEN_N       "secure.n"       /* how many are asked for the sum */
#define EG_HIDDEN_STEP    "secure.step"    /* eg_secure_step; there is none: no masks */
#define EG_HIDDEN_CLIP    "dp.clip"        /* the longest change */
#define EG_HIDDEN_MESSAGE "secure.message" /* bytes, both ways */
#define EG_HIDDEN_SUM     "secure.sum"     /* the vector */
#define EG_HIDDEN_REFUSED "secure.refused" /* a sentence */
bool eg_worker_is_step(const eg_turn *turn);
eg_status eg_worker_step(eg_worker *w, const eg_turn *turn, eg_reply *out);
eg_status eg_worker_hide(eg_worker *w);
/* What both sides call the run in their signatures. */
void eg_hidden_run(const char *sha256, uint64_t seed, unsigned char out[32]);
/* The form of what is summed in an exchange of n clients; sums is to be freed after it. */
struct eg_hidden;
typedef struct eg_summed {
    size_t exchange, n;
    double clip; /* under differential privacy */
} eg_summed;
eg_status eg_hidden_of_run(const eg_experiment *e, const eg_scenario *s, const eg_agreement *a,
                           const eg_net *net, const eg_summed *what, struct eg_hidden *out,
                           eg_bundle **sums);

#endif
