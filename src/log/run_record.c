/* run_record.c - the record that a run's evaluations make.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file may come from anywhere, so what the record asserts is checked here first.
 */
#include "log/events.h"

#include <math.h>
#include <string.h>

#define RECORD_MAX_TASKS   1000000
#define RECORD_MAX_CLIENTS 100000000

/* One evaluation, taken apart. */
typedef struct eval {
    int64_t round, who, met;
    bool task_end, full;
    const eg_json *accuracy, *task_il, *n;
} eval;

static eg_status record_int(const eg_json *event, const char *key, int64_t low, int64_t high,
                            int64_t *out)
{
    const eg_json *v;
    EG_TRY(eg_json_need(event, key, EG_JSON_INT, &v));
    EG_TRY(eg_json_int(v, out));
    if (*out < low || *out > high)
        return eg_fail(EG_EFORMAT, "'%s' is %lld, outside [%lld, %lld]", key, (long long)*out,
                       (long long)low, (long long)high);
    return EG_OK;
}

static eg_status record_bool(const eg_json *event, const char *key, bool *out)
{
    const eg_json *v;
    EG_TRY(eg_json_need(event, key, EG_JSON_BOOL, &v));
    return eg_json_bool(v, out);
}

static eg_status record_who(const eg_json *event, int64_t n_clients, int64_t *out)
{
    const char *text;
    const eg_json *v = eg_json_get(event, "who");
    *out = -1;
    if (v && eg_json_kind_of(v) == EG_JSON_TEXT && eg_json_text(v, &text) == EG_OK &&
        strcmp(text, "server") == 0)
        return EG_OK;
    return record_int(event, "who", 0, n_clients - 1, out);
}

static eg_status record_list(const eg_json *event, const char *key, int64_t n,
                             const eg_json **out)
{
    EG_TRY(eg_json_need(event, key, EG_JSON_ARRAY, out));
    if (eg_json_count(*out) != (size_t)n)
        return eg_fail(EG_EFORMAT, "'%s' has %zu values for %lld tasks", key,
                       eg_json_count(*out), (long long)n);
    return EG_OK;
}

static eg_status record_eval(const eg_json *event, int64_t n_clients, int64_t n_tasks,
                             eval *out)
{
    *out = (eval){.met = -1};
    EG_TRY(record_int(event, "round", 0, INT64_MAX, &out->round));
    EG_TRY(record_who(event, n_clients, &out->who));
    EG_TRY(record_bool(event, "task_end", &out->task_end));
    EG_TRY(record_bool(event, "full", &out->full));
    EG_TRY(record_list(event, "accuracy", n_tasks, &out->accuracy));
    EG_TRY(record_list(event, "n", n_tasks, &out->n));
    const eg_json *task_il = eg_json_get(event, "accuracy_task_il");
    if (task_il && eg_json_kind_of(task_il) != EG_JSON_NULL)
        EG_TRY(record_list(event, "accuracy_task_il", n_tasks, &out->task_il));
    if (eg_json_get(event, "met") && out->who >= 0)
        EG_TRY(record_int(event, "met", 0, INT64_MAX, &out->met));
    return EG_OK;
}

/* Enters one evaluation into the newest row. An accuracy is a count over n, so that rounding
 * gives the count back. */
static eg_status record_enter(eg_record *r, const eval *e, const eg_json *accuracy)
{
    int64_t row = eg_record_n_rows(r) - 1, n;
    double a, before;
    for (int64_t t = 0; t < eg_record_n_tasks(r); t++) {
        const eg_json *v = eg_json_at(accuracy, (size_t)t);
        if (eg_json_kind_of(v) == EG_JSON_NULL ||
            (!e->full && eg_record_at(r, row, e->who, t, &before)))
            continue;
        EG_TRY(eg_json_real(v, &a));
        EG_TRY(eg_json_int(eg_json_at(e->n, (size_t)t), &n));
        if (!(a >= 0 && a <= 1) || n < 1 || n > (int64_t)1 << 52)
            return eg_fail(EG_EFORMAT, "an accuracy of %g over %lld samples", a, (long long)n);
        eg_record_enter(r, e->who, t, llround(a * (double)n), n);
    }
    if (e->met >= 0 && eg_record_n_clients(r) > 0)
        eg_record_met(r, e->who, e->met);
    return EG_OK;
}

/* Begins the row of e's round, which ends a task if any evaluation from number `at` on says so
 * within the same round. Row 0 is there from the beginning. */
