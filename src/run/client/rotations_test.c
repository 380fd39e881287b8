/* rotations_test.c - four rows for every sample, four outputs for every class; temperature.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fakes.h"
#include "one_client.h"

#include "run/experiment/settings.h"

#include <math.h>

#define TEXT                                                                                   \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 40, test: 20, classes: 4, size: 8, std: 0.5}\n"               \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"                   \
    "memory: {kind: reservoir, size: 50}\n"                                                    \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "train: {epochs: 1, batch: 20, rotations: true}\n"                                         \
    "runs: [{label: a, method: er}]\n"

enum { SIDE = 8, SAMPLES = 20, CLASSES = 4, FAN = 4, OUTPUTS = 16 };

/* Whether b is a, turned by 90 degrees counter-clockwise. */
static bool is_turned(const float *a, const float *b)
{
    for (int r = 0; r < SIDE; r++)
        for (int k = 0; k < SIDE; k++)
            if (b[r * SIDE + k] != a[k * SIDE + SIDE - 1 - r])
                return false;
    return true;
}

static void test_a_sample_is_four_rows(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT, NULL);
    one_client_train(&o);
    const eg_client *c = o.c;
    assert_int_equal(c->n_classes, OUTPUTS);
    assert_int_equal(c->batch, SAMPLES * FAN);
    assert_int_equal(c->n_drawn, SAMPLES * FAN);
    for (int i = 0; i < SAMPLES * FAN; i++) {
        float label, upright[SIDE * SIDE];
        eg_client_feed(o.c, &c->drawn[i], 1, upright, &label);
        assert_int_equal((int)c->labels[i], (int)label + i % FAN);
        assert_int_equal((int)label % FAN, 0);
        const float *row = c->x + (size_t)i * SIDE * SIDE;
        if (i % FAN == 0)
            assert_memory_equal(row, upright, sizeof upright);
        else
            assert_true(is_turned(row - SIDE * SIDE, row));
    }
    one_client_close(&o);
}

/* A class counts with all of its outputs, or with none. */
static void test_masks_go_by_class(void **state)
{
    (void)state;
    static const char *const rules[] = {"train.classes=client", "train.classes=seen",
                                        "train.classes=task"};
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        one_client o;
        const int32_t *classes;
        one_client_open(&o, TEXT, rules[r]);
        one_client_train(&o);
        const float *mask = eg_plan_input(o.c->plan, "mask");
        int64_t n = eg_scenario_classes(o.feed.scenario, 0, 0, &classes);
        assert_int_equal(n, 2);
        for (int64_t i = 0; i < o.c->batch * OUTPUTS; i++) {
            int64_t of = i % OUTPUTS / FAN;
            bool counts = of == classes[0] || of == classes[1];
            assert_true(counts ? mask[i] >= 0 : mask[i] <= EG_MASKED);
        }
        one_client_close(&o);
    }
}

static void test_memories_hold_rows_as_fed(void **state)
{
    (void)state;
    one_client o;
    size_t n, turned = 0;
    one_client_open(&o, TEXT, NULL);
    one_client_train(&o);
    const float *labels = eg_bundle_find(one_client_kept(&o, "memory"), "memory.labels", &n);
    assert_int_equal(n, 50);
    for (size_t i = 0; i < n; i++)
        turned += (int)labels[i] % FAN != 0;
    assert_true(turned > 20 && turned < 50);
    one_client_train(&o); /* some of them join the second round's batch */
    assert_true(o.c->batch > o.c->n_drawn);
    one_client_close(&o);
}

/* Tests everything at weights of 0 with these biases [OUTPUTS]. */
static eg_score test_with_biases(one_client *o, const float *biases)
{
    const eg_params *table = eg_net_params(o->net);
    const int32_t *classes;
    int64_t ids[SAMPLES];
    float *param;
    eg_score score;
    assert_ok(eg_params_alloc(table, &param));
    memcpy(param + eg_params_at(table, 1)->offset, biases, OUTPUTS * sizeof *biases);
    eg_exam exam = {.task = 0, .ids = ids};
    exam.n = eg_scenario_test(o->feed.scenario, EG_SERVER, 0, ids);
    exam.n_classes = eg_scenario_classes(o->feed.scenario, EG_SERVER, 0, &classes);
    exam.classes = classes;
    assert_ok(eg_worker_test(&o->worker, &(eg_weights){param, NULL}, &exam, &score));
    free(param);
    return score;
}

