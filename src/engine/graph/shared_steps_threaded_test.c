/* shared_steps_threaded_test.c - a team trains every network to the bits of one thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything that can be shared is, however small it is.
 */
#include "test.h"

#include "training.h"

#include "base/team.h"

#include <engram/generator.h>

#include <stdio.h>

/* ThreadSanitizer takes its time, and needs to see every step shared but once or twice. */
#ifdef __SANITIZE_THREAD__
enum { STEPS = 1, ALL_SIZES = 3, FEW_SIZES = 2 };
#else
enum { STEPS = 2, ALL_SIZES = 9, FEW_SIZES = 4 };
#endif

/* What training came to. */
typedef struct outcome {
    training t;
    float loss[STEPS];
} outcome;

/* Trains with a plan made for `made` threads that `run` threads carry out; 0: no team at all.
 */
static void train(outcome *o, const training_spec *spec, int made, int run)
{
    eg_team *of[2] = {NULL, NULL};
    const int sizes[2] = {made, run};
    for (int i = 0; i < 2; i++)
        if (sizes[i]) {
            assert_ok(eg_team_new(sizes[i], &of[i]));
            eg_team_set_least(of[i], 0);
        }
    eg_team_enter(of[0]);
    assert_ok(training_open(&o->t, spec));
    eg_team_enter(of[1]);
    for (int i = 0; i < STEPS; i++) {
        assert_ok(training_step(&o->t));
        o->loss[i] = *eg_plan_output(o->t.plan, "loss");
    }
    eg_team_free(of[0]);
    eg_team_free(of[1]);
}

/* Bits, not values: 0 and -0 differ. */
static bool same_floats(const void *a, const void *b, size_t n)
{
    return n == 0 || memcmp(a, b, n * sizeof(float)) == 0;
}

static void same_bits(const training_spec *spec, const outcome *a, int made, int run)
{
    outcome b;
    train(&b, spec, made, run);
    if (!same_floats(a->loss, b.loss, STEPS) ||
        !same_floats(a->t.value, b.t.value, a->t.length) ||
        !same_floats(a->t.grad, b.t.grad, a->t.length) ||
        !same_floats(a->t.state, b.t.state, a->t.state_length))
        fail_msg("%s, batch %d: %d threads with a plan for %d train differently",
                 spec->net.model, (int)spec->batch, run, made);
    training_close(&b.t);
}

static void check(const training_spec *spec, bool all)
{
    static const struct {
        int made, run;
    } sizes[] = {{2, 2}, {4, 4}, {1, 1}, {8, 8}, {3, 3}, {1, 4}, {4, 2}, {2, 5}, {4, 1}};
    outcome alone;
    train(&alone, spec, 0, 0);
    assert_true(STEPS == 1 || alone.loss[0] != alone.loss[STEPS - 1]); /* it learns */
    for (int i = 0; i < (all ? ALL_SIZES : FEW_SIZES); i++)
        same_bits(spec, &alone, sizes[i].made, sizes[i].run);
    training_close(&alone.t);
}

static training_spec spec_of(const char *model, int64_t batch, int64_t side)
{
    return (training_spec){.net = training_images(model, side),
                           .batch = batch,
                           .optimizer = "sgd",
                           .rate = "0.001",
                           .seed = 3};
}

static void test_every_network_has_the_same_bits_on_a_team_of_any_size(void **state)
{
    (void)state;
    for (const eg_model *const *m = eg_models; *m; m++) {
        const char *name = (*m)->component.name;
        if (strcmp(name, "layers") == 0)
            continue; /* it has no network of its own */
        training_spec spec = spec_of(name, 6, strncmp(name, "resnet", 6) == 0 ? 8 : 28);
        check(&spec, true);
    }
}

