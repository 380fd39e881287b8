/* winograd_test.c - Winograd's convolutions against the double form, with guarded buffers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors are relative to the convolution of absolute values. An argument names the instruction
 * set to test.
 */
#include "conv_passes.h"

#include "engine/graph/dnnl.h"

/* One tile and many, whole and cut, all paddings; the last ones of each size cut filters into
 * pieces. The same for 4x4 and 3x3 windows of stride 2. */
static const shape shapes[] = {
    {1, 16, 4, 4, 16, 1, 3, 1},   {1, 16, 3, 3, 32, 1, 3, 1},   {1, 16, 1, 1, 16, 1, 3, 1},
    {2, 32, 7, 7, 48, 1, 3, 1},   {3, 48, 5, 9, 16, 1, 3, 1},   {1, 64, 14, 14, 32, 1, 3, 1},
    {2, 16, 13, 6, 64, 0, 3, 1},  {1, 32, 3, 3, 32, 0, 3, 1},   {2, 16, 2, 11, 80, 2, 3, 1},
    {3, 64, 8, 8, 64, 1, 3, 1},   {1, 16, 40, 44, 16, 1, 3, 1}, {1, 256, 4, 4, 272, 1, 3, 1},
    {2, 272, 5, 3, 256, 1, 3, 1}, {1, 16, 4, 4, 16, 2, 5, 1},   {1, 16, 5, 5, 32, 2, 5, 1},
    {1, 16, 1, 1, 16, 2, 5, 1},   {2, 32, 7, 7, 48, 2, 5, 1},   {2, 48, 6, 9, 16, 1, 5, 1},
    {2, 32, 14, 14, 64, 2, 5, 1}, {2, 16, 13, 7, 48, 0, 5, 1},  {1, 32, 5, 5, 32, 0, 5, 1},
    {1, 16, 3, 10, 80, 3, 5, 1},  {1, 16, 2, 4, 16, 4, 5, 1},   {2, 16, 22, 21, 16, 2, 5, 1},
    {1, 256, 3, 3, 272, 2, 5, 1}, {1, 16, 8, 8, 16, 1, 4, 2},   {2, 32, 16, 16, 48, 1, 4, 2},
    {3, 16, 7, 9, 32, 1, 4, 2},   {1, 16, 4, 4, 16, 1, 4, 2},   {2, 16, 12, 10, 16, 0, 4, 2},
    {2, 48, 9, 6, 16, 2, 4, 2},   {1, 16, 10, 11, 32, 3, 4, 2}, {2, 16, 6, 5, 16, 3, 4, 2},
    {1, 16, 4, 6, 16, 0, 4, 2},   {1, 128, 8, 8, 144, 1, 4, 2}, {2, 144, 7, 8, 128, 2, 4, 2},
    {3, 16, 40, 38, 16, 1, 4, 2}, {1, 16, 8, 8, 16, 1, 3, 2},   {2, 32, 16, 16, 48, 1, 3, 2},
    {3, 16, 7, 9, 32, 1, 3, 2},   {1, 16, 2, 3, 80, 1, 3, 2},   {1, 16, 1, 1, 16, 1, 3, 2},
    {2, 48, 10, 6, 16, 1, 3, 2},  {2, 16, 5, 18, 64, 1, 3, 2},  {1, 64, 14, 14, 32, 1, 3, 2},
    {1, 128, 8, 8, 144, 1, 3, 2}, {2, 144, 7, 8, 128, 1, 3, 2}, {3, 16, 40, 38, 16, 1, 3, 2},
    {5, 80, 33, 31, 48, 1, 3, 2},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static const shape *trial_shapes(int *n)
{
    *n = N_SHAPES;
    return shapes;
}

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
    int64_t out = eg_window_count(size, s->taps, s->stride, s->padding), seen = 0;
    for (int64_t i = 0; i < out; i++)
        seen += i * s->stride >= s->padding && i * s->stride - s->padding < size;
    return seen;
}

static bool trial_is_single(const shape *s)
{
    int64_t rows = first_tap_sees(s->h, s), cols = first_tap_sees(s->w, s);
    return rows <= 0 || cols <= 0 || s->n * rows * cols <= 1;
}

static void test_two_plans_give_the_same_bits(void **state)
{
    (void)state;
    for (pass = EG_CONV_FORWARD; pass <= EG_CONV_BACK_WEIGHTS; pass++)
        for (int taps = 3; taps <= 5; taps++)
            trial_twice(&(shape){3, 64, 19, 21, 64, 1, taps, taps == 4 ? 2 : 1});
    for (pass = EG_CONV_FORWARD; pass <= EG_CONV_BACK_WEIGHTS; pass++)
        trial_twice(&(shape){3, 64, 19, 21, 64, 1, 3, 2});
}

static void test_onednn_agrees_under_the_same_check(void **state)
{
    (void)state;
    by_dnnl = true;
    for (pass = EG_CONV_FORWARD; pass <= EG_CONV_BACK_WEIGHTS; pass++) {
        trial t;
        for (int i = 8; i < N_SHAPES; i += 12) { /* some of each size */
            trial_open(&t, &shapes[i], false, false);
            assert_true(trial_gap(&t, LARGE_MEAN, true) <= 1e-5);
            eg_graph_free(t.g);
        }
    }
    by_dnnl = false;
}

static void test_the_rule_takes_what_pays(void **state)
{
    (void)state;
    assert_true(trial_rule_takes(&(shape){32, 64, 32, 32, 64, 1, 3, 1}));
    assert_true(trial_rule_takes(&(shape){32, 512, 4, 4, 512, 1, 3, 1}));
    assert_true(trial_rule_takes(&(shape){32, 32, 14, 14, 64, 2, 5, 1}));
    assert_true(trial_rule_takes(&(shape){32, 64, 16, 16, 128, 1, 4, 2}));
    assert_true(trial_rule_takes(&(shape){32, 256, 8, 8, 512, 1, 4, 2}));
    assert_true(trial_rule_takes(&(shape){32, 64, 32, 32, 128, 1, 3, 2}));
    assert_true(trial_rule_takes(&(shape){10, 256, 8, 8, 512, 1, 3, 2}));
    assert_false(trial_rule_takes(&(shape){9, 256, 8, 8, 512, 1, 3, 2}));
    assert_false(trial_rule_takes(&(shape){32, 64, 12, 12, 128, 1, 3, 2}));
    assert_false(trial_rule_takes(&(shape){32, 64, 33, 33, 128, 0, 3, 2}));
    assert_false(trial_rule_takes(&(shape){32, 64, 16, 16, 128, 1, 4, 1}));
    assert_false(trial_rule_takes(&(shape){32, 64, 1, 1, 64, 1, 3, 1}));
    assert_false(trial_rule_takes(&(shape){32, 3, 32, 32, 64, 1, 3, 1}));
    assert_false(trial_rule_takes(&(shape){32, 32, 3, 3, 64, 2, 5, 1}));
    assert_false(trial_rule_takes(&(shape){32, 1, 28, 28, 32, 2, 5, 1}));
    assert_false(trial_rule_takes(&(shape){32, 32, 14, 14, 64, 3, 7, 1}));
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
        cmocka_unit_test(test_onednn_agrees_under_the_same_check),
        cmocka_unit_test(test_the_rule_takes_what_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
