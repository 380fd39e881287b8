/* program_test.c - plans by batch size: cached, bounded, bound alike.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "training.h"

#include "engine/graph/plan_private.h"

#include <engram/program.h>

#include <stdio.h>

/* y = x w with w [3] of `table`, and how often each batch size was recorded. */
typedef struct recipe {
    eg_params *table;
    int recorded[16];
    int64_t refused; /* a batch size that cannot be recorded */
} recipe;

static void recipe_record(void *context, eg_graph *g, int64_t batch)
{
    recipe *r = context;
    r->recorded[batch]++;
    eg_node *w = eg_param(g, r->table, "w", eg_dims(3), (eg_init){0});
    eg_node *x = eg_input(g, "x", eg_dims(batch, batch == r->refused ? 4 : 3));
    eg_node *y = eg_sum(g, eg_mul(g, x, w), EG_AXIS(1));
    eg_output(g, "y", y);
    eg_backward(g, eg_sum(g, y, EG_ALL_AXES), r->table);
}

static eg_program *open_program(recipe *r, size_t max_plans)
{
    eg_program *p = NULL;
    *r = (recipe){0};
    assert_ok(eg_params_new(&r->table));
    assert_ok(eg_program_new(recipe_record, r, max_plans, &p));
    return p;
}

static void close_program(eg_program *p, recipe *r)
{
    eg_program_free(p);
    eg_params_free(r->table);
}

static eg_plan *plan_of(eg_program *p, int64_t batch)
{
    eg_plan *plan = NULL;
    assert_ok(eg_program_plan(p, batch, &plan));
    return plan;
}

/* Runs the plan of this size on x[i][j] = i + 10 j and checks y against w. */
static void check_run(eg_program *p, int64_t batch, const float *w)
{
    eg_plan *plan = plan_of(p, batch);
    float *x = eg_plan_input(plan, "x");
    for (int64_t i = 0; i < batch; i++)
        for (int64_t j = 0; j < 3; j++)
            x[3 * i + j] = (float)(i + 10 * j);
    assert_ok(eg_plan_run(plan));
    for (int64_t i = 0; i < batch; i++) {
        float n = (float)i, want = n * w[0] + (n + 10) * w[1] + (n + 20) * w[2];
        assert_near((double)eg_plan_output(plan, "y")[i], (double)want, 1e-4);
    }
}

static void test_a_batch_size_is_recorded_once(void **state)
{
    (void)state;
    recipe r;
    eg_program *p = open_program(&r, 3);
    float w[16] = {1, -2, 3}, grad[16];
    eg_plan *eight = plan_of(p, 8);
    assert_ok(eg_program_bind(p, r.table, w, grad, NULL));
    for (int i = 0; i < 3; i++) { /* epochs of 8, 8 and a smaller last batch */
        check_run(p, 8, w);
        check_run(p, 8, w);
        check_run(p, 5, w);
    }
    assert_ptr_equal(plan_of(p, 8), eight);
    assert_int_equal(r.recorded[8], 1);
    assert_int_equal(r.recorded[5], 1);
    close_program(p, &r);
}

static void test_the_least_recently_used_plan_goes_first(void **state)
{
    (void)state;
    recipe r;
    eg_program *p = open_program(&r, 3);
    static const int64_t asked[] = {1, 2, 3, 1, 4, /* 2 goes */ 1, 3, 4, 2 /* 1 goes */, 3, 4};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        plan_of(p, asked[i]);
    static const int want[] = {0, 1, 2, 1, 1};
    for (int batch = 1; batch <= 4; batch++)
        assert_int_equal(r.recorded[batch], want[batch]);
    plan_of(p, 1);
    assert_int_equal(r.recorded[1], 2);
    close_program(p, &r);
}

static void test_a_program_of_one_plan_keeps_the_last(void **state)
{
    (void)state;
    recipe r;
    eg_program *p = open_program(&r, 1);
    float w[16] = {4, 5, 6}, grad[16];
    assert_ok(eg_program_bind(p, r.table, w, grad, NULL));
    for (int i = 0; i < 3; i++) {
        check_run(p, 2, w);
        check_run(p, 2, w);
        check_run(p, 7, w);
    }
    assert_int_equal(r.recorded[2], 3);
    assert_int_equal(r.recorded[7], 3);
    close_program(p, &r);
}

