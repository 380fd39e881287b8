/* fed_a_gem_run_test.c - the reference inside a run, each option's effect, and what syncing
 * less often costs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include <engram/op.h>

#include "own_folder.h"

enum { MAX_ROWS = 80 }; /* four clients, memories of 20 */

/* The rows of all memories, as a part of the test had them sent. */
static struct {
    float x[MAX_ROWS * 64], labels[MAX_ROWS];
    int64_t n, sample, n_checked, interval;
    int64_t n_trained, n_short; /* clients of this round; rounds that not all trained in */
} pool;

enum { POOL = 1 }; /* its exchange */

static eg_status pool_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->exchanges[POOL - 1] = (eg_exchange){.name = "pool", .everyone = true};
    return EG_OK;
}

static eg_status pool_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    (void)self;
    if (exchange != POOL)
        return EG_OK;
    eg_memory_rows rows = eg_memory_get(c->memory);
    EG_TRY(eg_bundle_add(to, "pooling.x", eg_dims(rows.n, (int64_t)rows.sample), rows.x));
    return eg_bundle_add(to, "pooling.labels", eg_dims(rows.n), rows.labels);
}

static eg_status pool_collect(void *self, eg_server *s, int exchange, int64_t client,
                              const eg_bundle *from)
{
    (void)self, (void)s;
    size_t n, n_x;
    pool.n_trained += exchange == EG_TRAINING;
    if (exchange != POOL)
        return EG_OK;
    const float *labels = eg_bundle_find(from, "pooling.labels", &n);
    const float *x = eg_bundle_find(from, "pooling.x", &n_x);
    if (client == 0)
        pool.n = 0;
    pool.sample = (int64_t)(n_x / n);
    assert_true(pool.n + (int64_t)n <= MAX_ROWS && pool.sample <= 64);
    memcpy(pool.x + pool.n * pool.sample, x, n_x * sizeof *x);
    memcpy(pool.labels + pool.n, labels, n * sizeof *labels);
    pool.n += (int64_t)n;
    return EG_OK;
}

/* The gradient of the pooled rows at the server's model, in one batch and without the core. */
static void pool_gradient(const eg_server *s, float *gradient)
{
    const eg_net_spec *spec = eg_net_spec_of(s->net);
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(pool.n, spec->channels, spec->height, spec->width));
    eg_net_backward(s->net, g,
                    eg_cross_entropy(g, eg_net_forward(s->net, g, x),
                                     eg_input(g, "labels", eg_dims(pool.n)), NULL));
    assert_ok(eg_compile(g, &plan));
    /* The plan only reads them: the network has no statistics. */
    assert_ok(eg_plan_bind(plan, eg_net_params(s->net), (float *)(uintptr_t)s->param, gradient,
                           (float *)(uintptr_t)s->state));
    memcpy(eg_plan_input(plan, "x"), pool.x, (size_t)(pool.n * pool.sample) * sizeof *pool.x);
    memcpy(eg_plan_input(plan, "labels"), pool.labels, (size_t)pool.n * sizeof *pool.labels);
    assert_ok(eg_plan_run(plan));
    eg_plan_free(plan);
    eg_graph_free(g);
}

/* Sees what the part before it sends, at the model that the exchange was at. */
static eg_status pool_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    (void)self;
    size_t n;
    if (exchange != EG_TRAINING)
        return EG_OK;
    pool.n_short += s->round > 0 && pool.n_trained < 4;
    pool.n_trained = 0;
    const float *r = eg_bundle_find(to, "fed_a_gem.reference", &n);
    assert_int_equal(r != NULL, s->round >= pool.interval);
    if (!r || s->round % pool.interval != 0)
        return EG_OK;
    float *wanted;
    double length = 0;
    assert_ok(eg_params_alloc(eg_net_params(s->net), &wanted));
    pool_gradient(s, wanted);
    assert_int_equal(pool.n, MAX_ROWS);
    for (size_t i = 0; i < n; i++) {
        assert_near((double)r[i], (double)wanted[i], 1e-6);
        length += (double)r[i] * (double)r[i];
    }
    assert_true(length > 1e-4); /* it was not zero against zero */
    pool.n_checked++;
    free(wanted);
    return EG_OK;
}

static const eg_method pooling = {
    .component = {"pooling", "checks the reference", 0, NULL},
    .setup = pool_setup,
    .client = {.answer = pool_answer},
    .server = {.collect = pool_collect, .send = pool_send},
};

static void test_the_reference_is_the_gradient_of_all_memories(void **state)
{
    (void)state;
    /* Four rounds, the first without one; when clients keep their own weights in every second
     * round, the reference still is of the model they will be sent. */
    static const char *const sets[] = {"server.interval=1", "server.interval=2"};
    for (int i = 0; i < 2; i++) {
        pool.n_checked = 0;
        pool.interval = i + 1;
        small_run_all(folder, (small_run){.method = "[fedavg, fed-a-gem]",
                                          .set = {"fed_a_gem.samples=20", sets[i]},
                                          .after = &pooling});
        assert_int_equal(pool.n_checked, i ? 1 : 3);
    }
}

