/* train.c - `engram train`: one network learns generated characters, with nothing to download;
 * with --generator, one learns to draw (train_generator.c).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "train.h"
#include "cli.h"

#include <engram/optim.h>
#include <engram/trainer.h>
#include <engram/transform.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRAIN_MODEL "cnn-small" /* when none is asked for */

enum { TRAIN_BATCH = 32, TRAIN_SEED = 1 };

/* What is learned from what. */
typedef struct train_set {
    eg_table train, test;
    eg_recipe *recipe;
    int64_t *order; /* [train.n]: of the epoch */
    int64_t *rows;  /* [test.n]: 0, 1, 2, ... */
} train_set;

typedef struct train_job {
    const char *model, *options, *lr;
    int64_t epochs;
    bool told;              /* how many epochs */
    char sets[EG_CLI_SETS]; /* the options, when they were given */
} train_job;

static void train_fill(const train_set *d, const eg_table *t, const int64_t *rows,
                       int64_t count, float *x, float *labels)
{
    eg_recipe_fill(d->recipe, t, rows, (size_t)count, NULL, x);
    for (int64_t i = 0; i < count; i++)
        labels[i] = (float)t->y[rows[i]];
}

static eg_status train_fill_learning(void *context, int64_t first, int64_t count, float *x,
                                     float *labels)
{
    const train_set *d = context;
    train_fill(d, &d->train, d->order + first, count, x, labels);
    return EG_OK;
}

static eg_status train_fill_test(void *context, int64_t first, int64_t count, float *x,
                                 float *labels)
{
    const train_set *d = context;
    train_fill(d, &d->test, d->rows + first, count, x, labels);
    return EG_OK;
}

static eg_status train_epoch(train_set *d, eg_trainer *t, uint32_t epoch)
{
    const eg_trainer_samples all = {d->train.n, train_fill_learning, d};
    eg_rng order = eg_rng_at(TRAIN_SEED, 0, epoch, EG_FOR_SHUFFLE);
    eg_rng_shuffle(&order, (size_t)d->train.n, d->order);
    for (int64_t at = 0; at < d->train.n; at += TRAIN_BATCH) {
        int64_t n = d->train.n - at < TRAIN_BATCH ? d->train.n - at : TRAIN_BATCH;
        EG_TRY(eg_trainer_step(t, &all, at, n, NULL));
    }
    return EG_OK;
}

static eg_status train_epochs(train_set *d, eg_trainer *t, const eg_net *net,
                              const train_job *job)
{
    const eg_trainer_samples tests = {d->test.n, train_fill_test, d};
    double accuracy = 0;
    EG_TRY(eg_trainer_set(t, "lr", job->lr));
    EG_TRY(eg_trainer_set(t, "momentum", "0.9"));
    EG_TRY(eg_trainer_test(t, &tests, &accuracy));
    printf("\n%s%s%s: %lld parameters; untrained %.1f %% of the test characters are right\n",
           job->model, job->options ? " " : "", job->options ? job->options : "",
           (long long)eg_params_count(eg_net_params(net)), 100 * accuracy);
    for (int64_t e = 1; e <= job->epochs; e++) {
        double start = eg_seconds();
        EG_TRY(train_epoch(d, t, (uint32_t)e));
        double seconds = eg_seconds() - start;
        EG_TRY(eg_trainer_test(t, &tests, &accuracy));
        printf("  epoch %lld: %.2f %%, %.1f s, %.0f characters a second\n", (long long)e,
               100 * accuracy, seconds, (double)d->train.n / seconds);
        fflush(stdout);
    }
    return EG_OK;
}

static eg_status train_train(train_set *d, const train_job *job)
{
    const eg_net_spec spec = {.model = job->model,
                              .options = job->options,
                              .channels = d->train.channels,
                              .height = d->train.height,
                              .width = d->train.width,
                              .classes = d->train.classes};
    eg_net *net;
    eg_trainer *t = NULL;
    EG_TRY(eg_net_new(&spec, &net));
    eg_status s = eg_trainer_new(
        &(eg_trainer_spec){
            .net = net, .optimizer = "sgd", .temperature = 1, .seed = TRAIN_SEED},
        &t);
    if (s == EG_OK)
        s = train_epochs(d, t, net, job);
    eg_trainer_free(t);
    eg_net_free(net);
    return s;
}

