/* optimizer_test.c - rules worked out on paper, and states that are taken out and put back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/optim.h>

#include <stdlib.h>

enum { N = 5 };

/* A few steps along gradients that depend on the step. */
static void walk(eg_optimizer *o, float w[N], int from, int to)
{
    for (int t = from; t < to; t++) {
        float g[N];
        for (int i = 0; i < N; i++)
            g[i] = (float)(i - 2) * 0.5f + 0.25f * (float)t;
        eg_optimizer_step(o, w, g);
    }
}

static eg_optimizer *make(const eg_optim *kind)
{
    eg_optimizer *o;
    assert_ok(eg_optimizer_new(kind->component.name, N, &o));
    if (strcmp(kind->component.name, "sgd") == 0)
        assert_ok(eg_optimizer_set(o, "momentum", "0.9"));
    return o;
}

static void test_a_restored_optimiser_goes_on_as_if_never_stopped(void **state)
{
    (void)state;
    for (const eg_optim *const *kind = eg_optims; *kind; kind++) {
        float whole[N] = {1, 2, 3, 4, 5}, parts[N] = {1, 2, 3, 4, 5}, cut[N];
        const float *slots[2];
        eg_optimizer *a = make(*kind), *b = make(*kind), *c = make(*kind);
        walk(a, whole, 0, 7);
        walk(b, parts, 0, 3);
        memcpy(cut, parts, sizeof cut);
        for (int i = 0; i < (*kind)->n_slots; i++)
            slots[i] = eg_optimizer_slot(b, i);
        assert_null(eg_optimizer_slot(b, (*kind)->n_slots));
        assert_int_equal(eg_optimizer_steps(b), 3);
        eg_optimizer_restore(c, slots, eg_optimizer_steps(b));
        walk(c, parts, 3, 7);
        assert_memory_equal(parts, whole, sizeof whole);
        eg_optimizer_reset(c); /* without the state it goes another way */
        walk(c, cut, 3, 7);
        assert_memory_not_equal(cut, whole, sizeof whole);
        eg_optimizer_free(a);
        eg_optimizer_free(b);
        eg_optimizer_free(c);
    }
}

/* Weights 1 and -2 with gradients (0.5, 1), (-1, 0.25), (2, 0), lr 0.1, momentum 0.5: what the
 * rule gives on paper, step by step. */
static const float paper_g[3][2] = {{0.5f, 1}, {-1, 0.25f}, {2, 0}};

static void check_steps(const char *const *options, const double expected[3][2])
{
    float w[2] = {1, -2};
    eg_optimizer *o;
    assert_ok(eg_optimizer_new("sgd", 2, &o));
    for (; options[0]; options += 2)
        assert_ok(eg_optimizer_set(o, options[0], options[1]));
    for (int t = 0; t < 3; t++) {
        eg_optimizer_step(o, w, paper_g[t]);
        for (int i = 0; i < 2; i++)
            assert_near(w[i], expected[t][i], 1e-6);
    }
    eg_optimizer_free(o);
}

static void test_nesterov_steps_ahead_of_momentum(void **state)
{
    (void)state;
    /* v = 0.5 v + g: (0.5, 1), (-0.75, 0.75), (1.625, 0.375). w -= 0.1 v. */
    check_steps((const char *const[]){"lr", "0.1", "momentum", "0.5", NULL},
                (const double[3][2]){{0.95, -2.1}, {1.025, -2.175}, {0.8625, -2.2125}});
    /* The same v; w -= 0.1 (g + 0.5 v), g + 0.5 v: (0.75, 1.5), (-1.375, 0.625), (2.8125,
     * 0.1875). */
    check_steps((const char *const[]){"lr", "0.1", "momentum", "0.5", "nesterov", "true", NULL},
                (const double[3][2]){{0.925, -2.15}, {1.0625, -2.2125}, {0.78125, -2.23125}});
    /* With decay 0.1 the gradient is d = g + 0.1 w.
     * 1: d = (0.6, 0.8) = v; w -= 0.1 (0.9, 1.2): (0.91, -2.12).
     * 2: d = (-0.909, 0.038); v = (-0.609, 0.438); w -= 0.1 (-1.2135, 0.257): (1.03135,
     *    -2.1457).
     * 3: d = (2.103135, -0.21457); v = (1.798635, 0.00443); w -= 0.1 (3.0024525, -0.212355). */
    check_steps(
        (const char *const[]){"lr", "0.1", "momentum", "0.5", "nesterov", "true",
                              "weight_decay", "0.1", NULL},
        (const double[3][2]){{0.91, -2.12}, {1.03135, -2.1457}, {0.73110475, -2.1244645}});
}

static void test_options_that_exclude_each_other_are_refused(void **state)
{
    (void)state;
    const eg_optim *sgd = eg_optim_find("sgd");
    void *options;
    eg_optimizer *o;
    assert_ok(eg_component_new(&sgd->component, &options));
    assert_ok(eg_opts_set(sgd->component.opts, options, "nesterov", "true"));
    assert_fails(eg_optimizer_make(sgd, options, 2, &o), EG_EINVAL,
                 "sgd: nesterov needs a momentum above 0");
    assert_null(o);
    assert_ok(eg_opts_set(sgd->component.opts, options, "momentum", "0.9"));
    assert_ok(eg_optimizer_make(sgd, options, 2, &o));
    eg_optimizer_free(o);
    free(options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_restored_optimiser_goes_on_as_if_never_stopped),
        cmocka_unit_test(test_nesterov_steps_ahead_of_momentum),
        cmocka_unit_test(test_options_that_exclude_each_other_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
