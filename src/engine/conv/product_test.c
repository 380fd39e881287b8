/* product_test.c - gradients of weights as products over places, against the double form.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Buffers are guarded; errors are relative to the convolution of absolute values. An argument
 * names the instruction set to test.
 */
#include "conv_trial.h"

#include "isa.h"

/* Maps smaller than the window and larger, windows that leave the image out, one sample and
 * many, strides, several pieces of channels. */
static const shape shapes[] = {
    {2, 16, 2, 2, 32, 1, 3, 1},  {1, 16, 1, 1, 16, 1, 3, 1},  {3, 32, 2, 1, 16, 1, 3, 1},
    {5, 16, 3, 3, 48, 2, 5, 1},  {2, 16, 4, 3, 16, 1, 3, 2},  {2, 32, 2, 2, 16, 1, 3, 2},
    {3, 16, 3, 2, 16, 3, 7, 2},  {2, 16, 1, 1, 16, 1, 1, 2},  {7, 16, 4, 4, 16, 1, 2, 3},
    {2, 48, 2, 3, 144, 1, 3, 1}, {33, 16, 1, 1, 16, 2, 5, 1}, {2, 16, 9, 7, 32, 0, 4, 2},
    {17, 64, 2, 2, 80, 1, 3, 1},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static eg_status trial_conv(eg_plan *p, const eg_node *y, const eg_conv *c,
                            const eg_conv_nodes *nodes)
{
    assert_true(eg_product_can(eg_plan_kernels(p), c));
    return eg_product_back_weights(p, y, c, nodes);
}

static void test_back_weights_agree_with_the_double_form(void **state)
{
    (void)state;
    pass = EG_CONV_BACK_WEIGHTS;
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

/* What the rule gives to oneDNN must not be its reference code; NULL: it is not oneDNN's. */
static void check_kernel(const shape *s, const char *want)
{
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_window win = {.stride = s->stride, .padding = s->padding};
    int64_t oh = eg_window_count(s->h, s->taps, win.stride, win.padding);
    int64_t ow = eg_window_count(s->w, s->taps, win.stride, win.padding);
    eg_node *x = eg_input(g, "x", eg_dims(s->n, s->ic, s->h, s->w));
    eg_node *dy = eg_input(g, "dy", eg_dims(s->n, s->oc, oh, ow));
    eg_output(g, "dw", eg_conv2d_back_weights(g, x, dy, win, s->taps, s->taps));
    assert_ok(eg_compile(g, &plan));
    bool found = false;
    for (size_t i = 0; i < eg_plan_n_steps(plan); i++) {
        eg_step_info info = eg_plan_step_info(plan, i);
        found |= want && strcmp(info.kernel, want) == 0;
        assert_int_not_equal(strncmp(info.kernel, "ref", 3), 0);
    }
    assert_true(!want || found);
    eg_plan_free(plan);
    eg_graph_free(g);
}

static void test_no_gradient_of_weights_is_left_to_reference_code(void **state)
{
    (void)state;
    bool avx2 = strcmp(eg_isa_name(), "avx2") == 0;
    check_kernel(&(shape){8, 128, 2, 2, 128, 1, 3, 1}, avx2 ? "product" : NULL);
    check_kernel(&(shape){8, 512, 1, 1, 512, 1, 3, 1}, avx2 ? "product" : NULL);
    check_kernel(&(shape){8, 64, 2, 2, 128, 1, 3, 2}, avx2 ? "product" : NULL);
    check_kernel(&(shape){8, 64, 8, 8, 64, 1, 3, 1}, NULL);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back_weights_agree_with_the_double_form),
        cmocka_unit_test(test_no_gradient_of_weights_is_left_to_reference_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
