/* box_test.c - overlap, suppression, moves, shapes and average precision worked by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/box.h>

static void test_overlap_by_hand(void **state)
{
    (void)state;
    /* 0.4 x 0.4 and the same moved by 0.2: 0.08 common of 0.24. */
    const eg_box a = {0, 0.3F, 0.3F, 0.4F, 0.4F}, b = {0, 0.5F, 0.3F, 0.4F, 0.4F};
    const eg_box crowd = {EG_CROWD, 0.5F, 0.3F, 0.4F, 0.4F}, far = {0, 0.9F, 0.9F, 0.1F, 0.1F};
    const eg_box none = {0, 0.3F, 0.3F, 0, 0};
    assert_near(eg_box_overlap(&a, &a), 1, 1e-6);
    assert_near(eg_box_overlap(&a, &b), 1.0 / 3, 1e-6);
    assert_near(eg_box_overlap(&a, &crowd), 0.5, 1e-6);
    assert_near(eg_box_overlap(&crowd, &a), 0.5, 1e-6);
    assert_near(eg_box_overlap(&a, &far), 0, 0);
    assert_near(eg_box_overlap(&none, &none), 0, 0);
}

/* Of three that overlap, the surest stays; another class and one far away do too. */
static void test_suppression_keeps_the_surest_of_each_class(void **state)
{
    (void)state;
    eg_found f[] = {{{0, 0.50F, 0.5F, 0.4F, 0.4F}, 0.5F},
                    {{0, 0.52F, 0.5F, 0.4F, 0.4F}, 0.9F},
                    {{1, 0.51F, 0.5F, 0.4F, 0.4F}, 0.7F},
                    {{0, 0.51F, 0.5F, 0.4F, 0.4F}, 0.9F},
                    {{0, 0.10F, 0.1F, 0.1F, 0.1F}, 0.2F}};
    assert_int_equal(eg_boxes_suppress(f, 5, 0.45), 3);
    assert_near((double)f[0].box.x, 0.52, 1e-6); /* the first of equals */
    assert_near((double)f[1].box.label, 1, 0);
    assert_near((double)f[2].score, 0.2, 1e-6);
}

static void test_boxes_move_with_their_image(void **state)
{
    (void)state;
    float t[15] = {2, 0.5F, 0.5F, 0.2F, 0.4F, 1, 0.1F, 0.9F, 0.1F, 0.1F, EG_NO_BOX};
    /* A quarter is cut off at the left, as much grey is added there at the right; mirrored. */
    eg_boxes_move(t, 15, &(eg_box_move){.left = 0.25, .top = -0.05, .flip = true});
    assert_near((double)t[0], 2, 0);
    assert_near((double)t[1], 0.75, 1e-6);
    assert_near((double)t[2], 0.55, 1e-6);
    assert_near((double)t[3], 0.2, 1e-6);
    assert_near((double)t[5], EG_NO_BOX, 0); /* the second had its centre in what was cut off */
    float edge[5] = {0, 0.3F, 0.5F, 0.2F, 0.2F};
    eg_boxes_move(edge, 5, &(eg_box_move){.left = 0.25});
    assert_near((double)edge[1], 0.075, 1e-6); /* from 0 to 0.15 */
    assert_near((double)edge[3], 0.15, 1e-6);
}

static void test_shapes_are_the_means_of_like_sizes(void **state)
{
    (void)state;
    const float sizes[] = {0.10F, 0.10F, 0.12F, 0.10F, 0.50F, 0.60F, 0.54F, 0.60F};
    double shapes[4];
    assert_ok(eg_boxes_shapes(sizes, 4, 2, shapes));
    assert_near(shapes[0], 0.11, 1e-6);
    assert_near(shapes[1], 0.10, 1e-6);
    assert_near(shapes[2], 0.52, 1e-6);
    assert_near(shapes[3], 0.60, 1e-6);
    assert_fails(eg_boxes_shapes(sizes, 1, 2, shapes), EG_EINVAL, "too few for 2 anchors");
}

/* Two true boxes of class 0; found are one of them (0.9), nothing (0.8), the other one (0.7).
 * Precision is 1 up to recall 0.5, then 2/3: (51 + 50 * 2/3) / 101. Of class 1 nothing is true:
 * what is found of it does not count. */
static void test_average_precision_by_hand(void **state)
{
    (void)state;
    const eg_box truth[] = {{0, 0.2F, 0.2F, 0.2F, 0.2F}, {0, 0.7F, 0.7F, 0.2F, 0.2F}};
    const eg_found found[] = {{truth[0], 0.9F},
                              {{0, 0.2F, 0.7F, 0.2F, 0.2F}, 0.8F},
                              {truth[1], 0.7F},
                              {{1, 0.2F, 0.2F, 0.2F, 0.2F}, 0.6F}};
    eg_precision *p;
    double half[2], each[2];
    float curve[2 * EG_RECALLS];
    eg_precisions out = {.half = half, .each = each, .curve = curve};
    assert_ok(eg_precision_new(2, &p));
    assert_ok(eg_precision_add(p, found, 4, (const float *)truth, 10));
    assert_ok(eg_precision_get(p, &out));
    double wanted = (51 + 50 * 2.0 / 3) / 101;
    assert_near(out.at_half, wanted, 1e-9);
    assert_near(out.mean, wanted, 1e-9); /* they fit at every overlap */
    assert_near(half[1], -1, 0);
    assert_near((double)curve[50], 1, 0);
    assert_near((double)curve[51], 2.0 / 3, 1e-6);
    assert_near((double)curve[EG_RECALLS], -1, 0);
    eg_precision_free(p);
}

/* A second box on a true one that is taken is wrong; on a crowd it does not count. */
static void test_a_true_box_is_found_once_and_a_crowd_counts_for_nothing(void **state)
{
    (void)state;
    eg_box truth[] = {{0, 0.5F, 0.5F, 0.2F, 0.2F}, {EG_CROWD, 0.5F, 0.5F, 0.6F, 0.6F}};
    const eg_found found[] = {{{0, 0.4525F, 0.5F, 0.105F, 0.2F}, 0.9F}, /* 0.525 */
                              {truth[0], 0.8F}};
    eg_precision *p;
    eg_precisions out = {0};
    for (int crowds = 0; crowds < 2; crowds++) {
        assert_ok(eg_precision_new(1, &p));
        assert_ok(eg_precision_add(p, found, 2, (const float *)truth, 5 + 5 * crowds));
        assert_ok(eg_precision_get(p, &out));
        assert_near(out.at_half, 1, 1e-9); /* at 0.5 the half takes it */
        /* At the others the half is wrong and precision 1/2; with a crowd it does not count. */
        assert_near(out.mean, crowds ? 1 : (1 + 9 * 0.5) / 10, 1e-9);
        eg_precision_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overlap_by_hand),
        cmocka_unit_test(test_suppression_keeps_the_surest_of_each_class),
        cmocka_unit_test(test_boxes_move_with_their_image),
        cmocka_unit_test(test_shapes_are_the_means_of_like_sizes),
        cmocka_unit_test(test_average_precision_by_hand),
        cmocka_unit_test(test_a_true_box_is_found_once_and_a_crowd_counts_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
