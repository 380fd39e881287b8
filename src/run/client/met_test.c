/* met_test.c - the loss and the answers restricted to classes that were met.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"
#include "one_client.h"

#include "run/client/outputs.h"

#include <stdlib.h>

enum { CLASSES = 6, DIM = 16, TASKS = 3, CLIENTS = 4 };

/* A linear model, one step of gradient descent a round on all samples at once. Each client has
 * its own order of the three tasks, two classes each. */
#define TEXT(method)                                                                           \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 120, test: 60, classes: 6}\n"                                  \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 4, tasks: 3, rounds: 1,"                     \
    " order: own, partition: iid}\n"                                                           \
    "memory: {kind: reservoir, size: 10}\n"                                                    \
    "optimizer: {lr: 1}\n"                                                                     \
    "train: {batch: 120}\n"                                                                    \
    "runs: [{label: a, method: " method "}]\n"

static const char text[] = TEXT("fedavg");

typedef struct bench {
    one_client one;
    const float *param; /* what the client receives */
} bench;

static void bench_open(bench *b, const char *set, int64_t round)
{
    one_client_open(&b->one, text, set);
    eg_cursor_seek(b->one.cursor, round);
    b->param = eg_bundle_find(b->one.down, "param", NULL);
}

static void bench_close(bench *b)
{
    one_client_close(&b->one);
}

static void bench_train(bench *b, int64_t client)
{
    assert_ok(one_client_turn(&b->one, client));
}

/* The classes of a client's stages before `end`, from the stages alone. */
static void add_classes(const bench *b, int64_t client, int64_t begin, int64_t end, bool *in)
{
    for (int64_t stage = begin; stage < end; stage++) {
        int64_t n;
        const eg_span *span = eg_scenario_spans(b->one.feed.scenario, client, stage, &n);
        const eg_task *task = eg_scenario_task(b->one.feed.scenario, span->task);
        for (int64_t k = 0; k < task->n_classes; k++)
            in[task->classes[k]] = true;
    }
}

static void expected_classes(const bench *b, const char *rule, int64_t client, int64_t round,
                             bool *in)
{
    bool all = strcmp(rule, "all") == 0, task = strcmp(rule, "task") == 0;
    for (int k = 0; k < CLASSES; k++)
        in[k] = all;
    add_classes(b, client, task ? round : 0, round + 1, in);
    for (int64_t c = 0; strcmp(rule, "seen") == 0 && c < CLIENTS; c++)
        add_classes(b, c, 0, round, in);
}

static float weight_at(const bench *b, const float *param, int k, int d)
{
    return param[eg_params_at(eg_net_params(b->one.net), 0)->offset + (size_t)(k * DIM + d)];
}

static float bias_at(const bench *b, const float *param, int k)
{
    return param[eg_params_at(eg_net_params(b->one.net), 1)->offset + (size_t)k];
}

/* Adds a sample's share of the gradient of the mean cross entropy over the classes that are in:
 * grad [CLASSES, DIM + 1], the bias last. */
static void add_gradient(const bench *b, const bool *in, int64_t id, double share, double *grad)
{
    const float *x = b->one.feed.train[0].f32 + id * DIM;
    double p[CLASSES], sum = 0;
    for (int k = 0; k < CLASSES; k++) {
        double z = bias_at(b, b->param, k);
        for (int d = 0; d < DIM; d++)
            z += (double)weight_at(b, b->param, k, d) * (double)x[d];
        p[k] = in[k] ? exp(z) : 0;
        sum += p[k];
    }
    for (int k = 0; k < CLASSES; k++) {
        double error = p[k] / sum - (b->one.feed.train[0].y[id] == k);
        for (int d = 0; d < DIM; d++)
            grad[k * (DIM + 1) + d] += share * error * (double)x[d];
        grad[k * (DIM + 1) + DIM] += share * error;
    }
}

/* The weights and the bias of one class after a step of size 1. */
static void check_class(const bench *b, int k, bool counts, const double *grad)
{
    size_t bias = eg_params_at(eg_net_params(b->one.net), 1)->offset + (size_t)k;
    for (int d = 0; d < DIM; d++) {
        float before = weight_at(b, b->param, k, d);
        float after = weight_at(b, b->one.c->param, k, d);
        assert_near(after, (double)before - grad[d], 1e-5);
        assert_true(counts || after == before);
    }
    assert_near(b->one.c->param[bias], (double)b->param[bias] - grad[DIM], 1e-5);
    assert_true(counts || b->one.c->grad[bias] == 0);
}

