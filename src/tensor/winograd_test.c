/* winograd_test.c - Winograd's convolutions against the double form, with guarded buffers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors are relative to the convolution of absolute values. An argument names the instruction
 * set to test.
 */
#include "conv_trial.h"

#include "tensor/dnnl.h"

#include <stdio.h>

/* One tile and many, whole and cut, all paddings; the last ones of each size cut filters into
 * pieces. */
static const shape shapes[] = {
    {1, 16, 4, 4, 16, 1, 3},   {1, 16, 3, 3, 32, 1, 3},   {1, 16, 1, 1, 16, 1, 3},
    {2, 32, 7, 7, 48, 1, 3},   {3, 48, 5, 9, 16, 1, 3},   {1, 64, 14, 14, 32, 1, 3},
    {2, 16, 13, 6, 64, 0, 3},  {1, 32, 3, 3, 32, 0, 3},   {2, 16, 2, 11, 80, 2, 3},
    {3, 64, 8, 8, 64, 1, 3},   {1, 16, 40, 44, 16, 1, 3}, {1, 256, 4, 4, 272, 1, 3},
    {2, 272, 5, 3, 256, 1, 3}, {1, 16, 4, 4, 16, 2, 5},   {1, 16, 5, 5, 32, 2, 5},
    {1, 16, 1, 1, 16, 2, 5},   {2, 32, 7, 7, 48, 2, 5},   {2, 48, 6, 9, 16, 1, 5},
    {2, 32, 14, 14, 64, 2, 5}, {2, 16, 13, 7, 48, 0, 5},  {1, 32, 5, 5, 32, 0, 5},
    {1, 16, 3, 10, 80, 3, 5},  {1, 16, 2, 4, 16, 4, 5},   {2, 16, 22, 21, 16, 2, 5},
    {1, 256, 3, 3, 272, 2, 5},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* Whether oneDNN computes the pass instead. */
static bool by_dnnl;

static eg_status trial_conv(eg_plan *p, const eg_node *y, const eg_conv *c,
                            const eg_conv_nodes *nodes)
{
    assert_true(eg_winograd_can(eg_plan_kernels(p), c));
    return (by_dnnl ? eg_dnnl_conv : eg_winograd_conv)(p, y, pass, c, nodes);
}

/* Places of the result at which the first tap sees the image, along one side. */
static int64_t first_tap_sees(int64_t size, const shape *s)
{
    int64_t out = size + 2 * s->padding - s->taps + 1, end = size + s->padding;
    return (out < end ? out : end) - s->padding;
}

/* A gradient of weights that is a single product, or none, has nothing to drown the errors that
 * come from its neighbours, which the transforms mix in; the rule does not choose Winograd
 * there. */
static bool is_single(const shape *s)
{
    int64_t rows = first_tap_sees(s->h, s), cols = first_tap_sees(s->w, s);
    return rows <= 0 || cols <= 0 || s->n * rows * cols <= 1;
}

static void check_pass(eg_conv_pass which, bool bias, bool relu)
{
    static const char *const names[] = {"random", "mean 1000", "1e-3", "alternating"};
    double worst[N_FILLS] = {0};
    pass = which;
    for (int i = 0; i < N_SHAPES; i++)
        for (fill how = 0; how < N_FILLS; how++) {
            if (which == EG_CONV_BACK_WEIGHTS && is_single(&shapes[i]))
                continue;
            trial t;
            trial_open(&t, &shapes[i], bias, relu);
            double gap = trial_gap(&t, how, (i + (int)how) % 2);
            if (!(gap <= 1e-4))
                fail_msg("shape %d, %s: off by %g", i, names[how], gap);
            worst[how] = fmax(worst[how], gap);
            eg_graph_free(t.g);
        }
    for (fill how = 0; how < N_FILLS; how++)
        print_message("%s: %.2g\n", names[how], worst[how]);
}

static void test_forward_agrees_with_the_double_form(void **state)
{
    (void)state;
    check_pass(EG_CONV_FORWARD, false, false);
}

static void test_bias_and_relu_are_taken_in(void **state)
{
    (void)state;
    check_pass(EG_CONV_FORWARD, true, true);
}

static void test_back_data_agrees_with_the_double_form(void **state)
{
    (void)state;
    check_pass(EG_CONV_BACK_DATA, false, false);
}

static void test_back_weights_agree_with_the_double_form(void **state)
{
    (void)state;
    check_pass(EG_CONV_BACK_WEIGHTS, false, false);
}

static void test_two_plans_give_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        trial t;
        eg_plan *a, *b;
        pass = (eg_conv_pass)(i % 3);
        trial_open(&t, &(shape){3, 64, 19, 21, 64, 1, i < 3 ? 3 : 5}, false, false);
        assert_ok(eg_compile(t.g, &a));
        assert_ok(eg_compile(t.g, &b));
        trial_fill(&t, a, RANDOM);
        trial_fill(&t, b, RANDOM);
        assert_ok(eg_plan_run(a));
        assert_ok(eg_plan_run(b));
        assert_memory_equal(eg_plan_output(a, "out"), eg_plan_output(b, "out"),
                            (size_t)eg_shape_size(t.out->shape) * sizeof(float));
        eg_plan_free(a);
        eg_plan_free(b);
        eg_graph_free(t.g);
    }
}

