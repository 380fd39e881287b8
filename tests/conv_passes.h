/* conv_passes.h - the tests that every kernel of convolutions by Winograd passes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_CONV_PASSES_H
#define EG_TEST_CONV_PASSES_H

#include "conv_trial.h"

#include <stdio.h>

/* The shapes of the including test. Of those that are single, a gradient of weights is one
 * product or none: it has nothing to drown the errors that come from its neighbours, which
 * Winograd's transforms mix in, and the rule does not choose Winograd there. */
static const shape *trial_shapes(int *n);
static bool trial_is_single(const shape *s);

static void trial_pass(eg_conv_pass which, bool bias, bool relu)
{
    static const char *const names[] = {"random", "mean 1000", "1e-3", "alternating"};
    double worst[N_FILLS] = {0};
    int n;
    const shape *shapes = trial_shapes(&n);
    pass = which;
    for (int i = 0; i < n; i++)
        for (fill how = 0; how < N_FILLS; how++) {
            if (which == EG_CONV_BACK_WEIGHTS && trial_is_single(&shapes[i]))
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
    trial_pass(EG_CONV_FORWARD, false, false);
}

static void test_bias_and_relu_are_taken_in(void **state)
{
    (void)state;
    trial_pass(EG_CONV_FORWARD, true, true);
}

static void test_back_data_agrees_with_the_double_form(void **state)
{
    (void)state;
    trial_pass(EG_CONV_BACK_DATA, false, false);
}

static void test_back_weights_agree_with_the_double_form(void **state)
{
    (void)state;
    trial_pass(EG_CONV_BACK_WEIGHTS, false, false);
}

/* The check must see an error: a relu that the double form does not have. */
static void test_a_wrong_result_is_seen(void **state)
{
    (void)state;
    trial t;
    int n;
    pass = EG_CONV_FORWARD;
    trial_open(&t, &trial_shapes(&n)[2], false, true);
    t.out = t.y;
    assert_true(trial_gap(&t, RANDOM, true) > 1e-2);
    eg_graph_free(t.g);
}

/* Two plans of one pass must give the same bits. */
static void trial_twice(const shape *s)
{
    trial t;
    eg_plan *a, *b;
    trial_open(&t, s, false, false);
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

/* Whether the plan's rule gives this layer to Winograd. */
static bool trial_rule_takes(const shape *s)
{
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(s->n, s->ic, s->h, s->w));
    eg_node *w = eg_input(g, "w", eg_dims(s->oc, s->ic, s->taps, s->taps));
    eg_window win = {.stride = s->stride, .padding = s->padding};
    eg_output(g, "y", eg_conv2d(g, x, w, NULL, win));
    assert_ok(eg_compile(g, &plan));
    bool found = false;
    for (size_t i = 0; i < eg_plan_n_steps(plan); i++)
        found |= strcmp(eg_plan_step_info(plan, i).kernel, "winograd") == 0;
    eg_plan_free(plan);
    eg_graph_free(g);
    return found;
}

/* An argument of the test names the instruction set. */
static int trial_choose_isa(int argc, char **argv)
{
    if (argc < 2 || eg_isa_set(argv[1]) == EG_OK)
        return 0;
    printf("not tested here: %s\n", eg_error());
    return 77;
}

#endif
