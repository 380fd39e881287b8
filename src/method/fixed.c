/* fixed.c - Re-Fed's lower bound: the model learns the first task and never changes again.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/method.h>

static eg_status fixed_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->offers = EG_OFFERS_COMMON_TASKS;
    out->rests = true;
    return EG_OK;
}

static bool fixed_wants(void *self, eg_server *s, int exchange)
{
    (void)self, (void)exchange;
    return eg_scenario_period(s->scenario, s->round) <= 1;
}

const eg_method eg_method_fixed = {
    .component = {"fixed", "trains in the first task only", 0, NULL},
    .setup = fixed_setup,
    .server = {.wants = fixed_wants},
    .bound = true,
};
