/* ridge_test.c - sums by hand, their way through bundles, and sums that cannot be.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "method/lib/ridge.h"

enum { D = 2, K = 3 };

static const float rows[] = {1, 2, 3, -1, 0.1F, 0.2F}, labels[] = {0, 2, 2};

static void sums(eg_ridge *r)
{
    assert_ok(eg_ridge_init(r, D, K));
    assert_ok(eg_ridge_rows(r, rows, labels, 3));
}

/* G = [1 + 9 + 0.01, 2 - 3 + 0.02; ., 4 + 1 + 0.04]; class 2 has the rows (3, -1), (0.1, 0.2).
 */
static void test_sums_and_the_solution_by_hand(void **state)
{
    (void)state;
    eg_ridge r;
    double w[D * K];
    sums(&r);
    const double gram[] = {10.01, -0.98, -0.98, 5.04}, cross[] = {1, 0, 3.1, 2, 0, -0.8};
    for (int i = 0; i < D * D; i++)
        assert_near(r.gram[i], gram[i], 1e-6);
    for (int i = 0; i < D * K; i++)
        assert_near(r.cross[i], cross[i], 1e-6);
    assert_true(r.counts[0] == 1 && r.counts[1] == 0 && r.counts[2] == 2);
    assert_ok(eg_ridge_solve(&r, 0.5, w));
    /* the inverse of [[a, b], [b, d]] is [[d, -b], [-b, a]] over its determinant */
    double a = 10.51, b = -0.98, d = 5.54, det = a * d - b * b;
    for (int y = 0; y < K; y++) {
        assert_near(w[y], (d * cross[y] - b * cross[K + y]) / det, 1e-6);
        assert_near(w[K + y], (-b * cross[y] + a * cross[K + y]) / det, 1e-6);
    }
    eg_ridge_fini(&r);
}

static void test_a_record_has_every_bit_and_a_message_is_near(void **state)
{
    (void)state;
    for (int exactly = 0; exactly < 2; exactly++) {
        eg_ridge r, back;
        eg_bundle *b;
        sums(&r);
        r.gram[0] = 1 / 3.0, r.cross[1] = 1e-3 / 7;
        assert_ok(eg_ridge_init(&back, D, K));
        assert_ok(eg_bundle_new(&b));
        assert_ok(eg_ridge_put(&r, "t", exactly, b));
        assert_ok(eg_ridge_add(&back, "t", exactly, b));
        for (int i = 0; i < D * D; i++)
            assert_near(back.gram[i], r.gram[i], exactly ? 0 : 1e-6);
        for (int i = 0; i < D * K; i++)
            assert_near(back.cross[i], r.cross[i], exactly ? 0 : 1e-6);
        assert_memory_equal(back.counts, r.counts, K * sizeof *r.counts);
        assert_ok(eg_ridge_add(&back, "t", exactly, b));
        assert_near(back.gram[3], 2 * r.gram[3], 1e-5);
        eg_bundle_free(b);
        eg_ridge_fini(&r);
        eg_ridge_fini(&back);
    }
}

static eg_status judge(const float gram[3], const float cross[D * K], const float counts[K])
{
    eg_ridge r;
    eg_bundle *b;
    assert_ok(eg_ridge_init(&r, D, K));
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(b, "t.gram.0", gram, 3));
    assert_ok(eg_bundle_add_flat(b, "t.cross.0", cross, D * K));
    assert_ok(eg_bundle_add_flat(b, "t.counts", counts, K));
    eg_status s = eg_ridge_judge(&r, "t", b);
    eg_bundle_free(b);
    eg_ridge_fini(&r);
    return s;
}

static void test_sums_of_no_rows_are_refused(void **state)
{
    (void)state;
    const float gram[] = {10.01F, -0.98F, 5.04F}, cross[] = {1, 0, 3.1F, 2, 0, -0.8F};
    const float counts[] = {1, 0, 2}, below[] = {-1, 0, 1}, wide[] = {1, 9, 1};
    const float many[] = {1, 0, 3.1F, 2, 0.1F, -0.8F}, part[] = {1, 0, 1.5F};
    assert_ok(judge(gram, cross, counts));
    assert_fails(judge(below, cross, counts), EG_EINVAL, "sums of feature 0");
    assert_fails(judge(wide, (const float[D * K]){0}, counts), EG_EINVAL, "sums of feature 1");
    assert_fails(judge(gram, many, counts), EG_EINVAL, "sums of feature 1");
    assert_fails(judge(gram, cross, part), EG_EINVAL, "t.counts");
}

static void test_sums_without_a_solution_say_so(void **state)
{
    (void)state;
    eg_ridge r;
    double w[D * K];
    assert_ok(eg_ridge_init(&r, D, K));
    r.gram[0] = -1;
    assert_fails(eg_ridge_solve(&r, 0.5, w), EG_EINVAL, "not positive definite");
    eg_ridge_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_and_the_solution_by_hand),
        cmocka_unit_test(test_a_record_has_every_bit_and_a_message_is_near),
        cmocka_unit_test(test_sums_of_no_rows_are_refused),
        cmocka_unit_test(test_sums_without_a_solution_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
