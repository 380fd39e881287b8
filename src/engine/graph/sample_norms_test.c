/* sample_norms_test.c - gradient norms of a whole batch against one backward pass per sample.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "engine/op/op.h"
#include "isa.h"
#include "training.h"

#include <stdio.h>

enum { BATCH = 11 };

/* A net with values, in its eval form, and a batch to look at. */
typedef struct subject {
    eg_net *net;
    const eg_params *table;
    float *value, *grad, *state;
    float *x, *labels;
    int64_t sample; /* floats of one */
} subject;

static void subject_open(subject *s, eg_net_spec spec)
{
    *s = (subject){.sample = spec.channels * spec.height * spec.width};
    assert_ok(eg_net_new(&spec, &s->net));
    s->table = eg_net_params(s->net);
    assert_ok(eg_params_alloc(s->table, &s->value));
    assert_ok(eg_params_alloc(s->table, &s->grad));
    assert_ok(eg_state_alloc(s->table, &s->state));
    eg_params_init(s->table, 9, s->value, s->state);
    eg_rng r = eg_rng_at(9, 1, 0, EG_FOR_TEST);
    for (size_t i = 0; i < eg_state_length(s->table); i++) /* away from mean 0, variance 1 */
        s->state[i] += (float)eg_rng_uniform(&r, 0.05, 0.5);
    s->x = calloc((size_t)(BATCH * s->sample), sizeof *s->x);
    s->labels = calloc(BATCH, sizeof *s->labels);
    assert_true(s->x && s->labels);
    for (int64_t i = 0; i < BATCH * s->sample; i++)
        s->x[i] = (float)eg_rng_normal(&r);
    for (int64_t i = 0; i < BATCH; i++)
        s->labels[i] = (float)eg_rng_below(&r, (uint64_t)spec.classes);
}

static void subject_close(subject *s)
{
    eg_net_free(s->net);
    free(s->value);
    free(s->grad);
    free(s->state);
    free(s->x);
    free(s->labels);
}

/* Records the losses [n] of n samples in the given form. */
static eg_node *record_losses(const subject *s, eg_graph *g, int64_t n, bool train)
{
    const eg_net_spec *spec = eg_net_spec_of(s->net);
    eg_graph_set_training(g, train);
    eg_node *x = eg_input(g, "x", eg_dims(n, spec->channels, spec->height, spec->width));
    eg_node *labels = eg_one_hot(g, eg_input(g, "labels", eg_dims(n)), spec->classes);
    return eg_cross_entropies(g, eg_net_forward(s->net, g, x), labels);
}

static void run_from(const subject *s, eg_plan *plan, int64_t from, int64_t n)
{
    memcpy(eg_plan_input(plan, "x"), s->x + from * s->sample,
           (size_t)(n * s->sample) * sizeof *s->x);
    memcpy(eg_plan_input(plan, "labels"), s->labels + from, (size_t)n * sizeof *s->labels);
    assert_ok(eg_plan_run(plan));
}

/* Squared norms of each sample's gradient, one backward pass each. */
static void norms_one_by_one(const subject *s, double *norms)
{
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_net_backward(s->net, g, eg_sum(g, record_losses(s, g, 1, false), EG_ALL_AXES));
    assert_ok(eg_compile(g, &plan));
    assert_ok(eg_plan_bind(plan, s->table, s->value, s->grad, s->state));
    for (int64_t i = 0; i < BATCH; i++) {
        run_from(s, plan, i, 1);
        norms[i] = 0;
        for (size_t j = 0; j < eg_params_length(s->table); j++)
            norms[i] += (double)s->grad[j] * (double)s->grad[j];
    }
    eg_plan_free(plan);
    eg_graph_free(g);
}

/* Which forms the convolutions of a plan take: by Gram matrices, by gradients. */
static void count_forms(const eg_plan *plan, int forms[2])
{
    for (size_t i = 0; i < eg_plan_n_steps(plan); i++) {
        eg_step_info t = eg_plan_step_info(plan, i);
        if (strcmp(t.op, eg_op_conv2d_sample_norms.name) == 0 && !t.reorder)
            forms[strcmp(t.kernel, "gram") != 0]++;
    }
}

static void check_norms(eg_net_spec spec, int forms[2])
{
    subject s;
    subject_open(&s, spec);
    double want[BATCH], worst = 0;
    norms_one_by_one(&s, want);
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_output(g, "norms", eg_sample_norms(g, record_losses(&s, g, BATCH, false), s.table));
    assert_ok(eg_compile(g, &plan));
    assert_ok(eg_plan_bind(plan, s.table, s.value, NULL, s.state));
    run_from(&s, plan, 0, BATCH);
    for (int i = 0; i < BATCH; i++) {
        double have = (double)eg_plan_output(plan, "norms")[i];
        double gap = fabs(have - want[i]) / want[i];
        worst = gap > worst || isnan(gap) ? gap : worst;
    }
    print_message("%s at %lldx%lld: off by %.1e\n", spec.model, (long long)spec.height,
                  (long long)spec.width, worst);
    assert_near(worst, 0, 1e-4);
    count_forms(plan, forms);
    eg_plan_free(plan);
    eg_graph_free(g);
    subject_close(&s);
}

