/* choice.h - which of many samples to keep: ranks, reservoirs, herding.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every function writes sample numbers, the most wanted first, so that a smaller room later
 * needs only the beginning.
 */
#ifndef EG_CHOICE_H
#define EG_CHOICE_H

#include <engram/rng.h>

/* Fills order [n] with 0 .. n-1 by falling score; equal scores keep their order. */
eg_status eg_choose_highest(const double *scores, int64_t n, int64_t *order);

/* Fills order [n] with 0 .. n-1 shuffled. */
void eg_choose_random(eg_rng *rng, int64_t n, int64_t *order);

/* A reservoir for `room` samples (Vitter's algorithm R): samples 0 .. kept-1 are in it, after
 * `seen` were offered, and kept .. n-1 are offered now. When the room has shrunk it loses
 * samples at random first; when it has grown the new ones fill it. Fills order [n] and returns
 * how many of it are in the reservoir. */
int64_t eg_choose_reservoir(eg_rng *rng, int64_t kept, int64_t seen, int64_t n, int64_t room,
                            int64_t *order);

/* Herding (Rebuffi et al., iCaRL, algorithm 4): in each class the sample next that brings the
 * mean of those chosen nearest to the mean of all. Classes take turns, by rising label, so that
 * they share the room equally. features [n, d] are divided by their lengths in place; fills
 * order with the first `room` (at most n). */
eg_status eg_choose_herding(float *features, const float *labels, int64_t n, int64_t d,
                            int64_t room, int64_t *order);

#endif
