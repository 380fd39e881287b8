/* event.c - the fields of each kind of event, each named and bounded once, written and read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/event.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The next field may be missing; then *x stays as it is. A pointer that is NULL is not written.
 */
static eg_fields *field_optional(eg_fields *f)
{
    f->optional = true;
    return f;
}

/* The member that is read; NULL where it may be missing and is. */
static eg_status field_find(eg_fields *f, const char *key, const eg_json **out)
{
    bool optional = f->optional;
    f->optional = false;
    *out = eg_json_get(f->from, key);
    return *out || optional ? EG_OK : eg_fail(EG_EFORMAT, "'%s' is missing", key);
}

/* Whether a pointer is left out of what is written. */
static bool field_is_left_out(eg_fields *f, const void *x)
{
    bool optional = f->optional;
    f->optional = false;
    return optional && !x;
}

/* A value of another kind is a fault of the file, not of a call. */
static eg_status field_taken(eg_status s, const char *key)
{
    return eg_blame(s == EG_EINVAL ? EG_EFORMAT : s, "%s", key);
}

static eg_status field_bounded(const char *key, int64_t x, int64_t min, int64_t max)
{
    if (x >= min && x <= max)
        return EG_OK;
    return eg_fail(EG_EFORMAT, "%s: %" PRId64 " is outside [%" PRId64 ", %" PRId64 "]", key, x,
                   min, max);
}

static eg_status field_take_int(const eg_json *v, const char *key, int64_t min, int64_t max,
                                int64_t *x)
{
    EG_TRY(field_taken(eg_json_int(v, x), key));
    return field_bounded(key, *x, min, max);
}

/* Every function below names a field once and goes both ways: it puts *x into the object, or
 * takes the member out, checks it, and sets *x. */
static eg_status field_int(eg_fields *f, const char *key, int64_t min, int64_t max, int64_t *x)
{
    const eg_json *v;
    if (f->to) {
        f->optional = false;
        EG_TRY(field_bounded(key, *x, min, max));
        return eg_json_set(f->to, key, eg_json_of_int(*x));
    }
    EG_TRY(field_find(f, key, &v));
    return v ? field_take_int(v, key, min, max, x) : EG_OK;
}

static eg_json *field_number(double x)
{
    return isfinite(x) ? eg_json_of_real(x) : eg_json_of_null();
}

static eg_status field_take_real(const eg_json *v, const char *key, double *x)
{
    *x = NAN;
    return eg_json_kind_of(v) == EG_JSON_NULL ? EG_OK : field_taken(eg_json_real(v, x), key);
}

/* null is NaN. */
static eg_status field_real(eg_fields *f, const char *key, double *x)
{
    const eg_json *v;
    if (f->to)
        return eg_json_set(f->to, key, field_number(*x));
    EG_TRY(field_find(f, key, &v));
    return field_take_real(v, key, x);
}

static eg_status field_bool(eg_fields *f, const char *key, bool *x)
{
    const eg_json *v;
    if (f->to) {
        f->optional = false;
        return eg_json_set(f->to, key, eg_json_of_bool(*x));
    }
    EG_TRY(field_find(f, key, &v));
    return v ? field_taken(eg_json_bool(v, x), key) : EG_OK;
}

/* What is written only if it is true. */
static eg_status field_mark(eg_fields *f, const char *key, bool *x)
{
    return f->to && !*x ? EG_OK : field_bool(field_optional(f), key, x);
}

static eg_status field_take_text(eg_fields *f, const eg_json *v, const char *key,
                                 const char **x)
{
    const char *text;
    EG_TRY(field_taken(eg_json_text(v, &text), key));
    *x = eg_arena_text(f->arena, "%s", text);
    return *x ? EG_OK : EG_ENOMEM;
}

static eg_status field_text(eg_fields *f, const char *key, const char **x)
{
    const eg_json *v;
    if (f->to)
        return field_is_left_out(f, *x) ? EG_OK : eg_json_set(f->to, key, eg_json_of_text(*x));
    EG_TRY(field_find(f, key, &v));
    return v ? field_take_text(f, v, key, x) : EG_OK;
}