static void test_norms_of_a_batch_are_those_of_its_samples(void **state)
{
    (void)state;
    static const eg_net_spec specs[] = {
        {"mlp", 1, 28, 28, 10, NULL, 0, NULL, NULL},
        {"mlp", 2, 3, 3, 5, "depth=0", 0, NULL, NULL},
        {"cnn", 1, 28, 28, 10, NULL, 0, NULL, NULL},
        {"cnn", 3, 8, 8, 10, NULL, 0, NULL, NULL}, /* few places: by Gram matrices */
        {"cnn-small", 1, 28, 28, 10, NULL, 0, NULL, NULL},
        {"resnet18-thin", 3, 16, 16, 10, NULL, 0, NULL, NULL},
        {"resnet18-thin", 1, 9, 7, 3, NULL, 0, NULL, NULL},
    };
    int forms[2] = {0};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        check_norms(specs[i], forms);
    print_message("convolutions: %d by Gram matrices, %d by gradients\n", forms[0], forms[1]);
    assert_true(forms[0] >= 4 && forms[1] >= 4);
}

static void test_the_training_form_of_batch_norm_is_refused(void **state)
{
    (void)state;
    subject s;
    subject_open(&s, (eg_net_spec){"resnet18-thin", 3, 8, 8, 4, NULL, 0, NULL, NULL});
    eg_graph *g;
    assert_ok(eg_graph_new(&g));
    eg_output(g, "norms", eg_sample_norms(g, record_losses(&s, g, 4, true), s.table));
    assert_fails(eg_graph_status(g), EG_ENOTSUP,
                 "sample norms: batch_norm has no gradient per sample for 'bn1.weight'");
    eg_graph_free(g);
    subject_close(&s);
}

static void test_a_tensor_used_twice_is_refused(void **state)
{
    (void)state;
    subject s;
    subject_open(&s, (eg_net_spec){"mlp", 1, 3, 3, 4, NULL, 0, NULL, NULL});
    eg_graph *g;
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(5, 1, 3, 3)),
            *y = eg_input(g, "y", eg_dims(5, 1, 3, 3));
    eg_node *both = eg_mul(g, eg_net_forward(s.net, g, x), eg_net_forward(s.net, g, y));
    eg_sample_norms(g, eg_reshape(g, eg_sum(g, both, EG_AXIS(1)), eg_dims(5)), s.table);
    assert_fails(eg_graph_status(g), EG_ENOTSUP, "'fc1.weight' is used 2 times");
    eg_graph_free(g);
    subject_close(&s);
}

static void test_losses_must_be_one_a_sample(void **state)
{
    (void)state;
    subject s;
    subject_open(&s, (eg_net_spec){"mlp", 1, 3, 3, 4, NULL, 0, NULL, NULL});
    eg_graph *g;
    assert_ok(eg_graph_new(&g));
    eg_sample_norms(g, eg_sum(g, record_losses(&s, g, 5, false), EG_ALL_AXES), s.table);
    assert_fails(eg_graph_status(g), EG_ESHAPE, "rank 0, not 1");
    eg_graph_free(g);
    subject_close(&s);
}

/* Three rows per sample: their gradients add up before the norm is taken. */
static void test_several_rows_a_sample_are_refused(void **state)
{
    (void)state;
    eg_graph *g;
    eg_params *table;
    assert_ok(eg_graph_new(&g));
    assert_ok(eg_params_new(&table));
    eg_node *w = eg_param(g, table, "w", eg_dims(2, 7), (eg_init){0});
    eg_node *rows = eg_linear(g, eg_input(g, "x", eg_dims(5 * 3, 7)), w, NULL);
    eg_node *sums = eg_sum(g, eg_reshape(g, rows, eg_dims(5, 6)), EG_AXIS(1));
    eg_sample_norms(g, eg_reshape(g, sums, eg_dims(5)), table);
    assert_fails(eg_graph_status(g), EG_ENOTSUP, "'w' meets 15 rows for 5 samples");
    eg_graph_free(g);
    eg_params_free(table);
}

/* |c dL|^2 = c^2 |dL|^2, each sample by its own factor; an unused tensor adds nothing. */
static void test_norms_grow_with_the_square_of_a_sample_s_weight(void **state)
{
    (void)state;
    subject s;
    subject_open(&s, (eg_net_spec){"mlp", 1, 3, 3, 4, NULL, 0, NULL, NULL});
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_node *losses = record_losses(&s, g, BATCH, false);
    eg_node *weighted = eg_mul(g, losses, eg_input(g, "weights", eg_dims(BATCH)));
    eg_output(g, "plain", eg_sample_norms(g, losses, s.table));
    eg_output(g, "weighted", eg_sample_norms(g, weighted, s.table));
    eg_params *other;
    assert_ok(eg_params_new(&other));
    eg_param(g, other, "unused", eg_dims(3), (eg_init){0});
    eg_output(g, "none", eg_sample_norms(g, losses, other));
    assert_ok(eg_compile(g, &plan));
    assert_ok(eg_plan_bind(plan, s.table, s.value, NULL, s.state));
    for (int i = 0; i < BATCH; i++)
        eg_plan_input(plan, "weights")[i] = (float)i;
    run_from(&s, plan, 0, BATCH);
    for (int i = 0; i < BATCH; i++) {
        double want = i * i * (double)eg_plan_output(plan, "plain")[i];
        assert_near((double)eg_plan_output(plan, "weighted")[i], want, 1e-5 * (1 + want));
        assert_true(eg_plan_output(plan, "none")[i] == 0);
    }
    eg_plan_free(plan);
    eg_graph_free(g);
    eg_params_free(other);
    subject_close(&s);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms_of_a_batch_are_those_of_its_samples),
        cmocka_unit_test(test_the_training_form_of_batch_norm_is_refused),
        cmocka_unit_test(test_a_tensor_used_twice_is_refused),
        cmocka_unit_test(test_losses_must_be_one_a_sample),
        cmocka_unit_test(test_several_rows_a_sample_are_refused),
        cmocka_unit_test(test_norms_grow_with_the_square_of_a_sample_s_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
