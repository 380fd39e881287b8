/* a_gem_test.c - the projection against the client's own memory, seen from inside a run.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include <engram/method.h>

#include "own_folder.h"

enum { MAX_PARAMS = 4096 };

/* What a part before a_gem notes of a batch, for one behind it to check. One worker only. */
static struct {
    float batch[MAX_PARAMS];   /* the batch's gradient */
    double wanted[MAX_PARAMS]; /* what it should become */
    float param[MAX_PARAMS];
    int64_t n_conflicts, n_others, n_empty;
} seen;

/* The gradient of all rows of the memory, taken from it without drawing. */
static const float *gradient_of_all(eg_client *c)
{
    eg_memory_rows rows = eg_memory_get(c->memory);
    const float *gradient;
    const eg_rows all = {.n = rows.n, .x = rows.x, .labels = rows.labels};
    assert_ok(eg_client_gradient(c, NULL, EG_TRAIN_FORM, &all, &gradient));
    return gradient;
}

/* wanted = g - (g.r / r.r) r if g.r < 0, in double. */
static void note_wanted(const float *r, size_t n)
{
    double g_r = 0, r_r = 0;
    for (size_t i = 0; i < n; i++) {
        g_r += (double)seen.batch[i] * (double)r[i];
        r_r += (double)r[i] * (double)r[i];
    }
    for (size_t i = 0; g_r < 0 && i < n; i++)
        seen.wanted[i] -= g_r / r_r * (double)r[i];
    seen.n_conflicts += g_r < 0;
    seen.n_others += g_r > 0;
}

static eg_status before_grad(void *self, eg_client *c)
{
    (void)self;
    assert_true(c->n_params <= MAX_PARAMS);
    memcpy(seen.batch, c->grad, c->n_params * sizeof *c->grad);
    memcpy(seen.param, c->param, c->n_params * sizeof *c->param);
    for (size_t i = 0; i < c->n_params; i++)
        seen.wanted[i] = (double)c->grad[i];
    if (eg_memory_filled(c->memory))
        note_wanted(gradient_of_all(c), c->n_params);
    else
        seen.n_empty++;
    assert_memory_equal(seen.batch, c->grad, c->n_params * sizeof *c->grad); /* it stays */
    return EG_OK;
}

static eg_status after_grad(void *self, eg_client *c)
{
    (void)self;
    for (size_t i = 0; i < c->n_params; i++)
        assert_near((double)c->grad[i], seen.wanted[i], 1e-5);
    assert_memory_equal(seen.param, c->param, c->n_params * sizeof *c->param);
    return EG_OK;
}

static const eg_method before = {
    .component = {"before", "notes", 0, NULL},
    .client = {.grad = before_grad},
};
static const eg_method after = {
    .component = {"after", "checks", 0, NULL},
    .client = {.grad = after_grad},
};

static void test_gradients_are_projected_off_the_memorys(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    /* As many rows as the memory has: the draw's order does not matter. */
    small_run_all(folder, (small_run){.method = "a-gem",
                                      .set = {"a_gem.samples=20"},
                                      .before = &before,
                                      .after = &after});
    assert_int_equal(seen.n_empty, 4); /* every client's first batch */
    assert_true(seen.n_conflicts > 10);
    assert_true(seen.n_others > 10);
}

static void test_the_number_of_samples_matters(void **state)
{
    (void)state;
    small_outcome a = small_run_all(folder, (small_run){.method = "a-gem"});
    small_outcome avg = small_run_all(folder, (small_run){.method = "fedavg"});
    small_outcome few =
        small_run_all(folder, (small_run){.method = "a-gem", .set = {"a_gem.samples=2"}});
    assert_string_not_equal(a.hash, avg.hash);
    assert_string_not_equal(a.hash, few.hash);
}

static void test_local_and_global_projection_compose_in_order(void **state)
{
    (void)state;
    small_outcome first = small_run_all(folder, (small_run){.method = "[a-gem, fed-a-gem]"});
    small_outcome last = small_run_all(folder, (small_run){.method = "[fed-a-gem, a-gem]"});
    small_outcome one = small_run_all(folder, (small_run){.method = "a-gem"});
    assert_string_not_equal(first.hash, last.hash);
    assert_string_not_equal(first.hash, one.hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_projected_off_the_memorys),
        cmocka_unit_test(test_the_number_of_samples_matters),
        cmocka_unit_test(test_local_and_global_projection_compose_in_order),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