/* -1 is "server". */
static eg_status field_who(eg_fields *f, const char *key, int64_t *x)
{
    const eg_json *v;
    const char *text;
    if (f->to)
        return eg_json_set(f->to, key, *x < 0 ? eg_json_of_text("server") : eg_json_of_int(*x));
    EG_TRY(field_find(f, key, &v));
    if (eg_json_kind_of(v) != EG_JSON_TEXT)
        return field_take_int(v, key, 0, f->run->clients - 1, x);
    *x = -1;
    EG_TRY(eg_json_text(v, &text));
    return strcmp(text, "server") == 0
               ? EG_OK
               : eg_fail(EG_EFORMAT, "%s: '%s' is neither 'server' nor a client's number", key,
                         text);
}

/* An array that is read, and its length, which must be n unless n is below 0. */
static eg_status field_take_array(const eg_json *v, const char *key, int64_t n, size_t *out)
{
    *out = eg_json_count(v);
    if (eg_json_kind_of(v) != EG_JSON_ARRAY)
        return eg_fail(EG_EFORMAT, "%s: wants an array, not %s", key,
                       eg_json_kind_text(eg_json_kind_of(v)));
    if (n >= 0 && *out != (size_t)n)
        return eg_fail(EG_EFORMAT, "%s: %zu values, not %" PRId64, key, *out, n);
    return EG_OK;
}

static eg_status field_put_ints(eg_fields *f, const char *key, const int64_t *x, size_t n)
{
    eg_json *list = eg_json_array();
    EG_TRY(eg_json_set(f->to, key, list));
    for (size_t i = 0; i < n; i++)
        EG_TRY(eg_json_add(list, eg_json_of_int(x[i])));
    return EG_OK;
}

static eg_status field_get_ints(eg_fields *f, const char *key, int64_t n,
                                const int64_t range[2], const int64_t **x, size_t *count)
{
    const eg_json *v;
    EG_TRY(field_find(f, key, &v));
    if (!v)
        return EG_OK;
    EG_TRY(field_take_array(v, key, n, count));
    int64_t *values = eg_arena_alloc(f->arena, (*count + 1) * sizeof *values);
    if (!values)
        return EG_ENOMEM;
    for (size_t i = 0; i < *count; i++)
        EG_TRY(field_take_int(eg_json_at(v, i), key, range[0], range[1], &values[i]));
    *x = values;
    return EG_OK;
}

/* n numbers; null is NaN. */
static eg_status field_numbers(eg_fields *f, const char *key, const double **x, size_t n)
{
    const eg_json *v;
    eg_json *list;
    if (f->to) {
        if (field_is_left_out(f, *x))
            return EG_OK;
        EG_TRY(eg_json_set(f->to, key, list = eg_json_array()));
        for (size_t i = 0; i < n; i++)
            EG_TRY(eg_json_add(list, field_number((*x)[i])));
        return EG_OK;
    }
    EG_TRY(field_find(f, key, &v));
    if (!v)
        return EG_OK;
    EG_TRY(field_take_array(v, key, (int64_t)n, &n));
    double *values = eg_arena_alloc(f->arena, (n + 1) * sizeof *values);
    if (!values)
        return EG_ENOMEM;
    for (size_t i = 0; i < n; i++)
        EG_TRY(field_take_real(eg_json_at(v, i), key, &values[i]));
    *x = values;
    return EG_OK;
}

/* n is what the array must hold. */
static eg_status field_ints(eg_fields *f, const char *key, int64_t min, int64_t max,
                            const int64_t **x, int64_t n)
{
    size_t count;
    if (f->to)
        return field_is_left_out(f, *x) ? EG_OK : field_put_ints(f, key, *x, (size_t)n);
    return field_get_ints(f, key, n, (const int64_t[]){min, max}, x, &count);
}

