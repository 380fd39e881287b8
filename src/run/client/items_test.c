/* items_test.c - what a part has on a worker under keys: programs and networks that stay.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include <engram/op.h>

/* Two rounds of one client; the network has running statistics. */
static const char text[] = "name: t\n"
                           "data: {name: glyphs, train: 24, test: 10}\n"
                           "model: {name: resnet18_thin}\n"
                           "scenario: {kind: class-incremental, clients: 1, tasks: 1, "
                           "rounds: 2}\n"
                           "optimizer: {lr: 0.1}\n"
                           "train: {epochs: 1, batch: 8}\n"
                           "runs: [{label: a, method: fedavg}]\n";

/* Records factor times its input, and counts how often. */
typedef struct recipe {
    double factor;
    int n_recorded;
} recipe;

static void recipe_record(void *context, eg_graph *g, int64_t batch)
{
    recipe *r = context;
    r->n_recorded++;
    eg_output(g, "y", eg_affine(g, eg_input(g, "x", eg_dims(batch)), r->factor, 0));
}

/* What the program makes of a 3, by its plan for a batch size and a form. */
static double run_plan(eg_program *p, int64_t batch, uint64_t form)
{
    eg_plan *plan;
    assert_ok(eg_program_plan_of(p, batch, form, &plan));
    for (int64_t i = 0; i < batch; i++)
        eg_plan_input(plan, "x")[i] = 3;
    assert_ok(eg_plan_run(plan));
    return (double)eg_plan_output(plan, "y")[0];
}

static void test_a_program_is_recorded_once_for_each_form(void **state)
{
    (void)state;
    one_client o;
    recipe early = {.factor = 2}, late = {.factor = 5}, own = {.factor = 7};
    eg_program *p, *again, *other;
    one_client_open(&o, text, NULL);
    assert_ok(eg_worker_program(&o.worker, "test.early", recipe_record, &early, &p));
    for (int i = 0; i < 3; i++) {
        assert_near(run_plan(p, 4, 0), 6, 0);
        assert_near(run_plan(p, 4, 1), 6, 0);
        assert_near(run_plan(p, 5, 0), 6, 0);
    }
    assert_int_equal(early.n_recorded, 3);
    one_client_train(&o);
    /* The next turn has a context of its own: it counts for what is recorded from now on. */
    assert_ok(eg_worker_program(&o.worker, "test.early", recipe_record, &late, &again));
    assert_ok(eg_worker_program(&o.worker, "test.other", recipe_record, &own, &other));
    assert_ptr_equal(p, again);
    assert_ptr_not_equal(p, other);
    assert_near(run_plan(again, 4, 0), 6, 0);
    assert_near(run_plan(again, 4, 1), 6, 0);
    assert_int_equal(late.n_recorded, 0);
    assert_near(run_plan(again, 6, 0), 15, 0);
    assert_near(run_plan(other, 6, 0), 21, 0);
    assert_int_equal(early.n_recorded, 3);
    assert_int_equal(late.n_recorded, 1);
    one_client_close(&o);
}

static void fill(float *values, size_t n, float by)
{
    for (size_t i = 0; i < n; i++)
        values[i] = by * (float)(i % 13 + 1);
}

static void test_a_network_of_a_parts_own_keeps_its_weights(void **state)
{
    (void)state;
    one_client o;
    eg_learner *l, *again, *other;
    one_client_open(&o, text, NULL);
    const eg_params *table = eg_net_params(o.net);
    assert_ok(eg_worker_learner(&o.worker, "test.l", table, &l));
    assert_int_equal(l->n_params, o.c->n_params);
    assert_int_equal(l->n_state, o.c->n_state);
    assert_true(l->n_state > 0);
    assert_null(l->optimizer);
    for (size_t i = 0; i < l->n_params; i++)
        assert_true(l->param[i] == 0 && l->grad[i] == 0);
    fill(l->param, l->n_params, 0.5f);
    fill(l->state, l->n_state, 0.25f);
    one_client_train(&o);
    assert_ok(eg_worker_learner(&o.worker, "test.l", table, &again));
    assert_ok(eg_worker_learner(&o.worker, "test.other", table, &other));
    assert_ptr_equal(l, again);
    assert_true(other->param[0] == 0);
    for (size_t i = 0; i < l->n_params; i++)
        assert_true(l->param[i] == 0.5f * (float)(i % 13 + 1));
    for (size_t i = 0; i < l->n_state; i++)
        assert_true(l->state[i] == 0.25f * (float)(i % 13 + 1));
    one_client_close(&o);
}

static eg_learner *open_learner(one_client *o, const char *key, const char *optimizer)
{
    eg_learner *l;
    assert_ok(eg_worker_learner(&o->worker, key, eg_net_params(o->net), &l));
    assert_ok(eg_learner_optimize(l, optimizer, "lr=0.05 weight_decay=0.01"));
    fill(l->param, l->n_params, 0.1f);
    fill(l->state, l->n_state, 0.2f);
    return l;
}

