/* curves.h - the curves of a run as single values, for other programs.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_CURVES_H
#define EG_REPORT_CURVES_H

#include "report/runs/group.h"

#include <stdio.h>

typedef struct eg_curve_value {
    const char *tag; /* "loss", "accuracy/task_03", "note/drift" */
    int64_t round;
    double seconds; /* of rounds until then */
    double value;   /* never NaN */
} eg_curve_value;

typedef struct eg_curves {
    eg_curve_value *list; /* [n], by round */
    size_t n, cap;
    const eg_run *run;
    const eg_differing *setting; /* [n_settings] */
    size_t n_settings;
    eg_arena arena; /* the tags and settings */
} eg_curves;

/* All of a run's: of each round loss, seconds and bytes, of each evaluation the mean over the
 * learned tasks and every task, and what the method noted, the mean over clients. */
eg_status eg_curves_init(eg_curves *s, const eg_run *r);
void eg_curves_fini(eg_curves *s);

/* As TensorBoard's event file, with the settings for its view of hyper-parameters. */
eg_status eg_curves_tensorboard(const eg_curves *s, FILE *f);

/* A table's first line, and the lines of a run; named: they begin with experiment, label and
 * seed. */
void eg_curves_csv_head(FILE *f, bool named);
eg_status eg_curves_csv_rows(const eg_curves *s, FILE *f, bool named);

/* Likewise of settings, which are always named. */
void eg_curves_settings_head(FILE *f);
void eg_curves_settings_rows(const eg_curves *s, FILE *f);

#endif
