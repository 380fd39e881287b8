/* group.h - runs put together: those with one name, label and configuration are seeds.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A group set owns its runs; everything in it is borrowed until eg_groups_free.
 */
#ifndef EG_REPORT_GROUP_H
#define EG_REPORT_GROUP_H

#include "report/runs/run.h"

#include <engram/report.h>

/* A column of a comparison. */
typedef struct eg_column {
    const char *heading, *help;
    eg_summary which;
    eg_unit unit;
    int better; /* these as eg_metric has them */
    bool aside;
    int weight, place;
} eg_column;
eg_column eg_column_of(eg_summary which);
void eg_columns_fill(eg_column out[EG_SUMMARY_N]); /* all, by place */

typedef struct eg_differing {
    const char *key, *value; /* "optimizer.lr", "0.1" */
    size_t n_values;         /* how many the groups of the label have for it */
} eg_differing;

/* Mean and sample standard deviation of n values that are no NaN. sd is NaN for n < 2, both are
 * for n = 0. */
typedef struct eg_spread {
    double mean, sd;
    size_t n;
} eg_spread;
eg_spread eg_spread_of(const double *values, size_t n);

typedef struct eg_group {
    /* The label, behind the experiment's name where names differ, and before what tells it from
     * other groups of the label: "er (optimizer.lr=0.05)". */
    const char *title;
    const char *apart;             /* what stands in the brackets, or "" */
    const eg_differing *differing; /* [n_differing] by n_values, most first */
    size_t n_differing;
    /* Of a sweep, the title without the values at the label's end, and these; else the title.
     */
    const char *base;
    const eg_differing *swept; /* [n_swept] in the label's order */
    size_t n_swept;
    /* Of a sweep, on samples held out of training: over the seeds that all of it have finished.
     */
    eg_spread validated;
    bool bound;   /* a bound on what methods can reach, so that it competes with none */
    eg_run **run; /* [n] by seed */
    size_t n;
} eg_group;

typedef struct eg_groups {
    eg_run **runs;   /* [n_runs] by group */
    eg_group *group; /* [n] in order of appearance */
    size_t n, n_runs;
    const eg_published *published; /* the caller's */
    size_t n_published;
    eg_column column[EG_SUMMARY_N]; /* of a comparison, in order */
    const char *columns; /* the caller's: those shown beside the usual ones; NULL: none */
    eg_arena arena;
} eg_groups;

/* Groups put together run by run: room for n; a run, which is theirs from then on, behind the
 * others of its group; then what follows from all of them. Free them even if one fails. */
eg_status eg_groups_new(size_t n, eg_groups **out);
void eg_groups_add(eg_groups *g, eg_run *r);
eg_status eg_groups_make(eg_groups *g);

/* Loads n run folders, at least one, and groups them. */
eg_status eg_groups_load(const char *const *dirs, size_t n, const eg_published *published,
                         size_t n_published, eg_groups **out);
void eg_groups_free(eg_groups *g); /* NULL is fine */

/* The settings of a run, as they are written after --set, [*n] of the arena; only keys and
 * values count. */
eg_status eg_run_settings(eg_arena *a, const eg_run *r, const eg_differing **out, size_t *n);

/* Finds what tells groups of one label apart; called by eg_groups_load. */
eg_status eg_groups_tell_apart(eg_groups *g);

/* In which of the settings that both have two groups differ, and in how many; label and method
 * do not count. keys: "memory.size, optimizer.lr", of the arena; "" if in none. */
eg_status eg_groups_between(eg_arena *a, const eg_group *one, const eg_group *other,
                            const char **keys, size_t *n);

/* The run of a group that was evaluated last: others may have stopped before it. */
const eg_run *eg_group_longest(const eg_group *g);

/* Whether runs of the group stopped before its longest did. */
bool eg_group_stopped(const eg_group *g);

/* Over the seeds: a value of the summary; an accuracy after a round (task -1: the mean over the
 * learned tasks; -2: the same, task-IL); a task's fall. A run that stopped early has its last
 * accuracies ever after, so that no seed is missing at the end. */