/* 0, 1, 2, ... */
static eg_status train_count(int64_t n, int64_t **out)
{
    *out = calloc((size_t)n, sizeof **out);
    if (!*out)
        return eg_fail(EG_ENOMEM, "no memory for %lld samples", (long long)n);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = i;
    return EG_OK;
}

static eg_status train_load(train_set *d)
{
    const eg_dataset *glyphs = eg_dataset_find("glyphs");
    EG_TRY(eg_dataset_load(glyphs, NULL, NULL, EG_TRAIN, &d->train));
    EG_TRY(eg_dataset_load(glyphs, NULL, NULL, EG_TEST, &d->test));
    EG_TRY(eg_recipe_new(&(eg_transform){0}, &d->train, &d->recipe));
    EG_TRY(train_count(d->train.n, &d->order));
    EG_TRY(train_count(d->test.n, &d->rows));
    printf("glyphs: %lld + %lld generated characters of %lld classes\n", (long long)d->train.n,
           (long long)d->test.n, (long long)d->train.classes);
    return EG_OK;
}

static int train_parse(int argc, char **argv, train_job *job)
{
    static const char *const known[] = {"--model", "--epochs", "--lr", "--set"};
    static const char *const drawers[] = {"--data",  "--class", "--size",
                                          "--steps", "--seed",  "--data-dir",
                                          "--sheet", "--out",   "--quiet"};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (eg_cli_knows(name, sizeof drawers / sizeof *drawers, drawers))
            return eg_cli_usage("train", "%s belongs to --generator", name);
        if (!eg_cli_knows(name, sizeof known / sizeof *known, known))
            return eg_cli_usage("train", "there is no option '%s'", name);
        const char *value = eg_cli_value("train", argc, argv, &i);
        if (!value)
            return 2;
        char *end = NULL;
        if (strcmp(name, "--model") == 0) {
            job->model = value;
        } else if (strcmp(name, "--set") == 0) {
            if (!eg_cli_add_set("train", job->sets, value))
                return 2;
            job->options = job->sets;
        } else if (strcmp(name, "--lr") == 0) {
            job->lr = value;
        } else if ((job->epochs = strtoll(value, &end, 10)) < 1 || *end || job->epochs > 1000) {
            return eg_cli_usage("train", "'%s' is no number of epochs", value);
        } else {
            job->told = true;
        }
    }
    return 0;
}

/* A network or step size that cannot be shows before another network has learned. */
static eg_status train_check(const train_job *job)
{
    const eg_net_spec spec = {.model = job->model ? job->model : TRAIN_MODEL,
                              .options = job->options,
                              .channels = 1,
                              .height = 28,
                              .width = 28,
                              .classes = 10};
    eg_net *net = NULL;
    eg_optimizer *optimizer = NULL;
    eg_status s = eg_net_new(&spec, &net);
    if (s == EG_OK)
        s = eg_optimizer_new("sgd", 1, &optimizer);
    if (s == EG_OK)
        s = eg_optimizer_set(optimizer, "lr", job->lr);
    eg_optimizer_free(optimizer);
    eg_net_free(net);
    return s;
}

int eg_verb_train(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--generator") == 0)
            return train_generator(argc, argv);
    train_job asked = {.lr = "0.01", .epochs = 3};
    int wrong = train_parse(argc, argv, &asked);
    if (wrong)
        return wrong;
    const train_job linear = {.model = "mlp",
                              .options = "depth=0",
                              .lr = asked.lr,
                              .epochs = asked.told ? asked.epochs : 1};
    train_set d = {0};
    eg_status s = train_check(&asked);
    if (s != EG_OK)
        return eg_cli_refused("train", s);
    s = train_load(&d);
    if (s == EG_OK && !asked.model) {
        s = train_train(&d, &linear);
        asked.model = TRAIN_MODEL;
    }
    if (s == EG_OK)
        s = train_train(&d, &asked);
    eg_recipe_free(d.recipe);
    eg_table_fini(&d.train);
    eg_table_fini(&d.test);
    free(d.order);
    free(d.rows);
    return s == EG_OK ? 0 : eg_cli_failed();
}
