/* events.c - reads the events of a run, and makes the records of its accuracies.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/events.h"
#include "run/log/fields.h"

#include "base/checksum.h"
#include "io/file.h"

#include <engram/log.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The seal of a line whose first n bytes are before it. */
static uint64_t seal_print(uint64_t before, const char *line, size_t n,
                           char out[EG_SEAL_SIZE + 1])
{
    uint64_t sum = eg_checksum(before, line, n);
    snprintf(out, EG_SEAL_SIZE + 1, ",\"sum\":\"%016llx\"", (unsigned long long)sum);
    return sum;
}

size_t eg_seal_line(eg_seal *s, char *line, size_t n)
{
    char seal[EG_SEAL_SIZE + 1];
    EG_ASSERT(n > 1 && line[n - 1] == '}');
    s->sum = seal_print(s->sum, line, n - 1, seal);
    memcpy(line + n - 1, seal, EG_SEAL_SIZE);
    line[n - 1 + EG_SEAL_SIZE] = '}';
    return n + EG_SEAL_SIZE;
}

eg_status eg_seal_check(eg_seal *s, const char *line, size_t n)
{
    static const char key[] = ",\"sum\":\"";
    char seal[EG_SEAL_SIZE + 1];
    size_t body = n > EG_SEAL_SIZE ? n - 1 - EG_SEAL_SIZE : 0;
    if (body == 0 || memcmp(line + body, key, sizeof key - 1) != 0)
        return eg_fail(EG_EFORMAT, "the line has no checksum: it is damaged");
    s->sum = seal_print(s->sum, line, body, seal);
    return memcmp(line + body, seal, EG_SEAL_SIZE) == 0
               ? EG_OK
               : eg_fail(EG_EFORMAT, "the checksum is another: this line or the end of the one "
                                     "before it is damaged");
}

#define EVENTS_MAX_FILE ((size_t)1 << 32)

/* Events of one kind come in the order of their rounds. */
static eg_status events_in_order(int64_t round, int64_t last, bool again)
{
    if (round > last || (again && round == last))
        return EG_OK;
    return eg_fail(EG_EFORMAT, "round %lld after round %lld", (long long)round,
                   (long long)last);
}

static eg_status events_start(eg_events *e, eg_fields *f)
{
    return f->run ? eg_fail(EG_EFORMAT, "a second start event")
                  : eg_event_start.fields(f, &e->start);
}

static eg_status events_round(eg_events *e, eg_fields *f)
{
    eg_round_event event = {0};
    EG_TRY(eg_event_round.fields(f, &event));
    EG_TRY(
        events_in_order(event.round, e->n_round ? e->round[e->n_round - 1].round : 0, false));
    EG_TRY(eg_grow(&e->round, e->n_round, &e->cap_round, sizeof event));
    e->round[e->n_round++] = event;
    return EG_OK;
}

static eg_status events_eval(eg_events *e, eg_fields *f)
{
    eg_eval_event event = {0};
    EG_TRY(eg_event_eval.fields(f, &event));
    EG_TRY(events_in_order(event.round, e->n_eval ? e->eval[e->n_eval - 1].round : 0, true));
    EG_TRY(eg_grow(&e->eval, e->n_eval, &e->cap_eval, sizeof event));
    e->eval[e->n_eval++] = event;
    return EG_OK;
}

static eg_status events_confusion(eg_events *e, eg_fields *f)
{
    eg_confusion_event event = {0};
    EG_TRY(eg_event_confusion.fields(f, &event));
    EG_TRY(events_in_order(event.round,
                           e->n_confusion ? e->confusion[e->n_confusion - 1].round : 0, false));
    EG_TRY(eg_grow(&e->confusion, e->n_confusion, &e->cap_confusion, sizeof event));
    e->confusion[e->n_confusion++] = event;
    return EG_OK;
}

static eg_status events_note(eg_events *e, eg_fields *f)
{
    eg_note_event event = {0};
    EG_TRY(eg_event_note.fields(f, &event));
    EG_TRY(events_in_order(event.round, e->n_note ? e->note[e->n_note - 1].round : 0, true));
    EG_TRY(eg_grow(&e->note, e->n_note, &e->cap_note, sizeof event));
    e->note[e->n_note++] = event;
    return EG_OK;
}

