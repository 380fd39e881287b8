/* golden_boxes_test.c - average precision, shapes, suppression and YOLO's loss against a second
 * program.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden_boxes.py, which says how the cases are drawn, made precision.json, boxes.json
 * and region.json in tests/golden.
 */
#include "golden_file.h"

#include "engine/graph/graph.h"

#include <engram/op.h>
#include <engram/target.h>

#include <stdlib.h>

enum { CASES = 1000, MOST_TRUE = 6, MOST_FOUND = 9 };

typedef struct draws {
    uint32_t t;
    size_t at;
} draws;

static double draw(draws *d)
{
    return (double)golden_hash(d->t, d->at++) / (1 << 24);
}

static int draw_below(draws *d, int n)
{
    return (int)(draw(d) * n);
}

static eg_box draw_box(draws *d, int class)
{
    eg_box b = {.label = (float)class};
    b.x = (float)(0.2 + 0.6 * draw(d));
    b.y = (float)(0.2 + 0.6 * draw(d));
    b.w = (float)(0.05 + 0.3 * draw(d));
    b.h = (float)(0.05 + 0.3 * draw(d));
    return b;
}

/* A found box that is near a true one: its size and place times something. */
static eg_box draw_near(draws *d, eg_box b)
{
    if (b.label <= EG_CROWD)
        b.label = (float)EG_CROWD - b.label;
    b.x = (float)((double)b.x * (0.9 + 0.2 * draw(d)));
    b.y = (float)((double)b.y * (0.9 + 0.2 * draw(d)));
    b.w = (float)((double)b.w * (0.9 + 0.2 * draw(d)));
    b.h = (float)((double)b.h * (0.9 + 0.2 * draw(d)));
    return b;
}

/* An image of a case, its found boxes sorted by score. */
static void add_image(eg_precision *p, draws *d, int classes)
{
    eg_box truths[MOST_TRUE];
    eg_found found[MOST_FOUND], sorted[MOST_FOUND];
    int n_true = draw_below(d, 6), n = 0, n_found;
    for (int i = 0; i < n_true; i++) {
        int class = draw_below(d, classes);
        truths[i] = draw_box(d, class);
        if (draw(d) < 0.1)
            truths[i].label = (float)(EG_CROWD - class);
    }
    n_found = draw_below(d, 9);
    for (int i = 0; i < n_found; i++) {
        bool near = draw(d) < 0.6 && n_true;
        int pick = draw_below(d, near ? n_true : classes);
        found[i].box = near ? draw_near(d, truths[pick]) : draw_box(d, pick);
        found[i].score = (float)(draw_below(d, 20) / 20.0);
    }
    for (int score = 19; score >= 0; score--)
        for (int i = 0; i < n_found; i++)
            if ((int)((double)found[i].score * 20 + 0.5) == score)
                sorted[n++] = found[i];
    assert_ok(eg_precision_add(p, sorted, n, (const float *)truths, n_true * EG_BOX_SIZE));
}

static void test_average_precision_agrees_with_a_second_program(void **state)
{
    (void)state;
    eg_json *file;
    assert_ok(eg_json_load("tests/golden/precision.json", &file));
    const eg_json *cases = eg_json_get(file, "cases");
    assert_int_equal(eg_json_count(cases), CASES);
    for (uint32_t k = 0; k < CASES; k++) {
        draws d = {100 + k, 0};
        int classes = 1 + draw_below(&d, 3), images = 1 + draw_below(&d, 4);
        eg_precision *p;
        eg_precisions got = {0};
        double half, mean;
        assert_ok(eg_precision_new(classes, &p));
        for (int i = 0; i < images; i++)
            add_image(p, &d, classes);
        assert_ok(eg_precision_get(p, &got));
        eg_precision_free(p);
        assert_ok(eg_json_real(eg_json_at(eg_json_at(cases, k), 0), &half));
        assert_ok(eg_json_real(eg_json_at(eg_json_at(cases, k), 1), &mean));
        if (fabs(got.at_half - half) > 1e-8 || fabs(got.mean - mean) > 1e-8)
            fail_msg("case %u: %.9f and %.9f, not %.9f and %.9f", k, got.at_half, got.mean,
                     half, mean);
    }
    eg_json_free(file);
}

enum { SHAPE_CASES = 200, MOST_SHAPES = 5, MOST_SIZES = 47, MOST_LEFT = 29 };

/* One case of shapes. */
static void check_shapes(draws *d, uint32_t k, const eg_json *want)
{
    float sizes[2 * MOST_SIZES];
    double shapes[2 * MOST_SHAPES];
    int n = 1 + draw_below(d, 5), m = 8 + draw_below(d, 40);
    for (int i = 0; i < 2 * m; i++)
        sizes[i] = (float)((1 + draw_below(d, 40)) / 64.0);
    assert_ok(eg_boxes_shapes(sizes, m, n, shapes));
    assert_int_equal(eg_json_count(want), n);
    for (int i = 0; i < 2 * n; i++) {
        double value;
        assert_ok(
            eg_json_real(eg_json_at(eg_json_at(want, (size_t)i / 2), (size_t)i % 2), &value));
        if (fabs(shapes[i] - value) > 1e-7)
            fail_msg("case %u: shape %d is %.9f, not %.9f", k, i / 2, shapes[i], value);
    }
}