static void check_step(const char *rule, int64_t client, int64_t round)
{
    char set[64];
    bench b = {0};
    bool in[CLASSES] = {false};
    double grad[CLASSES * (DIM + 1)] = {0};
    int64_t n;
    snprintf(set, sizeof set, "train.classes=%s", rule);
    bench_open(&b, set, round);
    expected_classes(&b, rule, client, round, in);
    const eg_span *span = eg_scenario_spans(b.one.feed.scenario, client, round, &n);
    for (int64_t i = 0; i < span->n; i++)
        add_gradient(&b, in, span->ids[i], 1 / (double)span->n, grad);
    bench_train(&b, client);
    for (int k = 0; k < CLASSES; k++)
        check_class(&b, k, in[k], grad + k * (DIM + 1));
    bench_close(&b);
}

static void test_a_step_moves_only_the_outputs_that_count(void **state)
{
    (void)state;
    static const char *const rules[] = {"all", "seen", "client", "task"};
    for (size_t i = 0; i < 4; i++)
        for (int64_t client = 0; client < CLIENTS; client++)
            for (int64_t round = 0; round < TASKS; round++)
                check_step(rules[i], client, round);
}

static void test_the_rules_differ_in_this_scenario(void **state)
{
    (void)state;
    bench b = {0};
    bool seen[CLASSES], client[CLASSES], task[CLASSES];
    bench_open(&b, NULL, 0);
    expected_classes(&b, "seen", 0, 1, seen);
    expected_classes(&b, "client", 0, 1, client);
    expected_classes(&b, "task", 0, 1, task);
    assert_memory_not_equal(seen, client, sizeof seen);
    assert_memory_not_equal(client, task, sizeof task);
    bench_close(&b);
}

/* Rows that join a batch have no task: with `task` they see what the client has met, and the
 * right answer in any case. */
static void test_replayed_rows_see_what_the_client_met(void **state)
{
    (void)state;
    bench b = {0};
    bool met[CLASSES], now[CLASSES];
    int64_t n;
    bench_open(&b, "train.classes=task", 1);
    bench_train(&b, 0);
    expected_classes(&b, "client", 0, 1, met);
    expected_classes(&b, "task", 0, 1, now);
    int strange = 0;
    while (met[strange])
        strange++;
    const eg_span *span = eg_scenario_spans(b.one.feed.scenario, 0, 1, &n);
    eg_sample own = {span->task, span->ids[0]};
    eg_plan *plan;
    assert_ok(eg_program_plan(b.one.worker.learn, 3, &plan));
    float *labels = eg_plan_input(plan, "labels"), *mask = eg_plan_input(plan, "mask");
    labels[0] = labels[1] = (float)b.one.feed.train[0].y[own.id];
    labels[2] = (float)strange; /* made by a generator, say */
    eg_worker_mask(&b.one.worker, plan, &own, 1, 3);
    for (int k = 0; k < CLASSES; k++) {
        assert_true((mask[k] == 0) == now[k]);
        assert_true((mask[CLASSES + k] == 0) == met[k]);
        assert_true((mask[2 * CLASSES + k] == 0) == (met[k] || k == strange));
    }
    bench_close(&b);
}

static void test_without_a_rule_there_is_no_mask(void **state)
{
    (void)state;
    bench b = {0};
    eg_plan *plan;
    bench_open(&b, NULL, 0);
    assert_ok(eg_program_plan(b.one.worker.learn, 3, &plan));
    assert_null(eg_plan_input(plan, "mask"));
    bench_close(&b);
}

/* Losses and norms that a part asks for are those of the restricted loss. */
static void test_a_look_sees_the_restricted_loss(void **state)
{
    (void)state;
    bench b = {0};
    bool in[CLASSES];
    int64_t n;
    bench_open(&b, "train.classes=task", 1);
    bench_train(&b, 0);
    eg_client *c = b.one.c;
    memcpy(c->param, b.param, c->n_params * sizeof *c->param);
    expected_classes(&b, "task", 0, 1, in);
    const eg_span *span = eg_scenario_spans(b.one.feed.scenario, 0, 1, &n);
    eg_sample sample = {span->task, span->ids[2]};
    float norm;
    double grad[CLASSES * (DIM + 1)] = {0}, sum = 0;
    const eg_rows row = {.n = 1, .samples = &sample};
    assert_ok(eg_client_look(c, NULL, &row, &(eg_look){.norms = &norm}));
    add_gradient(&b, in, sample.id, 1, grad);
    for (size_t i = 0; i < sizeof grad / sizeof *grad; i++)
        sum += grad[i] * grad[i];
    assert_near(norm, sum, 1e-4);
    const float *gradient;
    assert_ok(eg_client_gradient(c, NULL, EG_EVAL_FORM, &row, &gradient));
    const float *biases = gradient + eg_params_at(eg_net_params(b.one.net), 1)->offset;
    for (int k = 0; k < CLASSES; k++)
        assert_near(biases[k], grad[k * (DIM + 1) + DIM], 1e-5);
    bench_close(&b);
}

