/* engram/log.h - the folder of a run: what its files are called, and whether it is finished.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything that happened in a run is an event in metrics.jsonl; the other files are made of
 * it, or stand beside it. Any thread may call these.
 */
#ifndef EG_LOG_H
#define EG_LOG_H

#include <engram/base.h>

#pragma GCC visibility push(default)

#define EG_RUN_CONFIG     "config.yaml"       /* the resolved experiment */
#define EG_RUN_METRICS    "metrics.jsonl"     /* the source of truth: one event a line */
#define EG_RUN_ROUNDS     "rounds.csv"        /* made of the events at the end */
#define EG_RUN_ACCURACY   "accuracy.csv"      /* likewise */
#define EG_RUN_SUMMARY    "summary.json"      /* likewise, and the last of them */
#define EG_RUN_MODEL      "model.safetensors" /* the server's model at the end */
#define EG_RUN_CHECKPOINT "checkpoint"        /* a folder: what a resumed run needs */
#define EG_RUN_REPORT     "report.html"       /* the page */

enum { EG_RUN_PATH = 1024 };

/* The path of a file in a run's folder. EG_EINVAL: it is too long. */
eg_status eg_run_file(const char *folder, const char *name, char out[EG_RUN_PATH]);

/* Whether the run has come to its end: its summary, which is written last, is there. */
bool eg_run_is_finished(const char *folder);

#pragma GCC visibility pop

#endif
