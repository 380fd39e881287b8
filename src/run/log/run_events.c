/* run_events.c - writes events.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/field.h"
#include "run/log/run_folder.h"

#include <stdlib.h>

static eg_status event_fill(eg_json *object, const eg_event_kind *kind, void *event)
{
    eg_fields f = {.to = object};
    EG_TRY(eg_json_set(object, "event", eg_json_of_text(kind->name)));
    return kind->fields(&f, event);
}

/* The event is only read; it is not const because the same walk reads and writes. */
static eg_status event_write(eg_run_folder *f, const eg_event_kind *kind, void *event)
{
    char *line = NULL;
    size_t n;
    eg_json *object = eg_json_object();
    eg_status status = object ? event_fill(object, kind, event) : EG_ENOMEM;
    if (status == EG_OK)
        status = eg_json_print(object, 0, &line, &n);
    if (status == EG_OK)
        status = eg_run_folder_append(f, line, n);
    free(line);
    eg_json_free(object);
    return eg_blame(status, "event '%s'", kind->name);
}

eg_status eg_run_write_start(eg_run_folder *f, const eg_start_event *e)
{
    eg_start_event event = *e;
    event.version = eg_version();
    event.commit = eg_commit();
    return event_write(f, &eg_event_start, &event);
}

eg_status eg_run_write_round(eg_run_folder *f, const eg_round_event *e)
{
    eg_round_event event = *e;
    return event_write(f, &eg_event_round, &event);
}

eg_status eg_run_write_eval(eg_run_folder *f, const eg_eval_event *e)
{
    eg_eval_event event = *e;
    return event_write(f, &eg_event_eval, &event);
}

eg_status eg_run_write_confusion(eg_run_folder *f, const eg_confusion_event *e)
{
    eg_confusion_event event = *e;
    return event_write(f, &eg_event_confusion, &event);
}

eg_status eg_run_write_sheet(eg_run_folder *f, const eg_sheet_event *e)
{
    eg_sheet_event event = *e;
    return event_write(f, &eg_event_sheet, &event);
}

eg_status eg_run_write_note(eg_run_folder *f, int64_t round, int64_t who, const char *name,
                            double value)
{
    return event_write(f, &eg_event_note, &(eg_note_event){round, who, name, value});
}

eg_status eg_run_write_left_out(eg_run_folder *f, int64_t round, int64_t client,
                                const char *why)
{
    return event_write(f, &eg_event_left_out, &(eg_loss_event){round, client, why});
}

eg_status eg_run_write_skipped(eg_run_folder *f, int64_t round, const char *why)
{
    return event_write(f, &eg_event_skipped, &(eg_loss_event){round, -1, why});
}

eg_status eg_run_write_stop(eg_run_folder *f, const eg_stop_event *e)
{
    eg_stop_event event = *e;
    return event_write(f, &eg_event_stop, &event);
}

eg_status eg_run_write_forced(eg_run_folder *f, int64_t round, const char *why)
{
    return event_write(f, &eg_event_forced, &(eg_forced_event){round, why});
}

eg_status eg_run_write_end(eg_run_folder *f, const eg_end_event *e)
{
    eg_end_event event = *e;
    event.version = eg_version();
    event.commit = eg_commit();
    return event_write(f, &eg_event_end, &event);
}
