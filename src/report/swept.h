/* swept.h - runs of one sweep: what tells them apart, and which is best by validation.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_SWEPT_H
#define EG_REPORT_SWEPT_H

#include "report/group.h"

/* Finds what the labels say of a sweep ("er train.lr=0.1") that other groups have too; called
 * by eg_groups_load. */
eg_status eg_groups_find_sweeps(eg_groups *g);

/* The settings that are swept in any group, each once, in the order of appearance. *out is the
 * arena's. */
eg_status eg_groups_swept_keys(eg_arena *a, const eg_groups *g, const char ***out, size_t *n);

/* A group's value of a setting; NULL: it is not swept there. */
const char *eg_group_swept(const eg_group *g, const char *key);

/* Whether a group's mean accuracy on samples held out of training is the highest of its sweep,
 * over the seeds that all of the sweep have finished. The test must not choose. */
bool eg_group_is_chosen(const eg_groups *all, const eg_group *g);

/* Adds what is to be said of sweeps to *n notes, of the arena: at most g->n + 1 of them. */
eg_status eg_groups_sweep_notes(eg_arena *a, const eg_groups *g, const char **notes, size_t *n);

#endif