static eg_status field_int_list(eg_fields *f, const char *key, int64_t min, int64_t max,
                                const int64_t **x, size_t *n)
{
    if (f->to)
        return field_put_ints(f, key, *x, *n);
    return field_get_ints(f, key, -1, (const int64_t[]){min, max}, x, n);
}

static eg_status field_put_texts(eg_fields *f, const char *key, const char *const *x, size_t n)
{
    eg_json *list = eg_json_array();
    EG_TRY(eg_json_set(f->to, key, list));
    for (size_t i = 0; i < n; i++)
        EG_TRY(eg_json_add(list, eg_json_of_text(x[i])));
    return EG_OK;
}

static eg_status field_texts(eg_fields *f, const char *key, const char *const **x, size_t *n)
{
    const eg_json *v;
    if (f->to)
        return field_is_left_out(f, *x) ? EG_OK : field_put_texts(f, key, *x, *n);
    EG_TRY(field_find(f, key, &v));
    if (!v)
        return EG_OK;
    EG_TRY(field_take_array(v, key, -1, n));
    const char **texts = eg_arena_alloc(f->arena, (*n + 1) * sizeof *texts);
    if (!texts)
        return EG_ENOMEM;
    for (size_t i = 0; i < *n; i++)
        EG_TRY(field_take_text(f, eg_json_at(v, i), key, &texts[i]));
    *x = texts;
    return EG_OK;
}

static eg_status field_put_shares(eg_fields *f, const char *key, const int64_t *total,
                                  int64_t n, const int64_t *x)
{
    if (!x)
        return eg_json_set(f->to, key, eg_json_of_null());
    eg_json *list = eg_json_array();
    EG_TRY(eg_json_set(f->to, key, list));
    for (int64_t i = 0; i < n; i++) {
        EG_ASSERT(total[i] == 0 || (x[i] >= 0 && x[i] <= total[i]));
        EG_TRY(eg_json_add(list, total[i] > 0 ? eg_json_of_real((double)x[i] / (double)total[i])
                                              : eg_json_of_null()));
    }
    return EG_OK;
}

/* A fraction that was a count over a total gives the count back. One that was not may come
 * from elsewhere and is refused, for all that is made of it would be off. */
static eg_status field_take_share(const eg_json *v, const char *key, int64_t total, int64_t *x)
{
    double share;
    EG_TRY(field_taken(eg_json_real(v, &share), key));
    if (!(share >= 0 && share <= 1))
        return eg_fail(EG_EFORMAT, "%s: %g is no fraction", key, share);
    *x = llround(share * (double)total);
    if (total < 1 || fabs(share * (double)total - (double)*x) > 0.01)
        return eg_fail(EG_EFORMAT, "%s: %g is no share of %" PRId64 " samples", key, share,
                       total);
    return EG_OK;
}

/* Counts x[i] of total[i], as the fractions they are; null where the total is 0. A NULL is
 * null. */
static eg_status field_shares(eg_fields *f, const char *key, const int64_t *total, int64_t n,
                              const int64_t **x)
{
    const eg_json *v;
    size_t count;
    if (f->to)
        return field_put_shares(f, key, total, n, *x);
    EG_TRY(field_find(f, key, &v));
    if (!v || eg_json_kind_of(v) == EG_JSON_NULL)
        return EG_OK;
    EG_TRY(field_take_array(v, key, n, &count));
    int64_t *counts = eg_arena_alloc(f->arena, count * sizeof *counts);
    if (!counts)
        return EG_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const eg_json *share = eg_json_at(v, i);
        if (eg_json_kind_of(share) != EG_JSON_NULL)
            EG_TRY(field_take_share(share, key, total[i], &counts[i]));
        else if (total[i] > 0)
            return eg_fail(EG_EFORMAT, "%s: null for %" PRId64 " samples", key, total[i]);
    }
    *x = counts;
    return EG_OK;
}

static eg_status field_put_reals(eg_fields *f, const char *key, const char *const *names,
                                 const double *x, size_t n)
{
    eg_json *object = eg_json_object();
    EG_TRY(eg_json_set(f->to, key, object));
    for (size_t i = 0; i < n; i++)
        EG_TRY(eg_json_set(object, names[i], field_number(x[i])));
    return EG_OK;
}