/* How many biases of classes that never came have moved after two rounds of the first task. */
static int moved_biases(const char *set)
{
    static const char replay[] =
        "name: t\n"
        "data: {name: blobs, train: 120, test: 60, classes: 6}\n"
        "model: {name: mlp, depth: 0}\n"
        "scenario: {kind: class-incremental, clients: 1, tasks: 3, rounds: 2, partition: iid}\n"
        "memory: {kind: reservoir, size: 10}\n"
        "optimizer: {lr: 0.1}\n"
        "train: {batch: 10}\n"
        "derpp: {alpha: 0, beta: 1}\n"
        "runs: [{label: a, method: der++}]\n";
    one_client o;
    float before[CLASSES];
    int moved = 0;
    one_client_open(&o, replay, set);
    size_t at = eg_params_at(eg_net_params(o.net), 1)->offset;
    memcpy(before, o.c->param + at, sizeof before);
    one_client_train(&o);
    one_client_train(&o);
    for (int k = 2; k < CLASSES; k++)
        moved += o.c->param[at + (size_t)k] != before[k];
    assert_true(o.c->param[at] != before[0]);
    one_client_close(&o);
    return moved;
}

static void test_rows_apart_from_the_batch_are_restricted_too(void **state)
{
    (void)state;
    assert_int_equal(moved_biases("train.classes=all"), 4);
    assert_int_equal(moved_biases("train.classes=seen"), 0);
    assert_int_equal(moved_biases("train.classes=client"), 0);
    assert_int_equal(moved_biases("train.classes=task"), 0);
}

static void test_answers_are_restricted(void **state)
{
    (void)state;
    bench b = {0};
    eg_score all, few;
    static const int32_t allowed[] = {1, 4}, classes[] = {0, 1, 2, 3, 4, 5};
    int64_t ids[60], right = 0, right_few = 0;
    bench_open(&b, NULL, 0);
    for (int64_t i = 0; i < 60; i++) {
        const float *x = b.one.feed.test[0].f32 + i * DIM;
        double z[CLASSES];
        int best = 0;
        ids[i] = i;
        for (int k = 0; k < CLASSES; k++) {
            z[k] = bias_at(&b, b.param, k);
            for (int d = 0; d < DIM; d++)
                z[k] += (double)weight_at(&b, b.param, k, d) * (double)x[d];
            best = z[k] > z[best] ? k : best;
        }
        right += best == i % CLASSES;
        right_few += (z[4] > z[1] ? 4 : 1) == i % CLASSES;
    }
    eg_exam exam = {.n = 60, .ids = ids, .n_classes = CLASSES, .classes = classes};
    assert_ok(eg_worker_test(&b.one.worker, &(eg_weights){b.param, NULL}, &exam, &all));
    exam.allowed = allowed, exam.n_allowed = 2;
    assert_ok(eg_worker_test(&b.one.worker, &(eg_weights){b.param, NULL}, &exam, &few));
    assert_int_equal(all.right, right);
    assert_int_equal(few.right, right_few);
    assert_int_equal(few.right_in_task, right);
    assert_int_not_equal(right, right_few);
    exam.n_allowed = 0; /* nothing was met yet */
    assert_ok(eg_worker_test(&b.one.worker, &(eg_weights){b.param, NULL}, &exam, &few));
    assert_int_equal(few.right, 0);
    bench_close(&b);
}

/* Right answers of the 60 samples where one is right among so many of the likeliest, by a
 * count of the classes that score higher. */
