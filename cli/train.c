/* train.c - `engram train`: one network learns generated characters, with nothing to download.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/model.h>
#include <engram/op.h>
#include <engram/optim.h>
#include <engram/program.h>
#include <engram/transform.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRAIN_MODEL "cnn-small" /* when none is asked for */

enum { TRAIN_BATCH = 32, TRAIN_TEST_BATCH = 200 };

/* What is trained on what, and everything it needs. */
typedef struct trainer {
    eg_table train, test;
    eg_recipe *recipe;
    eg_net *net;
    eg_program *learn, *judge;
    eg_optimizer *optimizer;
    float *value, *grad, *state;
    int64_t *order;
    uint64_t step;
} trainer;

typedef struct train_job {
    const char *model, *options, *lr;
    int64_t epochs;
    char sets[EG_CLI_SETS]; /* the options, when they were given */
} train_job;

static eg_node *train_input(const trainer *d, eg_graph *g, int64_t batch)
{
    return eg_input(g, "x", eg_dims(batch, d->train.channels, d->train.height, d->train.width));
}

static void train_record_learning(void *context, eg_graph *g, int64_t batch)
{
    const trainer *d = context;
    eg_node *logits = eg_net_forward(d->net, g, train_input(d, g, batch));
    eg_node *loss = eg_cross_entropy(g, logits, eg_input(g, "labels", eg_dims(batch)), NULL);
    eg_output(g, "loss", loss);
    eg_net_backward(d->net, g, loss);
}

static void train_record_judging(void *context, eg_graph *g, int64_t batch)
{
    const trainer *d = context;
    eg_graph_set_training(g, false);
    eg_output(g, "logits", eg_net_forward(d->net, g, train_input(d, g, batch)));
}

static eg_status train_epoch(trainer *d, uint32_t epoch)
{
    eg_rng order = eg_rng_at(1, 0, epoch, EG_FOR_SHUFFLE);
    eg_rng dropout = eg_rng_at(1, 0, 0, EG_FOR_DROPOUT);
    eg_rng_shuffle(&order, (size_t)d->train.n, d->order);
    for (int64_t at = 0; at < d->train.n; at += TRAIN_BATCH) {
        int64_t n = d->train.n - at < TRAIN_BATCH ? d->train.n - at : TRAIN_BATCH;
        eg_plan *plan;
        EG_TRY(eg_program_plan(d->learn, n, &plan));
        eg_recipe_fill(d->recipe, &d->train, d->order + at, (size_t)n, NULL,
                       eg_plan_input(plan, "x"));
        for (int64_t i = 0; i < n; i++)
            eg_plan_input(plan, "labels")[i] = (float)d->train.y[d->order[at + i]];
        eg_plan_seed(plan, &dropout, d->step++);
        EG_TRY(eg_plan_run(plan));
        eg_optimizer_step(d->optimizer, d->value, d->grad);
    }
    return EG_OK;
}

static eg_status train_accuracy(trainer *d, double *out)
{
    int64_t right = 0, classes = d->test.classes, rows[TRAIN_TEST_BATCH];
    for (int64_t at = 0; at < d->test.n; at += TRAIN_TEST_BATCH) {
        int64_t n = d->test.n - at < TRAIN_TEST_BATCH ? d->test.n - at : TRAIN_TEST_BATCH;
        eg_plan *plan;
        EG_TRY(eg_program_plan(d->judge, n, &plan));
        for (int64_t i = 0; i < n; i++)
            rows[i] = at + i;
        eg_recipe_fill(d->recipe, &d->test, rows, (size_t)n, NULL, eg_plan_input(plan, "x"));
        EG_TRY(eg_plan_run(plan));
        const float *logits = eg_plan_output(plan, "logits"); /* [n, classes] */
        for (int64_t i = 0; i < n; i++) {
            int64_t best = 0;
            for (int64_t c = 1; c < classes; c++)
                best = logits[i * classes + c] > logits[i * classes + best] ? c : best;
            right += best == d->test.y[at + i];
        }
    }
    *out = (double)right / (double)d->test.n;
    return EG_OK;
}

