/* plan_run_test.c - a plan at work: arrays bound and bound again, nothing allocated in a run.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The linker leads the allocations of our own objects, and of these alone, to the counters here
 * (--wrap, see cmake/tests.cmake): what oneDNN and OpenMP allocate is not counted.
 */
#include "test.h"

#include "engine/op/op.h"
#include "training.h"

#include <engram/program.h>

#include <stdio.h>

static long n_calls; /* of any function that takes or gives back memory */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
int __real_posix_memalign(void **p, size_t align, size_t n);
void __real_free(void *p);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
int __wrap_posix_memalign(void **p, size_t align, size_t n);
void __wrap_free(void *p);

void *__wrap_malloc(size_t n)
{
    n_calls++;
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    n_calls++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    n_calls++;
    return __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    n_calls++;
    return __real_aligned_alloc(align, n);
}

int __wrap_posix_memalign(void **p, size_t align, size_t n)
{
    n_calls++;
    return __real_posix_memalign(p, align, n);
}

void __wrap_free(void *p)
{
    n_calls++;
    __real_free(p);
}

static training_spec spec_of(const char *model, const char *optimizer)
{
    int64_t side = strncmp(model, "resnet", 6) == 0 ? 16 : 28;
    return (training_spec){.net = training_images(model, side),
                           .batch = 8,
                           .optimizer = optimizer,
                           .rate = "0.001",
                           .seed = 4};
}

static void check_steps_allocate_nothing(const char *model, const char *optimizer)
{
    const training_spec spec = spec_of(model, optimizer);
    training t;
    long before = n_calls;
    assert_ok(training_open(&t, &spec));
    assert_true(n_calls - before > 10); /* the counters see what a plan is made of */
    before = n_calls;
    for (int i = 0; i < 3; i++) { /* the first run settles the bindings */
        assert_ok(training_step(&t));
        assert_ok(eg_plan_bind(t.plan, eg_net_params(t.net), t.value, t.grad, t.state));
        eg_plan_set_timing(t.plan, i == 1);
    }
    if (n_calls != before)
        fail_msg("%s with %s: %ld allocations in three steps", model, optimizer,
                 n_calls - before);
    training_close(&t);
}

static void test_a_training_step_of_any_model_allocates_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; eg_models[i]; i++)
        check_steps_allocate_nothing(eg_models[i]->component.name, "sgd");
}

static void test_a_step_of_any_optimiser_allocates_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; eg_optims[i]; i++)
        check_steps_allocate_nothing("mlp", eg_optims[i]->component.name);
}

static void record_norms(void *context, eg_graph *g, int64_t batch)
{
    const eg_net *net = context;
    const eg_net_spec *s = eg_net_spec_of(net);
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(batch, s->channels, s->height, s->width));
    eg_node *labels = eg_one_hot(g, eg_input(g, "labels", eg_dims(batch)), s->classes);
    eg_node *losses = eg_cross_entropies(g, eg_net_forward(net, g, x), labels);
    eg_output(g, "norms", eg_sample_norms(g, losses, eg_net_params(net)));
}

static void test_cached_plans_and_sample_norms_allocate_nothing(void **state)
{
    (void)state;
    const training_spec spec = spec_of("resnet18-thin", "sgd");
    training t;
    eg_program *program;
    eg_plan *plan;
    assert_ok(training_open(&t, &spec));
    assert_ok(eg_program_new(record_norms, t.net, 2, &program));
    assert_ok(eg_program_bind(program, eg_net_params(t.net), t.value, NULL, t.state));
    assert_ok(eg_program_plan(program, 4, &plan));
    assert_ok(eg_program_plan(program, 3, &plan));
    long before = n_calls;
    for (int64_t i = 0; i < 4; i++) {
        assert_ok(eg_program_plan(program, 3 + i % 2, &plan));
        assert_ok(eg_plan_run(plan));
    }
    assert_int_equal(n_calls, before);
    eg_program_free(program);
    training_close(&t);
}

