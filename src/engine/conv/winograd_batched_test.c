/* winograd_batched_test.c - Winograd with the batch innermost against the double form.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Buffers are guarded; errors are relative to the convolution of absolute values. An argument
 * names the instruction set to test.
 */
#include "conv_passes.h"

/* One tile and many, whole and cut, all paddings, odd channels; one sample and several vectors.
 */
static const shape shapes[] = {{32, 10, 12, 12, 20, 0, 5, 1}, {1, 4, 5, 5, 4, 0, 5, 1},
                               {2, 5, 4, 3, 6, 2, 5, 1},      {3, 7, 8, 8, 11, 0, 5, 1},
                               {2, 13, 9, 11, 9, 2, 5, 1},    {17, 4, 6, 5, 21, 1, 5, 1},
                               {33, 5, 7, 14, 5, 2, 5, 1},    {5, 12, 13, 6, 10, 4, 5, 1},
                               {70, 6, 10, 10, 7, 0, 5, 1},   {1, 30, 20, 9, 16, 2, 5, 1}};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static const shape *trial_shapes(int *n)
{
    *n = N_SHAPES;
    return shapes;
}

static eg_status trial_conv(eg_plan *p, const eg_node *y, const eg_conv *c,
                            const eg_conv_nodes *nodes)
{
    assert_true(eg_winograd_batched_can(c));
    return eg_winograd_batched_conv(p, y, pass, c, nodes);
}

static bool trial_is_single(const shape *s)
{
    return s->padding == 0 && s->n * (s->h - 4) * (s->w - 4) == 1;
}

static void test_two_plans_give_the_same_bits(void **state)
{
    (void)state;
    for (pass = EG_CONV_FORWARD; pass <= EG_CONV_BACK_WEIGHTS; pass++)
        trial_twice(&(shape){20, 6, 12, 13, 7, 1, 5, 1});
}

static void test_the_rule_takes_what_pays(void **state)
{
    (void)state;
    assert_true(trial_rule_takes(&(shape){32, 10, 12, 12, 20, 0, 5, 1}));
    assert_false(trial_rule_takes(&(shape){32, 1, 28, 28, 10, 0, 5, 1}));
}

int main(int argc, char **argv)
{
    int skip = trial_choose_isa(argc, argv);
    if (skip)
        return skip;
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
