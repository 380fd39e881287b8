/* fixed.c - Re-Fed's lower bound: the model learns the first task and never changes again.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/method.h>

static bool fixed_wants_round(void *self, eg_server *s)
{
    (void)self;
    return eg_scenario_period(s->scenario, s->round) <= 1;
}

const eg_method eg_method_fixed = {
    .name = "fixed",
    .help = "trains in the first task only",
    .needs = EG_OFFERS_COMMON_TASKS,
    .wants_round = fixed_wants_round,
};
