/* linear_test.c - linear layers of many shapes against the double form, with guarded buffers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors are relative to the layer of absolute values. An argument names the instruction set.
 */
#include "engine/op/op.h"

#include "guard.h"
#include "isa.h"

#include <string.h>

typedef struct shape {
    int64_t rows, ins, outs;
} shape;

/* Both sides of where weights are turned, and ends of panels, vectors and pieces of rows. */
static const shape shapes[] = {
    {1, 64, 512},   {3, 20, 40},   {4, 100, 32},  {4, 128, 33},  {7, 17, 95},  {9, 31, 10},
    {10, 31, 10},   {13, 16, 1},   {10, 200, 64}, {10, 300, 50}, {63, 40, 17}, {64, 40, 17},
    {64, 255, 31},  {64, 784, 70}, {64, 784, 10}, {256, 784, 9}, {65, 15, 16}, {71, 33, 48},
    {130, 64, 192}, {77, 1, 200},  {100, 5, 15},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static double leaf_at(const eg_node *leaf, int64_t i, bool absolute)
{
    eg_rng r = eg_rng_at(3, (uint32_t)leaf->id, (uint32_t)i, EG_FOR_TEST);
    double u = (double)(float)eg_rng_uniform(&r, -1, 1);
    return absolute ? fabs(u) : u;
}

static void fill_leaf(void *context, const eg_node *leaf, double *out)
{
    for (int64_t i = 0; i < eg_shape_size(leaf->shape); i++)
        out[i] = leaf_at(leaf, i, *(const bool *)context);
}

typedef struct layer {
    eg_graph *g;
    eg_node *in[3], *y;
} layer;

static layer layer_of(const shape *s, bool bias, bool relu)
{
    layer l;
    assert_ok(eg_graph_new(&l.g));
    l.in[0] = eg_input(l.g, "x", eg_dims(s->rows, s->ins));
    l.in[1] = eg_input(l.g, "w", eg_dims(s->outs, s->ins));
    l.in[2] = eg_input(l.g, "b", eg_dims(s->outs));
    l.y = eg_linear(l.g, l.in[0], l.in[1], bias ? l.in[2] : NULL);
    l.y = relu ? eg_relu(l.g, l.y) : l.y;
    eg_output(l.g, "y", l.y);
    return l;
}

static void fill_plan(const layer *l, eg_plan *plan)
{
    static const char *const names[] = {"x", "w", "b"};
    for (int k = 0; k < 3; k++) {
        float *to = eg_plan_input(plan, names[k]);
        for (int64_t i = 0; to && i < eg_shape_size(l->in[k]->shape); i++)
            to[i] = (float)leaf_at(l->in[k], i, false);
    }
}

static double *evaluate(layer *l, bool absolute)
{
    double *v = calloc((size_t)eg_shape_size(l->y->shape), sizeof *v);
    assert_non_null(v);
    assert_ok(eg_evaluate(l->g, 1, &l->y, fill_leaf, &absolute, &v));
    return v;
}

/* The largest error, in units of the sum of absolute values and of the bias. */
static double layer_gap(layer *l, bool end)
{
    eg_plan *plan;
    assert_ok(eg_compile(l->g, &plan));
    guard g = guard_plan(plan, end);
    fill_plan(l, plan);
    assert_ok(eg_plan_run(plan));
    const float *got = eg_plan_output(plan, "y");
    double *want = evaluate(l, false), *whole = evaluate(l, true), worst = 0;
    for (int64_t i = 0; i < eg_shape_size(l->y->shape); i++) {
        double gap = fabs((double)got[i] - want[i]) / whole[i];
        worst = gap > worst || isnan(gap) ? gap : worst;
    }
    free(want);
    free(whole);
    eg_plan_free(plan);
    guard_free(&g);
    return worst;
}

static void test_every_shape_agrees_with_the_double_form(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = 0; i < 4 * N_SHAPES; i++) {
        const shape *s = &shapes[i / 4];
        layer l = layer_of(s, i & 1, i & 2);
        double gap = layer_gap(&l, (i / 4 + i) % 2);
        if (!(gap <= 1e-6))
            fail_msg("%lld rows, %lld inputs, %lld outputs: off by %g", (long long)s->rows,
                     (long long)s->ins, (long long)s->outs, gap);
        worst = fmax(worst, gap);
        eg_graph_free(l.g);
    }
    print_message("worst: %.2g\n", worst);
}

/* A row is the same to the bit, whatever stands below it. */
static void test_a_row_does_not_depend_on_the_others(void **state)
{
    (void)state;
    float *first = NULL;
    enum { OUTS = 70 };
    static const int64_t rows[] = {64, 65, 131};
    for (int k = 0; k < 3; k++) {
        layer l = layer_of(&(shape){rows[k], 50, OUTS}, true, false);
        eg_plan *plan;
        assert_ok(eg_compile(l.g, &plan));
        fill_plan(&l, plan);
        assert_ok(eg_plan_run(plan));
        size_t bytes = (size_t)rows[0] * OUTS * sizeof(float);
        if (!first) {
            first = malloc(bytes);
            assert_non_null(first);
            memcpy(first, eg_plan_output(plan, "y"), bytes);
        }
        assert_memory_equal(first, eg_plan_output(plan, "y"), bytes);
        eg_plan_free(plan);
        eg_graph_free(l.g);
    }
    free(first);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shape_agrees_with_the_double_form),
        cmocka_unit_test(test_a_row_does_not_depend_on_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
