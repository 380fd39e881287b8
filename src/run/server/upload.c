/* upload.c - what clients send: judged by the core's rules, then by the parts', and averaged.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/federation.h"

#include <math.h>
#include <string.h>

/* How many times the largest before, or 1, a statistic may become in a round. Honest ones stay
 * far below: batch norm's inputs are sums of normalised values with weights that are bounded.
 */
#define UPLOAD_GROWTH 1e6

/* Names the core itself sends up in training. */
static bool upload_is_of_core(const char *name)
{
    return strcmp(name, "param") == 0 || strcmp(name, "state") == 0 ||
           strcmp(name, "samples") == 0 || strcmp(name, "loss") == 0;
}

/* Everything in it must be finite and somebody's: the core's, or under a part's name. */
static eg_status upload_check_entries(const eg_federation *f, size_t exchange,
                                      const eg_bundle *up)
{
    eg_bundle_entry e;
    EG_TRY(eg_bundle_check(up, up));
    for (size_t i = 0; i < eg_bundle_n(up); i++) {
        eg_bundle_at(up, i, &e);
        if (!e.is_scalar && !e.values)
            return eg_fail(EG_EINVAL, "tensor '%s' is not of floats", e.name);
        if (!(exchange == EG_TRAINING && upload_is_of_core(e.name)) &&
            !eg_parts_own(&f->e->parts, e.name))
            return eg_fail(EG_EINVAL, "%s '%s' is nobody's", e.is_scalar ? "scalar" : "tensor",
                           e.name);
    }
    return EG_OK;
}

int64_t eg_federation_dealt(const eg_federation *f, int64_t client)
{
    eg_view view;
    bool own = f->how->listen && f->how->listen->own_data;
    return !own && eg_cursor_view(f->cursor, client, &view) ? view.n : -1;
}

static eg_status upload_check_samples(const eg_federation *f, int64_t dealt,
                                      const eg_bundle *up)
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
    if (dealt >= 0 && samples != (double)dealt)
        return eg_fail(EG_EINVAL, "%.0f samples: it was dealt %lld", samples, (long long)dealt);
    return EG_OK;
}

/* A tensor as long as the model has a value for every weight. The gaps between the network's
 * tensors are nobody's: what a client put there must reach no sum and no judgement. */
static void upload_clear_gaps(const eg_federation *f, eg_bundle *up)
{
    eg_bundle_entry e;
    for (size_t i = 0; i < eg_bundle_n(up); i++) {
        eg_bundle_at(up, i, &e);
        bool state = strcmp(e.name, "state") == 0;
        if (e.values && e.n == (state ? f->server.n_state : f->server.n_params))
            eg_params_clear_gaps(eg_net_params(f->net), !state, eg_bundle_values(up, e.name));
    }
}

/* How far the upload is from the global model, against the model's own length. A model shorter
 * than 1 may move as if it were that long. */
static eg_status upload_check_change(const eg_federation *f, const float *param)
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

static bool upload_is_variance(const char *name)
{
    static const char end[] = "running_var";
    size_t n = strlen(name);
    return n >= sizeof end - 1 && strcmp(name + n - (sizeof end - 1), end) == 0;
}

/* One tensor of running statistics. These may go far in one round, from 0 and 1 to those of the
 * data, so their lengths say nothing: judged is what no batch can have brought them to. */