/* Where tiles make many stretches, or one that holds them all; batches that cannot be cut. */
static void test_large_and_odd_batches_have_the_same_bits(void **state)
{
    (void)state;
    const training_spec specs[] = {spec_of("resnet18", 2, 32),
                                   spec_of("resnet18", 7, 16),
                                   spec_of("resnet18-thin", 13, 32),
                                   spec_of("cnn", 32, 28),
                                   spec_of("cnn", 10, 28),
                                   spec_of("cnn-small", 33, 28),
                                   spec_of("mlp", 41, 28)};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        check(&specs[i], false);
}

/* A generator of this kind, after two steps on a team of n; 0: no team. */
static eg_generator *learn(const char *kind, int n)
{
    enum { SIDE = 16, IMAGES = 32 };
    static float x[IMAGES * SIDE * SIDE], labels[IMAGES];
    const eg_generator_spec spec = {.kind = kind,
                                    .options = "width=16",
                                    .channels = 1,
                                    .height = SIDE,
                                    .width = SIDE,
                                    .classes = 10};
    eg_generator *m;
    eg_team *team = NULL;
    eg_rng noise = eg_rng_at(5, 0, 0, EG_FOR_TEST), rng = eg_rng_at(1, 2, 0, EG_FOR_TEST);
    eg_noise_fill(&noise, IMAGES * SIDE * SIDE, x);
    for (int i = 0; i < IMAGES; i++)
        labels[i] = (float)(i % 10);
    if (n) {
        assert_ok(eg_team_new(n, &team));
        eg_team_set_least(team, 0);
    }
    eg_team_enter(team);
    assert_ok(eg_generator_new(&spec, &m));
    eg_generator_init(m, 3);
    const eg_images on = {IMAGES, x, labels};
    assert_ok(eg_generator_train(m, &on, 2, &rng, NULL));
    eg_team_free(team);
    return m;
}

static bool same_generators(const eg_generator *a, const eg_generator *b)
{
    for (size_t i = 0; i < EG_MAX_LEARNERS && a->learners[i]; i++)
        if (!same_floats(a->learners[i]->param, b->learners[i]->param,
                         a->learners[i]->n_params))
            return false;
    return true;
}

static void test_generators_learn_the_same_bits(void **state)
{
    (void)state;
    for (size_t k = 0; eg_generator_kinds[k]; k++) {
        const char *kind = eg_generator_kinds[k]->component.name;
        eg_generator *alone = learn(kind, 0);
        for (int n = 2; n <= 4; n++) {
            eg_generator *m = learn(kind, n);
            if (!same_generators(alone, m))
                fail_msg("%s: %d threads learn something else", kind, n);
            eg_generator_free(m);
        }
        eg_generator_free(alone);
    }
}

/* A plan that fails on a team says why, and the team works on. */
static void test_a_failure_is_said_and_leaves_a_team_that_works(void **state)
{
    (void)state;
    eg_team *team;
    eg_graph *g;
    eg_plan *p;
    assert_ok(eg_team_new(3, &team));
    eg_team_set_least(team, 0);
    eg_team_enter(team);
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(6, 4, 8, 8));
    eg_node *rows = eg_gather(g, eg_reshape(g, eg_relu(g, x), eg_dims(6, 256)),
                              eg_input(g, "at", eg_dims(6, 1)), 1);
    eg_output(g, "y", eg_exp(g, rows));
    assert_ok(eg_compile(g, &p));
    memset(eg_plan_input(p, "x"), 0, 6 * 256 * sizeof(float));
    float *at = eg_plan_input(p, "at");
    memset(at, 0, 6 * sizeof *at);
    at[1] = 300;
    for (int i = 0; i < 3; i++)
        assert_fails(eg_plan_run(p), EG_EINVAL, "index 300 is outside [0, 256)");
    at[1] = 5;
    assert_ok(eg_plan_run(p));
    assert_true(*eg_plan_output(p, "y") == 1);
    eg_plan_free(p);
    eg_graph_free(g);
    eg_team_free(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_network_has_the_same_bits_on_a_team_of_any_size),
        cmocka_unit_test(test_large_and_odd_batches_have_the_same_bits),
        cmocka_unit_test(test_generators_learn_the_same_bits),
        cmocka_unit_test(test_a_failure_is_said_and_leaves_a_team_that_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
