/* run_events.c - writes each kind of event, its fields in a fixed order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "log/run_folder_private.h"

#include <math.h>
#include <stdlib.h>

/* Puts an event's fields into an object that already says what event it is. */
typedef eg_status (*event_fill)(eg_json *event, const void *of);

static eg_status event_write(eg_run_folder *f, const char *kind, event_fill fill,
                             const void *of)
{
    eg_json *event = eg_json_object();
    if (!event)
        return EG_ENOMEM;
    eg_status status = eg_json_set(event, "event", eg_json_of_text(kind));
    if (status == EG_OK)
        status = fill(event, of);
    if (status == EG_OK)
        status = eg_run_append(f, event);
    eg_json_free(event);
    return eg_blame(status, "event '%s'", kind);
}

static eg_status event_int(eg_json *event, const char *key, int64_t value)
{
    return eg_json_set(event, key, eg_json_of_int(value));
}

static eg_status event_text(eg_json *event, const char *key, const char *value)
{
    return eg_json_set(event, key, eg_json_of_text(value));
}

static eg_json *event_number(double value)
{
    return isfinite(value) ? eg_json_of_real(value) : eg_json_of_null();
}

static eg_status event_ints(eg_json *event, const char *key, const int64_t *values, size_t n)
{
    eg_json *list = eg_json_array();
    EG_TRY(eg_json_set(event, key, list));
    for (size_t i = 0; i < n; i++)
        EG_TRY(eg_json_add(list, eg_json_of_int(values[i])));
    return EG_OK;
}

static eg_status event_start(eg_json *event, const void *of)
{
    const eg_start_event *e = of;
    EG_TRY(event_text(event, "name", e->name));
    EG_TRY(event_text(event, "label", e->label));
    EG_TRY(event_int(event, "seed", e->seed));
    eg_json *method = eg_json_array();
    EG_TRY(eg_json_set(event, "method", method));
    for (size_t i = 0; i < e->n_method; i++)
        EG_TRY(eg_json_add(method, eg_json_of_text(e->method[i])));
    EG_TRY(event_int(event, "clients", e->clients));
    EG_TRY(event_int(event, "tasks", e->tasks));
    EG_TRY(event_int(event, "rounds", e->rounds));
    EG_TRY(event_int(event, "classes", e->classes));
    EG_TRY(event_text(event, "isa", e->isa));
    EG_TRY(event_text(event, "config_sha256", e->config_sha256));
    return e->learned ? event_ints(event, "learned", e->learned, (size_t)e->tasks) : EG_OK;
}

eg_status eg_run_write_start(eg_run_folder *f, const eg_start_event *e)
{
    return event_write(f, "start", event_start, e);
}

static eg_status event_round(eg_json *event, const void *of)
{
    const eg_round_event *e = of;
    EG_TRY(event_int(event, "round", e->round));
    EG_TRY(event_ints(event, "clients", e->clients, e->n_clients));
    EG_TRY(event_int(event, "samples", e->samples));
    EG_TRY(eg_json_set(event, "loss", event_number(e->loss)));
    EG_TRY(event_int(event, "bytes_up", e->bytes_up));
    EG_TRY(event_int(event, "bytes_down", e->bytes_down));
    return eg_json_set(event, "seconds", event_number(e->seconds));
}

eg_status eg_run_write_round(eg_run_folder *f, const eg_round_event *e)
{
    return event_write(f, "round", event_round, e);
}

static eg_status event_accuracies(eg_json *event, const char *key, const eg_eval_event *e,
                                  const int64_t *correct)
{
    eg_json *list = eg_json_array();
    EG_TRY(eg_json_set(event, key, list));
    for (int64_t t = 0; t < e->n_tasks; t++) {
        EG_ASSERT(correct[t] >= 0 && correct[t] <= e->n[t]);
        EG_TRY(eg_json_add(list, e->n[t] > 0
                                     ? eg_json_of_real((double)correct[t] / (double)e->n[t])
                                     : eg_json_of_null()));
    }
    return EG_OK;
}

