/* few_test.c - gradients of convolutions on images of few channels, against the double form.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Buffers are guarded; errors are relative to the convolution of absolute values. An argument
 * names the instruction set to test.
 */
#include "conv_trial.h"

#include "isa.h"

/* One to four channels, all kinds of windows, strides and paddings, places that none meets. */
static const shape shapes[] = {
    {2, 1, 28, 28, 16, 3, 4, 2}, {3, 3, 32, 32, 32, 1, 4, 2}, {2, 1, 8, 8, 64, 1, 3, 1},
    {1, 2, 7, 9, 16, 2, 5, 1},   {2, 4, 5, 6, 48, 0, 3, 2},   {1, 3, 1, 1, 16, 1, 3, 1},
    {5, 1, 6, 5, 16, 0, 2, 3},   {2, 3, 9, 8, 80, 3, 7, 2},   {2, 1, 4, 4, 16, 0, 1, 2},
    {2, 3, 16, 17, 16, 1, 6, 4}, {1, 1, 3, 2, 16, 4, 4, 1},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static eg_status trial_conv(eg_plan *p, const eg_node *y, const eg_conv *c,
                            const eg_conv_nodes *nodes)
{
    assert_true(eg_few_can(eg_plan_kernels(p), c));
    return eg_few_conv(p, y, pass, c, nodes);
}

static void check_pass(eg_conv_pass which)
{
    pass = which;
    for (int i = 0; i < N_SHAPES; i++)
        for (fill how = 0; how < N_FILLS; how++) {
            trial t;
            trial_open(&t, &shapes[i], false, false);
            double gap = trial_gap(&t, how, (i + (int)how) % 2);
            if (!(gap <= 1e-5))
                fail_msg("shape %d, fill %d: off by %g", i, how, gap);
            eg_graph_free(t.g);
        }
}

static void test_back_data_agrees_with_the_double_form(void **state)
{
    (void)state;
    check_pass(EG_CONV_BACK_DATA);
}

static void test_back_weights_agree_with_the_double_form(void **state)
{
    (void)state;
    check_pass(EG_CONV_BACK_WEIGHTS);
}

/* A generator's last layer, and a critic's first with the gradient for its images. */
static void test_no_image_is_left_to_reference_code(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const shape *s = &shapes[i];
        eg_graph *g;
        eg_plan *plan;
        assert_ok(eg_graph_new(&g));
        eg_window win = {.stride = s->stride, .padding = s->padding};
        eg_node *x = eg_input(g, "x", eg_dims(s->n, s->ic, s->h, s->w));
        eg_node *w = eg_input(g, "w", eg_dims(s->oc, s->ic, s->taps, s->taps)), *d[2];
        eg_node *y = eg_conv2d(g, x, w, NULL, win);
        eg_gradients(g, eg_sum(g, eg_mul(g, y, y), EG_ALL_AXES), 2, (eg_node *[]){x, w}, d);
        eg_output(g, "dx", d[0]);
        eg_output(g, "dw", d[1]);
        assert_ok(eg_compile(g, &plan));
        for (size_t k = 0; k < eg_plan_n_steps(plan); k++)
            assert_int_not_equal(strncmp(eg_plan_step_info(plan, k).kernel, "ref", 3), 0);
        eg_plan_free(plan);
        eg_graph_free(g);
    }
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back_data_agrees_with_the_double_form),
        cmocka_unit_test(test_back_weights_agree_with_the_double_form),
        cmocka_unit_test(test_no_image_is_left_to_reference_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
