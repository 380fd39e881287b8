/* scaffold_test.c - the controls worked by hand, and the laws they obey.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hand_client.h"
#include "one_client.h"
#include "small_run.h"

#include "own_folder.h"

extern const eg_method eg_method_scaffold;

static const eg_method *const method = &eg_method_scaffold;

enum { N = 3 };

static void test_the_correction_and_the_new_control_by_hand(void **state)
{
    (void)state;
    const float all[N] = {1, 2, -1}, global[N] = {0, 1, 2};
    float param[N] = {0.5f, 1, 1}, grad[N] = {10, 20, 30};
    hand_client h;
    eg_bundle *down, *up;
    hand_client_open(&h, method, NULL, N, param, grad);
    h.c->global = global, h.c->lr = 0.1, h.c->n_batches = 5; /* K lr = 0.5 */
    assert_ok(eg_bundle_new(&down));
    assert_ok(eg_bundle_new(&up));
    assert_fails(method->client.download(h.self, h.c, EG_TRAINING, down), EG_ENOENT,
                 "tensor 'scaffold.control' is missing");
    assert_ok(eg_bundle_add_flat(down, "scaffold.control", all, N));
    assert_ok(method->client.download(h.self, h.c, EG_TRAINING, down));
    assert_ok(method->client.grad(h.self, h.c)); /* g + c - 0 */
    assert_near((double)grad[0], 11, 1e-6);
    assert_near((double)grad[2], 29, 1e-6);
    assert_ok(method->client.answer(h.self, h.c, EG_TRAINING, up));
    /* (x - y) / 0.5 = (-1, 0, 2), less c = (1, 2, -1) */
    const float *change = eg_bundle_find(up, "scaffold.change", NULL);
    const double wanted[N] = {-2, -2, 3};
    for (int i = 0; i < N; i++)
        assert_near((double)change[i], wanted[i], 1e-6);
    hand_client_next(&h);
    for (int i = 0; i < N; i++)
        grad[i] = 0;
    assert_ok(method->client.download(h.self, h.c, EG_TRAINING, down));
    assert_ok(method->client.grad(h.self, h.c)); /* c - c_i, c_i = 0 + change */
    for (int i = 0; i < N; i++)
        assert_near((double)grad[i], (double)all[i] - wanted[i], 1e-6);
    eg_bundle_free(down);
    eg_bundle_free(up);
    hand_client_close(&h);
}

/* With one client its control is the server's: nothing is left to correct. */
static void test_one_client_is_averaging(void **state)
{
    (void)state;
    static const char *const plain = "optimizer.momentum=0";
    small_run one = {.method = "scaffold", .set = {plain, "scenario.clients=1"}};
    small_run avg = {.method = "fedavg", .set = {plain, "scenario.clients=1"}};
    assert_string_equal(small_run_all(folder, one).hash, small_run_all(folder, avg).hash);
    one.set[1] = avg.set[1] = NULL; /* with four it is not */
    assert_string_not_equal(small_run_all(folder, one).hash, small_run_all(folder, avg).hash);
}

static void test_momentum_is_refused_in_words(void **state)
{
    (void)state;
    eg_wishes w = {0};
    const eg_train_opts momentum = {.optimizer = "sgd", .momentum = 0.5};
    const eg_train_opts adam = {.optimizer = "adam"};
    assert_fails(method->setup(NULL, &(eg_setting){.train = &momentum}, &w), EG_ENOTSUP,
                 "optimizer.momentum to 0");
    assert_fails(method->setup(NULL, &(eg_setting){.train = &adam}, &w), EG_ENOTSUP, "sgd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_correction_and_the_new_control_by_hand),
        cmocka_unit_test(test_one_client_is_averaging),
        cmocka_unit_test(test_momentum_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