static eg_status train_prepare(trainer *d, const train_job *job)
{
    const eg_net_spec spec = {.model = job->model,
                              .options = job->options,
                              .channels = d->train.channels,
                              .height = d->train.height,
                              .width = d->train.width,
                              .classes = d->train.classes};
    EG_TRY(eg_net_new(&spec, &d->net));
    const eg_params *p = eg_net_params(d->net);
    EG_TRY(eg_params_alloc(p, &d->value));
    EG_TRY(eg_params_alloc(p, &d->grad));
    EG_TRY(eg_state_alloc(p, &d->state));
    eg_params_init(p, 1, d->value, d->state);
    EG_TRY(eg_optimizer_new("sgd", eg_params_length(p), &d->optimizer));
    EG_TRY(eg_optimizer_set(d->optimizer, "lr", job->lr));
    EG_TRY(eg_optimizer_set(d->optimizer, "momentum", "0.9"));
    EG_TRY(eg_program_new(train_record_learning, d, 2, &d->learn));
    EG_TRY(eg_program_new(train_record_judging, d, 2, &d->judge));
    EG_TRY(eg_program_bind(d->learn, p, d->value, d->grad, d->state));
    return eg_program_bind(d->judge, p, d->value, NULL, d->state);
}

/* Releases what belongs to one network, not the data. */
static void train_release(trainer *d)
{
    eg_program_free(d->learn);
    eg_program_free(d->judge);
    eg_optimizer_free(d->optimizer);
    eg_net_free(d->net);
    free(d->value);
    free(d->grad);
    free(d->state);
    d->learn = d->judge = NULL;
    d->optimizer = NULL;
    d->net = NULL;
    d->value = d->grad = d->state = NULL;
}

static eg_status train_train(trainer *d, const train_job *job)
{
    double accuracy = 0;
    EG_TRY(train_prepare(d, job));
    EG_TRY(train_accuracy(d, &accuracy));
    printf("\n%s%s%s: %lld parameters; untrained %.1f %% of the test characters are right\n",
           job->model, job->options ? " " : "", job->options ? job->options : "",
           (long long)eg_params_count(eg_net_params(d->net)), 100 * accuracy);
    for (int64_t e = 1; e <= job->epochs; e++) {
        double start = eg_seconds();
        EG_TRY(train_epoch(d, (uint32_t)e));
        double seconds = eg_seconds() - start;
        EG_TRY(train_accuracy(d, &accuracy));
        printf("  epoch %lld: %.2f %%, %.1f s, %.0f characters a second\n", (long long)e,
               100 * accuracy, seconds, (double)d->train.n / seconds);
        fflush(stdout);
    }
    return EG_OK;
}

static eg_status train_load(trainer *d)
{
    const eg_dataset *glyphs = eg_dataset_find("glyphs");
    EG_TRY(eg_dataset_load(glyphs, NULL, NULL, EG_TRAIN, &d->train));
    EG_TRY(eg_dataset_load(glyphs, NULL, NULL, EG_TEST, &d->test));
    EG_TRY(eg_recipe_new(&(eg_transform){0}, &d->train, &d->recipe));
    d->order = calloc((size_t)d->train.n, sizeof *d->order);
    if (!d->order)
        return eg_fail(EG_ENOMEM, "no memory for %lld samples", (long long)d->train.n);
    for (int64_t i = 0; i < d->train.n; i++)
        d->order[i] = i;
    printf("glyphs: %lld + %lld generated characters of %lld classes\n", (long long)d->train.n,
           (long long)d->test.n, (long long)d->train.classes);
    return EG_OK;
}

static int train_parse(int argc, char **argv, train_job *job)
{
    static const char *const known[] = {"--model", "--epochs", "--lr", "--set"};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
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
    train_job asked = {.lr = "0.01", .epochs = 3};
    const train_job linear = {.model = "mlp", .options = "depth=0", .lr = "0.01", .epochs = 1};
    int wrong = train_parse(argc, argv, &asked);
    if (wrong)
        return wrong;
    trainer d = {0};
    eg_status s = train_check(&asked);
    if (s != EG_OK)
        return eg_cli_refused("train", s);
    s = train_load(&d);
    if (s == EG_OK && !asked.model) {
        s = train_train(&d, &linear);
        train_release(&d);
        asked.model = TRAIN_MODEL;
    }
    if (s == EG_OK)
        s = train_train(&d, &asked);
    train_release(&d);
    eg_recipe_free(d.recipe);
    eg_table_fini(&d.train);
    eg_table_fini(&d.test);
    free(d.order);
    return s == EG_OK ? 0 : eg_cli_failed();
}