static eg_status events_sheet(eg_events *e, eg_fields *f)
{
    eg_sheet_event event = {0};
    EG_TRY(eg_event_sheet.fields(f, &event));
    EG_TRY(
        events_in_order(event.round, e->n_sheet ? e->sheet[e->n_sheet - 1].round : 0, false));
    EG_TRY(eg_grow(&e->sheet, e->n_sheet, &e->cap_sheet, sizeof event));
    e->sheet[e->n_sheet++] = event;
    return EG_OK;
}

static eg_status events_boxes(eg_events *e, eg_fields *f)
{
    const eg_boxes_event *last = e->n_boxes ? &e->boxes[e->n_boxes - 1] : NULL;
    eg_boxes_event event = {0};
    EG_TRY(eg_event_boxes.fields(f, &event));
    bool later = last && event.round == last->round && event.task > last->task;
    EG_TRY(events_in_order(event.round, last ? last->round : -1, later));
    EG_TRY(eg_grow(&e->boxes, e->n_boxes, &e->cap_boxes, sizeof event));
    e->boxes[e->n_boxes++] = event;
    return EG_OK;
}

static eg_status events_lose(eg_events *e, eg_fields *f, const eg_event_kind *kind)
{
    eg_loss_event event = {0};
    EG_TRY(kind->fields(f, &event));
    EG_TRY(events_in_order(event.round, e->n_loss ? e->loss[e->n_loss - 1].round : 0, true));
    EG_TRY(eg_grow(&e->loss, e->n_loss, &e->cap_loss, sizeof event));
    e->loss[e->n_loss++] = event;
    return EG_OK;
}

static eg_status events_left_out(eg_events *e, eg_fields *f)
{
    return events_lose(e, f, &eg_event_left_out);
}

static eg_status events_skipped(eg_events *e, eg_fields *f)
{
    return events_lose(e, f, &eg_event_skipped);
}

static eg_status events_late(eg_events *e, eg_fields *f)
{
    eg_late_event event = {0};
    EG_TRY(eg_event_late.fields(f, &event));
    EG_TRY(events_in_order(event.round, e->n_late ? e->late[e->n_late - 1].round : 0, true));
    EG_TRY(eg_grow(&e->late, e->n_late, &e->cap_late, sizeof event));
    e->late[e->n_late++] = event;
    return EG_OK;
}

static eg_status events_stop(eg_events *e, eg_fields *f)
{
    if (e->stopped)
        return eg_fail(EG_EFORMAT, "a second one");
    e->stopped = true;
    return eg_event_stop.fields(f, &e->stop);
}

static eg_status events_forced(eg_events *e, eg_fields *f)
{
    e->n_forced++;
    return eg_event_forced.fields(f, &e->forced);
}

static eg_status events_end(eg_events *e, eg_fields *f)
{
    e->ended = true;
    return eg_event_end.fields(f, &e->end);
}

static const struct {
    const eg_event_kind *kind;
    eg_status (*take)(eg_events *e, eg_fields *f);
} events_kinds[] = {
    {&eg_event_start, events_start},     {&eg_event_round, events_round},
    {&eg_event_eval, events_eval},       {&eg_event_confusion, events_confusion},
    {&eg_event_note, events_note},       {&eg_event_left_out, events_left_out},
    {&eg_event_skipped, events_skipped}, {&eg_event_stop, events_stop},
    {&eg_event_forced, events_forced},   {&eg_event_end, events_end},
    {&eg_event_sheet, events_sheet},     {&eg_event_boxes, events_boxes},
    {&eg_event_late, events_late},
};

static eg_status events_take(eg_events *e, const eg_json *object)
{
    const eg_json *v;
    const char *name;
    eg_fields f = {
        .from = object, .arena = &e->arena, .run = e->start.label ? &e->start : NULL};
    EG_TRY(eg_json_need(object, "event", EG_JSON_TEXT, &v));
    EG_TRY(eg_json_text(v, &name));
    if (e->ended)
        return eg_fail(EG_EFORMAT, "a %s event after the end", name);
    if (!f.run && strcmp(name, eg_event_start.name) != 0)
        return eg_fail(EG_EFORMAT, "a %s event before the start event", name);
    for (size_t i = 0; i < sizeof events_kinds / sizeof *events_kinds; i++)
        if (strcmp(events_kinds[i].kind->name, name) == 0)
            return eg_blame(events_kinds[i].take(e, &f), "%s", name);
    return eg_fail(EG_EFORMAT, "there is no event '%s'", name);
}

