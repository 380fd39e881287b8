/* privacy_test.c - what a run has spent, over its stops, and the noise of trees.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/privacy.h>

#include "run/server/privacy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "own_folder.h"

static const eg_dp_opts usual = {
    .clip = 2, .sigma = 1.5, .delta = 1e-5, .quantile = 0.5, .rate = 0.2};

static eg_privacy *open_run(const eg_dp_opts *o, double q, bool resume)
{
    eg_privacy *p;
    assert_ok(eg_privacy_open(&(eg_privacy_how){.opts = o,
                                                .store = folder,
                                                .seed = 3,
                                                .q = q,
                                                .n_clients = 1000,
                                                .n_wanted = 10,
                                                .resume = resume},
                              &p));
    return p;
}

/* Releases round k; what is spent is as it was foretold, and more than before. Returns it. */
static double release_once(eg_privacy *p, int k, double last)
{
    double x[8] = {0}, next = eg_privacy_epsilon_next(p, 1);
    assert_ok(eg_privacy_release(p, k, EG_TRAINING, x, 8, NULL));
    assert_near(eg_privacy_epsilon(p), next, 1e-12);
    assert_true(eg_privacy_epsilon(p) > last);
    return eg_privacy_epsilon(p);
}

/* Killed after any release and resumed, a run has spent what it released, and never less. */
static void test_what_is_spent_outlives_every_kill(void **state)
{
    (void)state;
    double last = 0;
    int released = 0;
    for (int life = 0; life < 5; life++) {
        eg_privacy *p = open_run(&usual, 0.05, life > 0);
        for (int k = 0; k <= life; k++, released++)
            last = release_once(p, k, last);
        assert_near(last, eg_dp_epsilon_of(0.05, 1.5, released, 1e-5), 1e-9);
        eg_privacy_close(p); /* whatever else it had in memory is lost */
    }
    files_write(folder, "privacy", "nonsense", 8);
    eg_privacy *p;
    assert_fails(
        eg_privacy_open(
            &(eg_privacy_how){
                .opts = &usual, .store = folder, .q = 0.05, .n_clients = 1000, .resume = true},
            &p),
        EG_EFORMAT, "does not say what privacy was spent");
}

/* A second exchange is a mechanism of its own, with its own clip. */
static void test_each_exchange_counts(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static double x[MANY];
    eg_dp_opts o = usual;
    o.exchange_clip = 0.5;
    eg_privacy *p = open_run(&o, 0.05, false);
    double both = eg_privacy_epsilon_next(p, 2);
    assert_near(both, eg_dp_epsilon_of(0.05, 1.5, 2, 1e-5), 1e-9);
    assert_ok(eg_privacy_release(p, 0, EG_TRAINING + 1, x, MANY, NULL));
    double square = 0;
    for (int i = 0; i < MANY; i++)
        square += x[i] * x[i] / MANY;
    assert_near(sqrt(square), 0.75, 0.02);
    assert_near(eg_privacy_cohort(p), 50, 1e-9);
    eg_privacy_close(p);
}

/* After seven rounds the noise of three nodes is in the model, after eight that of one. */
static void test_noise_of_a_tree_is_that_of_few_nodes(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static double x[MANY];
    static const int nodes[] = {1, 1, 2, 1, 2, 2, 3, 1, 2};
    eg_dp_opts o = usual;
    o.kind = EG_DP_FTRL;
    eg_privacy *p = open_run(&o, 0, false);
    memset(x, 0, sizeof x); /* all increments, one upon the other */
    for (int r = 0; r < 9; r++) {
        double square = 0;
        assert_ok(eg_privacy_release(p, r, EG_TRAINING, x, MANY, NULL));
        for (int i = 0; i < MANY; i++)
            square += x[i] * x[i] / MANY;
        assert_near(square / (9.0 * nodes[r]), 1, 0.06); /* sigma clip is 3 */
    }
    eg_dp_spent s = {0};
    eg_dp_spend_gaussian(&s, 5, 1.5); /* levels of 1, 2, 4, 8, 16 leaves, each client once */
    assert_near(eg_privacy_epsilon(p), eg_dp_epsilon(&s, 1e-5, NULL), 1e-9);
    eg_privacy_note(p, 4, 2);
    assert_false(eg_privacy_allows(p, 4, 500, EG_TRAINING));
    assert_true(eg_privacy_allows(p, 5, 3, EG_TRAINING));
    assert_true(eg_privacy_allows(p, 4, 2, 1) && !eg_privacy_allows(p, 5, 2, 1));
    eg_privacy_close(p);
    p = open_run(&o, 0, true); /* what may be released twice is of another tree, and counts */
    assert_ok(eg_privacy_release(p, 8, EG_TRAINING, x, MANY, NULL));
    eg_dp_spend_gaussian(&s, 1, 1.5);
    assert_near(eg_privacy_epsilon(p), eg_dp_epsilon(&s, 1e-5, NULL), 1e-9);
    eg_privacy_close(p);
}

static void test_clip_follows_the_quantile(void **state)
{
    (void)state;
    eg_dp_opts o = usual;
    o.adaptive = true;
    eg_privacy *p = open_run(&o, 0.05, false);
    double x[4] = {0}, before = eg_privacy_clip(p, EG_TRAINING), all_short = 1e4;
    assert_ok(eg_privacy_release(p, 0, EG_TRAINING, x, 4, &all_short));
    assert_true(eg_privacy_clip(p, EG_TRAINING) < before);
    double all_long = -1e4;
    before = eg_privacy_clip(p, EG_TRAINING);
    assert_ok(eg_privacy_release(p, 1, EG_TRAINING, x, 4, &all_long));
    assert_true(eg_privacy_clip(p, EG_TRAINING) > before);
    assert_near(eg_privacy_epsilon(p), eg_dp_epsilon_of(0.05, 1.5, 2, 1e-5), 1e-9);
    eg_privacy_close(p);
    o.sigma = 6; /* the count's noise stands against 2.5 */
    assert_fails(
        eg_privacy_open(
            &(eg_privacy_how){.opts = &o, .store = folder, .q = 0.05, .n_clients = 1000}, &p),
        EG_EINVAL, "it must be below 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_spent_outlives_every_kill),
        cmocka_unit_test(test_each_exchange_counts),
        cmocka_unit_test(test_noise_of_a_tree_is_that_of_few_nodes),
        cmocka_unit_test(test_clip_follows_the_quantile),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
