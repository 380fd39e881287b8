/* private.c - what secure sums and differential privacy exclude, before the first round.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/experiment.h"

#include <engram/privacy.h>

bool eg_experiment_hides(const eg_experiment *e)
{
    return e->secure.kind != EG_SUMS_OPEN || e->dp.sigma > 0;
}

static eg_status private_check_sums(const eg_experiment *e)
{
    const char *what = e->secure.kind != EG_SUMS_OPEN ? "secure" : "dp";
    if (!eg_experiment_hides(e))
        return EG_OK;
    if (e->server.mean.rule != EG_MEAN_PLAIN)
        return eg_fail(EG_EINVAL,
                       "server.mean looks at the clients' models place by place, "
                       "which %s hides: set it to mean",
                       what);
    if (e->server.interval > 1)
        return eg_fail(EG_EINVAL,
                       "%s sums changes of the server's model: set server.interval "
                       "to 1",
                       what);
    return EG_OK;
}

static eg_status private_check_noise(const eg_experiment *e)
{
    const eg_dp_opts *o = &e->dp;
    if (!(o->clip > 0))
        return eg_fail(EG_EINVAL,
                       "dp.clip is %g: without a bound on a client's change noise "
                       "hides nothing",
                       o->clip);
    if (!(o->delta > 0 && o->delta < 1))
        return eg_fail(EG_EINVAL, "dp.delta must lie between 0 and 1, not at %g", o->delta);
    if (e->server.weights == 0)
        return eg_fail(EG_EINVAL, "dp counts all clients alike, and server.weights is samples: "
                                  "set it to uniform");
    if (o->adaptive && o->kind == EG_DP_FTRL)
        return eg_fail(EG_EINVAL,
                       "dp.adaptive changes the clip from round to round, and a tree "
                       "over rounds needs one: set dp.kind to sampled");
    return EG_OK;
}

eg_status eg_private_check(const eg_experiment *e)
{
    EG_TRY(private_check_sums(e));
    if (e->dp.sigma > 0)
        return private_check_noise(e);
    if (e->dp.clip > 0 || e->dp.epsilon > 0)
        return eg_fail(EG_EINVAL,
                       "dp.sigma is 0: without noise there is no privacy; `engram dp` "
                       "solves for it");
    return EG_OK;
}

static eg_status private_check_drawn(const eg_experiment *e, const eg_scenario *s)
{
    double q = eg_scenario_chance(s);
    if (e->dp.kind == EG_DP_SAMPLED && !(q > 0))
        return eg_fail(EG_EINVAL, "dp counts on clients that are drawn each by itself: set "
                                  "scenario.selection to poisson, or dp.kind to ftrl");
    if (e->dp.kind == EG_DP_FTRL && q > 0)
        return eg_fail(EG_EINVAL, "dp.kind ftrl is for clients that are not drawn by chance: "
                                  "set scenario.selection to shuffle");
    return EG_OK;
}

eg_status eg_private_check_scenario(const eg_experiment *e, const eg_scenario *s,
                                    const eg_net *net)
{
    int64_t n = eg_scenario_n_clients(s);
    if (!(eg_scenario_chance(s) > 0))
        n = eg_scenario_wanted(s, n);
    if (e->secure.kind == EG_SUMS_MASKED && n < 3)
        return eg_fail(EG_EINVAL,
                       "secure: %lld clients cannot hide in a sum: at least 3 must "
                       "take part in a round",
                       (long long)n);
    if (!(e->dp.sigma > 0))
        return EG_OK;
    if (eg_state_length(eg_net_params(net)) > 0 && e->server.bn == 0)
        return eg_fail(EG_EINVAL, "dp has no bound for batch-norm statistics: set server.bn to "
                                  "keep");
    return private_check_drawn(e, s);
}
