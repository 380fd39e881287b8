/* outputs_test.c - heads for tasks: trained apart, and the right one judged.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include "run/client/outputs.h"

enum { TASKS = 3, CLASSES = 6 };

/* A worker of an experiment on blobs, and its model. */
typedef struct fixture {
    one_client one;
    size_t side, side_bias, n_features; /* offsets of the heads: [TASKS, CLASSES, features] */
    size_t head;                        /* and of the network's own: [CLASSES, features] */
    float *param;                       /* the model sent, */
    const float *after;                 /* and what a round made of it */
} fixture;

static void find_heads(fixture *f)
{
    const eg_params *p = eg_net_params(f->one.net);
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        if (strcmp(t->name, "side.weight") == 0)
            f->side = t->offset, f->n_features = (size_t)t->shape.dim[1];
        if (strcmp(t->name, "head.weight") == 0)
            f->head = t->offset;
        if (strcmp(t->name, "side.bias") == 0)
            f->side_bias = t->offset;
    }
    assert_int_equal(f->n_features, 16);
}

/* The second head is there whether or not a part of the method wishes for one. */
static void open_fixture(fixture *f, const char *kind, const char *method)
{
    char text[1024];
    memset(f, 0, sizeof *f);
    snprintf(text, sizeof text,
             "name: t\n"
             "data: {name: blobs, train: 240, test: 90, classes: %d}\n"
             "model: {name: mlp, depth: 1, width: 16}\n"
             "scenario: {kind: %s, clients: 1, tasks: %d, rounds: 2}\n"
             "memory: {kind: reservoir, size: 20}\n"
             "optimizer: {lr: 0.1, momentum: 0.5}\n"
             "train: {epochs: 2, batch: 16}\n"
             "runs: [{label: a, method: %s}]\n",
             CLASSES, kind, TASKS, method);
    one_client_open_side(&f->one, text, NULL, TASKS * CLASSES);
    assert_ok(eg_alloc(f->one.c->n_params, sizeof *f->param, &f->param));
    memcpy(f->param, f->one.c->param, f->one.c->n_params * sizeof *f->param);
    find_heads(f);
}

static void close_fixture(fixture *f)
{
    one_client_close(&f->one);
    free(f->param);
}

/* The first round of the client's stage; the model it uploads is f->after. */
static void train(fixture *f, int64_t stage)
{
    eg_cursor_seek(f->one.cursor, 2 * stage);
    assert_ok(one_client_turn(&f->one, 0));
    assert_int_equal(f->one.c->view.stage, stage);
    assert_int_equal(f->one.c->view.n_spans, 1);
    f->after = eg_bundle_find(f->one.up, "param", NULL);
}

static bool changed(const fixture *f, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        if (f->param[i] != f->after[i])
            return true;
    return false;
}

/* Whether the round changed anything in a task's head. */
static bool head_changed(const fixture *f, int64_t task)
{
    size_t weights = CLASSES * f->n_features;
    return changed(f, f->side + (size_t)task * weights, weights) ||
           changed(f, f->side_bias + (size_t)task * CLASSES, CLASSES);
}

static void test_a_task_trains_its_own_head_only(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "class-incremental", "shared");
    for (int64_t task = 0; task < TASKS; task++) {
        train(&f, task);
        for (int64_t t = 0; t < TASKS; t++)
            assert_int_equal(head_changed(&f, t), t == task);
    }
    close_fixture(&f);
}

static void test_rows_of_a_memory_train_the_heads_met_so_far(void **state)
{
    (void)state;
    static const char *const replays[] = {"[shared, er]", "[shared, der]", "[shared, der++]"};
    for (int i = 0; i < 3; i++) {
        fixture f;
        open_fixture(&f, "class-incremental", replays[i]);
        train(&f, 0);
        train(&f, 1);
        assert_true(head_changed(&f, 0));
        assert_true(head_changed(&f, 1));
        assert_false(head_changed(&f, 2));
        assert_false(changed(&f, f.head, CLASSES * f.n_features)); /* the network's own */
        close_fixture(&f);
    }
}

/* Heads that answer one class whatever they see: head t says answers[t], as loud as levels[t].
 */
static void set_answers(fixture *f, const int *answers, const float *levels)
{
    memset(f->param + f->side, 0, TASKS * CLASSES * f->n_features * sizeof(float));
    memset(f->param + f->side_bias, 0, TASKS * CLASSES * sizeof(float));
    for (int t = 0; t < TASKS; t++)
        f->param[f->side_bias + (size_t)(t * CLASSES + answers[t])] = levels[t];
}

/* Judges a task after `period` periods and compares with the share of the class each form of
 * the test must have answered. */
static void judge(fixture *f, int64_t task, int64_t period, int32_t answer, int32_t in_task)
{
    int64_t ids[90], n_answer = 0, n_in_task = 0;
    eg_exam exam = {.task = task, .period = period, .ids = ids};
    const int32_t *truth = f->one.feed.labels[0].test;
    eg_score score;
    exam.n = eg_scenario_test(f->one.feed.scenario, EG_SERVER, task, ids);
    exam.n_classes = eg_scenario_classes(f->one.feed.scenario, EG_SERVER, task, &exam.classes);
    assert_true(exam.n > 0);
    for (int64_t i = 0; i < exam.n; i++) {
        n_answer += truth[ids[i]] == answer;
        n_in_task += truth[ids[i]] == in_task;
    }
    assert_ok(eg_worker_test(&f->one.worker, &(eg_weights){f->param, NULL}, &exam, &score));
    assert_int_equal(score.right, n_answer);
    assert_int_equal(score.right_in_task, n_in_task);
}