static void test_binding_reaches_plans_there_are_and_those_to_come(void **state)
{
    (void)state;
    recipe r;
    eg_program *p = open_program(&r, 4);
    float first[16] = {1, 2, 3}, second[16] = {-3, 0, 5}, grad[2][16] = {{0}};
    assert_fails(eg_plan_run(plan_of(p, 2)), EG_EINVAL, "'w'");
    assert_ok(eg_program_bind(p, r.table, first, grad[0], NULL));
    check_run(p, 2, first);
    check_run(p, 3, first);
    float kept = grad[0][0];
    assert_ok(eg_program_bind(p, r.table, second, grad[1], NULL));
    check_run(p, 2, second);
    check_run(p, 3, second);
    check_run(p, 4, second);
    assert_true(grad[0][0] == kept && grad[1][0] == 0 + 1 + 2 + 3);
    close_program(p, &r);
}

/* Steps take their pointers anew only where these are others, or were refused before. */
static void test_plans_are_told_of_other_arrays_alone(void **state)
{
    (void)state;
    recipe r;
    eg_program *p = open_program(&r, 2);
    float first[16] = {1, 2, 3}, second[16] = {-3, 0, 5}, grad[16];
    assert_ok(eg_program_bind(p, r.table, first, grad, NULL));
    check_run(p, 2, first);
    assert_true(plan_of(p, 2)->bound);
    assert_ok(eg_program_bind(p, r.table, first, grad, NULL));
    assert_true(plan_of(p, 2)->bound);
    assert_ok(eg_program_bind(p, r.table, second, grad, NULL));
    assert_false(plan_of(p, 2)->bound);
    check_run(p, 2, second);
    for (int i = 0; i < 2; i++)
        assert_fails(eg_program_bind(p, r.table, first, NULL, NULL), EG_EINVAL, "not given");
    assert_ok(eg_program_bind(p, r.table, first, grad, NULL));
    check_run(p, 2, first);
    close_program(p, &r);
}

static void test_what_cannot_be_is_said(void **state)
{
    (void)state;
    recipe r;
    eg_program *none, *p = open_program(&r, 2);
    eg_plan *plan = NULL;
    float w[16] = {1, 1, 1}, grad[16];
    assert_fails(eg_program_new(recipe_record, &r, 0, &none), EG_EINVAL, "at least one");
    assert_null(none);
    assert_fails(eg_program_plan(p, 0, &plan), EG_EINVAL, "batch of 0");
    assert_fails(eg_program_plan(p, -3, &plan), EG_EINVAL, "batch of -3");
    r.refused = 6;
    assert_ok(eg_program_bind(p, r.table, w, grad, NULL));
    check_run(p, 2, w);
    assert_fails(eg_program_plan(p, 6, &plan), EG_ESHAPE, "[6, 4] and [3]");
    assert_fails(eg_program_plan(p, 6, &plan), EG_ESHAPE, "[6, 4] and [3]"); /* not cached */
    assert_null(plan);
    check_run(p, 2, w); /* and the others still run */
    assert_int_equal(r.recorded[2], 1);
    eg_params *more[8];
    for (int i = 0; i < 8; i++) {
        assert_ok(eg_params_new(&more[i]));
        eg_status s = eg_program_bind(p, more[i], w, NULL, NULL);
        assert_int_equal(s, i < 7 ? EG_OK : EG_ENOTSUP);
    }
    for (int i = 0; i < 8; i++)
        eg_params_free(more[i]);
    close_program(p, &r);
}

static void net_record(void *context, eg_graph *g, int64_t batch)
{
    training_record(context, g, batch);
}

/* Adds `batch` times the mean gradient of samples [from, from + batch) to sum. */
static void add_gradient(const training *t, eg_program *p, int64_t from, int64_t batch,
                         double *sum)
{
    eg_plan *plan = plan_of(p, batch);
    memcpy(eg_plan_input(plan, "x"), eg_plan_input(t->plan, "x") + from * 144,
           (size_t)batch * 144 * sizeof(float));
    memcpy(eg_plan_input(plan, "labels"), eg_plan_input(t->plan, "labels") + from,
           (size_t)batch * sizeof(float));
    assert_ok(eg_plan_run(plan));
    for (size_t j = 0; j < t->length; j++)
        sum[j] += (double)batch * (double)t->grad[j];
}

