/* run_folder.h - a run's folder, and the events that the run writes into it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is in it says engram/log.h. All but seconds, "peak_rss_bytes" and the program's version
 * is a function of the experiment. One thread at a time.
 */
#ifndef EG_RUN_FOLDER_H
#define EG_RUN_FOLDER_H

#include <engram/log.h>

#include "run/log/event.h"

typedef struct eg_run_folder eg_run_folder;

/* "<runs>/<name>-<label>-s<seed>-<first 8 of config_sha256>"; what does not belong in a file's
 * name becomes '_'. free() *out. EG_EINVAL: runs is empty. */
eg_status eg_run_folder_path(const char *runs, const char *name, const char *label,
                             int64_t seed, const char *config_sha256, char **out);

/* Makes the folder, with its configuration and no events, in one step: after a crash it is
 * there whole or not at all. EG_EBUSY: it is there already. */
eg_status eg_run_folder_new(const char *path, const char *config, eg_run_folder **out);

/* Keeps other processes from carrying out the run, until *out is closed or this process ends.
 * EG_EBUSY: another one does. */
eg_status eg_run_folder_lock(const char *path, int *out);

/* Opens it again and cuts its events to the first `position` bytes (0: all is written
 * anew). EG_ENOENT: there is none; EG_EFORMAT: it has fewer bytes, or these are not whole
 * events with the right checksums. */
eg_status eg_run_folder_open(const char *path, int64_t position, eg_run_folder **out);
void eg_run_folder_free(eg_run_folder *f); /* NULL is fine */

const char *eg_run_folder_name(const eg_run_folder *f); /* its path; borrowed */

/* The path of a file in it; free() *out. */
eg_status eg_run_folder_file(const eg_run_folder *f, const char *name, char **out);

/* Brings the events to disk and says how many bytes they are: what a checkpoint keeps, to be
 * given to eg_run_folder_open. */
eg_status eg_run_folder_sync(eg_run_folder *f, int64_t *position);

/* Appends a line, a JSON object, which gets its checksum (eg_seal_line) and its end here. */
eg_status eg_run_folder_append(eg_run_folder *f, const char *line, size_t n);

/* Append events. The program's version is added to the start and to the end: a run may be ended
 * by another program than began it. EG_EFORMAT: a value is outside what may be read again. */
eg_status eg_run_write_start(eg_run_folder *f, const eg_start_event *e);
eg_status eg_run_write_round(eg_run_folder *f, const eg_round_event *e);
eg_status eg_run_write_eval(eg_run_folder *f, const eg_eval_event *e);
eg_status eg_run_write_confusion(eg_run_folder *f, const eg_confusion_event *e);
eg_status eg_run_write_sheet(eg_run_folder *f, const eg_sheet_event *e);
eg_status eg_run_write_boxes(eg_run_folder *f, const eg_boxes_event *e);
eg_status eg_run_write_left_out(eg_run_folder *f, const eg_loss_event *e);
eg_status eg_run_write_late(eg_run_folder *f, const eg_late_event *e);
eg_status eg_run_write_skipped(eg_run_folder *f, int64_t round, const char *why);
eg_status eg_run_write_stop(eg_run_folder *f, const eg_stop_event *e);
eg_status eg_run_write_forced(eg_run_folder *f, int64_t round, const char *why);
eg_status eg_run_write_end(eg_run_folder *f, const eg_end_event *e);
/* A number that a part wants to be seen; who: a client, or -1: the server. */
eg_status eg_run_write_note(eg_run_folder *f, int64_t round, int64_t who, const char *name,
                            double value);

/* Makes rounds.csv, accuracy.csv, classes.csv and summary.json of the events so far, each in
 * one step. */
eg_status eg_run_finish(eg_run_folder *f, const char *params_sha256);

#endif
