/* small_run.h - a whole run of an experiment written in a test, with the test's own parts.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two tasks, four clients of 50 samples, two rounds per task on Gaussian blobs, unless a test
 * sets something else. No dropout, no batch norm.
 */
#ifndef EG_SMALL_RUN_H
#define EG_SMALL_RUN_H

#include "runs.h"

#include "run/experiment/experiment.h"

static const char *const small_run_text =
    "name: t\n"
    "data: {name: blobs, train: 400, test: 80, classes: 4}\n"
    "model: {name: mlp, depth: 1, width: 16}\n"
    "scenario:\n"
    "  kind: class-incremental\n"
    "  clients: 4\n"
    "  tasks: 2\n"
    "  rounds: 2\n"
    "  partition: {kind: iid}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1, momentum: 0.5}\n"
    "train: {epochs: 2, batch: 16}\n"
    "server: {weights: uniform}\n"
    "runs:\n";

typedef struct small_run {
    const char *method;              /* "[fedavg, fed-a-gem]" */
    const char *set[8];              /* settings, up to the first NULL */
    const eg_method *before, *after; /* parts of the test, around the others; or NULL */
    int workers;                     /* 0: one */
    int64_t stop;                    /* stopped and resumed after so many rounds */
} small_run;

typedef struct small_outcome {
    char hash[65];
    int64_t bytes_up, bytes_down;
} small_outcome;

/* A part that is in no list; it has no options. */
static inline void small_run_add(eg_experiment *e, const eg_method *m, size_t at)
{
    eg_parts *p = &e->parts;
    assert_ok(eg_parts_add(p, m));
    eg_part added = p->at[p->n - 1];
    memmove(&p->at[at + 1], &p->at[at], (p->n - 1 - at) * sizeof *p->at);
    p->at[at] = added;
}

/* The experiment of a run, its parts in order; seeds and workers come later. */
static inline eg_experiment *small_run_open(const char *folder, const small_run *r)
{
    char text[4096], file[FILES_PATH * 2];
    size_t n_set = 0;
    eg_experiment *e;
    int n =
        snprintf(text, sizeof text, "%s- {label: a, method: %s}\n", small_run_text, r->method);
    files_write(folder, "t.yaml", text, (size_t)n);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    while (n_set < sizeof r->set / sizeof *r->set && r->set[n_set])
        n_set++;
    assert_ok(eg_experiment_load(file, "a", n_set, r->set, &e));
    if (r->before)
        small_run_add(e, r->before, 0);
    if (r->after)
        small_run_add(e, r->after, e->parts.n);
    return e;
}

/* Runs it to its end, in a folder of its own inside `folder`. */
static inline small_outcome small_run_all(const char *folder, small_run r)
{
    char path[512];
    eg_experiment *e = small_run_open(folder, &r);
    assert_ok(runs_run(e, folder, r.workers ? r.workers : 1, r.stop, path));
    eg_experiment_free(e);
    small_outcome o = {.bytes_up = (int64_t)runs_value(path, "bytes_up"),
                       .bytes_down = (int64_t)runs_value(path, "bytes_down")};
    runs_hash(path, o.hash);
    return o;
}

#endif
