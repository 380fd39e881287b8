/* events.h - the events of a run, read back, and the record they make.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_EVENTS_H
#define EG_EVENTS_H

#include <engram/metric.h>

#include "io/json.h"

typedef struct eg_events eg_events;

/* Reads a metrics.jsonl. A last line without an end is left out, for the run may be writing it.
 * EG_ENOENT: there is none; EG_EFORMAT, naming the line. Free with eg_events_free. */
eg_status eg_events_load(const char *path, eg_events **out);
eg_status eg_events_parse(const char *text, size_t n, eg_events **out);
void eg_events_free(eg_events *e); /* NULL is fine */

size_t eg_events_n(const eg_events *e);
const eg_json *eg_events_at(const eg_events *e, size_t i); /* an object, with "event" in it */

/* The next event of a kind ("round"), from number *at on, which moves past it; NULL at the
 * end. Start with *at 0. Borrowed from e. */
const eg_json *eg_events_next(const eg_events *e, const char *kind, size_t *at);

/* The record of the evaluations: class-IL, or task-IL. A round is a row; where someone was
 * evaluated twice in it, the full evaluation counts. EG_ENOENT: no task-IL accuracy was
 * measured; EG_EFORMAT: the events contradict each other. Free with eg_record_free. */
eg_status eg_run_record(const eg_events *e, bool task_il, eg_record **out);

/* A metric of a run. Of the server's model if it was measured, else the mean over the clients
 * that have a value. False if it has no meaning, or needs a second run. */
bool eg_run_value(const eg_record *r, const eg_metric *m, double *out);

#endif