static eg_status events_line(eg_events *e, const char *line, size_t n)
{
    eg_json *object;
    EG_TRY(eg_seal_check(&e->seal, line, n));
    EG_TRY(eg_json_parse(line, n, &object));
    eg_status status = events_take(e, object);
    eg_json_free(object);
    return status;
}

static eg_status events_lines(eg_events *e, const char *path, const char *text, size_t n,
                              bool whole)
{
    size_t number = 1;
    for (const char *line = text, *end; line < text + n; line = end + 1, number++) {
        end = memchr(line, '\n', (size_t)(text + n - line));
        if (!end && !whole)
            break;
        if (!end)
            return eg_fail(EG_EFORMAT, "%s:%zu: the line has no end", path, number);
        eg_status s = events_line(e, line, (size_t)(end - line));
        if (s != EG_OK)
            return eg_blame(s == EG_ENOMEM ? s : EG_EFORMAT, "%s:%zu", path, number);
    }
    if (!e->start.label)
        return eg_fail(EG_EFORMAT, "%s:1: there is no start event", path);
    return EG_OK;
}

eg_status eg_events_parse(const char *path, const char *text, size_t n, bool whole,
                          eg_events **out)
{
    *out = NULL;
    eg_events *e = calloc(1, sizeof *e);
    if (!e)
        return eg_fail(EG_ENOMEM, "%s: no memory for events", path);
    eg_status status = events_lines(e, path, text, n, whole);
    if (status == EG_OK)
        *out = e;
    else
        eg_events_free(e);
    return status;
}

/* Reads the first `most` bytes of a folder's events, or all. */
static eg_status events_load(const char *folder, size_t most, bool whole, eg_events **out)
{
    char path[EG_RUN_PATH];
    unsigned char *bytes;
    size_t n;
    *out = NULL;
    EG_TRY(eg_run_file(folder, EG_RUN_METRICS, path));
    EG_TRY(eg_file_read(path, EVENTS_MAX_FILE, &bytes, &n));
    eg_status status =
        eg_events_parse(path, (const char *)bytes, n < most ? n : most, whole, out);
    free(bytes);
    return status;
}

eg_status eg_events_load(const char *folder, eg_events **out)
{
    bool whole = eg_run_is_finished(folder);
    EG_TRY(events_load(folder, SIZE_MAX, whole, out));
    if (!whole || (*out)->ended)
        return EG_OK;
    eg_events_free(*out);
    *out = NULL;
    return eg_fail(EG_EFORMAT, "%s/%s: the run is finished, but its log has no end", folder,
                   EG_RUN_METRICS);
}

eg_status eg_events_load_until(const char *folder, int64_t position, eg_events **out)
{
    return events_load(folder, (size_t)position, true, out);
}

eg_status eg_events_load_start(const char *folder, eg_events **out)
{
    char path[EG_RUN_PATH], *line = NULL;
    size_t cap = 0;
    *out = NULL;
    EG_TRY(eg_run_file(folder, EG_RUN_METRICS, path));
    FILE *f = fopen(path, "rb");
    if (!f)
        return eg_file_fail(path, "cannot be opened");
    ssize_t n = getline(&line, &cap, f);
    eg_status status = n > 0 && line[n - 1] == '\n'
                           ? eg_events_parse(path, line, (size_t)n, true, out)
                           : eg_fail(EG_ENOENT, "%s: there is no whole line", path);
    free(line);
    fclose(f);
    return status;
}

void eg_events_free(eg_events *e)
{
    if (!e)
        return;
    free(e->round);
    free(e->eval);
    free(e->confusion);
    free(e->note);
    free(e->sheet);
    free(e->boxes);
    free(e->loss);
    free(e->late);
    eg_arena_fini(&e->arena);
    free(e);
}

/* Enters one task of an evaluation, with the second figure of boxes where it is of the same. */
static void events_record_one(eg_record *r, const eg_eval_event *e, int64_t t, int64_t correct,
                              int64_t n)
{
    eg_record_enter(r, e->who, t, correct, n);
    if (e->map && correct == e->correct[t])
        eg_record_enter_map(r, e->who, t, e->map[t]);
}