/* An object of numbers by name. */
static eg_status field_reals(eg_fields *f, const char *key, const char *const **names,
                             const double **x, size_t *n)
{
    const eg_json *v, *value;
    const char *name = NULL;
    if (f->to)
        return field_put_reals(f, key, *names, *x, *n);
    EG_TRY(field_find(f, key, &v));
    if (eg_json_kind_of(v) != EG_JSON_OBJECT)
        return eg_fail(EG_EFORMAT, "%s: wants an object, not %s", key,
                       eg_json_kind_text(eg_json_kind_of(v)));
    size_t count = eg_json_count(v), i = 0;
    const char **texts = eg_arena_alloc(f->arena, (count + 1) * sizeof *texts);
    double *values = eg_arena_alloc(f->arena, (count + 1) * sizeof *values);
    if (!texts || !values)
        return EG_ENOMEM;
    for (; eg_json_next(v, &name, &value); i++) {
        texts[i] = eg_arena_text(f->arena, "%s", name);
        EG_TRY(texts[i] ? field_take_real(value, key, &values[i]) : EG_ENOMEM);
    }
    *names = texts;
    *x = values;
    *n = count;
    return EG_OK;
}

static const int64_t event_most = INT64_C(1) << 53; /* what every reader of JSON can count */

/* The newest round an event can be of, and the highest client. */
static int64_t event_last_round(const eg_fields *f)
{
    return f->run ? f->run->rounds : EG_MOST_ROUNDS;
}

static int64_t event_last_client(const eg_fields *f)
{
    return f->run ? f->run->clients - 1 : EG_MOST_CLIENTS - 1;
}

static eg_status event_program(eg_fields *f, const char **version, const char **commit)
{
    EG_TRY(field_text(f, "version", version));
    return field_text(f, "commit", commit);
}

static eg_status event_start(eg_fields *f, void *event)
{
    eg_start_event *e = event;
    EG_TRY(field_text(f, "name", &e->name));
    EG_TRY(field_text(f, "label", &e->label));
    EG_TRY(field_int(f, "seed", INT64_MIN, INT64_MAX, &e->seed));
    EG_TRY(field_texts(f, "method", &e->method, &e->n_method));
    EG_TRY(field_int(f, "clients", 1, EG_MOST_CLIENTS, &e->clients));
    EG_TRY(field_int(f, "tasks", 1, EG_MOST_TASKS, &e->tasks));
    EG_TRY(field_int(f, "rounds", 1, EG_MOST_ROUNDS, &e->rounds));
    EG_TRY(field_int(f, "classes", 0, event_most, &e->classes));
    EG_TRY(field_text(f, "isa", &e->isa));
    EG_TRY(field_text(f, "config_sha256", &e->config_sha256));
    EG_TRY(field_text(field_optional(f), "encoder_sha256", &e->encoder_sha256));
    EG_TRY(event_program(f, &e->version, &e->commit));
    EG_TRY(field_text(f, "labels_sum", &e->labels));
    EG_TRY(field_text(f, "pixels_sum", &e->pixels));
    EG_TRY(field_texts(field_optional(f), "class_names", &e->names, &e->n_names));
    EG_TRY(field_mark(f, "own_data", &e->own_data));
    EG_TRY(field_mark(f, "replay", &e->replay));
    if (e->names && e->n_names != (size_t)e->classes)
        return eg_fail(EG_EFORMAT, "class_names: %zu of %" PRId64 " classes", e->n_names,
                       e->classes);
    return field_ints(f, "learned", 1, event_most, &e->learned, e->tasks);
}

