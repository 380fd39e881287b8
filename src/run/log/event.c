/* event.c - the fields of each kind of event, each named and bounded once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/fields.h"

#include <inttypes.h>
#include <string.h>

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
    EG_TRY(eg_field_text(f, "version", version));
    return eg_field_text(f, "commit", commit);
}

static eg_status event_start(eg_fields *f, void *event)
{
    eg_start_event *e = event;
    EG_TRY(eg_field_text(f, "name", &e->name));
    EG_TRY(eg_field_text(f, "label", &e->label));
    EG_TRY(eg_field_int(f, "seed", INT64_MIN, INT64_MAX, &e->seed));
    EG_TRY(eg_field_texts(f, "method", &e->method, &e->n_method));
    EG_TRY(eg_field_int(f, "clients", 1, EG_MOST_CLIENTS, &e->clients));
    EG_TRY(eg_field_int(f, "tasks", 1, EG_MOST_TASKS, &e->tasks));
    EG_TRY(eg_field_int(f, "rounds", 1, EG_MOST_ROUNDS, &e->rounds));
    EG_TRY(eg_field_int(f, "classes", 0, event_most, &e->classes));
    EG_TRY(eg_field_text(f, "isa", &e->isa));
    EG_TRY(eg_field_text(f, "config_sha256", &e->config_sha256));
    EG_TRY(eg_field_text(eg_field_optional(f), "encoder_sha256", &e->encoder_sha256));
    EG_TRY(event_program(f, &e->version, &e->commit));
    EG_TRY(eg_field_text(f, "labels_sum", &e->labels));
    EG_TRY(eg_field_text(f, "pixels_sum", &e->pixels));
    EG_TRY(eg_field_texts(eg_field_optional(f), "class_names", &e->names, &e->n_names));
    EG_TRY(eg_field_mark(f, "own_data", &e->own_data));
    EG_TRY(eg_field_mark(f, "replay", &e->replay));
    if (e->names && e->n_names != (size_t)e->classes)
        return eg_fail(EG_EFORMAT, "class_names: %zu of %" PRId64 " classes", e->n_names,
                       e->classes);
    return eg_field_ints(f, "learned", 1, event_most, &e->learned, e->tasks);
}

/* What memories hold; a reader divides by the clients and looks classes up. */
static eg_status event_held(eg_fields *f, eg_round_event *e)
{
    int64_t classes = f->run ? f->run->classes : event_most;
    if (f->to && !e->held)
        return EG_OK;
    EG_TRY(
        eg_field_int_list(eg_field_optional(f), "held", 0, event_most, &e->held, &e->n_held));
    EG_TRY(eg_field_int(eg_field_optional(f), "held_by", 1, event_most, &e->held_by));
    if (e->n_held > (size_t)classes || (e->n_held > 0) != (e->held_by > 0))
        return eg_fail(EG_EFORMAT, "held: %zu classes of %" PRId64 ", by %" PRId64 " clients",
                       e->n_held, classes, e->held_by);
    return EG_OK;
}

