/* run_event.c - one event of metrics.jsonl, checked and kept.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys that are not known are passed over, so that a newer program may write more; events that
 * are not known are errors.
 */
#include "report/run.h"

#include "io/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const int64_t event_most = INT64_C(1) << 53;

static eg_status event_int_in(const eg_json *v, const char *what, int64_t min, int64_t max,
                              int64_t *out)
{
    EG_TRY(eg_blame(eg_json_int(v, out), "%s", what));
    if (*out < min || *out > max)
        return eg_fail(EG_EFORMAT, "%s: %" PRId64 " is outside [%" PRId64 ", %" PRId64 "]",
                       what, *out, min, max);
    return EG_OK;
}

static eg_status event_int(const eg_json *event, const char *key, int64_t min, int64_t max,
                           int64_t *out)
{
    const eg_json *v;
    EG_TRY(eg_json_need(event, key, EG_JSON_INT, &v));
    return event_int_in(v, key, min, max, out);
}

/* A number of at least 0, or null. */
static eg_status event_real(const eg_json *event, const char *key, double *out)
{
    const eg_json *v = eg_json_get(event, key);
    *out = NAN;
    if (!v)
        return eg_fail(EG_EFORMAT, "'%s' is missing", key);
    if (eg_json_kind_of(v) == EG_JSON_NULL)
        return EG_OK;
    return eg_blame(eg_json_real(v, out), "%s", key);
}

static eg_status event_bool(const eg_json *event, const char *key, bool *out)
{
    const eg_json *v;
    EG_TRY(eg_json_need(event, key, EG_JSON_BOOL, &v));
    return eg_json_bool(v, out);
}

static eg_status event_text(eg_runlog *r, const eg_json *event, const char *key,
                            const char **out)
{
    const eg_json *v;
    const char *text;
    EG_TRY(eg_json_need(event, key, EG_JSON_TEXT, &v));
    EG_TRY(eg_json_text(v, &text));
    *out = eg_arena_text(&r->arena, "%s", text);
    return *out ? EG_OK : EG_ENOMEM;
}

/* An array of integers within bounds; n is what it must hold, or -1. */
static eg_status event_ints(eg_runlog *r, const eg_json *event, const char *key, int64_t n,
                            int64_t min, int64_t max, const int64_t **out)
{
    const eg_json *v;
    EG_TRY(eg_json_need(event, key, EG_JSON_ARRAY, &v));
    int64_t count = (int64_t)eg_json_count(v);
    if (n >= 0 && count != n)
        return eg_fail(EG_EFORMAT, "%s: %" PRId64 " values, not %" PRId64, key, count, n);
    int64_t *values = eg_arena_alloc(&r->arena, (size_t)count * sizeof *values);
    if (!values)
        return EG_ENOMEM;
    for (int64_t i = 0; i < count; i++)
        EG_TRY(event_int_in(eg_json_at(v, (size_t)i), key, min, max, &values[i]));
    *out = values;
    return EG_OK;
}

/* One accuracy a task, each a fraction or null. */
static eg_status event_accuracies(eg_runlog *r, const eg_json *v, const char *key,
                                  const double **out)
{
    if (eg_json_kind_of(v) != EG_JSON_ARRAY || (int64_t)eg_json_count(v) != r->n_tasks)
        return eg_fail(EG_EFORMAT, "%s: wants an array of %" PRId64 " values, one a task", key,
                       r->n_tasks);
    double *acc = eg_arena_alloc(&r->arena, (size_t)r->n_tasks * sizeof *acc);
    if (!acc)
        return EG_ENOMEM;
    for (int64_t t = 0; t < r->n_tasks; t++) {
        const eg_json *a = eg_json_at(v, (size_t)t);
        acc[t] = NAN;
        if (eg_json_kind_of(a) == EG_JSON_NULL)
            continue;
        EG_TRY(eg_blame(eg_json_real(a, &acc[t]), "%s", key));
        if (!(acc[t] >= 0 && acc[t] <= 1))
            return eg_fail(EG_EFORMAT, "%s: %g is no fraction", key, acc[t]);
    }
    *out = acc;
    return EG_OK;
}

