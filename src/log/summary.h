/* summary.h - what a run amounts to: its metrics and its costs, a function of its events.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SUMMARY_H
#define EG_SUMMARY_H

#include "log/events.h"

/* First what is always in summary.json, null or not, in its order there; then the metrics that
 * are there if they have a meaning. Every metric of the list is one of these. */
// clang-format off
#define EG_SUMMARY_MAP(X)                                                                      \
    X(acc_final) X(acc_task_il) X(aia) X(forgetting) X(bwt) X(fwt) X(bytes_up) X(bytes_down)   \
    X(seconds) X(peak_rss_bytes) X(rounds)                                                     \
    X(aa) X(acc_last_ten) X(acc_t) X(ar) X(client_mean) X(client_sd) X(client_worst)           \
    X(forgetting_from_first) X(rounds_to_best)
// clang-format on

typedef enum eg_summary {
#define EG_SUMMARY_ENUM(name) EG_SUMMARY_##name,
    EG_SUMMARY_MAP(EG_SUMMARY_ENUM)
#undef EG_SUMMARY_ENUM
        EG_SUMMARY_N,
} eg_summary;

/* "acc_final"; and back, EG_SUMMARY_N if there is none of that name. */
const char *eg_summary_name(eg_summary which);
eg_summary eg_summary_find(const char *name);

/* The values of a run; what has no meaning, or is not known yet, is NaN. r and task_il are its
 * records, the second may be NULL. `ar` takes a second run and is NaN here. */
void eg_summary_of(const eg_events *e, const eg_record *r, const eg_record *task_il,
                   double out[EG_SUMMARY_N]);

#endif
