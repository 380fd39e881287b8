/* train.c - `engram train`: one network learns generated characters, with nothing to download;
 * with --generator, one learns to draw (train_generator.c).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "train.h"

#include <engram/generator.h>
#include <engram/optim.h>
#include <engram/trainer.h>
#include <engram/transform.h>

#include <stdio.h>
#include <stdlib.h>

#define TRAIN_MODEL "cnn-small" /* when none is asked for */

enum { TRAIN_BATCH = 32, TRAIN_SEED = 1, TRAIN_EPOCHS = 3 };

/* What is learned from what. */
typedef struct train_set {
    eg_table train, test;
    eg_recipe *recipe;
    int64_t *order; /* [train.n]: of the epoch */
    int64_t *rows;  /* [test.n]: 0, 1, 2, ... */
} train_set;

typedef struct train_job {
    const char *model, *options, *lr; /* options NULL: the usual ones */
    int64_t epochs;
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
        printf("  epoch %lld: %.2f %%, %.1f s, %.0f characters per second\n", (long long)e,
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

#define TRAIN_DRAWS .with = "--generator"
#define TRAIN_SORTS .without = "--generator"

static const cli_option train_rows[] = {
    CLI_TEXTS("--set", "'K=V ...'", train_call, settings, 64,
              "options of the network or of the generator"),
    CLI_TITLE("A network that tells characters apart:"),
    CLI_MEMBER("--model", "NAME", train_call, model, eg_model_family,
               "`engram list models` has them", TRAIN_SORTS),
    CLI_INT("--epochs", "N", train_call, epochs, 1, 1000, "passes over the data (3)",
            .what = "epochs", TRAIN_SORTS),
    CLI_TEXT("--lr", "X", train_call, lr, "step size (0.01)", TRAIN_SORTS),
    CLI_TITLE("One that draws:"),
    CLI_MEMBER("--generator", "NAME", train_call, generator, eg_generator_family,
               "`engram list generators` has them"),
    CLI_MEMBER("--data", "NAME", train_call, data, eg_dataset_family,
               "the images it learns from (glyphs)", TRAIN_DRAWS),
    CLI_INT("--class", "K", train_call, only, 0, INT32_MAX,
            "those of one class (all: together, unless it is told the class)", TRAIN_DRAWS),
    CLI_INT("--size", "N", train_call, side, 1, 4096, "scale images to N x N", TRAIN_DRAWS),
    CLI_INT("--steps", "N", train_call, steps, 1, 1000000000, "training steps (600)",
            .what = "steps", TRAIN_DRAWS),
    CLI_SEED("--seed", "N", train_call, seed, "random seed (0)", TRAIN_DRAWS),
    CLI_FOLDER("--data-dir", "DIR", train_call, data_dir,
               "where data sets are (else ENGRAM_DATA, else ~/.local/share/engram)",
               TRAIN_DRAWS),
    CLI_FILE("--sheet", "FILE.png", train_call, sheet, "drawings at the end, as a picture",
             TRAIN_DRAWS),
    CLI_FILE("--out", "FILE", train_call, out,
             "the generator as safetensors, for `engram generate`", TRAIN_DRAWS),
    CLI_THREADS,
    CLI_FLAG("--quiet", train_call, quiet, "show no progress", TRAIN_DRAWS),
    CLI_END,
};

/* A network or step size that cannot be shows before another network has learned. */
static eg_status train_check(const train_call *call)
{
    const eg_net_spec spec = {.model = call->model ? call->model : TRAIN_MODEL,
                              .options = *call->sets ? call->sets : NULL,
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
        s = eg_optimizer_set(optimizer, "lr", call->lr);
    eg_optimizer_free(optimizer);
    eg_net_free(net);
    return s;
}

/* The network that was asked for; without a model a linear one first, and cnn-small. */
static eg_status train_networks(const train_call *call, train_set *d)
{
    const char *options = *call->sets ? call->sets : NULL;
    train_job asked = {.model = call->model ? call->model : TRAIN_MODEL,
                       .options = options,
                       .lr = call->lr,
                       .epochs = call->epochs ? call->epochs : TRAIN_EPOCHS};
    const train_job linear = {.model = "mlp",
                              .options = "depth=0",
                              .lr = call->lr,
                              .epochs = call->epochs ? call->epochs : 1};
    EG_TRY(train_load(d));
    if (!call->model)
        EG_TRY(train_train(d, &linear));
    return train_train(d, &asked);
}

static int train_run(int argc, char **argv)
{
    train_call call = {.lr = "0.01", .data = "glyphs", .steps = 600, .only = -1};
    train_set d = {0};
    int wrong = cli_parse(&eg_verb_train, argc, argv, &call);
    if (wrong || !eg_cli_join_sets("train", &call.settings, call.sets))
        return 2;
    if (call.generator)
        return train_generator(&call);
    eg_status s = train_check(&call);
    if (s != EG_OK)
        return eg_cli_refused("train", s);
    s = train_networks(&call, &d);
    eg_recipe_free(d.recipe);
    eg_table_fini(&d.train);
    eg_table_fini(&d.test);
    free(d.order);
    free(d.rows);
    return s == EG_OK ? 0 : eg_cli_failed();
}

const eg_verb eg_verb_train = {
    .name = "train",
    .run = train_run,
    .usage = "[options]\n"
             "--generator NAME [--data NAME] [options]",
    .help = "train one network on generated characters, or one that draws",
    .details = "Without a model: a linear one, for one pass unless --epochs is given, and "
               "cnn-small.",
    .options = train_rows,
};