static eg_status event_method(eg_runlog *r, const eg_json *event)
{
    const eg_json *list;
    const char *part, *all = "";
    EG_TRY(eg_json_need(event, "method", EG_JSON_ARRAY, &list));
    for (size_t i = 0; i < eg_json_count(list); i++) {
        EG_TRY(eg_blame(eg_json_text(eg_json_at(list, i), &part), "method"));
        all = eg_arena_text(&r->arena, "%s%s%s", all, i ? ", " : "", part);
        if (!all)
            return EG_ENOMEM;
    }
    r->method = all;
    return EG_OK;
}

/* When each task is learned first: the event's optional `learned`, or task j in period j + 1.
 */
static eg_status event_learned(eg_runlog *r, const eg_json *event)
{
    if (eg_json_get(event, "learned"))
        return event_ints(r, event, "learned", r->n_tasks, 0, event_most, &r->learned);
    int64_t *learned = eg_arena_alloc(&r->arena, (size_t)r->n_tasks * sizeof *learned);
    if (!learned)
        return EG_ENOMEM;
    for (int64_t t = 0; t < r->n_tasks; t++)
        learned[t] = t + 1;
    r->learned = learned;
    return EG_OK;
}

static eg_status event_start(eg_runlog *r, const eg_json *event)
{
    if (r->label)
        return eg_fail(EG_EFORMAT, "a second start event");
    EG_TRY(event_text(r, event, "name", &r->name));
    EG_TRY(event_int(event, "seed", INT64_MIN, INT64_MAX, &r->seed));
    EG_TRY(event_method(r, event));
    EG_TRY(event_int(event, "clients", 1, 1 << 24, &r->n_clients));
    EG_TRY(event_int(event, "tasks", 1, 1 << 20, &r->n_tasks));
    EG_TRY(event_int(event, "rounds", 1, 1 << 24, &r->n_rounds));
    EG_TRY(event_int(event, "classes", 0, event_most, &r->n_classes));
    EG_TRY(event_text(r, event, "isa", &r->isa));
    EG_TRY(event_text(r, event, "config_sha256", &r->config_sha256));
    EG_TRY(event_learned(r, event));
    return event_text(r, event, "label", &r->label);
}

static eg_status event_round(eg_runlog *r, const eg_json *event)
{
    eg_runlog_round e = {0};
    int64_t first = r->n_round ? r->round[r->n_round - 1].round + 1 : 1;
    EG_TRY(event_int(event, "round", first, r->n_rounds, &e.round));
    EG_TRY(event_ints(r, event, "clients", -1, 0, r->n_clients - 1, &e.client));
    e.n_clients = (int64_t)eg_json_count(eg_json_get(event, "clients"));
    EG_TRY(event_int(event, "samples", 0, event_most, &e.samples));
    EG_TRY(event_real(event, "loss", &e.loss));
    EG_TRY(event_real(event, "bytes_up", &e.bytes_up));
    EG_TRY(event_real(event, "bytes_down", &e.bytes_down));
    EG_TRY(event_real(event, "seconds", &e.seconds));
    EG_TRY(eg_grow(&r->round, r->n_round, &r->cap_round, sizeof e));
    r->round[r->n_round++] = e;
    return EG_OK;
}

static eg_status event_who(const eg_runlog *r, const eg_json *event, int64_t *out)
{
    const eg_json *who = eg_json_get(event, "who");
    const char *text;
    if (who && eg_json_kind_of(who) == EG_JSON_INT)
        return event_int_in(who, "who", 0, r->n_clients - 1, out);
    EG_TRY(eg_json_need(event, "who", EG_JSON_TEXT, &who));
    EG_TRY(eg_json_text(who, &text));
    *out = EG_SERVER;
    if (strcmp(text, "server") != 0)
        return eg_fail(EG_EFORMAT, "who: '%s' is neither 'server' nor a client's id", text);
    return EG_OK;
}