static void test_task_il_asks_the_tasks_head_and_others_all_met(void **state)
{
    (void)state;
    static const int answers[TASKS] = {1, 4, 5};
    static const float levels[TASKS] = {1, 3, 2};
    fixture f;
    open_fixture(&f, "domain-permutation", "shared"); /* all tasks have all classes */
    set_answers(&f, answers, levels);
    for (int64_t task = 0; task < TASKS; task++) {
        judge(&f, task, 0, 4, answers[task]); /* the loudest of all */
        judge(&f, task, 1, 1, answers[task]); /* only the first task is learned */
        judge(&f, task, 2, 4, answers[task]);
        judge(&f, task, 3, 4, answers[task]);
    }
    close_fixture(&f);
}

static void test_without_such_a_part_the_head_is_judged(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "domain-permutation", "fedavg");
    static const int answers[TASKS] = {1, 4, 5};
    static const float levels[TASKS] = {1, 3, 2};
    set_answers(&f, answers, levels);
    const eg_param_info *bias = eg_params_at(eg_net_params(f.one.net), 3);
    assert_int_equal(bias->size, CLASSES); /* the head's: body, head, second head */
    memset(f.param, 0, f.side * sizeof(float));
    f.param[bias->offset + 2] = 1;
    judge(&f, 0, 1, 2, 2);
    close_fixture(&f);
}

/* What the look must give for a sample whose features and label are known: the loss, and the
 * least norm, which is its head's share, (p - y) [features, 1]; the body's comes on top. */
static void check_look(const fixture *f, int64_t task, int64_t label, const eg_look *look)
{
    double z[CLASSES], sum = 0, least = 0, length = 1;
    for (size_t d = 0; d < f->n_features; d++)
        length += (double)look->features[d] * (double)look->features[d];
    for (int64_t k = 0; k < CLASSES; k++) {
        size_t row = (size_t)(task * CLASSES + k);
        z[k] = (double)f->param[f->side_bias + row];
        for (size_t d = 0; d < f->n_features; d++)
            z[k] +=
                (double)f->param[f->side + row * f->n_features + d] * (double)look->features[d];
        assert_near((double)look->logits[k], z[k], 1e-5);
        sum += exp(z[k]);
    }
    for (int64_t k = 0; k < CLASSES; k++)
        least += pow(exp(z[k]) / sum - (k == label), 2) * length;
    assert_near((double)*look->losses, log(sum) - z[label], 1e-5);
    assert_true((double)*look->norms > least * (1 - 1e-5));
    assert_true((double)*look->norms < least * 10);
}

static void test_a_look_goes_through_the_samples_heads(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "class-incremental", "shared");
    eg_client *c = f.one.c;
    for (int64_t task = 0; task < TASKS; task++) {
        int64_t n_spans;
        const eg_span *span = eg_scenario_spans(f.one.feed.scenario, 0, task, &n_spans);
        eg_sample sample = {task, span->ids[0]};
        float norm, loss, logits[CLASSES], features[16];
        eg_look look = {&norm, &loss, logits, features};
        const eg_rows row = {.n = 1, .samples = &sample};
        assert_ok(eg_client_look(c, NULL, &row, &look));
        check_look(&f, task, f.one.feed.labels[0].train[sample.id], &look);
        double length = 0; /* the gradient goes the same way */
        const float *gradient;
        assert_ok(eg_client_gradient(c, NULL, EG_TRAIN_FORM, &row, &gradient));
        for (size_t i = 0; i < c->n_params; i++)
            length += (double)gradient[i] * (double)gradient[i];
        assert_near(length / (double)norm, 1, 1e-5);
    }
    close_fixture(&f);
}

/* The model after round 0 of a method, as far as it is not the second head's. */
static void first_round(const char *method, float *out, size_t *n)
{
    fixture f;
    open_fixture(&f, "class-incremental", method);
    train(&f, 0);
    assert_true(f.side <= 512);
    memcpy(out, f.after, f.side * sizeof *out);
    *n = f.side;
    close_fixture(&f);
}

static void test_reversal_begins_at_zero_and_its_weight_matters(void **state)
{
    (void)state;
    static float plain[512], scheduled[512], fixed[512], other[512];
    size_t n;
    first_round("[fedavg, er]", plain, &n);
    first_round("[dann, er]", scheduled, &n);
    first_round("[dann, er], overrides: {dann: {lambda: 1}}", fixed, &n);
    first_round("[dann, er], overrides: {dann: {lambda: 0.5}}", other, &n);
    assert_memory_equal(plain, scheduled, n * sizeof *plain);
    assert_memory_not_equal(plain, fixed, n * sizeof *plain);
    assert_memory_not_equal(other, fixed, n * sizeof *plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_task_trains_its_own_head_only),
        cmocka_unit_test(test_rows_of_a_memory_train_the_heads_met_so_far),
        cmocka_unit_test(test_task_il_asks_the_tasks_head_and_others_all_met),
        cmocka_unit_test(test_without_such_a_part_the_head_is_judged),
        cmocka_unit_test(test_reversal_begins_at_zero_and_its_weight_matters),
        cmocka_unit_test(test_a_look_goes_through_the_samples_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
