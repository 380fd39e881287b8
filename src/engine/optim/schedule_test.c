/* schedule_test.c - step sizes over the rounds and clipped gradients, worked out on paper.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/optim.h>

static void check(eg_schedule s, int64_t n_rounds, const double *expected)
{
    for (int64_t round = 0; round < n_rounds; round++)
        assert_near(eg_schedule_factor(&s, round, n_rounds), expected[round], 1e-12);
}

static void test_a_constant_rate_is_one_exactly(void **state)
{
    (void)state;
    eg_schedule s = {.kind = EG_SCHEDULE_CONSTANT, .every = 1, .factor = 0.5};
    for (int64_t round = 0; round < 100; round++)
        assert_true(eg_schedule_factor(&s, round, 100) == 1);
}

static void test_steps_multiply(void **state)
{
    (void)state;
    check((eg_schedule){.kind = EG_SCHEDULE_STEP, .every = 2, .factor = 0.5}, 7,
          (const double[]){1, 1, 0.5, 0.5, 0.25, 0.25, 0.125});
    check((eg_schedule){.kind = EG_SCHEDULE_STEP, .every = 3, .factor = 0}, 4,
          (const double[]){1, 1, 1, 0});
}

static void test_a_cosine_falls_towards_its_least(void **state)
{
    (void)state;
    /* (1 + cos(pi r / 4)) / 2, and the same between 1 and 0.2. */
    double far = sqrt(0.5);
    check((eg_schedule){.kind = EG_SCHEDULE_COSINE}, 4,
          (const double[]){1, (1 + far) / 2, 0.5, (1 - far) / 2});
    check((eg_schedule){.kind = EG_SCHEDULE_COSINE, .least = 0.2}, 2, (const double[]){1, 0.6});
    check((eg_schedule){.kind = EG_SCHEDULE_COSINE}, 1, (const double[]){1});
}

static void test_a_warm_up_rises_and_the_schedule_counts_from_its_end(void **state)
{
    (void)state;
    check((eg_schedule){.kind = EG_SCHEDULE_CONSTANT, .warmup = 4}, 6,
          (const double[]){0.25, 0.5, 0.75, 1, 1, 1});
    check((eg_schedule){.kind = EG_SCHEDULE_STEP, .every = 2, .factor = 0.1, .warmup = 1}, 6,
          (const double[]){1, 1, 1, 0.1, 0.1, 0.01});
    check((eg_schedule){.kind = EG_SCHEDULE_COSINE, .warmup = 2}, 4,
          (const double[]){0.5, 1, 1, 0.5});
    check((eg_schedule){.kind = EG_SCHEDULE_COSINE, .warmup = 9}, 3,
          (const double[]){1 / 9.0, 2 / 9.0, 3 / 9.0}); /* longer than the run */
}

static void test_an_optimiser_takes_the_rate_of_the_moment(void **state)
{
    (void)state;
    for (const eg_optim *const *kind = eg_optims; *kind; kind++) {
        float half[] = {1, 2, 3}, scaled[] = {1, 2, 3}, back[] = {1, 2, 3}, g[] = {1, -1, 2};
        eg_optimizer *a, *b;
        assert_ok(eg_optimizer_new((*kind)->component.name, 3, &a));
        assert_ok(eg_optimizer_new((*kind)->component.name, 3, &b));
        assert_ok(eg_optimizer_set(a, "lr", "0.25"));
        eg_optimizer_set_rate(b, 0.25);
        eg_optimizer_step(a, half, g);
        eg_optimizer_step(b, scaled, g);
        assert_memory_equal(half, scaled, sizeof half);
        eg_optimizer_reset(b);
        eg_optimizer_set_rate(b, 0.5);
        eg_optimizer_step(b, back, g);
        assert_memory_not_equal(half, back, sizeof half);
        eg_optimizer_free(a);
        eg_optimizer_free(b);
    }
}

static void test_a_long_gradient_is_scaled_down(void **state)
{
    (void)state;
    float g[] = {3, 0, -4, 12}; /* of norm 13 */
    assert_near(eg_clip_norm(g, 4, 13.5), 13, 1e-12);
    assert_true(g[0] == 3 && g[2] == -4 && g[3] == 12);
    assert_near(eg_clip_norm(g, 4, 6.5), 13, 1e-12);
    assert_near(g[0], 1.5, 1e-6);
    assert_near(g[1], 0, 0);
    assert_near(g[2], -2, 1e-6);
    assert_near(g[3], 6, 1e-6);
    float none[] = {0, 0};
    assert_near(eg_clip_norm(none, 2, 1), 0, 0);
    assert_true(none[0] == 0 && none[1] == 0);
    float wild[] = {1, INFINITY};
    assert_true(eg_clip_norm(wild, 2, 1) == INFINITY);
    assert_true(wild[0] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_constant_rate_is_one_exactly),
        cmocka_unit_test(test_steps_multiply),
        cmocka_unit_test(test_a_cosine_falls_towards_its_least),
        cmocka_unit_test(test_a_warm_up_rises_and_the_schedule_counts_from_its_end),
        cmocka_unit_test(test_an_optimiser_takes_the_rate_of_the_moment),
        cmocka_unit_test(test_a_long_gradient_is_scaled_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
