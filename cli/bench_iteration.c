/* bench_iteration.c - a training iteration of FedCIL's client, in a run like any other: the
 * critic's step with replayed rows and those of consistency, the drawings these are made of,
 * and the generator's step.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include <engram/fed.h>
#include <engram/method.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was learned becomes the past with every round, so that the second one has rows of every
 * kind. Nothing else is done on the way: no consolidation, tests of ten images. */
enum { ITERATION_ROUNDS = 2 };
#define ITERATION_TEXT                                                                         \
    "name: bench\n"                                                                            \
    "data: {name: glyphs, train: 640, test: 10, size: 32, mean: 0.5, std: 0.5}\n"              \
    "model: {name: acgan, width: 64}\n"                                                        \
    "scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 2}\n"                   \
    "optimizer: {name: adam, lr: 0.0002, beta1: 0.5, beta2: 0.99}\n"                           \
    "train: {steps: %d, batch: 32, optimizer_state: keep}\n"                                   \
    "fedcil: {width: 64, steps: 0, boundary: round}\n"                                         \
    "runs: [{label: fedcil, method: [fedcil, stopwatch]}]\n"

/* The fastest iteration. A part knows nothing of who started its run, so it is left here. */
static double iteration_best;

/* A part that reads the clock at every batch: from one gradient to the next is an iteration. */
typedef struct stopwatch {
    double since; /* 0: there was no batch yet */
} stopwatch;

static eg_status stopwatch_grad(void *self, eg_client *c)
{
    stopwatch *w = self;
    double now = bench_clock(), took = now - w->since;
    bool counts = c->round == ITERATION_ROUNDS - 1 && w->since > 0;
    if (counts &&
        (!eg_plan_input(c->plan, "fedcil.replay") || !eg_plan_input(c->plan, "fedcil.agree")))
        return eg_fail(EG_ENOENT, "the iteration lacks replayed rows or those of consistency");
    if (counts && took < iteration_best)
        iteration_best = took;
    w->since = bench_clock();
    return EG_OK;
}

static const eg_method iteration_stopwatch = {
    .component = {.name = "stopwatch", .help = "reads the clock at every batch"},
    .client = {.size = sizeof(stopwatch), .grad = stopwatch_grad}};

/* Removes a folder and all that is in it. */
static void iteration_remove(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char inner[1024];
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            iteration_remove(inner);
    }
    if (d)
        closedir(d);
    remove(path);
}

static eg_status iteration_run(const char *text, const char *out)
{
    eg_experiment_file *file = NULL;
    eg_experiment *e = NULL;
    char folder[512];
    bool stopped;
    eg_status s = eg_experiment_parse("bench", text, &file);
    if (s == EG_OK)
        s = eg_experiment_file_resolve(file, NULL, 0, NULL, &e);
    eg_experiment_file_free(file);
    if (s == EG_OK)
        s = eg_experiment_run(e, &(eg_run_how){.workers = 1, .out = out}, folder, &stopped);
    eg_experiment_free(e);
    return s;
}

eg_status bench_iteration(double seconds, double *best)
{
    const char *base = getenv("TMPDIR");
    char text[1024], out[256];
    if (!eg_method_find("stopwatch"))
        EG_TRY(eg_method_add(&iteration_stopwatch));
    snprintf(text, sizeof text, ITERATION_TEXT,
             3 + (int)(2 * seconds)); /* half a second each */
    snprintf(out, sizeof out, "%s/engram-bench-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(out))
        return eg_fail(EG_EIO, "%s: the folder cannot be made", out);
    iteration_best = 1e9;
    eg_status s = iteration_run(text, out);
    iteration_remove(out);
    *best = iteration_best;
    return s;
}
