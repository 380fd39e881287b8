/* summary.h - what a run amounts to: its metrics and its costs, a function of its events.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SUMMARY_H
#define EG_SUMMARY_H

#include "run/log/events.h"

/* Every metric; the main ones as they are when the task is known at test time; and what a run
 * cost. */
// clang-format off
typedef enum eg_summary {
#define X(name) EG_SUMMARY_##name,
#include "world/metric/list.inc"
#undef X
    EG_SUMMARY_acc_task_il, EG_SUMMARY_acc_validation,
    EG_SUMMARY_bytes_up, EG_SUMMARY_bytes_down, EG_SUMMARY_seconds, EG_SUMMARY_peak_rss_bytes,
    EG_SUMMARY_flops_clients, EG_SUMMARY_flops_server, EG_SUMMARY_server_seconds,
    EG_SUMMARY_rounds,
    EG_SUMMARY_aia_task_il, EG_SUMMARY_forgetting_task_il, EG_SUMMARY_bwt_task_il,
    EG_SUMMARY_fwt_task_il,
    EG_SUMMARY_N,
} eg_summary;
// clang-format on

/* "acc_final"; and back, EG_SUMMARY_N if there is none of that name. */
const char *eg_summary_name(eg_summary which);
eg_summary eg_summary_find(const char *name);

/* The values of a run; what has no meaning, or is not known yet, is NaN. r: its records. `ar`
 * takes a second run and is NaN here. */
void eg_summary_of(const eg_events *e, const eg_run_records *r, double out[EG_SUMMARY_N]);

#endif
