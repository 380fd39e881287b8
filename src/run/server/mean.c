/* mean.c - the mean of the uploads of a round: added one after the other, then taken.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/federation.h"

#include <string.h>

/* Statistics of batch norm are the server's own where server.bn says so. */
static bool mean_has_state(const eg_federation *f)
{
    return f->server.n_state && f->e->server.bn == 0;
}

eg_status eg_federation_mean_open(eg_federation *f)
{
    const eg_robust_opts *o = &f->e->server.mean;
    size_t n = f->server.n_params, m = f->server.n_state;
    if (o->rule != EG_MEAN_PLAIN) {
        EG_TRY(eg_robust_new(o, n, f->folder_path, &f->robust_param));
        return eg_robust_new(o, m, f->folder_path, &f->robust_state);
    }
    EG_TRY(eg_mean_init(&f->mean_param, n));
    EG_TRY(eg_mean_init(&f->mean_state, m));
    if (f->agreed.weighs) {
        EG_TRY(eg_mean_init(&f->unweighed_param, n));
        EG_TRY(eg_mean_init(&f->unweighed_state, m));
    }
    return EG_OK;
}

void eg_federation_mean_close(eg_federation *f)
{
    eg_robust_free(f->robust_param);
    eg_robust_free(f->robust_state);
    eg_mean_fini(&f->mean_param);
    eg_mean_fini(&f->mean_state);
    eg_mean_fini(&f->unweighed_param);
    eg_mean_fini(&f->unweighed_state);
}

void eg_federation_mean_begin(eg_federation *f)
{
    if (f->robust_param) {
        eg_robust_reset(f->robust_param);
        eg_robust_reset(f->robust_state);
    }
    eg_mean_reset(&f->mean_param);
    eg_mean_reset(&f->mean_state);
    eg_mean_reset(&f->unweighed_param);
    eg_mean_reset(&f->unweighed_state);
}

static eg_status mean_add(const eg_federation *f, eg_mean *param, eg_mean *state,
                          const eg_bundle *up, double weight)
{
    EG_TRY(eg_mean_add(param, eg_bundle_find(up, "param", NULL), weight));
    return mean_has_state(f) ? eg_mean_add(state, eg_bundle_find(up, "state", NULL), weight)
                             : EG_OK;
}

static eg_status mean_add_robust(const eg_federation *f, const eg_bundle *up, double weight,
                                 double spare)
{
    EG_TRY(eg_robust_add(f->robust_param, eg_bundle_find(up, "param", NULL), weight, spare));
    return mean_has_state(f) ? eg_robust_add(f->robust_state, eg_bundle_find(up, "state", NULL),
                                             weight, spare)
                             : EG_OK;
}

/* Weights have the parts' factors. A second mean without factors is used if all are 0. */
eg_status eg_federation_mean_add(eg_federation *f, int64_t client, const eg_bundle *up,
                                 double weight)
{
    double factor = eg_chain_weight(&f->chain, &f->server, client, up);
    if (f->robust_param)
        return mean_add_robust(f, up, weight * factor, weight);
    if (f->agreed.weighs)
        EG_TRY(mean_add(f, &f->unweighed_param, &f->unweighed_state, up, weight));
    return factor > 0 ? mean_add(f, &f->mean_param, &f->mean_state, up, weight * factor)
                      : EG_OK;
}

static eg_status mean_get_param(eg_federation *f, bool weighed)
{
    if (f->robust_param)
        return eg_robust_get(f->robust_param, f->param, f->next_param);
    return eg_mean_get(weighed ? &f->mean_param : &f->unweighed_param, f->next_param);
}

static eg_status mean_get_state(eg_federation *f, bool weighed)
{
    if (f->robust_state)
        return eg_robust_get(f->robust_state, f->state, f->next_state);
    return eg_mean_get(weighed ? &f->mean_state : &f->unweighed_state, f->next_state);
}

eg_status eg_federation_mean_get(eg_federation *f)
{
    bool weighed = f->mean_param.weight > 0;
    EG_TRY(mean_get_param(f, weighed));
    if (mean_has_state(f))
        return mean_get_state(f, weighed);
    if (f->server.n_state)
        memcpy(f->next_state, f->state, f->server.n_state * sizeof *f->state);
    return EG_OK;
}
