/* late.c - what answers that count in a later round exclude, before the first round.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/experiment.h"

bool eg_experiment_waits_late(const eg_experiment *e)
{
    return e->server.late == 1;
}

eg_status eg_late_check(const eg_experiment *e)
{
    if (!eg_experiment_waits_late(e))
        return EG_OK;
    if (eg_experiment_hides(e))
        return eg_fail(EG_EINVAL,
                       "server.late buffer weighs single answers by their age, which %s hides: "
                       "set it to drop",
                       e->secure.kind != EG_SUMS_OPEN ? "secure" : "dp");
    if (e->server.mean.rule != EG_MEAN_PLAIN)
        return eg_fail(EG_EINVAL,
                       "server.late buffer weighs answers by their age in a mean: it "
                       "needs server.mean mean");
    if (e->server.interval > 1)
        return eg_fail(EG_EINVAL, "server.late buffer counts changes of the server's model: it "
                                  "needs server.interval 1");
    return EG_OK;
}
