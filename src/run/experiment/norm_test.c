/* norm_test.c - means and deviations by channel, from the file to the batch.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"
#include "test.h"

#include "run/experiment/feed.h"
#include "run/experiment/settings.h"

#include "own_folder.h"

static eg_status load(const char *images, const char *set, eg_experiment **out)
{
    char text[1024], file[FILES_PATH * 2];
    int n =
        snprintf(text, sizeof text,
                 "name: t\n"
                 "data: {name: fractals, classes: 2, train: 8, test: 4, size: 8%s}\n"
                 "model: {name: mlp, depth: 0}\n"
                 "scenario: {kind: class-incremental, clients: 1, tasks: 1, partition: iid}\n"
                 "runs: [{label: a, method: fedavg}]\n",
                 images);
    files_write(folder, "t.yaml", text, (size_t)n);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    return eg_experiment_load(file, "a", set ? 1 : 0, &set, out);
}

static void test_each_channel_has_its_own_mean(void **state)
{
    (void)state;
    eg_experiment *e;
    eg_feed f;
    assert_ok(load(", mean: [0.5, 0.25, 0.125], std: 2", NULL, &e));
    assert_non_null(strstr(eg_experiment_text(e), "  mean: [0.5, 0.25, 0.125]\n"));
    assert_non_null(strstr(eg_experiment_text(e), "  std: 2\n"));
    assert_ok(eg_feed_open(e, 1, NULL, &f));
    assert_int_equal(f.channels, 3);
    float x[3 * 64], label;
    eg_feed_train(&f, &(eg_sample){0, 5}, 1, NULL, x, &label);
    static const double mean[] = {0.5, 0.25, 0.125};
    for (size_t i = 0; i < 3 * 64; i++)
        assert_near(x[i], (f.train[0].u8[5 * f.sample + i] / 255.0 - mean[i / 64]) / 2, 1e-6);
    eg_feed_close(&f);
    /* The same from --set. */
    eg_experiment *same;
    assert_ok(load(", std: 2", "data.mean=0.5,0.25,0.125", &same));
    assert_string_equal(eg_experiment_sha256(e), eg_experiment_sha256(same));
    eg_experiment_free(same);
    eg_experiment_free(e);
}

static void test_what_is_measured_has_mean_0_and_deviation_1(void **state)
{
    (void)state;
    eg_experiment *e;
    eg_feed f;
    assert_ok(load(", normalize: true", NULL, &e));
    assert_ok(eg_feed_open(e, 1, NULL, &f));
    double sum[3] = {0}, squares[3] = {0};
    for (int64_t i = 0; i < f.train[0].n; i++) {
        float x[3 * 64], label;
        eg_feed_train(&f, &(eg_sample){0, i}, 1, NULL, x, &label);
        for (size_t k = 0; k < 3 * 64; k++) {
            sum[k / 64] += (double)x[k];
            squares[k / 64] += (double)x[k] * (double)x[k];
        }
    }
    for (int c = 0; c < 3; c++) {
        double n = 64 * (double)f.train[0].n;
        assert_near(sum[c] / n, 0, 1e-5);
        assert_near(squares[c] / n, 1, 1e-5);
    }
    eg_feed_close(&f);
    eg_experiment_free(e);
    assert_fails(load(", normalize: true, mean: 0.5", NULL, &e), EG_EINVAL,
                 "data.normalize measures what data.mean and data.std say");
}

static void test_a_far_mean_and_equal_values_are_measured(void **state)
{
    (void)state;
    eg_table t;
    eg_norm norm;
    assert_ok(eg_table_alloc_f32(&t, 4, 2, 1, 1, 1));
    for (size_t i = 0; i < 4; i++) {
        t.f32[2 * i] = 1e6F + (float)(i % 2);
        t.f32[2 * i + 1] = 0.1F;
    }
    assert_ok(eg_norm_measure(&t, 1, &norm));
    assert_near(norm.mean[0], 1e6 + 0.5, 1e-9);
    assert_near(norm.std[0], 0.5, 1e-9);
    assert_near(norm.mean[1], 0.1, 1e-8);
    assert_near(norm.std[1], 1, 0);
    eg_norm_fini(&norm);
    eg_table_fini(&t);
}

static void test_counts_that_do_not_fit_are_said(void **state)
{
    (void)state;
    eg_experiment *e;
    eg_feed f;
    assert_ok(load(", mean: [0.5, 0.25], std: 2", NULL, &e));
    assert_fails(eg_feed_open(e, 1, NULL, &f), EG_EINVAL, "means of 2 channels");
    eg_experiment_free(e);
    assert_ok(load(", mean: [0.5, 0.25], std: [1, 2, 3]", NULL, &e));
    assert_fails(eg_feed_open(e, 1, NULL, &f), EG_EINVAL, "data.mean has 2");
    eg_experiment_free(e);
    assert_fails(load(", mean: [0.5, red]", NULL, &e), EG_EINVAL, "t.yaml:2");
    assert_fails(load(", std: [1, 0]", NULL, &e), EG_EINVAL, "outside");
    assert_fails(load(", crop: [1, 2]", NULL, &e), EG_EINVAL, "crop");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_channel_has_its_own_mean),
        cmocka_unit_test(test_what_is_measured_has_mean_0_and_deviation_1),
        cmocka_unit_test(test_a_far_mean_and_equal_values_are_measured),
        cmocka_unit_test(test_counts_that_do_not_fit_are_said),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