static eg_status event_round(eg_fields *f, void *event)
{
    eg_round_event *e = event;
    EG_TRY(eg_field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(
        eg_field_int_list(f, "clients", 0, event_last_client(f), &e->clients, &e->n_clients));
    if (!f->to || e->lost)
        EG_TRY(eg_field_int_list(eg_field_optional(f), "lost", 0, event_last_client(f),
                                 &e->lost, &e->n_lost));
    EG_TRY(eg_field_int(f, "samples", 0, event_most, &e->samples));
    EG_TRY(eg_field_real(f, "loss", &e->loss));
    EG_TRY(eg_field_numbers(eg_field_optional(f), "losses", &e->losses, e->n_clients));
    EG_TRY(event_held(f, e));
    EG_TRY(eg_field_int(f, "bytes_up", 0, event_most, &e->bytes_up));
    EG_TRY(eg_field_int(f, "bytes_down", 0, event_most, &e->bytes_down));
    return eg_field_real(f, "seconds", &e->seconds);
}

static eg_status event_counts(eg_fields *f, eg_eval_event *e)
{
    return eg_field_ints(f, "n", 0, INT64_C(1) << 40, &e->n, e->n_tasks);
}

static eg_status event_validation(eg_fields *f, eg_eval_event *e)
{
    EG_TRY(eg_field_ints(eg_field_optional(f), "n_validation", 0, INT64_C(1) << 40,
                         &e->n_validation, e->n_tasks));
    if (!e->n_validation)
        return EG_OK;
    EG_TRY(
        eg_field_shares(f, "validation", e->n_validation, e->n_tasks, &e->correct_validation));
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
    EG_TRY(eg_field_int(f, "round", 0, event_last_round(f), &e->round));
    EG_TRY(eg_field_who(f, "who", &e->who));
    EG_TRY(eg_field_bool(f, "task_end", &e->task_end));
    EG_TRY(eg_field_bool(f, "full", &e->full));
    if (!f->to)
        EG_TRY(event_counts(f, e));
    EG_TRY(eg_field_shares(f, "accuracy", e->n, e->n_tasks, &e->correct));
    EG_TRY(eg_field_shares(eg_field_optional(f), "accuracy_task_il", e->n, e->n_tasks,
                           &e->correct_task_il));
    if (!e->correct)
        return eg_fail(EG_EFORMAT, "accuracy: wants an array, not null");
    if (f->to)
        EG_TRY(event_counts(f, e));
    EG_TRY(event_validation(f, e));
    if (!f->to || e->map)
        EG_TRY(eg_field_shares(eg_field_optional(f), "map", e->n, e->n_tasks, &e->map));
    if (f->to && (e->met < 0 || e->who < 0))
        return EG_OK;
    return eg_field_int(eg_field_optional(f), "met", 0, event_most, &e->met);
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
    EG_TRY(eg_field_int(f, "round", 0, event_last_round(f), &e->round));
    EG_TRY(eg_field_int_list(f, "cells", 0, INT64_C(1) << 40, &e->cells, &e->n_cells));
    return event_check_cells(e, f->run ? f->run->classes : INT64_MAX);
}

static eg_status event_note(eg_fields *f, void *event)
{
    eg_note_event *e = event;
    EG_TRY(eg_field_int(f, "round", 0, event_last_round(f), &e->round));
    EG_TRY(eg_field_who(f, "who", &e->who));
    EG_TRY(eg_field_text(f, "name", &e->name));
    return eg_field_real(f, "value", &e->value);
}

static eg_status event_sheet(eg_fields *f, void *event)
{
    eg_sheet_event *e = event;
    int64_t last = f->run && f->run->classes > 0 ? f->run->classes - 1 : event_most;
    EG_TRY(eg_field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(eg_field_who(f, "who", &e->who));
    return eg_field_int_list(f, "classes", 0, last, &e->classes, &e->n_classes);
}

/* Shares of each class that is listed; none is below 0 or above the whole. */
static eg_status event_class_shares(eg_fields *f, const char *key, const eg_boxes_event *e,
                                    const int64_t **x)
{
    return eg_field_ints(f, key, 0, EG_BOXES_SHARE, x, (int64_t)e->n_classes);
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
    EG_TRY(eg_field_int(f, "round", 0, event_last_round(f), &e->round));
    EG_TRY(eg_field_int(f, "task", 0, f->run ? f->run->tasks - 1 : event_most, &e->task));
    EG_TRY(eg_field_int_list(f, "classes", 0, classes - 1, &e->classes, &e->n_classes));
    EG_TRY(event_class_shares(f, "map_50", e, &e->half));
    EG_TRY(event_class_shares(f, "map", e, &e->each));
    EG_TRY(eg_field_int_list(f, "curve", 0, EG_BOXES_SHARE, &e->curve, &e->n_curve));
    EG_TRY(eg_field_int(f, "images", 0, MOST_IMAGES, &e->images));
    EG_TRY(eg_field_int(f, "height", 0, MOST_SIDE, &e->height));
    EG_TRY(eg_field_int(f, "width", 0, MOST_SIDE, &e->width));
    EG_TRY(eg_field_int_list(f, "boxes", 0, event_most, &e->boxes, &e->n_boxes));
    return event_check_boxes(e, classes);
}

static eg_status event_left_out(eg_fields *f, void *event)
{
    eg_loss_event *e = event;
    EG_TRY(eg_field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(eg_field_int(f, "client", 0, event_last_client(f), &e->client));
    EG_TRY(eg_field_text(f, "why", &e->why));
    if (!f->to || e->exchange)
        EG_TRY(
            eg_field_int(eg_field_optional(f), "exchange", 0, EG_MOST_EXCHANGES, &e->exchange));
    EG_TRY(eg_field_mark(f, "answered", &e->answered));
    return eg_field_mark(f, "summed", &e->summed);
}

static eg_status event_late(eg_fields *f, void *event)
{
    eg_late_event *e = event;
    EG_TRY(eg_field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(eg_field_int(f, "client", 0, event_last_client(f), &e->client));
    EG_TRY(eg_field_int(f, "age", 0, e->round - 1, &e->age));
    EG_TRY(eg_field_int(f, "stage", 0, event_most, &e->stage));
    return eg_field_text(eg_field_optional(f), "why", &e->why);
}

static eg_status event_skipped(eg_fields *f, void *event)
{
    eg_loss_event *e = event;
    e->client = -1;
    EG_TRY(eg_field_int(f, "round", 1, event_last_round(f), &e->round));
    return eg_field_text(f, "why", &e->why);
}

static eg_status event_stop(eg_fields *f, void *event)
{
    eg_stop_event *e = event;
    EG_TRY(eg_field_int(f, "round", 1, event_last_round(f), &e->round));
    EG_TRY(eg_field_int(f, "best_round", 0, e->round, &e->best_round));
    return eg_field_real(f, "best", &e->best);
}

static eg_status event_forced(eg_fields *f, void *event)
{
    eg_forced_event *e = event;
    EG_TRY(eg_field_int(f, "round", 0, event_last_round(f), &e->round));
    return eg_field_text(f, "why", &e->why);
}

static eg_status event_end(eg_fields *f, void *event)
{
    eg_end_event *e = event;
    EG_TRY(eg_field_real(f, "seconds", &e->seconds));
    EG_TRY(eg_field_int(f, "peak_rss_bytes", 0, event_most, &e->peak_rss_bytes));
    EG_TRY(eg_field_real(f, "train_seconds", &e->train_seconds));
    EG_TRY(eg_field_real(f, "phase_seconds", &e->phase_seconds));
    EG_TRY(eg_field_reals(f, "part_seconds", &e->parts, &e->part_seconds, &e->n_parts));
    EG_TRY(eg_field_reals(f, "server_seconds", &e->parts, &e->server_seconds, &e->n_parts));
    EG_TRY(eg_field_int(f, "flops_clients", 0, EG_MOST_FLOPS, &e->flops_clients));
    EG_TRY(eg_field_int(f, "flops_server", 0, EG_MOST_FLOPS, &e->flops_server));
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