eg_spread eg_group_summary(const eg_group *g, eg_summary which);
eg_spread eg_group_acc(const eg_group *g, int64_t round, int64_t task);
eg_spread eg_group_fall(const eg_group *g, int64_t task);
eg_spread eg_group_met(const eg_group *g, int64_t round); /* Acc^t */

/* What went wrong in a group's runs. */
typedef struct eg_losses {
    int64_t left_out, skipped;  /* uploads, rounds */
    const eg_loss_event *first; /* NULL if nothing did */
} eg_losses;
eg_losses eg_group_losses(const eg_group *g);

enum { EG_MEAN = -1, EG_MEAN_IL = -2, EG_MEAN_VALIDATION = -3 };

/* The figure a paper gives for a group, or NULL. */
const eg_published *eg_groups_published(const eg_groups *g, const eg_group *of,
                                        eg_summary which);

/* Whether a group is better than every other contender by more than the larger of their
 * deviations. Without deviations (one seed), without others, for a bound, and for what
 * validation did not choose of a sweep, it is not. */
bool eg_group_is_best(const eg_groups *all, const eg_group *g, const eg_column *c);

/* How many characters a UTF-8 text has, and how many bytes its first n (all, if fewer). */
size_t eg_show_length(const char *text);
size_t eg_show_begin(const char *text, size_t n);

/* How a value of the summary is shown: "68.3", "1.25 MB", "3 min 05 s". NaN is a dash. */
void eg_show_percent(char out[32], double fraction);
void eg_show_bytes(char out[32], double bytes);
void eg_show_seconds(char out[32], double seconds);
void eg_show_unit(char out[32], eg_unit unit, double x); /* "0.125", "3.46 s" */
void eg_show_value(char out[32], eg_summary which, double value);
void eg_show_spread(char out[80], eg_summary which, eg_spread s); /* "68.3 ± 1.2" */

/* "scale 0.05", "scales 0.05 to 0.5"; "" if all runs are as large as their experiment. */
void eg_show_scale(char out[64], const eg_groups *g);

/* "finished", "ended early", "running, 12 of 30"; how long ago its log was written: "3 days".
 */
void eg_show_state(char out[64], const eg_run *r);
void eg_show_age(char out[32], const eg_run *r);

/* "ended early: 2 of 5 runs, since validation had not become better"; "" if none did. */
void eg_show_ends(char out[128], const eg_group *g);

void eg_show_losses(char out[96], const eg_losses *l); /* "38 uploads left out" */

/* Whether a list of names, with commas between, has it. NULL has none. */
bool eg_column_listed(const char *list, const eg_column *c);

/* Whether it is to be shown: any run or paper has a value for it, or it was asked for. */
bool eg_column_used(const eg_groups *g, const eg_column *c);

/* Runs of one sweep: what tells them apart, and which is best by validation. */

/* Finds what the labels say of a sweep ("er optimizer.lr=0.1") that other groups have too;
 * called by eg_groups_load. */
eg_status eg_groups_find_sweeps(eg_groups *g);

/* The settings that are swept in any group, each once, in the order of appearance. *out is the
 * arena's. */
eg_status eg_groups_swept_keys(eg_arena *a, const eg_groups *g, const char ***out, size_t *n);

/* A group's value of a setting; NULL: it is not swept there. */
const char *eg_group_swept(const eg_group *g, const char *key);

/* Whether two groups are of one sweep: they differ in the values of its settings alone. */
bool eg_group_in_sweep(const eg_group *a, const eg_group *b);

/* Whether a group's mean accuracy on samples held out of training is the highest of its sweep,
 * over the seeds that all of the sweep have finished. The test must not choose. */
bool eg_group_is_chosen(const eg_groups *all, const eg_group *g);

/* Adds what is to be said of sweeps to *n notes, of the arena: at most g->n + 1 of them. */
eg_status eg_groups_sweep_notes(eg_arena *a, const eg_groups *g, const char **notes, size_t *n);

#endif
