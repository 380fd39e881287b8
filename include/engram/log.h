/* engram/log.h - the folder of a run: what its files are called, and what happened in it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything that happened in a run is an event in metrics.jsonl; the other files are made of
 * it, or stand beside it. Any thread may call these.
 */
#ifndef EG_LOG_H
#define EG_LOG_H

#include <engram/metric.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define EG_RUN_CONFIG     "config.yaml"       /* the resolved experiment */
#define EG_RUN_METRICS    "metrics.jsonl"     /* the source of truth: one event per line */
#define EG_RUN_ROUNDS     "rounds.csv"        /* made of the events at the end */
#define EG_RUN_ACCURACY   "accuracy.csv"      /* likewise */
#define EG_RUN_CLASSES    "classes.csv"       /* likewise: the server's model class by class */
#define EG_RUN_SUMMARY    "summary.json"      /* likewise, and the last of them */
#define EG_RUN_MODEL      "model.safetensors" /* the server's model at the end */
#define EG_RUN_GENERATORS "generators.safetensors" /* what its method draws with */
#define EG_RUN_CHECKPOINT "checkpoint"             /* a folder: what a resumed run needs */
#define EG_RUN_SHEETS     "sheets"      /* a folder: drawings, one picture per round */
#define EG_RUN_BOXES      "boxes"       /* a folder: images with boxes, one picture per task */
#define EG_RUN_REPORT     "report.html" /* the page */

enum { EG_RUN_PATH = 1024 };

/* The path of a file in a run's folder. EG_EINVAL: it is too long. */
eg_status eg_run_file(const char *folder, const char *name, char out[EG_RUN_PATH]);

/* That of the drawings made after a round. */
eg_status eg_run_sheet(const char *folder, int64_t round, char out[EG_RUN_PATH]);

/* That of the test images of a task (from 0 on) whose boxes the log tells. */
eg_status eg_run_boxes(const char *folder, int64_t task, char out[EG_RUN_PATH]);

/* Whether the run has come to its end: its summary, which is written last, is there. */
bool eg_run_is_finished(const char *folder);

/* EG_EINVAL: rounds have passed and none of them counted, so that the model is what it was; the
 * sentence says which run, why, and what helps. The log is read. */
eg_status eg_run_check_progress(const char *folder);

/* Whether a process carries the run out at this moment. */
bool eg_run_is_busy(const char *folder);

/* The log of a run, finished or not, read and checked. EG_ENOENT: there is none; EG_EFORMAT
 * names the line that is wrong. All that it gives is borrowed from it. */
typedef struct eg_run_log eg_run_log;
eg_status eg_run_log_open(const char *folder, eg_run_log **out);
void eg_run_log_free(eg_run_log *l); /* NULL is fine */

const char *eg_run_log_label(const eg_run_log *l);
int64_t eg_run_log_seed(const eg_run_log *l);

/* A value of the run by its name in summary.json (acc_final, forgetting, bytes_up, ...), as far
 * as the run has got; false: there is none. */
bool eg_run_log_value(const eg_run_log *l, const char *name, double *out);

/* One round of training, by number; false past the last. */
typedef struct eg_run_round {
    int64_t round, clients, samples, bytes_up, bytes_down;
    double loss, seconds; /* a loss that was not finite is NaN */
} eg_run_round;
bool eg_run_log_round(const eg_run_log *l, size_t i, eg_run_round *out);

/* Right answers by round, by who and by task: engram/metric.h reads it. */
const eg_record *eg_run_log_record(const eg_run_log *l);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