/* What memories hold; a reader divides by the clients and looks classes up. */
static eg_status event_held(eg_fields *f, eg_round_event *e)
{
    int64_t classes = f->run ? f->run->classes : event_most;
    if (f->to && !e->held)
        return EG_OK;
    EG_TRY(field_int_list(field_optional(f), "held", 0, event_most, &e->held, &e->n_held));
    EG_TRY(field_int(field_optional(f), "held_by", 1, event_most, &e->held_by));
    if (e->n_held > (size_t)classes || (e->n_held > 0) != (e->held_by > 0))
        return eg_fail(EG_EFORMAT, "held: %zu classes of %" PRId64 ", by %" PRId64 " clients",
                       e->n_held, classes, e->held_by);
    return EG_OK;
}

static eg_status event_round(eg_fields *f, void *event)
{
    eg_round_event *e = event;
    EG_TRY(field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(field_int_list(f, "clients", 0, event_last_client(f), &e->clients, &e->n_clients));
    if (!f->to || e->lost)
        EG_TRY(field_int_list(field_optional(f), "lost", 0, event_last_client(f), &e->lost,
                              &e->n_lost));
    EG_TRY(field_int(f, "samples", 0, event_most, &e->samples));
    EG_TRY(field_real(f, "loss", &e->loss));
    EG_TRY(field_numbers(field_optional(f), "losses", &e->losses, e->n_clients));
    EG_TRY(event_held(f, e));
    EG_TRY(field_int(f, "bytes_up", 0, event_most, &e->bytes_up));
    EG_TRY(field_int(f, "bytes_down", 0, event_most, &e->bytes_down));
    return field_real(f, "seconds", &e->seconds);
}

static eg_status event_counts(eg_fields *f, eg_eval_event *e)
{
    return field_ints(f, "n", 0, INT64_C(1) << 40, &e->n, e->n_tasks);
}

static eg_status event_validation(eg_fields *f, eg_eval_event *e)
{
    EG_TRY(field_ints(field_optional(f), "n_validation", 0, INT64_C(1) << 40, &e->n_validation,
                      e->n_tasks));
    if (!e->n_validation)
        return EG_OK;
    EG_TRY(field_shares(f, "validation", e->n_validation, e->n_tasks, &e->correct_validation));
    return e->correct_validation ? EG_OK
                                 : eg_fail(EG_EFORMAT, "validation: wants an array, not null");
}

/* A reader needs the counts before the shares of them, to tell what was right. */
static eg_status event_eval(eg_fields *f, void *event)
{
    eg_eval_event *e = event;
    if (!f->to) {
        e->n_tasks = f->run->tasks;
        e->met = -1;
    }
    EG_TRY(field_int(f, "round", 0, event_last_round(f), &e->round));
    EG_TRY(field_who(f, "who", &e->who));
    EG_TRY(field_bool(f, "task_end", &e->task_end));
    EG_TRY(field_bool(f, "full", &e->full));
    if (!f->to)
        EG_TRY(event_counts(f, e));
    EG_TRY(field_shares(f, "accuracy", e->n, e->n_tasks, &e->correct));
    EG_TRY(field_shares(field_optional(f), "accuracy_task_il", e->n, e->n_tasks,
                        &e->correct_task_il));
    if (!e->correct)
        return eg_fail(EG_EFORMAT, "accuracy: wants an array, not null");
    if (f->to)
        EG_TRY(event_counts(f, e));
    EG_TRY(event_validation(f, e));
    if (!f->to || e->map)
        EG_TRY(field_shares(field_optional(f), "map", e->n, e->n_tasks, &e->map));
    if (f->to && (e->met < 0 || e->who < 0))
        return EG_OK;
    return field_int(field_optional(f), "met", 0, event_most, &e->met);
}

/* What a reader relies on: whole cells, in order, none twice and none empty. */
static eg_status event_check_cells(const eg_confusion_event *e, int64_t classes)
{
    if (e->n_cells % 3)
        return eg_fail(EG_EFORMAT, "cells: %zu numbers, which are no threes", e->n_cells);
    for (size_t i = 0; i < e->n_cells; i += 3) {
        const int64_t *cell = e->cells + i, *last = i ? cell - 3 : cell;
        bool after = i == 0 || cell[0] > last[0] || (cell[0] == last[0] && cell[1] > last[1]);
        if (!after || cell[0] >= classes || cell[1] >= classes || cell[2] == 0)
            return eg_fail(EG_EFORMAT,
                           "cells: %lld, %lld, %lld cannot be number %zu of %lld "
                           "classes",
                           (long long)cell[0], (long long)cell[1], (long long)cell[2],
                           i / 3 + 1, (long long)classes);
    }
    return EG_OK;
}

static eg_status event_confusion(eg_fields *f, void *event)
{
    eg_confusion_event *e = event;
    EG_TRY(field_int(f, "round", 0, event_last_round(f), &e->round));
    EG_TRY(field_int_list(f, "cells", 0, INT64_C(1) << 40, &e->cells, &e->n_cells));
    return event_check_cells(e, f->run ? f->run->classes : INT64_MAX);
}

static eg_status event_note(eg_fields *f, void *event)
{
    eg_note_event *e = event;
    EG_TRY(field_int(f, "round", 0, event_last_round(f), &e->round));
    EG_TRY(field_who(f, "who", &e->who));
    EG_TRY(field_text(f, "name", &e->name));
    return field_real(f, "value", &e->value);
}

static eg_status event_sheet(eg_fields *f, void *event)
{
    eg_sheet_event *e = event;
    int64_t last = f->run && f->run->classes > 0 ? f->run->classes - 1 : event_most;
    EG_TRY(field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(field_who(f, "who", &e->who));
    return field_int_list(f, "classes", 0, last, &e->classes, &e->n_classes);
}

/* Shares of each class that is listed; none is below 0 or above the whole. */
static eg_status event_class_shares(eg_fields *f, const char *key, const eg_boxes_event *e,
                                    const int64_t **x)
{
    return field_ints(f, key, 0, EG_BOXES_SHARE, x, (int64_t)e->n_classes);
}

static eg_status event_check_boxes(const eg_boxes_event *e, int64_t classes)
{
    if (e->n_curve != e->n_classes * EG_BOXES_CURVE)
        return eg_fail(EG_EFORMAT, "curve: %zu numbers for %zu classes", e->n_curve,
                       e->n_classes);
    for (size_t i = 0; i < e->n_classes; i++)
        if (e->classes[i] >= classes || (i && e->classes[i] <= e->classes[i - 1]))
            return eg_fail(EG_EFORMAT, "classes: %lld cannot be number %zu of %lld classes",
                           (long long)e->classes[i], i + 1, (long long)classes);
    if (e->n_boxes % EG_BOXES_SIZE != 0)
        return eg_fail(EG_EFORMAT, "boxes: %zu numbers, which are no eights", e->n_boxes);
    for (size_t i = 0; i < e->n_boxes; i += EG_BOXES_SIZE) {
        const int64_t *b = e->boxes + i;
        if (b[0] >= e->images || b[1] > EG_BOXES_MISSED || b[2] >= classes || b[3] > b[5] ||
            b[4] > b[6])
            return eg_fail(EG_EFORMAT, "boxes: number %zu is of no image, kind or class",
                           i / EG_BOXES_SIZE + 1);
    }
    return EG_OK;
}

static eg_status event_boxes(eg_fields *f, void *event)
{
    enum { MOST_IMAGES = 100, MOST_SIDE = 1 << 16 };
    eg_boxes_event *e = event;
    int64_t classes = f->run && f->run->classes > 0 ? f->run->classes : event_most;
    EG_TRY(field_int(f, "round", 0, event_last_round(f), &e->round));
    EG_TRY(field_int(f, "task", 0, f->run ? f->run->tasks - 1 : event_most, &e->task));
    EG_TRY(field_int_list(f, "classes", 0, classes - 1, &e->classes, &e->n_classes));
    EG_TRY(event_class_shares(f, "map_50", e, &e->half));
    EG_TRY(event_class_shares(f, "map", e, &e->each));
    EG_TRY(field_int_list(f, "curve", 0, EG_BOXES_SHARE, &e->curve, &e->n_curve));
    EG_TRY(field_int(f, "images", 0, MOST_IMAGES, &e->images));
    EG_TRY(field_int(f, "height", 0, MOST_SIDE, &e->height));
    EG_TRY(field_int(f, "width", 0, MOST_SIDE, &e->width));
    EG_TRY(field_int_list(f, "boxes", 0, event_most, &e->boxes, &e->n_boxes));
    return event_check_boxes(e, classes);
}

static eg_status event_left_out(eg_fields *f, void *event)
{
    eg_loss_event *e = event;
    EG_TRY(field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(field_int(f, "client", 0, event_last_client(f), &e->client));
    EG_TRY(field_text(f, "why", &e->why));
    if (!f->to || e->exchange)
        EG_TRY(field_int(field_optional(f), "exchange", 0, EG_MOST_EXCHANGES, &e->exchange));
    EG_TRY(field_mark(f, "answered", &e->answered));
    return field_mark(f, "summed", &e->summed);
}

static eg_status event_late(eg_fields *f, void *event)
{
    eg_late_event *e = event;
    EG_TRY(field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(field_int(f, "client", 0, event_last_client(f), &e->client));
    EG_TRY(field_int(f, "age", 0, e->round - 1, &e->age));
    EG_TRY(field_int(f, "stage", 0, event_most, &e->stage));
    return field_text(field_optional(f), "why", &e->why);
}

static eg_status event_skipped(eg_fields *f, void *event)
{
    eg_loss_event *e = event;
    e->client = -1;
    EG_TRY(field_int(f, "round", 1, event_last_round(f), &e->round));
    return field_text(f, "why", &e->why);
}

static eg_status event_stop(eg_fields *f, void *event)
{
    eg_stop_event *e = event;
    EG_TRY(field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(field_int(f, "best_round", 0, e->round, &e->best_round));
    return field_real(f, "best", &e->best);
}

static eg_status event_forced(eg_fields *f, void *event)
{
    eg_forced_event *e = event;
    EG_TRY(field_int(f, "round", 0, event_last_round(f), &e->round));
    return field_text(f, "why", &e->why);
}

static eg_status event_end(eg_fields *f, void *event)
{
    eg_end_event *e = event;
    EG_TRY(field_real(f, "seconds", &e->seconds));
    EG_TRY(field_int(f, "peak_rss_bytes", 0, event_most, &e->peak_rss_bytes));
    EG_TRY(field_real(f, "train_seconds", &e->train_seconds));
    EG_TRY(field_real(f, "phase_seconds", &e->phase_seconds));
    EG_TRY(field_reals(f, "part_seconds", &e->parts, &e->part_seconds, &e->n_parts));
    EG_TRY(field_reals(f, "server_seconds", &e->parts, &e->server_seconds, &e->n_parts));
    EG_TRY(field_int(f, "flops_clients", 0, EG_MOST_FLOPS, &e->flops_clients));
    EG_TRY(field_int(f, "flops_server", 0, EG_MOST_FLOPS, &e->flops_server));
    return event_program(f, &e->version, &e->commit);
}

const eg_event_kind eg_event_start = {"start", event_start};
const eg_event_kind eg_event_round = {"round", event_round};
const eg_event_kind eg_event_eval = {"eval", event_eval};
const eg_event_kind eg_event_confusion = {"confusion", event_confusion};
const eg_event_kind eg_event_sheet = {"sheet", event_sheet};
const eg_event_kind eg_event_boxes = {"boxes", event_boxes};
const eg_event_kind eg_event_note = {"note", event_note};
const eg_event_kind eg_event_left_out = {"left_out", event_left_out};
const eg_event_kind eg_event_late = {"late", event_late};
const eg_event_kind eg_event_skipped = {"skipped", event_skipped};
const eg_event_kind eg_event_stop = {"stop", event_stop};
const eg_event_kind eg_event_forced = {"forced", event_forced};
const eg_event_kind eg_event_end = {"end", event_end};
