/* accept.c - judges an answer by the core's rules, then by the parts'.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/accept.h"

#include <math.h>
#include <string.h>

/* How many times the largest before, or 1, a statistic may become in a round. Honest ones stay
 * far below: batch norm's inputs are sums of normalised values with weights that are bounded.
 */
#define ACCEPT_GROWTH 1e6

/* Names the core itself sends up in training. */
static bool accept_is_own(const char *name)
{
    return strcmp(name, "param") == 0 || strcmp(name, "state") == 0 ||
           strcmp(name, "samples") == 0 || strcmp(name, "loss") == 0;
}

/* Everything in it must be finite and somebody's: the core's, or under a part's name. */
static eg_status accept_entries(const eg_federation *f, size_t exchange, const eg_bundle *up)
{
    eg_bundle_entry e;
    EG_TRY(eg_bundle_check(up, up));
    for (size_t i = 0; i < eg_bundle_n(up); i++) {
        eg_bundle_at(up, i, &e);
        if (!(exchange == EG_TRAINING && accept_is_own(e.name)) &&
            !eg_parts_own(&f->e->parts, e.name))
            return eg_fail(EG_EINVAL, "%s '%s' is nobody's", e.is_scalar ? "scalar" : "tensor",
                           e.name);
    }
    return EG_OK;
}

static eg_status accept_samples(const eg_federation *f, const eg_bundle *up)
{
    double samples, loss, most = 0;
    for (size_t i = 0; i < f->feed.n_sources; i++)
        most += (double)f->feed.train[i].n;
    if (!eg_bundle_scalar_of(up, "samples", &samples) ||
        !eg_bundle_scalar_of(up, "loss", &loss))
        return eg_fail(EG_ENOENT, "scalar 'samples' or 'loss' is missing");
    if (f->how->listen && f->how->listen->own_data)
        most = 0x1p31; /* of a device with data of its own the server cannot know it */
    if (!(samples >= 1 && samples <= most && floor(samples) == samples))
        return eg_fail(EG_EINVAL, "%g samples: not a whole number from 1 to %.0f", samples,
                       most);
    return EG_OK;
}

/* A tensor as long as the model has a value for every weight. The gaps between the network's
 * tensors are nobody's: what a client put there must reach no sum and no judgement. */
static void accept_clear_gaps(const eg_federation *f, const eg_bundle *up)
{
    eg_bundle_entry e;
    for (size_t i = 0; i < eg_bundle_n(up); i++) {
        eg_bundle_at(up, i, &e);
        bool state = strcmp(e.name, "state") == 0;
        if (!e.is_scalar && e.n == (state ? f->server.n_state : f->server.n_params))
            eg_params_clear_gaps(eg_net_params(f->net), !state, (float *)(uintptr_t)e.values);
    }
}

/* How far the upload is from the global model, against the model's own length. A model shorter
 * than 1 may move as if it were that long. */
static eg_status accept_change(const eg_federation *f, const float *param)
{
    double length = 0, change = 0, most = f->e->server.max_change;
    for (size_t i = 0; i < f->server.n_params; i++) {
        double w = (double)f->param[i], d = (double)param[i] - w;
        length += w * w;
        change += d * d;
    }
    double allowed = most * fmax(sqrt(length), 1);
    if (most > 0 && !(sqrt(change) <= allowed))
        return eg_fail(EG_EINVAL,
                       "it moves the model by %.3g, more than server.max_change %g "
                       "allows (%.3g)",
                       sqrt(change), most, allowed);
    return EG_OK;
}

static bool accept_is_variance(const char *name)
{
    static const char end[] = "running_var";
    size_t n = strlen(name);
    return n >= sizeof end - 1 && strcmp(name + n - (sizeof end - 1), end) == 0;
}

/* One tensor of running statistics. These may go far in one round, from 0 and 1 to those of the
 * data, so their lengths say nothing: judged is what no batch can have brought them to. */
static eg_status accept_statistics(const eg_federation *f, const eg_param_info *t,
                                   const float *state)
{
    const float *x = state + t->offset, *before = f->state + t->offset;
    bool variance = accept_is_variance(t->name), bounded = f->e->server.max_change > 0;
    double most = 1;
    for (size_t i = 0; i < t->size; i++)
        most = fmax(most, fabs((double)before[i]));
    most *= ACCEPT_GROWTH;
    for (size_t i = 0; i < t->size; i++) {
        if (variance && x[i] < 0)
            return eg_fail(EG_EINVAL, "'%s': element %zu is %.3g, and no variance is negative",
                           t->name, i, (double)x[i]);
        if (bounded && fabs((double)x[i]) > most)
            return eg_fail(EG_EINVAL,
                           "'%s': element %zu is %.3g, and a round brings statistics no "
                           "further than %.3g",
                           t->name, i, (double)x[i], most);
    }
    return EG_OK;
}

static eg_status accept_state(const eg_federation *f, const float *state)
{
    const eg_params *p = eg_net_params(f->net);
    for (size_t i = 0; i < eg_params_n(p); i++)
        if (!eg_params_at(p, i)->trained)
            EG_TRY(accept_statistics(f, eg_params_at(p, i), state));
    return EG_OK;
}

/* What parts declared that every upload has. */
static eg_status accept_declared(const eg_federation *f, const eg_bundle *up)
{
    const float *values;
    for (size_t i = 0; i < f->agreed.n_uploads; i++)
        EG_TRY(eg_bundle_need(up, f->agreed.uploads[i], f->server.n_params, &values));
    return EG_OK;
}

static eg_status accept_model(const eg_federation *f, const eg_bundle *up)
{
    const float *param, *state;
    EG_TRY(eg_bundle_need(up, "param", f->server.n_params, &param));
    EG_TRY(accept_change(f, param));
    if (!f->server.n_state)
        return EG_OK;
    EG_TRY(eg_bundle_need(up, "state", f->server.n_state, &state));
    return accept_state(f, state);
}

eg_status eg_accept(eg_federation *f, size_t exchange, int64_t client, eg_bundle *up)
{
    accept_clear_gaps(f, up);
    EG_TRY(accept_entries(f, exchange, up));
    if (exchange == EG_TRAINING) {
        EG_TRY(accept_samples(f, up));
        EG_TRY(accept_declared(f, up));
        if (!f->agreed.all.personal)
            EG_TRY(accept_model(f, up));
    }
    return eg_chain_accept(&f->chain, &f->server, exchange, client, up);
}
