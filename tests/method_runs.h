/* method_runs.h - runs of any method, alone or in pairs, on little data.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_METHOD_RUNS_H
#define EG_TEST_METHOD_RUNS_H

#include "runs.h"

#include <engram/method.h>

#include "method_wishes.h"
#include "own_folder.h"

/* Two tasks, four clients, two rounds per task on Gaussian blobs. */
static const char *const method_runs_text =
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
    "re_fed: {lr: 0.1}\n"
    "glfc: {steps: 4, keep: 2, shakes: 2}\n"
    "af_fcl: {hidden: 8}\n"
    "runs:\n";

/* The same with images. */
static const char *const method_runs_images =
    "name: t\n"
    "data: {name: glyphs, train: 80, test: 20, classes: 4, "
    "size: 8, mean: 0.5, std: 0.5}\n"
    "model: {name: mlp, depth: 1, width: 8}\n"
    "scenario:\n"
    "  kind: class-incremental\n"
    "  clients: 2\n"
    "  tasks: 2\n"
    "  rounds: 2\n"
    "  partition: {kind: iid}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 1, batch: 8}\n"
    "re_fed: {size: 30, epochs: 2}\n"
    "fedcil: {width: 4, steps: 2}\n"
    "dgr: {width: 4}\n"
    "target: {rounds: 3, batch: 4, steps: 2, warmup: 1, lessons: 2, noise: 4, width: 4}\n"
    "lander: {rounds: 3, batch: 4, steps: 2, warmup: 1, lessons: 2, noise: 4, width: 4, "
    "dimensions: 6}\n"
    "glfc: {steps: 4, keep: 2, shakes: 2}\n"
    "af_fcl: {hidden: 8}\n"
    "cfed: {surrogate: glyphs classes=26 first=10 train=40, rows: 12}\n"
    "mfcl: {batch: 4, steps: 3, noise: 4, width: 4, replay: 5}\n"
    "class_replay: {epochs: 2, settings: width=2 batch=4, trial: 10}\n"
    "pfedgrp: {epochs: 2, settings: width=2 batch=4, trial: 10, server_epochs: 2}\n"
    "runs:\n";

/* And with a transformer, for methods that record its features. */
static const char *const method_runs_tokens =
    "name: t\n"
    "data: {name: glyphs, train: 80, test: 20, classes: 4, "
    "size: 8, mean: 0.5, std: 0.5}\n"
    "model: {name: vit, patch: 4, width: 8, depth: 2, heads: 1}\n"
    "scenario:\n"
    "  kind: class-incremental\n"
    "  clients: 2\n"
    "  tasks: 2\n"
    "  rounds: 2\n"
    "  partition: {kind: iid}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 1, batch: 8}\n"
    "re_fed: {size: 30, epochs: 2}\n"
    "dualprompt: {pool: 2, blocks: 1, expert_blocks: 1}\n"
    "coda_prompt: {pool: 4, blocks: 2, length: 2}\n"
    "runs:\n";

typedef struct method_outcome {
    char hash[65];
    double accuracy, train_seconds;
    double flops_clients, flops_server;
} method_outcome;

static inline void method_runs_write(const char *base, const char *runs)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "%s%s", base, runs);
    assert_true(n > 0 && n < (int)sizeof text);
    files_write(folder, "t.yaml", text, (size_t)n);
}

/* Runs a label to its end, as runs_run does. */
static inline method_outcome method_runs_run(const char *label, const char *set, int workers,
                                             int64_t stop)
{
    char file[FILES_PATH * 2], path[512];
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    eg_experiment *e;
    assert_ok(eg_experiment_load(file, label, set ? 1 : 0, &set, &e));
    assert_ok(runs_run(e, folder, workers, stop, path));
    eg_experiment_free(e);
    method_outcome o = {.accuracy = runs_value(path, "acc_final"),
                        .train_seconds = runs_value(path, "train_seconds"),
                        .flops_clients = runs_value(path, "flops_clients"),
                        .flops_server = runs_value(path, "flops_server")};
    runs_hash(path, o.hash);
    return o;
}

/* What must be set for a method to run at all. */
static inline const char *method_runs_needs(const eg_method *m)
{
    eg_agreement agreed;
    return method_agrees(m, 0.5, &agreed) ? "" : ", overrides: {optimizer: {momentum: 0}}";
}

/* What a method can run on: blobs, or images if it draws some. */
static inline const char *method_runs_base(const eg_method *m)
{
    eg_agreement agreed;
    assert_true(method_agrees(m, 0, &agreed));
    if (m->features)
        return method_runs_tokens;
    return agreed.all.images ? method_runs_images : method_runs_text;
}

/* Whether two methods wish for what only one may have, or for what excludes each other. */
static inline bool method_runs_exclude(const eg_method *a, const eg_method *b)
{
    eg_agreement x, y;
    assert_true(method_agrees(a, 0, &x));
    assert_true(method_agrees(b, 0, &y));
    bool trains = x.all.train && y.all.train && strcmp(x.all.train, y.all.train) != 0;
    bool reads =
        (a->features && (b->features || y.all.images)) || (b->features && x.all.images);
    /* Transformers have no gradient norms per sample, which it ranks by. */
    bool ranks = (a->features && strcmp(b->component.name, "re_fed") == 0) ||
                 (b->features && strcmp(a->component.name, "re_fed") == 0);
    return trains || reads || ranks || (a->server.model_of && b->server.model_of) ||
           (x.all.side && y.all.side) || (x.all.shares_plain && y.all.shares_plain) ||
           (a->answers && b->answers) || (x.all.fills && (y.all.fills || y.all.logits)) ||
           (y.all.fills && x.all.logits) || (x.all.personal && y.all.global) ||
           (x.all.global && y.all.personal);
}

/* Writes a run of two parts; false: they exclude each other. */
static inline bool method_runs_pair(const char *base, const eg_method *a, const eg_method *b)
{
    char runs[256];
    const char *needs = *method_runs_needs(a) ? method_runs_needs(a) : method_runs_needs(b);
    if (method_runs_exclude(a, b))
        return false;
    snprintf(runs, sizeof runs, "- {label: pair, method: [%s, %s]%s}\n", a->component.name,
             b->component.name, needs);
    if (method_runs_base(a) == method_runs_images || method_runs_base(b) == method_runs_images)
        base = method_runs_images;
    if (a->features || b->features)
        base = method_runs_tokens;
    method_runs_write(base, runs);
    return true;
}

/* The methods there are. */
static inline size_t method_runs_n(void)
{
    size_t n = 0;
    while (eg_methods[n])
        n++;
    return n;
}

/* Two parts give the same bits on one worker and, stopped and resumed, on two. */
static inline void method_runs_compose(const eg_method *a, const eg_method *b)
{
    if (!method_runs_pair(method_runs_text, a, b))
        return;
    method_outcome x = method_runs_run("pair", NULL, 1, 0);
    method_outcome y = method_runs_run("pair", NULL, 2, 2);
    assert_string_equal(x.hash, y.hash);
}

/* And they bear images that are cropped at random, unless one refuses these. */
static inline void method_runs_crop(const eg_method *a, const eg_method *b)
{
    if (method_augments(a) && method_augments(b) && method_runs_pair(method_runs_images, a, b))
        method_runs_run("pair", "data.crop=1", 2, 2);
}

#endif
