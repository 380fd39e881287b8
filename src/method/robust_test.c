/* robust_test.c - robust means, worked out by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"
#include "test.h"

#include "method/robust.h"

#include <math.h>

static char folder[FILES_PATH];

/* The mean of n vectors of two values, by a rule, from {0, 0}. */
static void mean_of(const eg_robust_opts *opts, const float (*x)[2], const double *weights,
                    size_t n, float out[2])
{
    static const float before[2];
    eg_robust *r;
    assert_ok(eg_robust_new(opts, 2, folder, &r));
    for (int again = 0; again < 2; again++) {
        eg_robust_reset(r);
        for (size_t k = 0; k < n; k++)
            assert_ok(eg_robust_add(r, x[k], weights ? weights[k] : 1, 1));
        assert_ok(eg_robust_get(r, before, out));
    }
    eg_robust_free(r);
}

static const eg_robust_opts median = {.rule = EG_MEAN_MEDIAN};

static void test_median_is_the_middle_of_each_place(void **state)
{
    (void)state;
    float out[2];
    mean_of(&median, (const float[][2]){{1, 50}, {-90, 7}, {3, -1}}, NULL, 3, out);
    assert_near(out[0], 1, 0);
    assert_near(out[1], 7, 0);
    mean_of(&median, (const float[][2]){{1, 50}, {-90, 7}, {3, -1}, {4, 8}}, NULL, 4, out);
    assert_near(out[0], 2, 0); /* between 1 and 3 */
    assert_near(out[1], 7.5, 0);
    mean_of(&median, (const float[][2]){{5, -6}}, NULL, 1, out);
    assert_near(out[0], 5, 0);
    assert_near(out[1], -6, 0);
}

/* A weight of 3 counts like three equal vectors, and one of 0 like none. */
static void test_median_has_half_of_the_weight_on_either_side(void **state)
{
    (void)state;
    float out[2];
    mean_of(&median, (const float[][2]){{1, 1}, {2, 9}, {3, 5}}, (const double[]){3, 1, 1}, 3,
            out);
    assert_near(out[0], 1, 0);
    assert_near(out[1], 1, 0);
    mean_of(&median, (const float[][2]){{1, 1}, {2, 2}, {3, 3}, {9, 0}},
            (const double[]){2, 0, 1, 1}, 4, out);
    assert_near(out[0], 2, 0); /* half of 4 at 1: the mean of 1 and 3 */
    assert_near(out[1], 1, 0); /* 0, then 1 1: past half at 1 */
    mean_of(&median, (const float[][2]){{1, 1}, {5, 2}}, (const double[]){0, 0}, 2, out);
    assert_near(out[0], 3, 0); /* all are 0: the spare ones */
}

static void test_trimmed_mean_cuts_both_ends(void **state)
{
    (void)state;
    float out[2];
    const float x[5][2] = {{1, -100}, {2, 4}, {1000, 1}, {3, 7}, {-50, 1}};
    mean_of(&(eg_robust_opts){.rule = EG_MEAN_TRIMMED, .trim = 0.2}, x, NULL, 5, out);
    assert_near(out[0], 2, 1e-7); /* of 1 2 3 */
    assert_near(out[1], 2, 1e-7); /* of 1 1 4 */
    mean_of(&(eg_robust_opts){.rule = EG_MEAN_TRIMMED}, x, NULL, 5, out);
    assert_near(out[0], 956.0 / 5, 1e-4); /* nothing is cut */
    /* A cut within a vector: 0.1 of 5 is half of the first and half of the last. */
    mean_of(&(eg_robust_opts){.rule = EG_MEAN_TRIMMED, .trim = 0.1}, x, NULL, 5, out);
    assert_near(out[0], (0.5 * -50 + 1 + 2 + 3 + 0.5 * 1000) / 4, 1e-4);
    /* Weights 4 1 1 with 1.2 cut: 2.8 of the 2, and 0.8 of the 5; the 9 is gone. */
    mean_of(&(eg_robust_opts){.rule = EG_MEAN_TRIMMED, .trim = 0.2},
            (const float[][2]){{2, 0}, {9, 0}, {5, 0}}, (const double[]){4, 1, 1}, 3, out);
    assert_near(out[0], (2.8 * 2 + 0.8 * 5) / 3.6, 1e-6);
}

static void test_long_changes_are_scaled_down(void **state)
{
    (void)state;
    float out[2];
    const float x[3][2] = {{3, 4}, {0, 1}, {-60, 80}}; /* lengths 5, 1, 100 */
    mean_of(&(eg_robust_opts){.rule = EG_MEAN_NORM_CLIP, .clip = 1}, x, NULL, 3, out);
    assert_near(out[0], (0.6 + 0 - 0.6) / 3, 1e-7);
    assert_near(out[1], (0.8 + 1 + 0.8) / 3, 1e-7);
    mean_of(&(eg_robust_opts){.rule = EG_MEAN_NORM_CLIP}, x, NULL, 3, out); /* to 5 */
    assert_near(out[0], (3.0 + 0 - 3) / 3, 1e-6);
    assert_near(out[1], (4.0 + 1 + 4) / 3, 1e-6);
    mean_of(&(eg_robust_opts){.rule = EG_MEAN_NORM_CLIP, .clip = 1000}, x,
            (const double[]){1, 0, 1}, 3, out);
    assert_near(out[0], -28.5, 1e-5);
    assert_near(out[1], 42, 1e-5);
}

/* Blocks do not show: more vectors and values than one holds. */
static void test_blocks_do_not_show(void **state)
{
    (void)state;
    enum { VECTORS = 301, VALUES = 7001 };
    eg_robust *r;
    static float x[VALUES], out[VALUES];
    assert_ok(eg_robust_new(&median, VALUES, folder, &r));
    for (int k = 0; k < VECTORS; k++) {
        for (int i = 0; i < VALUES; i++)
            x[i] = (float)((k * 2 + i) % VECTORS + i);
        assert_ok(eg_robust_add(r, x, 1, 1));
    }
    assert_ok(eg_robust_get(r, x, out));
    for (int i = 0; i < VALUES; i++)
        assert_int_equal((int)out[i], VECTORS / 2 + i);
    eg_robust_free(r);
}

static void test_wrong_weights_and_nothing_are_said(void **state)
{
    (void)state;
    static const float x[2];
    float out[2];
    eg_robust *r;
    assert_ok(eg_robust_new(&median, 2, folder, &r));
    assert_fails(eg_robust_get(r, x, out), EG_EINVAL, "the mean of nothing");
    assert_fails(eg_robust_add(r, x, -1, 1), EG_EINVAL, "a weight of -1");
    assert_fails(eg_robust_add(r, x, 1, (double)INFINITY), EG_EINVAL, "a weight of inf");
    eg_robust_free(r);
    assert_fails(eg_robust_new(&median, 2, "/nowhere", &r), EG_ENOENT, "/nowhere/uploads.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median_is_the_middle_of_each_place),
        cmocka_unit_test(test_median_has_half_of_the_weight_on_either_side),
        cmocka_unit_test(test_trimmed_mean_cuts_both_ends),
        cmocka_unit_test(test_long_changes_are_scaled_down),
        cmocka_unit_test(test_blocks_do_not_show),
        cmocka_unit_test(test_wrong_weights_and_nothing_are_said),
    };
    files_folder(folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    files_remove(folder);
    return failed;
}
