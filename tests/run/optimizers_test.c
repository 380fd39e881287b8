/* optimizers_test.c - optimisers as components of an experiment, from the file to the weights.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"
#include "small_run.h"

#include <engram/fed.h>

#include "own_folder.h"

/* An experiment with more lines in its file, then settings up to NULL. */
static eg_status load(const char *lines, const char *const *sets, eg_experiment **out)
{
    char text[2048], file[FILES_PATH * 2];
    size_t n_sets = 0;
    int n = snprintf(text, sizeof text,
                     "name: t\n"
                     "data: {name: blobs, classes: 2}\n"
                     "model: mlp\n"
                     "scenario: {kind: class-incremental, clients: 1, tasks: 1}\n"
                     "%s"
                     "runs: [{label: a, method: fedavg}]\n",
                     lines);
    files_write(folder, "o.yaml", text, (size_t)n);
    snprintf(file, sizeof file, "%s/o.yaml", folder);
    while (sets && sets[n_sets])
        n_sets++;
    return eg_experiment_load(file, "a", n_sets, sets, out);
}

/* What an experiment has for an optimiser: "adam lr=0.001 ...". */
static void check(const char *lines, const char *const *sets, const char *expected)
{
    eg_experiment *e;
    char text[1024];
    assert_ok(load(lines, sets, &e));
    const eg_component *c = &e->optimizer.kind->component;
    int n = snprintf(text, sizeof text, "%s", c->name);
    for (const eg_opt *o = c->opts; o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, e->optimizer.options, value);
        n += snprintf(text + n, sizeof text - (size_t)n, " %s=%s", o->name, value);
    }
    assert_string_equal(text, expected);
    double lr = 0;
    eg_opts_get_real(c->opts, e->optimizer.options, "lr", &lr);
    assert_true(e->train.lr == lr);
    eg_experiment_free(e);
}

#define SETS(...)              ((const char *const[]){__VA_ARGS__, NULL})
#define MOMENTS                " beta2=0.999 eps=1e-08 weight_decay="
#define ADAM(lr, beta1, decay) "adam lr=" lr " beta1=" beta1 MOMENTS decay
#define ADAMW(lr, decay)       "adamw lr=" lr " beta1=0.9" MOMENTS decay
#define SGD(lr, momentum, decay)                                                               \
    "sgd lr=" lr " momentum=" momentum " weight_decay=" decay " nesterov=false"

static void test_an_optimiser_is_set_in_the_file_and_from_the_command_line(void **state)
{
    (void)state;
    check("", NULL, SGD("0.01", "0", "0"));
    check("optimizer: adamw\n", NULL, ADAMW("0.001", "0.01"));
    check("optimizer: {lr: 0.5, name: adam, beta1: 0.5}\n", NULL, ADAM("0.5", "0.5", "0"));
    check("", SETS("optimizer=adam", "optimizer.beta1=0.5"), ADAM("0.001", "0.5", "0"));
    check("optimizer: {name: adam, lr: 1, beta1: 0.5}\n", SETS("optimizer=adamw"),
          ADAMW("0.001", "0.01")); /* another optimiser replaces the one there was */
    check("optimizer: {momentum: 0.9}\n", SETS("optimizer.lr=2"), SGD("2", "0.9", "0"));
}

static void test_names_come_before_options_in_whatever_order_they_are_given(void **state)
{
    (void)state;
    check("", SETS("optimizer.lr=0.5", "optimizer=adam"), ADAM("0.5", "0.9", "0"));
}

static void test_wrong_optimisers_are_said_with_their_line(void **state)
{
    (void)state;
    eg_experiment *e;
    assert_fails(load("optimizer: sdg\n", NULL, &e), EG_ENOENT,
                 "o.yaml:5:12: there is no optimiser 'sdg' (did you mean 'sgd'?)");
    assert_fails(load("optimizer: {name: adam, momentum: 1}\n", NULL, &e), EG_ENOENT,
                 "o.yaml:5:35: adam: there is no option 'momentum'");
    assert_fails(load("optimizer: {lr: -1}\n", NULL, &e), EG_EINVAL,
                 "o.yaml:5:17: sgd: lr: -1 is outside [0, 1000]");
    assert_fails(load("optimizer: {name: adam, beta1: 1}\n", NULL, &e), EG_EINVAL,
                 "adam: beta1: 1 is outside [0, 0.9999]"); /* it would divide by zero */
    assert_fails(load("optimizer: {name: adamw, beta2: 1}\n", NULL, &e), EG_EINVAL,
                 "adamw: beta2: 1 is outside [0, 0.9999]");
    assert_fails(load("train: {lr: 1}\n", NULL, &e), EG_ENOENT,
                 "o.yaml:5:13: train has no option 'lr' (here it is 'optimizer.lr')");
    assert_fails(load("optimizer: {nesterov: true}\n", NULL, &e), EG_EINVAL,
                 "sgd: nesterov needs a momentum above 0");
    assert_fails(load("", SETS("optimizer.beta1=0.5"), &e), EG_ENOENT,
                 "--set optimizer.beta1: sgd: there is no option 'beta1'");
}