/* The check must see an error: a relu that the double form does not have. */
static void test_a_wrong_result_is_seen(void **state)
{
    (void)state;
    trial t;
    pass = EG_CONV_FORWARD;
    trial_open(&t, &shapes[2], false, true);
    t.out = t.y;
    assert_true(trial_gap(&t, RANDOM, true) > 1e-2);
    eg_graph_free(t.g);
}

static void test_onednn_agrees_under_the_same_check(void **state)
{
    (void)state;
    by_dnnl = true;
    for (pass = EG_CONV_FORWARD; pass <= EG_CONV_BACK_WEIGHTS; pass++) {
        trial t;
        for (int i = 8; i < N_SHAPES; i += 12) { /* one of each size */
            trial_open(&t, &shapes[i], false, false);
            assert_true(trial_gap(&t, LARGE_MEAN, true) <= 1e-5);
            eg_graph_free(t.g);
        }
    }
    by_dnnl = false;
}

/* Whether the rule gives this layer to Winograd. */
static bool rule_takes(const shape *s)
{
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(s->n, s->ic, s->h, s->w));
    eg_node *w = eg_input(g, "w", eg_dims(s->oc, s->ic, s->taps, s->taps));
    eg_window win = {.stride = 1, .padding = s->padding};
    eg_output(g, "y", eg_conv2d(g, x, w, NULL, win));
    assert_ok(eg_compile(g, &plan));
    bool found = false;
    for (size_t i = 0; i < eg_plan_n_steps(plan); i++)
        found |= strcmp(eg_plan_step_info(plan, i).kernel, "winograd") == 0;
    eg_plan_free(plan);
    eg_graph_free(g);
    return found;
}

static void test_the_rule_takes_what_pays(void **state)
{
    (void)state;
    assert_true(rule_takes(&(shape){32, 64, 32, 32, 64, 1, 3}));
    assert_true(rule_takes(&(shape){32, 512, 4, 4, 512, 1, 3}));
    assert_true(rule_takes(&(shape){32, 32, 14, 14, 64, 2, 5}));
    assert_false(rule_takes(&(shape){32, 64, 1, 1, 64, 1, 3}));
    assert_false(rule_takes(&(shape){32, 3, 32, 32, 64, 1, 3}));
    assert_false(rule_takes(&(shape){32, 32, 3, 3, 64, 2, 5}));
    assert_false(rule_takes(&(shape){32, 1, 28, 28, 32, 2, 5}));
    assert_false(rule_takes(&(shape){32, 32, 14, 14, 64, 3, 7}));
}

int main(int argc, char **argv)
{
    if (argc > 1 && eg_isa_set(argv[1]) != EG_OK) {
        printf("not tested here: %s\n", eg_error());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_agrees_with_the_double_form),
        cmocka_unit_test(test_bias_and_relu_are_taken_in),
        cmocka_unit_test(test_back_data_agrees_with_the_double_form),
        cmocka_unit_test(test_back_weights_agree_with_the_double_form),
        cmocka_unit_test(test_two_plans_give_the_same_bits),
        cmocka_unit_test(test_a_wrong_result_is_seen),
        cmocka_unit_test(test_onednn_agrees_under_the_same_check),
        cmocka_unit_test(test_the_rule_takes_what_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