static void test_answers_are_those_of_upright_outputs(void **state)
{
    (void)state;
    one_client o;
    const int32_t *classes;
    float biases[OUTPUTS] = {0};
    one_client_open(&o, TEXT, NULL);
    eg_scenario_classes(o.feed.scenario, EG_SERVER, 0, &classes);
    biases[classes[0] * FAN] = 1; /* every image is taken for this class */
    eg_score plain = test_with_biases(&o, biases);
    assert_int_equal(plain.right * 2, plain.n);
    for (int k = 0; k < OUTPUTS; k++)
        biases[k] = k % FAN ? 9 : biases[k]; /* what turned images have is not asked */
    assert_int_equal(test_with_biases(&o, biases).right, plain.right);
    one_client_close(&o);
}

static void test_looks_are_upright(void **state)
{
    (void)state;
    one_client o;
    eg_sample samples[3];
    float x[3 * SIDE * SIDE], labels[3], a[3 * OUTPUTS], b[3 * OUTPUTS], losses[3];
    one_client_open(&o, TEXT, "train.temperature=0.5");
    one_client_train(&o);
    one_client_samples(&o, 0, 3, samples);
    eg_client_feed(o.c, samples, 3, x, labels);
    assert_ok(eg_client_look(o.c, NULL, &(eg_rows){.n = 3, .samples = samples},
                             &(eg_look){.logits = a, .losses = losses}));
    assert_ok(eg_client_look(o.c, NULL, &(eg_rows){.n = 3, .x = x, .labels = labels},
                             &(eg_look){.logits = b}));
    assert_memory_equal(a, b, sizeof a);
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int k = 0; k < OUTPUTS; k++)
            sum += exp((double)a[i * OUTPUTS + k] / 0.5);
        double right = (double)a[i * OUTPUTS + (int)labels[i]] / 0.5;
        assert_near((double)losses[i], log(sum) - right, 1e-5);
    }
    one_client_close(&o);
}

static void test_the_temperature_divides_logits_in_the_loss(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        double t;
    } cases[] = {{"train.temperature=0.1", 0.1}, {"train.temperature=1", 1}};
    for (size_t s = 0; s < 2; s++) {
        one_client o;
        double loss = 0;
        one_client_open(&o, TEXT, cases[s].set);
        one_client_train(&o);
        for (int64_t i = 0; i < o.c->batch; i++) {
            const float *row = o.c->logits + i * OUTPUTS;
            double sum = 0;
            for (int k = 0; k < OUTPUTS; k++)
                sum += exp((double)row[k] / cases[s].t);
            loss += log(sum) - (double)row[(int)o.c->labels[i]] / cases[s].t;
        }
        assert_near(o.c->loss, loss / (double)o.c->batch, 1e-4);
        one_client_close(&o);
    }
}

static void test_oblong_images_are_refused(void **state)
{
    (void)state;
    static const char *const parts[] = {"train", "test"};
    char folder[FILES_PATH], name[32];
    uint8_t x[40 * 2 * 3] = {0};
    int32_t y[40];
    one_client o;
    eg_feed feed;
    for (int i = 0; i < 40; i++)
        y[i] = i % CLASSES;
    files_folder(folder);
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "npy/x_%s.npy", parts[i]);
        fakes_npy(folder, name, "|u1", "(40, 2, 3)", x, sizeof x);
        snprintf(name, sizeof name, "npy/y_%s.npy", parts[i]);
        fakes_npy(folder, name, "<i4", "(40,)", y, sizeof y);
    }
    one_client_open(&o, TEXT, NULL);
    assert_ok(eg_experiment_set(o.e, "data", "npy"));
    assert_ok(eg_experiment_set(o.e, "data.size", "0"));
    assert_fails(eg_feed_open(o.e, 0, folder, &feed), EG_EINVAL,
                 "train.rotations turns images by 90 degrees: they must be square, not 2x3");
    assert_ok(eg_experiment_set(o.e, "train.rotations", "false"));
    assert_ok(eg_feed_open(o.e, 0, folder, &feed));
    eg_feed_close(&feed);
    files_remove(folder);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sample_is_four_rows),
        cmocka_unit_test(test_masks_go_by_class),
        cmocka_unit_test(test_memories_hold_rows_as_fed),
        cmocka_unit_test(test_answers_are_those_of_upright_outputs),
        cmocka_unit_test(test_looks_are_upright),
        cmocka_unit_test(test_the_temperature_divides_logits_in_the_loss),
        cmocka_unit_test(test_oblong_images_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
