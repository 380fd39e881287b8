/* fingerprint_test.c - other data and another program are noticed, and named.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include "run/experiment/feed.h"

static const char text[] =
    "name: t\n"
    "data: {name: blobs, classes: 2, train: 8, test: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 1, partition: iid}\n"
    "runs: [{label: a, method: fedavg}]\n";

static void test_data_are_told_apart(void **state)
{
    (void)state;
    eg_experiment *e;
    eg_feed f;
    eg_fingerprint then, now;
    assert_ok(fixture_load(text, NULL, &e));
    assert_ok(eg_feed_open(e, 1, NULL, &f));
    eg_fingerprint_take(&f, &then);
    eg_fingerprint_take(&f, &now);
    assert_ok(eg_fingerprint_compare(&then, &now));
    f.test[0].y[3] ^= 1;
    eg_fingerprint_take(&f, &now);
    assert_fails(eg_fingerprint_compare(&then, &now), EG_EINVAL,
                 "other than when the run began: the data's labels (");
    assert_string_equal(then.pixels, now.pixels);
    f.test[0].y[3] ^= 1;
    f.train[0].f32[0] += 1;
    eg_fingerprint_take(&f, &now);
    assert_fails(eg_fingerprint_compare(&then, &now), EG_EINVAL, "the data's pixels (");
    assert_string_equal(then.labels, now.labels);
    eg_feed_close(&f);
    eg_experiment_free(e);
}

static void test_all_that_differs_is_named_and_what_is_unknown_is_not(void **state)
{
    (void)state;
    const eg_fingerprint then = {"1", "2", "avx2", "0.1.0", "abc"};
    const eg_fingerprint now = {"1", "2", "avx512", "0.2.0", "abd"};
    const eg_fingerprint old = {"", "", "avx512", "", ""};
    assert_fails(eg_fingerprint_compare(&then, &now), EG_EINVAL,
                 "the instruction set (avx2 then, avx512 now), the program's version (0.1.0 "
                 "then, 0.2.0 now), the program's commit (abc then, abd now)");
    assert_ok(eg_fingerprint_compare(&old, &now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_are_told_apart),
        cmocka_unit_test(test_all_that_differs_is_named_and_what_is_unknown_is_not),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
