/* trainer_test.c - a network trained alone: its steps, its temperature, tests and features.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/rng.h>
#include <engram/trainer.h>

enum { DIM = 3, CLASSES = 2, SAMPLES = 500, BATCH = 20 };

/* Class k lies around -1 or 1 in every dimension; sample i is a function of i alone. */
static eg_status fill(void *context, int64_t first, int64_t count, float *x, float *labels)
{
    (void)context;
    for (int64_t i = 0; i < count; i++) {
        eg_rng r = eg_rng_at(1, (uint32_t)(first + i), 0, EG_FOR_TEST);
        labels[i] = (float)((first + i) % CLASSES);
        for (int k = 0; k < DIM; k++)
            *x++ = 2 * labels[i] - 1 + 0.3f * (float)eg_rng_normal(&r);
    }
    return EG_OK;
}

static const eg_trainer_samples samples = {SAMPLES, fill, NULL};

typedef struct fixture {
    eg_net *net;
    eg_trainer *t;
} fixture;

static fixture fixture_new(const char *options, const char *optimizer, double temperature)
{
    fixture f = {0};
    const eg_net_spec spec = {.model = "mlp",
                              .options = options,
                              .channels = 1,
                              .height = 1,
                              .width = DIM,
                              .classes = CLASSES};
    assert_ok(eg_net_new(&spec, &f.net));
    assert_ok(eg_trainer_new(
        &(eg_trainer_spec){
            .net = f.net, .optimizer = optimizer, .temperature = temperature, .seed = 4},
        &f.t));
    return f;
}

static void fixture_free(fixture *f)
{
    eg_trainer_free(f->t);
    eg_net_free(f->net);
}

static void test_it_learns_and_repeats_itself(void **state)
{
    (void)state;
    double accuracy, loss[2][2] = {{0}};
    for (int turn = 0; turn < 2; turn++) {
        fixture f = fixture_new("depth=1 width=8", "adam", 1);
        assert_ok(eg_trainer_set(f.t, "lr", "0.05"));
        assert_ok(eg_trainer_step(f.t, &samples, 0, BATCH, &loss[turn][0]));
        for (int64_t at = BATCH; at < SAMPLES; at += BATCH)
            assert_ok(eg_trainer_step(f.t, &samples, at, BATCH, &loss[turn][1]));
        assert_ok(eg_trainer_test(f.t, &samples, &accuracy));
        assert_true(accuracy > 0.98 && loss[turn][1] < 0.3 * loss[turn][0]);
        fixture_free(&f);
    }
    assert_memory_equal(loss[0], loss[1], sizeof loss[0]);
}

/* Without a hidden layer logits are linear in the values: at half the temperature the loss is
 * that of values twice as large. */
static void test_the_temperature_divides_logits(void **state)
{
    (void)state;
    double warm, cold;
    fixture a = fixture_new("depth=0", "sgd", 1), b = fixture_new("depth=0", "sgd", 0.5);
    for (size_t i = 0; i < eg_params_length(eg_net_params(a.net)); i++)
        eg_trainer_values(a.t)[i] *= 2;
    assert_ok(eg_trainer_step(a.t, &samples, 0, BATCH, &warm));
    assert_ok(eg_trainer_step(b.t, &samples, 0, BATCH, &cold));
    assert_near(warm, cold, 1e-6);
    fixture_free(&a);
    fixture_free(&b);
}

/* A network without a hidden layer sees its input. */
static void test_features_come_in_the_order_of_samples(void **state)
{
    (void)state;
    static float features[SAMPLES * DIM], x[SAMPLES * DIM], labels[SAMPLES];
    fixture f = fixture_new("depth=0", "sgd", 1);
    assert_ok(eg_trainer_features(f.t, &samples, features));
    assert_ok(fill(NULL, 0, SAMPLES, x, labels));
    assert_memory_equal(features, x, sizeof x);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_learns_and_repeats_itself),
        cmocka_unit_test(test_the_temperature_divides_logits),
        cmocka_unit_test(test_features_come_in_the_order_of_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
