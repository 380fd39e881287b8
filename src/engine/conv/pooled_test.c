/* pooled_test.c - a convolution with the max pooling behind it, forward and back, against the
 * double form, with guarded buffers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An argument names the instruction set to test.
 */
#include "against_double.h"
#include "guard.h"
#include "isa.h"

#include "engine/op/op.h"

#include <stdio.h>

typedef struct shape {
    int64_t n, ic, h, w, oc;
    bool bias, relu;
    bool seen; /* the convolution's own result is asked for, too */
} shape;

/* One window and many, batches of one vector and several, whole and filled up. In no window are
 * the largest two so near that rounding could exchange them: 28 x 28 with ten channels has one
 * 5e-8 apart, and the plain kernels, fused or not, then differ from the double form. */
static const shape shapes[] = {
    {32, 1, 28, 28, 5, true, true, false}, {32, 1, 12, 12, 10, true, true, false},
    {2, 1, 6, 6, 1, true, true, false},    {3, 2, 8, 10, 5, true, false, false},
    {16, 1, 10, 6, 7, false, true, false}, {33, 3, 8, 8, 3, true, true, false},
    {9, 1, 6, 12, 11, true, true, true},   {40, 2, 6, 6, 4, false, false, true},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static eg_graph *open_graph(const shape *s)
{
    eg_graph *g;
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(s->n, s->ic, s->h, s->w));
    eg_node *leaves[] = {eg_input(g, "w", eg_dims(s->oc, s->ic, 5, 5)),
                         eg_input(g, "b", eg_dims(s->oc))};
    eg_node *grads[2];
    eg_node *y =
        eg_conv2d(g, x, leaves[0], s->bias ? leaves[1] : NULL, (eg_window){.stride = 1});
    eg_node *z = eg_max_pool(g, y, (eg_window){.kernel = 2, .stride = 2});
    z = s->relu ? eg_relu(g, z) : z;
    eg_node *dz = eg_input(g, "dz", eg_node_shape(z));
    eg_gradients(g, eg_sum(g, eg_mul(g, z, dz), EG_ALL_AXES), s->bias ? 2 : 1, leaves, grads);
    eg_output(g, "z", z);
    eg_output(g, "dw", grads[0]);
    if (s->bias)
        eg_output(g, "db", grads[1]);
    if (s->seen)
        eg_output(g, "y", y);
    assert_ok(eg_graph_status(g));
    return g;
}

static double graph_gap(eg_graph *g, bool end)
{
    eg_plan *plan;
    assert_ok(eg_compile(g, &plan));
    guard pages = guard_plan(plan, end);
    against_fill_plan(g, plan, NULL, NULL);
    assert_ok(eg_plan_run(plan));
    assert_ok(eg_plan_run(plan));
    eg_node *nodes[4];
    const float *have[4];
    for (size_t i = 0; i < g->n_outputs; i++) {
        nodes[i] = g->outputs[i].node;
        have[i] = eg_plan_output(plan, g->outputs[i].name);
    }
    double gap = against_nodes(g, g->n_outputs, nodes, have);
    eg_plan_free(plan);
    guard_free(&pages);
    return gap;
}

static void test_results_and_gradients_agree_with_the_double_form(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++)
        for (int end = 0; end < 2; end++) {
            eg_graph *g = open_graph(&shapes[i]);
            double gap = graph_gap(g, end);
            if (!(gap <= 2e-5))
                fail_msg("shape %d: off by %g", i, gap);
            eg_graph_free(g);
        }
}

/* How many steps the pooling and its gradient, and the relu and its, have of their own. */
static int own_steps(const shape *s)
{
    static const char *const names[] = {"max_pool", "max_pool_back", "leaky_relu",
                                        "leaky_relu_back"};
    eg_graph *g = open_graph(s);
    eg_plan *plan;
    int n = 0;
    assert_ok(eg_compile(g, &plan));
    for (size_t i = 0; i < eg_plan_n_steps(plan); i++)
        for (int k = 0; k < 4; k++) {
            eg_step_info t = eg_plan_step_info(plan, i);
            n += !t.reorder && strcmp(t.op, names[k]) == 0;
        }
    eg_plan_free(plan);
    eg_graph_free(g);
    return n;
}

/* Else the test above would not test what it is for. */
static void test_pooling_is_taken_in_unless_the_result_is_read(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++)
        if ((own_steps(&shapes[i]) > 0) != shapes[i].seen)
            fail_msg("shape %d: the pooling is%s taken in", i, shapes[i].seen ? "" : " not");
}

/* Of equal maxima the first has the gradient: with all weights zero it is the first place. */
static void test_of_equal_maxima_the_first_counts(void **state)
{
    (void)state;
    enum { N = 3, SIDE = 8, OUT = 4 };
    eg_graph *g = open_graph(&(shape){N, 1, SIDE, SIDE, 1, true, false, false});
    eg_plan *plan;
    assert_ok(eg_compile(g, &plan));
    against_fill_plan(g, plan, NULL, NULL);
    memset(eg_plan_input(plan, "w"), 0, 25 * sizeof(float));
    assert_ok(eg_plan_run(plan));
    const float *x = eg_plan_input(plan, "x"), *dz = eg_plan_input(plan, "dz");
    double want = 0; /* of the first weight */
    for (int n = 0; n < N; n++)
        for (int i = 0; i < OUT; i += 2)
            for (int j = 0; j < OUT; j += 2)
                want += (double)x[n * SIDE * SIDE + i * SIDE + j] *
                        (double)dz[n * OUT * OUT / 4 + i / 2 * (OUT / 2) + j / 2];
    assert_float_equal(eg_plan_output(plan, "dw")[0], want, 1e-5);
    eg_plan_free(plan);
    eg_graph_free(g);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_and_gradients_agree_with_the_double_form),
        cmocka_unit_test(test_pooling_is_taken_in_unless_the_result_is_read),
        cmocka_unit_test(test_of_equal_maxima_the_first_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
