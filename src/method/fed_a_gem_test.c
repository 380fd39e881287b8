/* fed_a_gem_test.c - the projection worked by hand, and the server's mean of references.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/method.h>

#include <stdlib.h>

extern const eg_method eg_method_fed_a_gem;

static const eg_method *const method = &eg_method_fed_a_gem;

/* Applies the gradient hook to g [n] with reference r [n]. */
static void project(size_t n, const float *r, float *g)
{
    void *self = calloc(1, method->size);
    eg_bundle *down;
    eg_client c = {.n_params = n, .grad = g};
    assert_non_null(self);
    eg_opts_init(method->opts, self);
    assert_ok(eg_bundle_new(&down));
    if (r)
        assert_ok(eg_bundle_add_flat(down, "fed_a_gem.reference", r, n));
    assert_ok(method->download(self, &c, down));
    assert_ok(method->grad(self, &c));
    eg_bundle_free(down);
    free(self);
}

static void test_a_conflicting_gradient_loses_its_part_along_the_reference(void **state)
{
    (void)state;
    const float r[] = {3, 4, 0};
    float g[] = {-1, -2, 5}; /* g.r = -11, r.r = 25: g + 11/25 r */
    project(3, r, g);
    assert_near((double)g[0], -1 + 11.0 / 25 * 3, 1e-6);
    assert_near((double)g[1], -2 + 11.0 / 25 * 4, 1e-6);
    assert_near((double)g[2], 5, 0);
    assert_near((double)(g[0] * r[0] + g[1] * r[1]), 0, 1e-5);
}

static void test_other_gradients_are_left_alone(void **state)
{
    (void)state;
    const float r[] = {3, 4, 0}, zero[3] = {0};
    float g[] = {1, 2, 5}, h[] = {4, -3, 1}, k[] = {-1, -2, -3};
    project(3, r, g); /* no conflict */
    project(3, r, h); /* a right angle */
    project(3, zero, k);
    project(3, NULL, k); /* no reference yet */
    assert_near((double)g[1], 2, 0);
    assert_near((double)h[1], -3, 0);
    assert_near((double)k[2], -3, 0);
}

static void test_the_reference_is_the_plain_mean(void **state)
{
    (void)state;
    void *self = calloc(1, method->size);
    assert_non_null(self);
    eg_server s = {.n_params = 2};
    eg_bundle *b;
    size_t n;
    assert_ok(eg_bundle_new(&b));
    assert_ok(method->begin(self, &s));
    assert_ok(method->send(self, &s, 0, b)); /* nothing to send before the first phase */
    assert_int_equal(eg_bundle_n(b), 0);
    const float clients[3][2] = {{1, 2}, {3, 4}, {8, -3}};
    for (int i = 0; i < 3; i++) {
        eg_bundle_clear(b);
        assert_ok(eg_bundle_add_flat(b, "fed_a_gem.reference", clients[i], 2));
        assert_ok(method->phase_collect(self, &s, i, b));
    }
    eg_bundle_clear(b);
    assert_ok(method->phase_collect(self, &s, 3, b)); /* an empty memory sends nothing */
    assert_ok(method->phase_end(self, &s));
    assert_ok(method->send(self, &s, 0, b));
    const float *r = eg_bundle_find(b, "fed_a_gem.reference", &n);
    assert_int_equal(n, 2);
    assert_near((double)r[0], 4, 1e-6);
    assert_near((double)r[1], 1, 1e-6);
    eg_bundle_free(b);
    method->fini(self);
    free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_conflicting_gradient_loses_its_part_along_the_reference),
        cmocka_unit_test(test_other_gradients_are_left_alone),
        cmocka_unit_test(test_the_reference_is_the_plain_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