/* A smaller last batch counts by its samples: 8 + 8 + 7 of 23 give the gradient of 23. */
static void test_batches_of_any_size_add_up(void **state)
{
    (void)state;
    const training_spec spec = {.net = {"cnn", 1, 12, 12, 4, NULL},
                                .batch = 23,
                                .optimizer = "sgd",
                                .rate = "0.1",
                                .seed = 6};
    training t;
    eg_program *p;
    assert_ok(training_open(&t, &spec));
    assert_ok(eg_program_new(net_record, t.net, 2, &p));
    assert_ok(eg_program_bind(p, eg_net_params(t.net), t.value, t.grad, t.state));
    double *sum = calloc(t.length, sizeof *sum), off = 0, size = 0;
    assert_non_null(sum);
    for (int64_t from = 0; from < 23; from += 8)
        add_gradient(&t, p, from, from < 16 ? 8 : 7, sum);
    assert_ok(eg_plan_run(t.plan));
    for (size_t j = 0; j < t.length; j++) {
        double whole = 23 * (double)t.grad[j];
        off += (sum[j] - whole) * (sum[j] - whole);
        size += whole * whole;
    }
    assert_true(size > 0);
    assert_near(sqrt(off / size), 0, 1e-5);
    free(sum);
    eg_program_free(p);
    training_close(&t);
}

static void room_record(void *context, eg_graph *g, int64_t batch)
{
    eg_graph_set_training(g, false);
    eg_node *logits = eg_net_forward(context, g, eg_input(g, "x", eg_dims(batch, 1, 28, 28)));
    eg_output(g, "logits", logits);
    eg_net_backward(context, g, eg_sum(g, eg_mul(g, logits, logits), EG_ALL_AXES));
}

static void room_fill(eg_plan *plan, int64_t n)
{
    float *x = eg_plan_input(plan, "x");
    for (int64_t i = 0; i < n * 784; i++)
        x[i] = (float)((i * 37 + n) % 101) / 101;
}

/* Two networks whose programs work in one room, which grows while they take turns, have the
 * outputs and gradients that they have alone; what was filled or came out lasts. */
static void test_programs_of_one_room_do_not_spoil_each_other(void **state)
{
    (void)state;
    static const int64_t sizes[] = {2, 3, 5, 2, 9, 3, 9, 1};
    const training_spec spec = {.net = {"cnn-small", 1, 28, 28, 10, NULL},
                                .batch = 4,
                                .optimizer = "sgd",
                                .rate = "0.1"};
    eg_program *alone, *shared[2];
    eg_room *room;
    training t;
    assert_ok(training_open(&t, &spec));
    const eg_params *table = eg_net_params(t.net);
    size_t n = eg_params_length(table);
    float *grad = calloc(2 * n, sizeof *grad); /* gaps between tensors stay zero */
    assert_non_null(grad);
    assert_ok(eg_room_new(&room));
    assert_ok(eg_program_new(room_record, t.net, 8, &alone));
    for (int k = 0; k < 2; k++) {
        assert_ok(eg_program_new(room_record, t.net, 8, &shared[k]));
        eg_program_share(shared[k], room);
        assert_ok(eg_program_bind(shared[k], table, t.value, grad, t.state));
    }
    assert_ok(eg_program_bind(alone, table, t.value, grad + n, t.state));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        eg_plan *other = plan_of(shared[1], 11 - sizes[i]);
        eg_plan *mine = plan_of(shared[0], sizes[i]), *own = plan_of(alone, sizes[i]);
        room_fill(mine, sizes[i]);
        room_fill(own, sizes[i]);
        room_fill(other, 11 - sizes[i]);
        assert_ok(eg_plan_run(other)); /* after the other's input was filled */
        assert_ok(eg_plan_run(mine));
        assert_ok(eg_plan_run(own));
        assert_memory_equal(grad, grad + n, n * sizeof *grad);
        assert_memory_equal(eg_plan_output(mine, "logits"), eg_plan_output(own, "logits"),
                            (size_t)sizes[i] * 10 * sizeof(float));
        assert_true(mine->memory != NULL && mine->kept < mine->bytes);
    }
    eg_program_free(alone);
    eg_program_free(shared[0]);
    eg_program_free(shared[1]);
    eg_room_free(room);
    free(grad);
    training_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_batch_size_is_recorded_once),
        cmocka_unit_test(test_the_least_recently_used_plan_goes_first),
        cmocka_unit_test(test_a_program_of_one_plan_keeps_the_last),
        cmocka_unit_test(test_binding_reaches_plans_there_are_and_those_to_come),
        cmocka_unit_test(test_plans_are_told_of_other_arrays_alone),
        cmocka_unit_test(test_what_cannot_be_is_said),
        cmocka_unit_test(test_batches_of_any_size_add_up),
        cmocka_unit_test(test_programs_of_one_room_do_not_spoil_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