static eg_status record_begin(eg_record *r, const eg_events *events, size_t at, const eval *e)
{
    int64_t row = eg_record_n_rows(r) - 1, last = eg_record_round(r, row), round;
    if (e->round == last)
        return EG_OK;
    if (e->round < last)
        return eg_fail(EG_EFORMAT, "round %lld after round %lld", (long long)e->round,
                       (long long)last);
    bool end = e->task_end, more;
    for (const eg_json *next; (next = eg_events_next(events, "eval", &at));) {
        EG_TRY(record_int(next, "round", 0, INT64_MAX, &round));
        if (round != e->round)
            break;
        EG_TRY(record_bool(next, "task_end", &more));
        end |= more;
    }
    return eg_record_add(r, e->round, eg_record_n_periods(r) + 1, end);
}

/* Reads the sizes, and whether any client was evaluated: a record has no room for clients
 * unless they are. */
static eg_status record_sizes(const eg_events *events, int64_t *n_clients, int64_t *n_tasks,
                              int64_t *n_measured)
{
    size_t at = 0;
    int64_t who;
    const eg_json *start = eg_events_next(events, "start", &at), *event;
    if (!start)
        return eg_fail(EG_EFORMAT, "there is no event 'start'");
    EG_TRY(record_int(start, "clients", 0, RECORD_MAX_CLIENTS, n_clients));
    EG_TRY(record_int(start, "tasks", 1, RECORD_MAX_TASKS, n_tasks));
    *n_measured = 0;
    for (at = 0; (event = eg_events_next(events, "eval", &at));) {
        EG_TRY(record_who(event, *n_clients, &who));
        if (who >= 0)
            *n_measured = *n_clients;
    }
    return EG_OK;
}

static eg_status record_learned(const eg_events *events, eg_record *r)
{
    size_t at = 0;
    const eg_json *start = eg_events_next(events, "start", &at), *list;
    int64_t n_tasks = eg_record_n_tasks(r), period;
    if (!eg_json_get(start, "learned"))
        return EG_OK;
    EG_TRY(record_list(start, "learned", n_tasks, &list));
    for (int64_t t = 0; t < n_tasks; t++) {
        EG_TRY(eg_json_int(eg_json_at(list, (size_t)t), &period));
        if (period < 1)
            return eg_fail(EG_EFORMAT, "task %lld is learned in period %lld", (long long)t,
                           (long long)period);
        eg_record_learned(r, t, period);
    }
    return EG_OK;
}

/* *any: whether an accuracy of the wanted kind was there. */
static eg_status record_fill(const eg_events *events, bool task_il, int64_t n_clients,
                             eg_record *r, bool *any)
{
    size_t at = 0;
    EG_TRY(eg_record_add(r, 0, 0, false));
    EG_TRY(record_learned(events, r));
    for (const eg_json *event; (event = eg_events_next(events, "eval", &at));) {
        eval e;
        EG_TRY(record_eval(event, n_clients, eg_record_n_tasks(r), &e));
        EG_TRY(record_begin(r, events, at, &e));
        if (e.full)
            eg_record_set_whole(r);
        const eg_json *accuracy = task_il ? e.task_il : e.accuracy;
        *any |= accuracy != NULL;
        if (accuracy)
            EG_TRY(record_enter(r, &e, accuracy));
    }
    return EG_OK;
}

eg_status eg_run_record(const eg_events *e, bool task_il, eg_record **out)
{
    int64_t n_clients = 0, n_tasks = 0, n_measured = 0;
    eg_record *r = NULL;
    bool any = false;
    *out = NULL;
    eg_status status = record_sizes(e, &n_clients, &n_tasks, &n_measured);
    if (status == EG_OK)
        status = eg_record_new(n_measured, n_tasks, &r);
    if (status == EG_OK)
        status = record_fill(e, task_il, n_clients, r, &any);
    if (status != EG_OK && status != EG_ENOMEM) /* a member that is missing, or no number */
        status = EG_EFORMAT;
    if (status == EG_OK && task_il && !any)
        status = eg_fail(EG_ENOENT, "no task-IL accuracy was measured");
    if (status == EG_OK)
        *out = r;
    else
        eg_record_free(r);
    return status;
}

static bool record_of_server(const eg_record *r)
{
    double a;
    for (int64_t row = 0; row < eg_record_n_rows(r); row++)
        for (int64_t t = 0; t < eg_record_n_tasks(r); t++)
            if (eg_record_at(r, row, -1, t, &a))
                return true;
    return false;
}

bool eg_run_value(const eg_record *r, const eg_metric *m, double *out)
{
    *out = 0;
    if (m->needs_reference)
        return false;
    if (m->of_clients || record_of_server(r))
        return m->value(r, NULL, -1, out);
    double sum = 0, value;
    int64_t n = 0;
    for (int64_t c = 0; c < eg_record_n_clients(r); c++)
        if (m->value(r, NULL, c, &value)) {
            sum += value;
            n++;
        }
    *out = n > 0 ? sum / (double)n : 0;
    return n > 0;
}