/* Enters one evaluation into the newest row. */
static void events_record_enter(eg_record *r, const eg_eval_event *e, const int64_t *correct,
                                const int64_t *n)
{
    int64_t row = eg_record_n_rows(r) - 1;
    double before;
    for (int64_t t = 0; t < e->n_tasks; t++)
        if (n[t] > 0 && (e->full || !eg_record_at(r, row, e->who, t, &before)))
            events_record_one(r, e, t, correct[t], n[t]);
    if (e->met >= 0 && e->who >= 0)
        eg_record_met(r, e->who, e->met);
}

/* Begins the row of the round of evaluation i, which ends a task if any evaluation of the same
 * round says so. Row 0 is there from the beginning. */
static eg_status events_record_begin(eg_record *r, const eg_events *events, size_t i)
{
    const eg_eval_event *e = &events->eval[i];
    if (e->round == eg_record_round(r, eg_record_n_rows(r) - 1))
        return EG_OK;
    bool end = false;
    for (; i < events->n_eval && events->eval[i].round == e->round; i++)
        end |= events->eval[i].task_end;
    return eg_record_add(r, e->round, eg_record_n_periods(r) + 1, end);
}

/* A record has no room for clients unless one was evaluated. */
static int64_t events_record_clients(const eg_events *events)
{
    for (size_t i = 0; i < events->n_eval; i++)
        if (events->eval[i].who >= 0)
            return events->start.clients;
    return 0;
}

/* Enters what was counted in the newest row's round over all classes met. */
static void events_record_enter_seen(eg_record *r, const eg_events *events)
{
    int64_t round = eg_record_round(r, eg_record_n_rows(r) - 1), correct = 0, n = 0;
    for (size_t i = 0; i < events->n_confusion; i++) {
        const eg_confusion_event *e = &events->confusion[i];
        for (size_t k = 0; e->round == round && k < e->n_cells; k += 3) {
            n += e->cells[k + 2];
            correct += e->cells[k] == e->cells[k + 1] ? e->cells[k + 2] : 0;
        }
    }
    if (n > 0)
        eg_record_enter_seen(r, correct, n);
}

/* *any: whether an accuracy of the wanted kind was there. */
static eg_status events_record_fill(const eg_events *events, eg_record_kind kind, eg_record *r,
                                    bool *any)
{
    EG_TRY(eg_record_add(r, 0, 0, false));
    for (int64_t t = 0; t < events->start.tasks; t++)
        eg_record_learned(r, t, events->start.learned[t]);
    for (size_t i = 0; i < events->n_eval; i++) {
        const eg_eval_event *e = &events->eval[i];
        const int64_t *correct = kind == EG_RECORD_TASK_IL      ? e->correct_task_il
                                 : kind == EG_RECORD_VALIDATION ? e->correct_validation
                                                                : e->correct;
        int64_t rows = eg_record_n_rows(r);
        EG_TRY(events_record_begin(r, events, i));
        if (kind == EG_RECORD_CLASS_IL && eg_record_n_rows(r) > rows)
            events_record_enter_seen(r, events);
        if (e->full)
            eg_record_set_whole(r);
        if (correct)
            events_record_enter(r, e, correct,
                                kind == EG_RECORD_VALIDATION ? e->n_validation : e->n);
        *any |= correct != NULL;
    }
    return EG_OK;
}

eg_status eg_run_record(const eg_events *e, eg_record_kind kind, eg_record **out)
{
    eg_record *r = NULL;
    bool any = false;
    *out = NULL;
    EG_TRY(eg_record_new(events_record_clients(e), e->start.tasks, &r));
    eg_status status = events_record_fill(e, kind, r, &any);
    if (status == EG_OK && kind != EG_RECORD_CLASS_IL && !any)
        status =
            eg_fail(EG_ENOENT, kind == EG_RECORD_TASK_IL ? "no task-IL accuracy was measured"
                                                         : "nothing was validated");
    if (status == EG_OK)
        *out = r;
    else
        eg_record_free(r);
    return status;
}

eg_status eg_run_records_init(eg_run_records *r, const eg_events *e)
{
    *r = (eg_run_records){0};
    for (int kind = 0; kind < EG_RECORD_KINDS; kind++) {
        eg_status status = eg_run_record(e, (eg_record_kind)kind, &r->of[kind]);
        if (status != EG_OK && status != EG_ENOENT) {
            eg_run_records_fini(r);
            return status;
        }
    }
    return EG_OK;
}

void eg_run_records_fini(eg_run_records *r)
{
    for (int kind = 0; kind < EG_RECORD_KINDS; kind++)
        eg_record_free(r->of[kind]);
    *r = (eg_run_records){0};
}