static eg_status event_eval(eg_runlog *r, const eg_json *event)
{
    eg_runlog_eval e = {0};
    const int64_t *n;
    int64_t first = r->n_eval ? r->eval[r->n_eval - 1].round : 0;
    EG_TRY(event_int(event, "round", first, r->n_rounds, &e.round));
    EG_TRY(event_who(r, event, &e.who));
    EG_TRY(event_bool(event, "task_end", &e.task_end));
    EG_TRY(event_bool(event, "full", &e.full));
    EG_TRY(event_ints(r, event, "n", r->n_tasks, 0, event_most, &n));
    const eg_json *acc, *task_il = eg_json_get(event, "accuracy_task_il");
    EG_TRY(eg_json_need(event, "accuracy", EG_JSON_ARRAY, &acc));
    EG_TRY(event_accuracies(r, acc, "accuracy", &e.acc));
    if (task_il && eg_json_kind_of(task_il) != EG_JSON_NULL)
        EG_TRY(event_accuracies(r, task_il, "accuracy_task_il", &e.task_il));
    EG_TRY(eg_grow(&r->eval, r->n_eval, &r->cap_eval, sizeof e));
    r->eval[r->n_eval++] = e;
    return EG_OK;
}

static eg_status event_note(eg_runlog *r, const eg_json *event, bool of_client)
{
    eg_runlog_note e = {.client = -1};
    EG_TRY(event_int(event, "round", 1, r->n_rounds, &e.round));
    if (of_client)
        EG_TRY(event_int(event, "client", 0, r->n_clients - 1, &e.client));
    EG_TRY(event_text(r, event, "why", &e.why));
    EG_TRY(eg_grow(&r->note, r->n_note, &r->cap_note, sizeof e));
    r->note[r->n_note++] = e;
    return EG_OK;
}

static eg_status event_left_out(eg_runlog *r, const eg_json *event)
{
    return event_note(r, event, true);
}

static eg_status event_skipped(eg_runlog *r, const eg_json *event)
{
    return event_note(r, event, false);
}

static eg_status event_end(eg_runlog *r, const eg_json *event)
{
    double seconds, peak;
    EG_TRY(event_real(event, "seconds", &seconds));
    EG_TRY(event_real(event, "peak_rss_bytes", &peak));
    r->ended = true;
    return EG_OK;
}

static const struct {
    const char *name;
    eg_status (*read)(eg_runlog *r, const eg_json *event);
} event_kinds[] = {
    {"start", event_start},       {"round", event_round},     {"eval", event_eval},
    {"left_out", event_left_out}, {"skipped", event_skipped}, {"end", event_end},
};

eg_status eg_runlog_event(eg_runlog *r, const eg_json *event)
{
    const eg_json *v;
    const char *name;
    if (eg_json_kind_of(event) != EG_JSON_OBJECT)
        return eg_fail(EG_EFORMAT, "an event is an object, not %s",
                       eg_json_kind_text(eg_json_kind_of(event)));
    EG_TRY(eg_json_need(event, "event", EG_JSON_TEXT, &v));
    EG_TRY(eg_json_text(v, &name));
    if (r->ended)
        return eg_fail(EG_EFORMAT, "a %s event after the end", name);
    if (!r->label && strcmp(name, "start") != 0)
        return eg_fail(EG_EFORMAT, "a %s event before the start event", name);
    for (size_t i = 0; i < sizeof event_kinds / sizeof *event_kinds; i++)
        if (strcmp(event_kinds[i].name, name) == 0)
            return eg_blame(event_kinds[i].read(r, event), "%s", name);
    return eg_fail(EG_EFORMAT, "there is no event '%s'", name);
}