static eg_status upload_check_statistics(const eg_federation *f, const eg_param_info *t,
                                         const float *state)
{
    const float *x = state + t->offset, *before = f->state + t->offset;
    bool variance = upload_is_variance(t->name), bounded = f->e->server.max_change > 0;
    double most = 1;
    for (size_t i = 0; i < t->size; i++)
        most = fmax(most, fabs((double)before[i]));
    most *= UPLOAD_GROWTH;
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

static eg_status upload_check_state(const eg_federation *f, const float *state)
{
    const eg_params *p = eg_net_params(f->net);
    for (size_t i = 0; i < eg_params_n(p); i++)
        if (!eg_params_at(p, i)->trained && !eg_params_at(p, i)->frozen)
            EG_TRY(upload_check_statistics(f, eg_params_at(p, i), state));
    return EG_OK;
}

/* What parts declared that every upload has. */
static eg_status upload_check_declared(const eg_federation *f, const eg_bundle *up)
{
    const float *values;
    for (size_t i = 0; i < f->agreed.n_uploads; i++)
        EG_TRY(eg_bundle_need(up, f->agreed.uploads[i], f->server.n_params, &values));
    return EG_OK;
}

static eg_status upload_check_model(const eg_federation *f, const eg_bundle *up)
{
    const float *param, *state;
    EG_TRY(eg_bundle_need(up, "param", f->server.n_params, &param));
    EG_TRY(upload_check_change(f, param));
    if (!f->server.n_state)
        return EG_OK;
    EG_TRY(eg_bundle_need(up, "state", f->server.n_state, &state));
    return upload_check_state(f, state);
}

eg_status eg_federation_check_model(const eg_federation *f, const float *param,
                                    const float *state)
{
    EG_TRY(upload_check_change(f, param));
    return f->server.n_state && f->e->server.bn == 0 ? upload_check_state(f, state) : EG_OK;
}

eg_status eg_federation_accept(eg_federation *f, size_t exchange, int64_t client, int64_t dealt,
                               eg_bundle *up)
{
    upload_clear_gaps(f, up);
    EG_TRY(upload_check_entries(f, exchange, up));
    if (exchange == EG_TRAINING) {
        EG_TRY(upload_check_samples(f, dealt, up));
        EG_TRY(upload_check_declared(f, up));
        if (!f->agreed.all.personal)
            EG_TRY(upload_check_model(f, up));
    }
    return eg_chain_accept(&f->chain, &f->server, exchange, client, up);
}

/* Statistics of batch norm are the server's own where server.bn says so. */
static bool upload_has_state(const eg_federation *f)
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

static eg_status upload_add(const eg_federation *f, eg_weighted_mean *param,
                            eg_weighted_mean *state, const eg_bundle *up, double weight)
{
    EG_TRY(eg_mean_add(param, eg_bundle_find(up, "param", NULL), weight));
    return upload_has_state(f) ? eg_mean_add(state, eg_bundle_find(up, "state", NULL), weight)
                               : EG_OK;
}

static eg_status upload_add_robust(const eg_federation *f, const eg_bundle *up, double weight,
                                   double spare)
{
    EG_TRY(eg_robust_add(f->robust_param, eg_bundle_find(up, "param", NULL), weight, spare));
    return upload_has_state(f) ? eg_robust_add(f->robust_state,
                                               eg_bundle_find(up, "state", NULL), weight, spare)
                               : EG_OK;
}

/* Weights have the parts' factors. A second mean without factors is used if all are 0. */
eg_status eg_federation_mean_add(eg_federation *f, int64_t client, const eg_bundle *up,
                                 double weight)
{
    double factor = eg_chain_weight(&f->chain, &f->server, client, up);
    if (f->robust_param)
        return upload_add_robust(f, up, weight * factor, weight);
    if (f->agreed.weighs)
        EG_TRY(upload_add(f, &f->unweighed_param, &f->unweighed_state, up, weight));
    return factor > 0 ? upload_add(f, &f->mean_param, &f->mean_state, up, weight * factor)
                      : EG_OK;
}

static eg_status upload_get_param(eg_federation *f, bool weighed)
{
    if (f->robust_param)
        return eg_robust_get(f->robust_param, f->param, f->next_param);
    return eg_mean_get(weighed ? &f->mean_param : &f->unweighed_param, f->next_param);
}

static eg_status upload_get_state(eg_federation *f, bool weighed)
{
    if (f->robust_state)
        return eg_robust_get(f->robust_state, f->state, f->next_state);
    return eg_mean_get(weighed ? &f->mean_state : &f->unweighed_state, f->next_state);
}

eg_status eg_federation_mean_get(eg_federation *f)
{
    bool weighed = f->mean_param.weight > 0;
    EG_TRY(upload_get_param(f, weighed));
    if (upload_has_state(f))
        return upload_get_state(f, weighed);
    if (f->server.n_state)
        memcpy(f->next_state, f->state, f->server.n_state * sizeof *f->state);
    return EG_OK;
}
