/* learner.c - a network of one's own: values, gradient, optimiser; into a bundle and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/learner.h>

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEARNER_NAME = 160, LEARNER_SLOTS = 8 };

void eg_learner_free(eg_learner *l)
{
    if (!l)
        return;
    eg_optimizer_free(l->optimizer);
    free(l->param);
    free(l->grad);
    free(l->state);
    free(l);
}

eg_status eg_learner_new(const eg_params *table, eg_learner **out)
{
    eg_learner *l;
    EG_TRY(eg_alloc(1, sizeof *l, &l));
    l->table = table;
    l->n_params = eg_params_length(table);
    l->n_state = eg_state_length(table);
    eg_status s = eg_params_alloc(table, &l->param);
    if (s == EG_OK)
        s = eg_params_alloc(table, &l->grad);
    if (s == EG_OK)
        s = eg_state_alloc(table, &l->state);
    if (s != EG_OK) {
        eg_learner_free(l);
        return s;
    }
    *out = l;
    return EG_OK;
}

eg_status eg_learner_optimize(eg_learner *l, const char *name, const char *options)
{
    if (l->optimizer) {
        eg_optimizer_reset(l->optimizer);
        return EG_OK;
    }
    EG_TRY(eg_optimizer_new(name, l->n_params, &l->optimizer));
    eg_status s = eg_optimizer_set_text(l->optimizer, options);
    if (s != EG_OK) { /* it would be taken for a good one later */
        eg_optimizer_free(l->optimizer);
        l->optimizer = NULL;
    }
    return s;
}

static eg_status learner_name(const char *prefix, const char *what, char out[LEARNER_NAME])
{
    int n = snprintf(out, LEARNER_NAME, "%s.%s", prefix, what);
    return n < LEARNER_NAME ? EG_OK
                            : eg_fail(EG_EINVAL, "the prefix '%.40s...' is too long", prefix);
}

static eg_status learner_add(eg_bundle *to, const char *prefix, const char *what,
                             const float *values, size_t n)
{
    char name[LEARNER_NAME];
    EG_TRY(learner_name(prefix, what, name));
    return n ? eg_bundle_add_flat(to, name, values, n) : EG_OK;
}

eg_status eg_learner_keep(const eg_learner *l, const char *prefix, eg_bundle *to)
{
    EG_TRY(learner_add(to, prefix, "param", l->param, l->n_params));
    return learner_add(to, prefix, "state", l->state, l->n_state);
}

/* Finds a vector of n values. */
static eg_status learner_find(const eg_bundle *from, const char *prefix, const char *what,
                              size_t n, const float **out)
{
    char name[LEARNER_NAME];
    EG_TRY(learner_name(prefix, what, name));
    return eg_bundle_need(from, name, n, out);
}

eg_status eg_learner_recall(eg_learner *l, const char *prefix, const eg_bundle *from,
                            bool *found)
{
    char name[LEARNER_NAME];
    *found = false;
    EG_TRY(learner_name(prefix, "param", name));
    if (!eg_bundle_find(from, name, NULL))
        return EG_OK;
    const float *param, *state = NULL;
    EG_TRY(learner_find(from, prefix, "param", l->n_params, &param));
    if (l->n_state)
        EG_TRY(learner_find(from, prefix, "state", l->n_state, &state));
    *found = true;
    memcpy(l->param, param, l->n_params * sizeof *param);
    if (state)
        memcpy(l->state, state, l->n_state * sizeof *state);
    return EG_OK;
}

eg_status eg_learner_keep_optimizer(const eg_learner *l, const char *prefix, eg_bundle *to)
{
    char name[LEARNER_NAME], slot[16];
    EG_TRY(learner_name(prefix, "steps", name));
    EG_TRY(eg_bundle_scalar(to, name, (double)eg_optimizer_steps(l->optimizer)));
    for (int i = 0; eg_optimizer_slot(l->optimizer, i); i++) {
        snprintf(slot, sizeof slot, "slot%d", i);
        EG_TRY(learner_add(to, prefix, slot, eg_optimizer_slot(l->optimizer, i), l->n_params));
    }
    return EG_OK;
}

eg_status eg_learner_recall_optimizer(eg_learner *l, const char *prefix, const eg_bundle *from)
{
    const float *slots[LEARNER_SLOTS] = {0};
    char name[LEARNER_NAME], slot[16];
    int64_t steps;
    EG_TRY(learner_name(prefix, "steps", name));
    EG_TRY(eg_bundle_need_count(from, name, INT64_C(1) << 53, &steps));
    for (int i = 0; eg_optimizer_slot(l->optimizer, i); i++) {
        EG_ASSERT(i < LEARNER_SLOTS);
        snprintf(slot, sizeof slot, "slot%d", i);
        EG_TRY(learner_find(from, prefix, slot, l->n_params, &slots[i]));
    }
    eg_optimizer_restore(l->optimizer, slots, steps);
    return EG_OK;
}
