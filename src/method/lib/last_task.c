/* last_task.c - keeping the model of a period's beginning, and sending it to who needs it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/last_task.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "<prefix>.<what>" */
typedef struct last_task_name {
    char text[64];
} last_task_name;

static last_task_name last_task_named(const char *prefix, const char *what)
{
    last_task_name name;
    snprintf(name.text, sizeof name.text, "%s.%s", prefix, what);
    return name;
}

/* Takes a record's values; those of a run that was stopped before its first round are none. */
static eg_status last_task_recall(eg_last_task *l, const eg_server *s, const char *prefix,
                                  const eg_bundle *kept)
{
    size_t n_clients = (size_t)eg_scenario_n_clients(s->scenario);
    const float *param, *state, *turned;
    EG_TRY(eg_bundle_need_count(kept, last_task_named(prefix, "period").text,
                                eg_scenario_n_rounds(s->scenario), &l->period));
    EG_TRY(eg_bundle_need_counts(kept, last_task_named(prefix, "turned").text, n_clients,
                                 1 << 24, &turned));
    EG_TRY(eg_bundle_need(kept, last_task_named(prefix, "param").text, s->n_params, &param));
    memcpy(l->turned, turned, n_clients * sizeof *turned);
    memcpy(l->param, param, s->n_params * sizeof *param);
    if (s->n_state == 0)
        return EG_OK;
    EG_TRY(eg_bundle_need(kept, last_task_named(prefix, "state").text, s->n_state, &state));
    memcpy(l->state, state, s->n_state * sizeof *state);
    return EG_OK;
}

eg_status eg_last_task_init(eg_last_task *l, const eg_server *s, const char *prefix,
                            const eg_bundle *kept)
{
    size_t n_clients = (size_t)eg_scenario_n_clients(s->scenario);
    EG_TRY(eg_alloc(s->n_params, sizeof *l->param, &l->param));
    EG_TRY(eg_alloc(s->n_state, sizeof *l->state, &l->state));
    EG_TRY(eg_alloc(n_clients, sizeof *l->turned, &l->turned));
    return kept ? last_task_recall(l, s, prefix, kept) : EG_OK;
}

void eg_last_task_fini(eg_last_task *l)
{
    free(l->param);
    free(l->state);
    free(l->turned);
}

static eg_status last_task_put(const eg_last_task *l, const eg_server *s, const char *prefix,
                               eg_bundle *to)
{
    EG_TRY(
        eg_bundle_add_flat(to, last_task_named(prefix, "param").text, l->param, s->n_params));
    return s->n_state ? eg_bundle_add_flat(to, last_task_named(prefix, "state").text, l->state,
                                           s->n_state)
                      : EG_OK;
}

eg_status eg_last_task_keep(const eg_last_task *l, const eg_server *s, const char *prefix,
                            eg_bundle *to)
{
    size_t n_clients = (size_t)eg_scenario_n_clients(s->scenario);
    EG_TRY(eg_bundle_scalar(to, last_task_named(prefix, "period").text, (double)l->period));
    EG_TRY(
        eg_bundle_add_flat(to, last_task_named(prefix, "turned").text, l->turned, n_clients));
    return last_task_put(l, s, prefix, to);
}

void eg_last_task_turn(eg_last_task *l, const eg_server *s)
{
    int64_t period = eg_scenario_period(s->scenario, s->round);
    if (period == l->period)
        return;
    l->period = period;
    memcpy(l->param, s->param, s->n_params * sizeof *l->param);
    if (s->n_state)
        memcpy(l->state, s->state, s->n_state * sizeof *l->state);
}

eg_status eg_last_task_send(const eg_last_task *l, const eg_server *s, const char *prefix,
                            int64_t client, eg_bundle *to)
{
    bool moved = memcmp(l->param, s->param, s->n_params * sizeof *l->param) != 0;
    if (l->period < 2 || (int64_t)l->turned[client] == l->period || !moved)
        return EG_OK; /* before the first task nothing was left */
    return last_task_put(l, s, prefix, to);
}

void eg_last_task_collect(eg_last_task *l, int64_t client)
{
    l->turned[client] = (float)l->period;
}

eg_status eg_last_task_read(const eg_client *c, const char *prefix, const eg_bundle *from,
                            eg_weights *out)
{
    last_task_name param = last_task_named(prefix, "param");
    const float *values;
    *out = (eg_weights){0};
    if (!eg_bundle_find(from, param.text, NULL))
        return EG_OK;
    EG_TRY(eg_bundle_need(from, param.text, c->n_params, &values));
    out->param = values;
    if (c->n_state == 0)
        return EG_OK;
    EG_TRY(eg_bundle_need(from, last_task_named(prefix, "state").text, c->n_state, &values));
    out->state = values;
    return EG_OK;
}