/* The count must see an op that does allocate while it runs. */
static eg_status greedy_run(const eg_step *s)
{
    float *copy = malloc(s->out[0]->bytes);
    if (!copy)
        return eg_fail(EG_ENOMEM, "no memory");
    memcpy(copy, s->in[0]->data, s->out[0]->bytes);
    memcpy(s->out[0]->data, copy, s->out[0]->bytes);
    free(copy);
    return EG_OK;
}

static eg_status greedy_emit(eg_plan *p, const eg_node *y)
{
    eg_value *x = eg_plan_read(p, y->in[0], EG_ROWMAJOR),
             *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_step(p, y, greedy_run, 1, &x, 1, &out) ? EG_OK : EG_ENOMEM;
}

static const eg_op op_greedy = {.name = "greedy", .emit = greedy_emit};

static void test_an_op_that_allocates_is_seen(void **state)
{
    (void)state;
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(5));
    eg_output(g, "y", eg_graph_record1(g, &op_greedy, x->shape, x));
    assert_ok(eg_compile(g, &plan));
    long before = n_calls;
    assert_ok(eg_plan_run(plan));
    assert_int_equal(n_calls - before, 2);
    eg_plan_free(plan);
    eg_graph_free(g);
}

/* loss = sum((a x + b)^2) with a of one table and b of another. */
typedef struct two_tables {
    eg_graph *g;
    eg_params *first, *second;
    eg_plan *plan;
} two_tables;

static void two_open(two_tables *t)
{
    assert_ok(eg_graph_new(&t->g));
    assert_ok(eg_params_new(&t->first));
    assert_ok(eg_params_new(&t->second));
    eg_node *a = eg_param(t->g, t->first, "slope", eg_dims(3), (eg_init){0});
    eg_node *b = eg_state(t->g, t->second, "offset", eg_dims(3), (eg_init){0});
    eg_node *y = eg_add(t->g, eg_mul(t->g, a, eg_input(t->g, "x", eg_dims(3))), b);
    eg_output(t->g, "y", y);
    eg_backward(t->g, eg_sum(t->g, eg_mul(t->g, y, y), EG_ALL_AXES), t->first);
    assert_ok(eg_compile(t->g, &t->plan));
    for (int i = 0; i < 3; i++)
        eg_plan_input(t->plan, "x")[i] = (float)(i + 1);
}

static void two_close(two_tables *t)
{
    eg_plan_free(t->plan);
    eg_graph_free(t->g);
    eg_params_free(t->first);
    eg_params_free(t->second);
}

static void test_a_table_that_is_not_bound_is_named(void **state)
{
    (void)state;
    two_tables t;
    two_open(&t);
    float value[16] = {0}, grad[16] = {0}, offset[16] = {0};
    assert_fails(eg_plan_run(t.plan), EG_EINVAL, "'slope'");
    assert_fails(eg_plan_bind(t.plan, t.first, value, NULL, NULL), EG_EINVAL, "'slope'");
    assert_fails(eg_plan_bind(t.plan, t.first, NULL, grad, NULL), EG_EINVAL, "'slope'");
    assert_ok(eg_plan_bind(t.plan, t.first, value, grad, NULL));
    assert_fails(eg_plan_run(t.plan), EG_EINVAL, "'offset'");
    assert_fails(eg_plan_bind(t.plan, t.second, value, grad, NULL), EG_EINVAL, "'offset'");
    assert_ok(eg_plan_bind(t.plan, t.second, NULL, NULL, offset));
    assert_ok(eg_plan_run(t.plan));
    assert_null(eg_plan_input(t.plan, "z"));
    assert_null(eg_plan_output(t.plan, "x"));
    two_close(&t);
}

static void test_plan_tells_the_shapes_of_inputs_and_outputs(void **state)
{
    (void)state;
    eg_graph *g;
    eg_plan *p;
    eg_shape shape;
    assert_ok(eg_graph_new(&g));
    eg_output(g, "y", eg_reshape(g, eg_input(g, "x", eg_dims(2, 3)), eg_dims(6)));
    assert_ok(eg_compile(g, &p));
    assert_true(eg_plan_shape(p, "x", &shape) && eg_shape_equal(shape, eg_dims(2, 3)));
    assert_true(eg_plan_shape(p, "y", &shape) && eg_shape_equal(shape, eg_dims(6)));
    assert_false(eg_plan_shape(p, "z", &shape));
    eg_plan_free(p);
    eg_graph_free(g);
}