static void step(eg_learner *l, int n, float by)
{
    for (int i = 0; i < n; i++) {
        fill(l->grad, l->n_params, by * (float)(i + 1));
        eg_optimizer_step(l->optimizer, l->param, l->grad);
    }
}

/* What is kept goes on as what was never interrupted; without the optimiser it does not. */
static void check_round_trip(const char *optimizer)
{
    one_client o;
    eg_bundle *kept;
    bool found;
    one_client_open(&o, text, NULL);
    eg_learner *whole = open_learner(&o, "test.whole", optimizer);
    eg_learner *back = open_learner(&o, "test.back", optimizer);
    eg_learner *half = open_learner(&o, "test.half", optimizer);
    step(whole, 3, 0.3f);
    assert_ok(eg_bundle_new(&kept));
    assert_ok(eg_bundle_scalar(kept, "test.else", 1));
    assert_ok(eg_learner_keep(whole, "test.net", kept));
    assert_ok(eg_learner_keep_optimizer(whole, "test.net", kept));
    assert_ok(eg_learner_recall(back, "test.net", kept, &found));
    assert_true(found);
    assert_ok(eg_learner_recall_optimizer(back, "test.net", kept));
    assert_ok(eg_learner_recall(half, "test.net", kept, &found));
    assert_memory_equal(back->state, whole->state, whole->n_state * sizeof(float));
    assert_memory_equal(half->param, whole->param, whole->n_params * sizeof(float));
    step(whole, 2, -0.7f);
    step(back, 2, -0.7f);
    step(half, 2, -0.7f);
    assert_memory_equal(back->param, whole->param, whole->n_params * sizeof(float));
    assert_memory_not_equal(half->param, whole->param, whole->n_params * sizeof(float));
    assert_int_equal(eg_optimizer_steps(back->optimizer), 5);
    eg_bundle_free(kept);
    one_client_close(&o);
}

static void test_kept_learners_go_on_with_their_optimisers(void **state)
{
    (void)state;
    check_round_trip("adam");
    check_round_trip("adamw");
}

static void test_an_optimiser_that_is_there_is_reset(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, text, NULL);
    eg_learner *l = open_learner(&o, "test.l", "adam"), *fresh;
    const eg_optimizer *first = l->optimizer;
    step(l, 4, 1);
    fresh = open_learner(&o, "test.l", "adam");
    assert_ptr_equal(fresh->optimizer, first);
    assert_int_equal(eg_optimizer_steps(first), 0);
    assert_true(eg_optimizer_slot(first, 0)[0] == 0);
    one_client_close(&o);
}

static void test_bad_options_of_an_optimiser_are_said(void **state)
{
    (void)state;
    static const struct {
        const char *name, *options, *words;
        eg_status status;
    } cases[] = {
        {"adam", "lr", "'lr' is not name=value", EG_EINVAL},
        {"adam", "lr=0.1 speed=2", "speed", EG_ENOENT},
        {"walk", "lr=0.1", "walk", EG_ENOENT},
    };
    one_client o;
    eg_learner *l;
    one_client_open(&o, text, NULL);
    assert_ok(eg_worker_learner(&o.worker, "test.l", eg_net_params(o.net), &l));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(eg_learner_optimize(l, cases[i].name, cases[i].options), cases[i].status,
                     cases[i].words);
        assert_null(l->optimizer); /* none is better than half of one */
    }
    one_client_close(&o);
}

static void test_a_bundle_without_the_network_has_not_found_it(void **state)
{
    (void)state;
    const float three[3] = {1, 2, 3};
    one_client o;
    eg_bundle *b;
    bool found = true;
    one_client_open(&o, text, NULL);
    eg_learner *l = open_learner(&o, "test.l", "adam");
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_learner_recall(l, "test.net", b, &found));
    assert_false(found);
    found = true;
    assert_ok(eg_bundle_scalar(b, "test.else", 1)); /* the record holds other things */
    assert_ok(eg_learner_recall(l, "test.net", b, &found));
    assert_false(found);
    assert_ok(eg_bundle_add_flat(b, "test.net.param", three, 3));
    assert_fails(eg_learner_recall(l, "test.net", b, &found), EG_ESHAPE, "'test.net.param'");
    assert_false(found);
    assert_fails(eg_learner_recall_optimizer(l, "test.net", b), EG_ENOENT, "'test.net.steps'");
    assert_true(l->param[0] == 0.1f); /* it stays as it was */
    eg_bundle_free(b);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_is_recorded_once_for_each_form),
        cmocka_unit_test(test_a_network_of_a_parts_own_keeps_its_weights),
        cmocka_unit_test(test_kept_learners_go_on_with_their_optimisers),
        cmocka_unit_test(test_an_optimiser_that_is_there_is_reset),
        cmocka_unit_test(test_bad_options_of_an_optimiser_are_said),
        cmocka_unit_test(test_a_bundle_without_the_network_has_not_found_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
