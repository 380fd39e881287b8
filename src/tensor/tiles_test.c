/* tiles_test.c - Winograd's F(4x4, 5x5), batch innermost, against the double form, with guarded
 * buffers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors are relative to the convolution of absolute values. An argument names the instruction
 * set to test.
 */
#include "conv_trial.h"

#include <stdio.h>

/* One tile and many, whole and cut, all paddings, odd channels; one sample and several vectors.
 */
static const shape shapes[] = {{32, 10, 12, 12, 20, 0, 5}, {1, 4, 5, 5, 4, 0, 5},
                               {2, 5, 4, 3, 6, 2, 5},      {3, 7, 8, 8, 11, 0, 5},
                               {2, 13, 9, 11, 9, 2, 5},    {17, 4, 6, 5, 21, 1, 5},
                               {33, 5, 7, 14, 5, 2, 5},    {5, 12, 13, 6, 10, 4, 5},
                               {70, 6, 10, 10, 7, 0, 5},   {1, 30, 20, 9, 16, 2, 5}};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static eg_status trial_conv(eg_plan *p, const eg_node *y, const eg_conv *c,
                            const eg_conv_nodes *nodes)
{
    assert_true(eg_tiles_can(c));
    return eg_tiles_conv(p, y, pass, c, nodes);
}

/* A gradient of weights that is a single product has nothing to drown the errors that come from
 * its neighbours, which the transforms mix in; the rule does not choose Winograd there. */
static bool is_single(const shape *s)
{
    return s->padding == 0 && s->n * (s->h - 4) * (s->w - 4) == 1;
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
    for (pass = EG_CONV_FORWARD; pass <= EG_CONV_BACK_WEIGHTS; pass++) {
        trial t;
        eg_plan *a, *b;
        trial_open(&t, &(shape){20, 6, 12, 13, 7, 1, 5}, false, false);
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

/* Whether the rule gives this layer to Winograd. */
static bool rule_takes(const shape *s)
{
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(s->n, s->ic, s->h, s->w));
    eg_node *w = eg_input(g, "w", eg_dims(s->oc, s->ic, 5, 5));
    eg_output(g, "y",
              eg_conv2d(g, x, w, NULL, (eg_window){.stride = 1, .padding = s->padding}));
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
    assert_true(rule_takes(&(shape){32, 10, 12, 12, 20, 0, 5}));
    assert_false(rule_takes(&(shape){32, 1, 28, 28, 10, 0, 5}));
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
        cmocka_unit_test(test_the_rule_takes_what_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