/* When the streams of some are over, their memories still count, wherever the turn is taken and
 * after a stop; the classes that count in its loss are those the client has met. */
static void test_who_has_no_data_any_more_is_asked_for_the_reference(void **state)
{
    (void)state;
    small_run r = {.method = "[fedavg, fed-a-gem]",
                   .set = {"scenario.kind=async-count", "scenario.clients=4",
                           "scenario.tasks=2", "scenario.take=20", "scenario.rounds=1",
                           "fed_a_gem.samples=20"},
                   .after = &pooling};
    pool.n_checked = pool.n_short = 0;
    pool.interval = 1;
    small_run_all(folder, r);
    assert_true(pool.n_short > 2 && pool.n_checked > pool.n_short);
    r.after = NULL;
    r.set[5] = "train.classes=client";
    small_outcome whole = small_run_all(folder, r);
    r.workers = -2, r.stop = pool.n_checked - 1; /* a client is idle already */
    assert_string_equal(whole.hash, small_run_all(folder, r).hash);
}

static small_outcome run_with(const char *set)
{
    return small_run_all(folder, (small_run){.method = "[fedavg, fed-a-gem]", .set = {set}});
}

static void test_every_option_changes_the_result(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "fed_a_gem.variant=release",
        "fed_a_gem.samples=2",
        "fed_a_gem.refresh=2",
        "fed_a_gem.refinement=average",
        "fed_a_gem.refinement=rotate",
        "fed_a_gem.refinement=project-scale",
        "fed_a_gem.when=always",
        "fed_a_gem.rate=0.5",
        "fed_a_gem.aggregation=cosine",
        "fed_a_gem.aggregation=softmax",
        "memory.kind=window",
        "memory.kind=random",
        "memory.size=5",
        "server.interval=2",
        "server.interval=4",
    };
    enum { N = sizeof sets / sizeof *sets };
    small_outcome base = run_with(NULL), other[N];
    for (size_t i = 0; i < N; i++) {
        other[i] = run_with(sets[i]);
        if (strcmp(base.hash, other[i].hash) == 0)
            fail_msg("%s changes nothing", sets[i]);
        for (size_t k = 0; k < i; k++)
            if (strcmp(other[k].hash, other[i].hash) == 0)
                fail_msg("%s and %s are the same", sets[k], sets[i]);
    }
}

static void test_rate_zero_is_averaging(void **state)
{
    (void)state;
    small_outcome none = run_with("fed_a_gem.rate=0");
    small_outcome avg = small_run_all(folder, (small_run){.method = "fedavg"});
    assert_string_equal(none.hash, avg.hash);
    assert_string_not_equal(none.hash, run_with("fed_a_gem.rate=1").hash);
}

static void test_release_is_a_memory_filled_once(void **state)
{
    (void)state;
    assert_string_equal(run_with("fed_a_gem.variant=release").hash,
                        run_with("memory.insert=once").hash);
}

/* Twenty rounds; a round has four models down, and four models and references up. */
static void test_syncing_less_often_costs_less(void **state)
{
    (void)state;
    static const char *const sets[] = {"server.interval=1", "server.interval=2",
                                       "server.interval=4", "server.interval=10"};
    static const int64_t intervals[] = {1, 2, 4, 10};
    small_outcome o[4], plain[4];
    for (int i = 0; i < 4; i++) {
        small_run r = {.method = "[fedavg, fed-a-gem]", .set = {sets[i], "scenario.rounds=10"}};
        o[i] = small_run_all(folder, r);
        r.stop = 7, r.workers = 2; /* between two downloads */
        assert_string_equal(o[i].hash, small_run_all(folder, r).hash);
        plain[i] = small_run_all(
            folder, (small_run){.method = "fedavg", .set = {sets[i], "scenario.rounds=10"}});
        for (int k = 0; k < i; k++)
            assert_string_not_equal(o[k].hash, o[i].hash);
        assert_int_equal(plain[i].bytes_up * intervals[i], plain[0].bytes_up);
        assert_int_equal(plain[i].bytes_down * intervals[i], plain[0].bytes_down);
        assert_int_equal(o[i].bytes_up * intervals[i], o[0].bytes_up);
    }
    assert_near((double)o[0].bytes_up / (double)plain[0].bytes_up, 2, 0.15);
    /* The first download has no reference in it, and the last one is never sent. */
    for (int i = 0; i < 4; i++) {
        int64_t model = plain[0].bytes_down / 20;
        int64_t both = (o[0].bytes_down - model) / 19;
        assert_int_equal(o[i].bytes_down, model + both * (20 / intervals[i] - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_reference_is_the_gradient_of_all_memories),
        cmocka_unit_test(test_who_has_no_data_any_more_is_asked_for_the_reference),
        cmocka_unit_test(test_every_option_changes_the_result),
        cmocka_unit_test(test_rate_zero_is_averaging),
        cmocka_unit_test(test_release_is_a_memory_filled_once),
        cmocka_unit_test(test_syncing_less_often_costs_less),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
