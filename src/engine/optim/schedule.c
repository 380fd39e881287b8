/* schedule.c - how the step size changes from round to round.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pure function of the round, so that a client that comes late, or a run that was resumed,
 * has the step size of the moment. In the warm-up of w rounds round r has (r + 1) / w; the
 * schedule counts from there. Half a cosine would reach its least in the round after the last,
 * so that every round learns: Loshchilov and Hutter, 2017, arXiv:1608.03983.
 */
#include <engram/optim.h>

#include "base/real.h"

#include <math.h>

double eg_schedule_factor(const eg_schedule *s, int64_t round, int64_t n_rounds)
{
    if (round < s->warmup)
        return (double)(round + 1) / (double)s->warmup;
    int64_t at = round - s->warmup, span = n_rounds - s->warmup, steps;
    switch ((eg_schedule_kind)s->kind) {
    case EG_SCHEDULE_CONSTANT:
        return 1;
    case EG_SCHEDULE_STEP:
        steps = at / s->every;
        return eg_real_pow(s->factor, (double)steps);
    case EG_SCHEDULE_COSINE:
        return s->least +
               (1 - s->least) / 2 * (1 + eg_real_cos(acos(-1) * (double)at / (double)span));
    }
    return 1;
}
