/* events.h - the events of a run, read back, and the records they make.
 * SPDX-License-Identifier: Apache-2.0
 *
 * This is the only reader of metrics.jsonl: summaries, tables and pages are all made of what it
 * gives. Events are checked against the run's start and against each other, so that who uses
 * them may trust them.
 */
#ifndef EG_EVENTS_H
#define EG_EVENTS_H

#include <engram/metric.h>

#include "base/base.h"
#include "run/log/event.h"

/* A line of the log is one JSON object whose last member is "sum": sixteen hexadecimal digits,
 * the checksum (base/checksum.h) of the line up to that member, which goes on from the sum of
 * the line before. So a changed bit, a lost line and lines in another order all show, and for
 * other readers the sum is a member like any other. */
enum { EG_SEAL_SIZE = sizeof ",\"sum\":\"0123456789abcdef\"" - 1 };

/* A zeroed one stands before the first line. */
typedef struct eg_seal {
    uint64_t sum;
} eg_seal;

/* Adds its seal to a line of n bytes that ends in '}'; there is room for EG_SEAL_SIZE more.
 * Returns the new length. */
size_t eg_seal_line(eg_seal *s, char *line, size_t n);

/* EG_EFORMAT: the line's sum is not that of the line, or it has none. */
eg_status eg_seal_check(eg_seal *s, const char *line, size_t n);

/* In the order of the file, kind by kind. */
typedef struct eg_events {
    eg_start_event start;
    eg_round_event *round;         /* [n_round], numbers grow */
    eg_eval_event *eval;           /* [n_eval], by round */
    eg_confusion_event *confusion; /* [n_confusion], by round */
    eg_note_event *note;           /* [n_note], by round */
    eg_sheet_event *sheet;         /* [n_sheet], numbers grow */
    eg_boxes_event *boxes;         /* [n_boxes], by round, then by task */
    eg_loss_event *loss;           /* [n_loss], by round */
    eg_late_event *late;           /* [n_late], by round */
    eg_stop_event stop;
    eg_forced_event forced; /* the last of n_forced */
    eg_end_event end;
    eg_seal seal; /* after the last line */
    bool stopped, ended;
    size_t n_round, n_eval, n_confusion, n_note, n_sheet, n_boxes, n_loss, n_late, n_forced;
    size_t cap_round, cap_eval, cap_confusion, cap_note, cap_sheet, cap_boxes, cap_loss,
        cap_late;
    eg_arena arena;
} eg_events;

/* Reads the events in a run's folder and compares their checksums. Of an
 * unfinished run, a last line without an end is left out, for the run may be writing it; that
 * of a finished one must be the end event. EG_ENOENT: there are none; EG_EFORMAT, naming the
 * line. Free with eg_events_free. */
eg_status eg_events_load(const char *folder, eg_events **out);
/* The first `position` bytes alone, which must be whole lines. */
eg_status eg_events_load_until(const char *folder, int64_t position, eg_events **out);
/* The start alone. EG_ENOENT: its line is not there, or not whole. */
eg_status eg_events_load_start(const char *folder, eg_events **out);

/* The same of a text; path is for errors. whole: a last line without an end is an error. */
eg_status eg_events_parse(const char *path, const char *text, size_t n, bool whole,
                          eg_events **out);
void eg_events_free(eg_events *e); /* NULL is fine */

typedef enum eg_record_kind {
    EG_RECORD_CLASS_IL,
    EG_RECORD_TASK_IL,
    EG_RECORD_VALIDATION, /* on samples held out of training */
    EG_RECORD_KINDS,
} eg_record_kind;

/* The record of the evaluations. A round is a row; where someone was evaluated twice in it, the
 * full evaluation counts. EG_ENOENT: no accuracy of this kind was measured. Free with
 * eg_record_free. */
eg_status eg_run_record(const eg_events *e, eg_record_kind kind, eg_record **out);

/* All of them, by kind; NULL where one has no meaning. */
typedef struct eg_run_records {
    eg_record *of[EG_RECORD_KINDS];
} eg_run_records;
eg_status eg_run_records_init(eg_run_records *r, const eg_events *e);
void eg_run_records_fini(eg_run_records *r);

#endif