/* A file and a line make an optimiser: this walks the list. */
static void test_every_optimiser_trains_and_is_kept(void **state)
{
    (void)state;
    char seen[16][65] = {"", ""};
    size_t n = 0;
    for (; eg_optims[n]; n++) {
        char name[64];
        snprintf(name, sizeof name, "optimizer=%s", eg_optims[n]->component.name);
        /* The file's own is SGD with momentum, which its name alone would not have. */
        const char *other = strcmp(eg_optims[n]->component.name, "sgd") == 0 ? NULL : name;
        small_run run = {.method = "fedavg", .set = {"train.optimizer_state=keep", other}};
        small_run fresh = {.method = "fedavg", .set = {other}};
        small_run resumed = run;
        resumed.workers = 2, resumed.stop = 2;
        assert_true(n < sizeof seen / sizeof *seen);
        memcpy(seen[n], small_run_all(folder, run).hash, sizeof *seen);
        assert_string_equal(seen[n], small_run_all(folder, resumed).hash);
        if (eg_optims[n]->n_slots)
            assert_string_not_equal(seen[n], small_run_all(folder, fresh).hash);
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(seen[n], seen[i]);
    }
}

static bool same(small_run a, small_run b)
{
    small_outcome first = small_run_all(folder, a);
    return strcmp(first.hash, small_run_all(folder, b).hash) == 0;
}

static void test_a_schedule_sets_the_rate_of_each_round(void **state)
{
    (void)state;
    /* One round of a warm-up of two has half the rate. */
    assert_true(same(
        (small_run){.method = "fedavg",
                    .set = {"scenario.tasks=1", "scenario.rounds=1", "optimizer.lr=0.5",
                            "schedule.warmup=2"}},
        (small_run){.method = "fedavg",
                    .set = {"scenario.tasks=1", "scenario.rounds=1", "optimizer.lr=0.25"}}));
    const small_run plain = {.method = "er"};
    const small_run cosine = {.method = "er", .set = {"schedule.kind=cosine"}};
    small_run resumed = cosine;
    resumed.workers = 2, resumed.stop = 3;
    assert_false(same(plain, cosine));
    assert_true(same(cosine, resumed));
    assert_true(same(
        plain, (small_run){.method = "er", .set = {"schedule.kind=step", "schedule.every=4"}}));
}

static void test_a_schedule_shrinks_with_the_rounds(void **state)
{
    (void)state;
    eg_experiment *e;
    assert_ok(load("schedule: {kind: step, every: 20, factor: 0.5, warmup: 10}\nscale: 0.2\n",
                   NULL, &e));
    static const double expected[] = {0.5, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25};
    for (int64_t i = 0; i < 11; i++)
        assert_near(eg_experiment_rate(e, i, 40), expected[i], 1e-12);
    eg_experiment_free(e);
    assert_fails(load("schedule: {kind: stair}\n", NULL, &e), EG_EINVAL,
                 "o.yaml:5:18: kind: 'stair' is none of constant|step|cosine");
}

/* A part whose gradients are far too long, and which sees how far they led. */
static eg_status loud_grad(void *self, eg_client *c)
{
    (void)self;
    for (size_t i = 0; i < c->n_params; i++)
        c->grad[i] *= 1e6f;
    return EG_OK;
}

static eg_status loud_trained(void *self, eg_client *c)
{
    (void)self;
    double square = 0;
    for (size_t i = 0; i < c->n_params; i++)
        square += pow((double)c->param[i] - (double)c->global[i], 2);
    double most = c->train->lr * c->train->clip * (double)c->n_batches;
    assert_true(square > 0 && sqrt(square) <= 1.0001 * most);
    return EG_OK;
}

static void test_gradients_are_clipped_after_all_parts_changed_them(void **state)
{
    (void)state;
    static const eg_method loud = {.component = {"loud", "", 0, NULL},
                                   .client = {.grad = loud_grad, .trained = loud_trained}};
    const small_run plain = {.method = "er"};
    assert_true(same(plain, (small_run){.method = "er", .set = {"train.clip=1e6"}}));
    assert_false(same(plain, (small_run){.method = "er", .set = {"train.clip=0.1"}}));
    small_run_all(folder, (small_run){.method = "er",
                                      .set = {"train.clip=0.5", "optimizer.momentum=0"},
                                      .after = &loud});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_optimiser_is_set_in_the_file_and_from_the_command_line),
        cmocka_unit_test(test_names_come_before_options_in_whatever_order_they_are_given),
        cmocka_unit_test(test_wrong_optimisers_are_said_with_their_line),
        cmocka_unit_test(test_every_optimiser_trains_and_is_kept),
        cmocka_unit_test(test_a_schedule_sets_the_rate_of_each_round),
        cmocka_unit_test(test_a_schedule_shrinks_with_the_rounds),
        cmocka_unit_test(test_gradients_are_clipped_after_all_parts_changed_them),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
