/* optimizer_test.c - an optimiser's state can be taken out and put back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/optim.h>

enum { N = 5 };

/* A few steps along gradients that depend on the step. */
static void walk(eg_optimizer *o, float w[N], int from, int to)
{
    for (int t = from; t < to; t++) {
        float g[N];
        for (int i = 0; i < N; i++)
            g[i] = (float)(i - 2) * 0.5f + 0.25f * (float)t;
        eg_optimizer_step(o, w, g);
    }
}

static eg_optimizer *make(const eg_optim *kind)
{
    eg_optimizer *o;
    assert_ok(eg_optimizer_new(kind->component.name, N, &o));
    if (strcmp(kind->component.name, "sgd") == 0)
        assert_ok(eg_optimizer_set(o, "momentum", "0.9"));
    return o;
}

static void test_a_restored_optimiser_goes_on_as_if_never_stopped(void **state)
{
    (void)state;
    for (const eg_optim *const *kind = eg_optims; *kind; kind++) {
        float whole[N] = {1, 2, 3, 4, 5}, parts[N] = {1, 2, 3, 4, 5}, cut[N];
        const float *slots[2];
        eg_optimizer *a = make(*kind), *b = make(*kind), *c = make(*kind);
        walk(a, whole, 0, 7);
        walk(b, parts, 0, 3);
        memcpy(cut, parts, sizeof cut);
        for (int i = 0; i < (*kind)->n_slots; i++)
            slots[i] = eg_optimizer_slot(b, i);
        assert_null(eg_optimizer_slot(b, (*kind)->n_slots));
        assert_int_equal(eg_optimizer_steps(b), 3);
        eg_optimizer_restore(c, slots, eg_optimizer_steps(b));
        walk(c, parts, 3, 7);
        assert_memory_equal(parts, whole, sizeof whole);
        eg_optimizer_reset(c); /* without the state it goes another way */
        walk(c, cut, 3, 7);
        assert_memory_not_equal(cut, whole, sizeof whole);
        eg_optimizer_free(a);
        eg_optimizer_free(b);
        eg_optimizer_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_restored_optimiser_goes_on_as_if_never_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
