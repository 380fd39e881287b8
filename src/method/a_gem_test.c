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

/* --- Together with fed_a_gem: whose projection comes first. */

typedef struct direction {
    bool there;
    float r[MAX_PARAMS];
} direction;

/* What parts around the two note of a batch. */
static struct {
    bool global_first;
    direction local, global;
    float batch[MAX_PARAMS], middle[MAX_PARAMS];
    int64_t n_both; /* batches that conflict with both */
    double apart;   /* most that the other order would have made of a number */
} order;

static const direction *order_of(bool first)
{
    return first == order.global_first ? &order.global : &order.local;
}

/* out = g - (g.r / r.r) r if there is an r and g.r < 0, else g; returns whether it was so. */
static bool project(const float *g, const direction *d, size_t n, float *out)
{
    double g_r = 0, r_r = 0;
    for (size_t i = 0; d->there && i < n; i++) {
        g_r += (double)g[i] * (double)d->r[i];
        r_r += (double)d->r[i] * (double)d->r[i];
    }
    for (size_t i = 0; i < n; i++)
        out[i] = g_r < 0 ? (float)((double)g[i] - g_r / r_r * (double)d->r[i]) : g[i];
    return g_r < 0;
}

static eg_status first_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    (void)self, (void)exchange;
    const float *r = eg_bundle_find(from, "fed_a_gem.reference", NULL);
    order.global.there = r != NULL;
    if (r)
        memcpy(order.global.r, r, c->n_params * sizeof *r);
    return EG_OK;
}

static eg_status first_grad(void *self, eg_client *c)
{
    (void)self;
    assert_true(c->n_params <= MAX_PARAMS);
    memcpy(order.batch, c->grad, c->n_params * sizeof *c->grad);
    order.local.there = eg_memory_filled(c->memory) > 0;
    if (order.local.there)
        memcpy(order.local.r, gradient_of_all(c), c->n_params * sizeof *c->grad);
    return EG_OK;
}

static void check_near(const float *have, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_near((double)have[i], (double)want[i], 1e-5);
}

static eg_status middle_grad(void *self, eg_client *c)
{
    float wanted[MAX_PARAMS];
    (void)self;
    project(order.batch, order_of(true), c->n_params, wanted);
    check_near(c->grad, wanted, c->n_params);
    memcpy(order.middle, c->grad, c->n_params * sizeof *c->grad);
    return EG_OK;
}

static eg_status last_grad(void *self, eg_client *c)
{
    float wanted[MAX_PARAMS], other[MAX_PARAMS];
    size_t n = c->n_params;
    (void)self;
    bool both = project(order.batch, order_of(true), n, wanted);
    both &= project(order.middle, order_of(false), n, wanted);
    check_near(c->grad, wanted, n);
    order.n_both += both;
    project(order.batch, order_of(false), n, other);
    project(other, order_of(true), n, other);
    for (size_t i = 0; i < n; i++)
        order.apart = fmax(order.apart, fabs((double)other[i] - (double)wanted[i]));
    return EG_OK;
}

static const eg_method first = {
    .component = {"first", "notes what is there", 0, NULL},
    .client = {.download = first_download, .grad = first_grad},
};
static const eg_method middle = {
    .component = {"middle", "checks what one projection left", 0, NULL},
    .client = {.grad = middle_grad},
};
static const eg_method last = {
    .component = {"last", "checks what both left", 0, NULL},
    .client = {.grad = last_grad},
};

/* The order in which they are written; the paper has the local memory first. */
static void test_local_and_global_projection_compose_in_order(void **state)
{
    (void)state;
    static const char *const methods[] = {"[a-gem, middle, fed-a-gem]",
                                          "[fed-a-gem, middle, a-gem]"};
    for (int i = 0; i < 2; i++) {
        memset(&order, 0, sizeof order);
        order.global_first = i == 1;
        small_run_all(folder, (small_run){.method = methods[i],
                                          .set = {"a_gem.samples=20"},
                                          .before = &first,
                                          .after = &last});
        assert_true(order.n_both > 5);
        assert_true(order.apart > 1e-3); /* a hundred times what is taken for rounding */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_projected_off_the_memorys),
        cmocka_unit_test(test_the_number_of_samples_matters),
        cmocka_unit_test(test_local_and_global_projection_compose_in_order),
    };
    if (eg_method_add(&middle) != EG_OK)
        return 1;
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