static void test_answers_may_be_right_among_several(void **state)
{
    (void)state;
    static const char *const sets[] = {"eval.top=1", "eval.top=2", "eval.top=4"};
    static const int tops[] = {1, 2, 4};
    static const int32_t allowed[] = {1, 3, 4}, classes[] = {0, 1, 2, 3, 4, 5};
    for (int s = 0; s < 3; s++) {
        bench b = {0};
        eg_score all, few;
        int64_t ids[60], right = 0, right_few = 0;
        bench_open(&b, sets[s], 0);
        for (int64_t i = 0; i < 60; i++) {
            const float *x = b.one.feed.test[0].f32 + i * DIM;
            double z[CLASSES];
            int above = 0, above_few = 0, truth = (int)(i % CLASSES);
            ids[i] = i;
            for (int k = 0; k < CLASSES; k++) {
                z[k] = bias_at(&b, b.param, k);
                for (int d = 0; d < DIM; d++)
                    z[k] += (double)weight_at(&b, b.param, k, d) * (double)x[d];
            }
            for (int k = 0; k < CLASSES; k++)
                above += z[k] > z[truth];
            for (int k = 0; k < 3; k++)
                above_few += z[allowed[k]] > z[truth];
            right += above < tops[s];
            right_few += (truth == 1 || truth == 3 || truth == 4) && above_few < tops[s];
        }
        eg_exam exam = {.n = 60, .ids = ids, .n_classes = CLASSES, .classes = classes};
        assert_ok(eg_worker_test(&b.one.worker, &(eg_weights){b.param, NULL}, &exam, &all));
        exam.allowed = allowed, exam.n_allowed = 3;
        assert_ok(eg_worker_test(&b.one.worker, &(eg_weights){b.param, NULL}, &exam, &few));
        assert_int_equal(all.right, right);
        assert_int_equal(all.right_in_task, right);
        assert_int_equal(few.right, right_few);
        assert_true(s < 2 || right_few == 30); /* all three are among the first four */
        bench_close(&b);
    }
}

/* An evaluation under rule i of all, seen, client, task. Common tasks in natural order: after
 * round 1 only the classes of task 1 were seen, and so on. */
static void check_evaluation(const eg_eval_event *e, int i)
{
    for (int64_t t = 0; t < 3; t++) {
        int64_t right = e->correct[t], own = e->correct_task_il[t];
        bool met = i == 1 || i == 2;
        assert_true(i != 3 || right == own);
        assert_true(!met || t < e->round || right == 0);
        assert_true(!met || e->round != 1 || t != 0 || right == own);
    }
}

static void test_evaluation_follows_what_was_seen(void **state)
{
    (void)state;
    static const char common[] =
        "name: t\n"
        "data: {name: blobs, train: 120, test: 60, classes: 6}\n"
        "model: {name: mlp, depth: 0}\n"
        "scenario: {kind: class-incremental, clients: 2, tasks: 3, rounds: 1, partition: iid}\n"
        "runs: [{label: a, method: fedavg}]\n";
    static const char *const rules[] = {"eval.classes=all", "eval.classes=seen",
                                        "eval.classes=client", "eval.classes=task"};
    double final[4], task_il[4];
    for (int i = 0; i < 4; i++) {
        char path[512];
        assert_ok(fixture_run(common, rules[i], 1 + i % 2, i % 3, path));
        final[i] = runs_value(path, "acc_final");
        task_il[i] = runs_value(path, "acc_task_il");
        eg_events *events = fixture_events(path);
        for (size_t k = 0; k < events->n_eval; k++)
            check_evaluation(&events->eval[k], i);
        eg_events_free(events);
    }
    assert_true(final[1] == final[0] && final[2] == final[0]); /* by the end all were seen */
    assert_true(final[3] == task_il[3] && task_il[3] == task_il[0]);
    assert_true(final[3] > final[0]);
}

static void test_every_rule_repeats_and_resumes(void **state)
{
    (void)state;
    static const char *const rules[] = {"train.classes=all", "train.classes=seen",
                                        "train.classes=client", "train.classes=task"};
    static const char runs[] = TEXT("er");
    char hash[4][65];
    for (int i = 0; i < 4; i++) {
        char path[512], again[65];
        assert_ok(fixture_run(runs, rules[i], 1, 0, path));
        runs_hash(path, hash[i]);
        assert_ok(fixture_run(runs, rules[i], 2, 2, path));
        runs_hash(path, again);
        assert_string_equal(hash[i], again);
        assert_ok(fixture_run(runs, rules[i], -2, 0, path));
        runs_hash(path, again);
        assert_string_equal(hash[i], again);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(hash[i], hash[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_moves_only_the_outputs_that_count),
        cmocka_unit_test(test_the_rules_differ_in_this_scenario),
        cmocka_unit_test(test_replayed_rows_see_what_the_client_met),
        cmocka_unit_test(test_without_a_rule_there_is_no_mask),
        cmocka_unit_test(test_a_look_sees_the_restricted_loss),
        cmocka_unit_test(test_rows_apart_from_the_batch_are_restricted_too),
        cmocka_unit_test(test_answers_are_restricted),
        cmocka_unit_test(test_answers_may_be_right_among_several),
        cmocka_unit_test(test_evaluation_follows_what_was_seen),
        cmocka_unit_test(test_every_rule_repeats_and_resumes),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
