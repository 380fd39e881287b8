/* server_test.c - the rules of server optimisers, three rounds of each worked out on paper.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/base.h"
#include "engine/optim/server.h"

enum { N = 2, ROUNDS = 3 };

/* How far the clients' mean is from the model in each round, and the options of all rules. */
static const double changes[ROUNDS][N] = {{0.5, 1}, {-0.25, 2}, {0.25, 0}};
static eg_server_optimizer_opts options(eg_server_rule rule, double lr)
{
    return (eg_server_optimizer_opts){
        .rule = rule, .lr = lr, .beta1 = 0.5, .beta2 = 0.75, .tau = 0.5};
}

/* Every round moves the model by `moves`. */
static void check(eg_server_rule rule, double lr, const double moves[ROUNDS][N])
{
    const eg_server_optimizer_opts opts = options(rule, lr);
    eg_server_optimizer *o;
    float w[N] = {1, -2}, mean[N];
    assert_ok(eg_server_optimizer_new(&opts, N, &o));
    for (int t = 0; t < ROUNDS; t++) {
        float before[N] = {w[0], w[1]};
        for (int i = 0; i < N; i++)
            mean[i] = (float)((double)w[i] + changes[t][i]);
        eg_server_optimizer_step(o, before, mean, w);
        assert_true(eg_server_optimizer_keep(o));
        for (int i = 0; i < N; i++)
            assert_near((double)w[i] - (double)before[i], moves[t][i], 1e-6);
    }
    eg_server_optimizer_free(o);
}

static void test_sgd_goes_a_share_of_the_way(void **state)
{
    (void)state;
    check(EG_SERVER_SGD, 0.5, (const double[][N]){{0.25, 0.5}, {-0.125, 1}, {0.125, 0}});
    check(EG_SERVER_SGD, 0, changes); /* all of it */
}

static void test_momentum_keeps_part_of_the_last_step(void **state)
{
    (void)state;
    /* m = m / 2 + d: (0.5, 1), (0, 2.5), (0.25, 1.25). */
    check(EG_SERVER_MOMENTUM, 0.1, (const double[][N]){{0.05, 0.1}, {0, 0.25}, {0.025, 0.125}});
    check(EG_SERVER_MOMENTUM, 0, (const double[][N]){{0.5, 1}, {0, 2.5}, {0.25, 1.25}});
}

/* The adaptive rules share m = m / 2 + d / 2: (0.25, 0.5), (0, 1.25), (0.125, 0.625), and begin
 * with v = 0.25. Given v, a move is lr m / (sqrt(v) + 0.5). */
static void check_adaptive(eg_server_rule rule, const double v[ROUNDS][N])
{
    static const double m[ROUNDS][N] = {{0.25, 0.5}, {0, 1.25}, {0.125, 0.625}};
    double moves[ROUNDS][N], usual[ROUNDS][N];
    for (int t = 0; t < ROUNDS; t++)
        for (int i = 0; i < N; i++) {
            usual[t][i] = 0.01 * m[t][i] / (sqrt(v[t][i]) + 0.5);
            moves[t][i] = 10 * usual[t][i];
        }
    check(rule, 0.1, (const double(*)[N])moves);
    check(rule, 0, (const double(*)[N])usual);
}

static void test_adagrad_adds_up_squares(void **state)
{
    (void)state;
    /* + 0.25, 1; + 0.0625, 4; + 0.0625, 0. */
    check_adaptive(EG_SERVER_ADAGRAD,
                   (const double[][N]){{0.5, 1.25}, {0.5625, 5.25}, {0.625, 5.25}});
}

static void test_adam_averages_squares(void **state)
{
    (void)state;
    /* 3/4 v + d^2 / 4. */
    check_adaptive(
        EG_SERVER_ADAM,
        (const double[][N]){{0.25, 0.4375}, {0.203125, 1.328125}, {0.16796875, 0.99609375}});
}