/* One case of suppression; places are told by their centres. */
static void check_left(draws *d, uint32_t k, const eg_json *want)
{
    eg_found found[MOST_LEFT], drawn[MOST_LEFT];
    int n = draw_below(d, 30);
    for (int i = 0; i < n; i++) {
        int class = draw_below(d, 2);
        found[i].box = draw_box(d, class);
        found[i].score = (float)(draw_below(d, 20) / 20.0);
        drawn[i] = found[i];
    }
    int64_t left = eg_boxes_suppress(found, n, 0.45);
    if (left != (int64_t)eg_json_count(want))
        fail_msg("case %u: %d are left, not %zu", k, (int)left, eg_json_count(want));
    for (int64_t i = 0; i < left; i++) {
        int64_t at;
        assert_ok(eg_json_int(eg_json_at(want, (size_t)i), &at));
        assert_memory_equal(&found[i], &drawn[at], sizeof drawn[at]);
    }
}

static void test_shapes_and_suppression_agree_with_a_second_program(void **state)
{
    (void)state;
    eg_json *file;
    assert_ok(eg_json_load("tests/golden/boxes.json", &file));
    const eg_json *shapes = eg_json_get(file, "shapes"), *left = eg_json_get(file, "left");
    assert_int_equal(eg_json_count(shapes), SHAPE_CASES);
    assert_int_equal(eg_json_count(left), SHAPE_CASES);
    for (uint32_t k = 0; k < SHAPE_CASES; k++) {
        draws d = {2000 + k, 0};
        check_shapes(&d, k, eg_json_at(shapes, k));
        check_left(&d, k, eg_json_at(left, k));
    }
    eg_json_free(file);
}

static void test_loss_and_gradient_agree_with_pytorch(void **state)
{
    (void)state;
    enum { OUTPUTS = 2 * 8 * 6 };
    static const float boxes[2][15] = {
        {1, 0.25F, 0.3F, 0.22F, 0.28F, 0, 0.7F, 0.8F, 0.5F, 0.35F, 2, 0.26F, 0.31F, 0.18F,
         0.3F},
        {2, 0.5F, 0.5F, 0.9F, 0.8F, -1, 0, 0, 0, 0, -1, 0, 0, 0, 0}};
    const eg_aim aim = {.kind = eg_target_find("detection"),
                        .classes = 3,
                        .width = 15,
                        .outputs = OUTPUTS,
                        .region = {.rows = 2,
                                   .columns = 3,
                                   .anchors = 2,
                                   .classes = 3,
                                   .anchor = {{0.2, 0.3}, {0.6, 0.4}},
                                   .coordinates = 1.5,
                                   .object = 5,
                                   .background = 0.5,
                                   .kinds = 2,
                                   .ignore = 0.3}};
    eg_json *file;
    eg_graph *g;
    eg_plan *plan;
    eg_node *grad;
    assert_ok(eg_json_load("tests/golden/region.json", &file));
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(2, OUTPUTS));
    eg_node *truth = eg_input(g, "boxes", eg_dims(2, 15));
    eg_node *loss = aim.kind->loss(&aim, g, x, truth);
    eg_gradients(g, loss, 1, &x, &grad);
    eg_output(g, "loss", loss);
    eg_output(g, "losses", aim.kind->losses(&aim, g, x, truth));
    eg_output(g, "grad", grad);
    assert_ok(eg_compile(g, &plan));
    golden_fill(7, 0, 1, (size_t)2 * OUTPUTS, eg_plan_input(plan, "x"));
    memcpy(eg_plan_input(plan, "boxes"), boxes, sizeof boxes);
    assert_ok(eg_plan_run(plan));
    double want = real_of(file, "loss");
    const float *each = eg_plan_output(plan, "losses");
    assert_near((double)*eg_plan_output(plan, "loss"), want, 1e-5 * want);
    assert_near(((double)each[0] + (double)each[1]) / 2, want, 1e-5 * want);
    const eg_json *wanted = eg_json_get(file, "grad");
    assert_int_equal(eg_json_count(wanted), 2 * OUTPUTS);
    for (size_t i = 0; i < (size_t)2 * OUTPUTS; i++) {
        double value;
        assert_ok(eg_json_real(eg_json_at(wanted, i), &value));
        assert_near((double)eg_plan_output(plan, "grad")[i], value, 2e-6);
    }
    eg_plan_free(plan);
    eg_graph_free(g);
    eg_json_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_average_precision_agrees_with_a_second_program),
        cmocka_unit_test(test_shapes_and_suppression_agree_with_a_second_program),
        cmocka_unit_test(test_loss_and_gradient_agree_with_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
