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

/* As TensorBoard's event file, with the settings for its view of hyper-parameters. */
eg_status eg_curves_tensorboard(const eg_curves *s, FILE *f);

#endif