static void test_yogi_goes_towards_squares(void **state)
{
    (void)state;
    /* d^2 / 4 up or down: equal, up; down, up; down, nothing. */
    check_adaptive(EG_SERVER_YOGI,
                   (const double[][N]){{0.25, 0.5}, {0.234375, 1.5}, {0.21875, 1.5}});
}

/* A round whose result goes into one of the two inputs. */
static void walk(eg_server_optimizer *o, float w[N], int t, bool into_mean)
{
    float mean[N];
    for (int i = 0; i < N; i++)
        mean[i] = (float)((double)w[i] + changes[t][i]);
    eg_server_optimizer_step(o, w, mean, into_mean ? mean : w);
    assert_true(eg_server_optimizer_keep(o));
    if (into_mean)
        memcpy(w, mean, sizeof mean);
}

static void test_a_restored_optimiser_goes_on_as_if_never_stopped(void **state)
{
    (void)state;
    for (int rule = EG_SERVER_SGD; rule <= EG_SERVER_YOGI; rule++) {
        const eg_server_optimizer_opts opts = options((eg_server_rule)rule, 0.3);
        eg_server_optimizer *a, *b, *c;
        float whole[N] = {1, -2}, cut[N] = {1, -2};
        const float *slots[4] = {0};
        int n = 0;
        assert_ok(eg_server_optimizer_new(&opts, N, &a));
        assert_ok(eg_server_optimizer_new(&opts, N, &b));
        assert_ok(eg_server_optimizer_new(&opts, N, &c));
        for (int t = 0; t < ROUNDS; t++)
            walk(a, whole, t, true);
        for (int t = 0; t < ROUNDS - 1; t++)
            walk(b, cut, t, false);
        while (n < 4 && (slots[n] = eg_server_optimizer_slot(b, n)))
            n++;
        assert_int_equal(n, rule >= EG_SERVER_ADAM ? 2 : rule == EG_SERVER_MOMENTUM);
        eg_server_optimizer_restore(c, slots);
        walk(c, cut, ROUNDS - 1, false);
        assert_memory_equal(cut, whole, sizeof cut);
        eg_server_optimizer_free(a);
        eg_server_optimizer_free(b);
        eg_server_optimizer_free(c);
    }
}

/* A step that is not kept, or that would keep what is not finite, leaves no trace. */
static void test_a_step_that_does_not_count_leaves_no_trace(void **state)
{
    (void)state;
    for (int rule = EG_SERVER_SGD; rule <= EG_SERVER_YOGI; rule++) {
        const eg_server_optimizer_opts opts = options((eg_server_rule)rule, 0.3);
        const float far[N] = {1e25f, -3e38f};
        eg_server_optimizer *a, *b;
        float w[N] = {1, -2}, same[N] = {1, -2}, nowhere[N];
        assert_ok(eg_server_optimizer_new(&opts, N, &a));
        assert_ok(eg_server_optimizer_new(&opts, N, &b));
        walk(a, w, 0, false), walk(b, same, 0, false);
        eg_server_optimizer_step(a, w, (const float[N]){7, 8}, nowhere);
        eg_server_optimizer_step(a, w, far, nowhere);
        if (rule >= EG_SERVER_ADAM) /* the square of a change is no float, the way is short */
            assert_true(eg_all_finite(nowhere, N) && !eg_server_optimizer_keep(a));
        walk(a, w, 1, false), walk(b, same, 1, false);
        assert_memory_equal(w, same, sizeof w);
        eg_server_optimizer_free(a);
        eg_server_optimizer_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd_goes_a_share_of_the_way),
        cmocka_unit_test(test_momentum_keeps_part_of_the_last_step),
        cmocka_unit_test(test_adagrad_adds_up_squares),
        cmocka_unit_test(test_adam_averages_squares),
        cmocka_unit_test(test_yogi_goes_towards_squares),
        cmocka_unit_test(test_a_restored_optimiser_goes_on_as_if_never_stopped),
        cmocka_unit_test(test_a_step_that_does_not_count_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
