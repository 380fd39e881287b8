/* paired.h - groups held against one of them, seed by seed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_PAIRED_H
#define EG_REPORT_PAIRED_H

#include "report/group.h"
#include "report/statistics.h"

/* How far a value of the summary lies above another group's, over the seeds that both have. */
eg_paired eg_group_paired(const eg_group *g, const eg_group *other, eg_summary which);

/* What the groups of a comparison are held against. */
typedef struct eg_against {
    const eg_group *group; /* NULL: nothing is worth being said */
    eg_summary which;      /* what is compared where there is room for one value */
} eg_against;

/* The group of a label; NULL: the first, if some other shares two seeds with it. EG_EINVAL:
 * there is no such label. */
eg_status eg_groups_against(const eg_groups *g, const char *label, const eg_group *first,
                            eg_against *out);

/* "+4.0 ± 1.2"; "0.013", "<0.001". What is not known is a dash. */
void eg_show_difference(char out[96], eg_summary which, const eg_paired *p);
void eg_show_p(char out[32], double p);

/* "difference: in accuracy % to er, seed by seed; p by ..." of the arena. */
const char *eg_against_note(eg_arena *a, const eg_against *against);

#endif