static void test_graph_that_was_failed_says_why(void **state)
{
    (void)state;
    eg_graph *g;
    eg_plan *p;
    assert_ok(eg_graph_new(&g));
    eg_fail(EG_EINVAL, "of one's own: no");
    eg_output(g, "y", eg_add(g, eg_graph_fail(g, EG_EINVAL), eg_input(g, "x", eg_dims(2))));
    assert_fails(eg_compile(g, &p), EG_EINVAL, "of one's own: no");
    eg_graph_free(g);
}

static void test_other_arrays_give_other_results(void **state)
{
    (void)state;
    two_tables t;
    two_open(&t);
    float value[2][16] = {{1, 2, 3}, {-4, 5, 0}}, grad[2][16], offset[16] = {1, 1, 1};
    assert_ok(eg_plan_bind(t.plan, t.second, NULL, NULL, offset));
    for (int turn = 0; turn < 4; turn++) {
        float *w = value[turn % 2], *d = grad[turn % 2], *other = grad[(turn + 1) % 2];
        for (int i = 0; i < 16; i++)
            d[i] = other[i] = 99;
        offset[0] = (float)turn; /* a bound array is read at each run */
        assert_ok(eg_plan_bind(t.plan, t.first, w, d, NULL));
        assert_ok(eg_plan_run(t.plan));
        for (int i = 0; i < 3; i++) {
            float y = w[i] * (float)(i + 1) + offset[i];
            assert_true(eg_plan_output(t.plan, "y")[i] == y);
            assert_true(d[i] == 2 * y * (float)(i + 1) && other[i] == 99);
        }
    }
    two_close(&t);
}

/* Convolutions keep handles to their arrays: these must follow, in every model. */
static void check_rebinding(const char *model)
{
    const training_spec spec = spec_of(model, "sgd");
    training t;
    assert_ok(training_open(&t, &spec));
    const eg_params *p = eg_net_params(t.net);
    float *other = NULL, *grad = NULL, *moved = NULL, loss[3];
    assert_ok(eg_params_alloc(p, &other));
    assert_ok(eg_params_alloc(p, &grad));
    assert_ok(eg_state_alloc(p, &moved));
    eg_params_init(p, 77, other, moved);
    for (int turn = 0; turn < 3; turn++) {
        bool second = turn == 1;
        assert_ok(eg_plan_bind(t.plan, p, second ? other : t.value, second ? grad : t.grad,
                               second ? moved : t.state));
        assert_ok(eg_plan_run(t.plan));
        loss[turn] = *eg_plan_output(t.plan, "loss");
    }
    assert_true(loss[0] == loss[2] && loss[0] != loss[1]);
    assert_memory_not_equal(grad, t.grad, t.length * sizeof *grad);
    /* The other arrays' values in the first arrays are the same computation. */
    memcpy(t.value, other, t.length * sizeof *other);
    assert_ok(eg_plan_run(t.plan));
    assert_true(*eg_plan_output(t.plan, "loss") == loss[1]);
    assert_memory_equal(grad, t.grad, t.length * sizeof *grad);
    free(other);
    free(grad);
    free(moved);
    training_close(&t);
}

static void test_models_follow_the_arrays_they_are_bound_to(void **state)
{
    (void)state;
    for (size_t i = 0; eg_models[i]; i++)
        check_rebinding(eg_models[i]->component.name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_op_that_allocates_is_seen),
        cmocka_unit_test(test_a_training_step_of_any_model_allocates_nothing),
        cmocka_unit_test(test_a_step_of_any_optimiser_allocates_nothing),
        cmocka_unit_test(test_cached_plans_and_sample_norms_allocate_nothing),
        cmocka_unit_test(test_a_table_that_is_not_bound_is_named),
        cmocka_unit_test(test_plan_tells_the_shapes_of_inputs_and_outputs),
        cmocka_unit_test(test_graph_that_was_failed_says_why),
        cmocka_unit_test(test_other_arrays_give_other_results),
        cmocka_unit_test(test_models_follow_the_arrays_they_are_bound_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
