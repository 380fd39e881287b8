/* paired.h - groups held against one of them, seed by seed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_PAIRED_H
#define EG_REPORT_PAIRED_H

#include "report/runs/group.h"
#include "report/table/statistics.h"

/* How far a value of the summary lies above another group's, over the seeds that both have. */
eg_paired eg_group_paired(const eg_group *g, const eg_group *other, eg_summary which);

/* What the groups of a comparison are held against. */
typedef struct eg_against {
    /* [groups]: whom each is held against, which may be itself; NULL: none. */
    const eg_group **to;
    const char *words;  /* "to er"; NULL: no difference is worth being said */
    const char *beside; /* "er_9 (train.batch)": rows that differ in more than a part from what
                           lacks it; NULL: none */
    eg_summary which;   /* what is compared where there is room for one value */
} eg_against;

/* As a comparison wants it (its fields against and without). The first of an experiment is that
 * of its file, however rows are sorted. Texts are of the arena. EG_EINVAL: there is no such
 * label, or no row with the part that has one without it. */
eg_status eg_groups_against(eg_arena *a, const eg_groups *g, const eg_compare_how *how,
                            eg_against *out);
/* Whom a group is held against; NULL: nobody, or nothing is worth being said. */
const eg_group *eg_against_of(const eg_against *a, const eg_groups *g, const eg_group *of);

/* "+4.0 ± 1.2"; "0.013", "<0.001". What is not known is a dash. */
void eg_show_difference(char out[96], eg_summary which, const eg_paired *p);
void eg_show_p(char out[32], double p);
/* Both for a group; dashes where it is held against nobody, or itself. */
void eg_against_show(const eg_against *a, const eg_groups *g, const eg_group *of,
                     char difference[96], char p[32]);

/* "difference: in accuracy % to er, seed by seed; p by ..." of the arena. */
const char *eg_against_note(eg_arena *a, const eg_against *against);

#endif