static eg_status event_eval(eg_json *event, const void *of)
{
    const eg_eval_event *e = of;
    EG_TRY(event_int(event, "round", e->round));
    EG_TRY(eg_json_set(event, "who",
                       e->who < 0 ? eg_json_of_text("server") : eg_json_of_int(e->who)));
    EG_TRY(eg_json_set(event, "task_end", eg_json_of_bool(e->task_end)));
    EG_TRY(eg_json_set(event, "full", eg_json_of_bool(e->full)));
    EG_TRY(event_accuracies(event, "accuracy", e, e->correct));
    if (e->correct_task_il)
        EG_TRY(event_accuracies(event, "accuracy_task_il", e, e->correct_task_il));
    else
        EG_TRY(eg_json_set(event, "accuracy_task_il", eg_json_of_null()));
    EG_TRY(event_ints(event, "n", e->n, (size_t)e->n_tasks));
    return e->met >= 0 && e->who >= 0 ? event_int(event, "met", e->met) : EG_OK;
}

eg_status eg_run_write_eval(eg_run_folder *f, const eg_eval_event *e)
{
    return event_write(f, "eval", event_eval, e);
}

/* What the three small events say. */
typedef struct event_note {
    int64_t round, client;
    const char *why;
} event_note;

static eg_status event_left_out(eg_json *event, const void *of)
{
    const event_note *e = of;
    EG_TRY(event_int(event, "round", e->round));
    EG_TRY(event_int(event, "client", e->client));
    return event_text(event, "why", e->why);
}

eg_status eg_run_write_left_out(eg_run_folder *f, int64_t round, int64_t client,
                                const char *why)
{
    return event_write(f, "left_out", event_left_out,
                       &(event_note){.round = round, .client = client, .why = why});
}

static eg_status event_skipped(eg_json *event, const void *of)
{
    const event_note *e = of;
    EG_TRY(event_int(event, "round", e->round));
    return event_text(event, "why", e->why);
}

eg_status eg_run_write_skipped(eg_run_folder *f, int64_t round, const char *why)
{
    return event_write(f, "skipped", event_skipped, &(event_note){.round = round, .why = why});
}

static eg_status event_end(eg_json *event, const void *of)
{
    const eg_end_event *e = of;
    EG_TRY(eg_json_set(event, "seconds", event_number(e->seconds)));
    EG_TRY(event_int(event, "peak_rss_bytes", e->peak_rss_bytes));
    EG_TRY(eg_json_set(event, "train_seconds", event_number(e->train_seconds)));
    EG_TRY(eg_json_set(event, "phase_seconds", event_number(e->phase_seconds)));
    eg_json *parts = eg_json_object();
    EG_TRY(eg_json_set(event, "part_seconds", parts));
    for (size_t i = 0; i < e->n_parts; i++)
        EG_TRY(eg_json_set(parts, e->parts[i], event_number(e->part_seconds[i])));
    return EG_OK;
}

eg_status eg_run_write_end(eg_run_folder *f, const eg_end_event *e)
{
    return event_write(f, "end", event_end, e);
}

typedef struct event_number_note {
    int64_t round, who;
    const char *name;
    double value;
} event_number_note;

static eg_status event_note_number(eg_json *event, const void *of)
{
    const event_number_note *e = of;
    EG_TRY(event_int(event, "round", e->round));
    EG_TRY(eg_json_set(event, "who",
                       e->who < 0 ? eg_json_of_text("server") : eg_json_of_int(e->who)));
    EG_TRY(event_text(event, "name", e->name));
    return eg_json_set(event, "value", event_number(e->value));
}

eg_status eg_run_write_note(eg_run_folder *f, int64_t round, int64_t who, const char *name,
                            double value)
{
    return event_write(f, "note", event_note_number,
                       &(event_number_note){round, who, name, value});
}
