/* transform_test.c - every transform against values worked by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/transform.h>
#include <stdlib.h>

static eg_table ramp(int64_t n, int64_t c, int64_t h, int64_t w)
{
    eg_table t;
    assert_ok(eg_table_alloc_u8(&t, n, c, h, w, 10));
    for (size_t i = 0; i < (size_t)n * eg_table_sample(&t); i++)
        t.u8[i] = (uint8_t)(i + 1);
    for (int64_t i = 0; i < n; i++)
        t.y[i] = (int32_t)(i % 10);
    return t;
}

static eg_recipe *make(const eg_transform *how, const eg_table *t)
{
    eg_recipe *r;
    assert_ok(eg_recipe_new(how, t, &r));
    return r;
}

static void check_map(int64_t h, int64_t w, double degrees, const int32_t *want)
{
    int32_t map[64];
    eg_rotation_map(h, w, degrees, map);
    for (int64_t i = 0; i < h * w; i++)
        if (map[i] != want[i])
            fail_msg("%g degrees: pixel %lld comes from %d, not %d", degrees, (long long)i,
                     map[i], want[i]);
}

static void test_quarter_turns_move_pixels_exactly(void **state)
{
    (void)state;
    /* 0 1 2      2 5 8      8 7 6      6 3 0
     * 3 4 5  ->  1 4 7  ->  5 4 3  ->  7 4 1, each counter-clockwise
     * 6 7 8      0 3 6      2 1 0      8 5 2 */
    check_map(3, 3, 0, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8});
    check_map(3, 3, 90, (const int32_t[]){2, 5, 8, 1, 4, 7, 0, 3, 6});
    check_map(3, 3, 180, (const int32_t[]){8, 7, 6, 5, 4, 3, 2, 1, 0});
    check_map(3, 3, 270, (const int32_t[]){6, 3, 0, 7, 4, 1, 8, 5, 2});
    check_map(3, 3, -90, (const int32_t[]){6, 3, 0, 7, 4, 1, 8, 5, 2});
    check_map(3, 3, 450, (const int32_t[]){2, 5, 8, 1, 4, 7, 0, 3, 6});
    check_map(2, 3, 180, (const int32_t[]){5, 4, 3, 2, 1, 0});
}

static void test_a_turn_of_45_degrees_by_hand(void **state)
{
    (void)state;
    /* Turned back by 45 degrees, the centre (dx, dy) of an output pixel lies at
     * ((dx - dy) / sqrt 2, (dx + dy) / sqrt 2) from the middle. Of a 3x3 image the corners come
     * from 1.41 off along one axis, which is inside the outer pixel (it ends at 1.5); the edges
     * from 0.71 off along both, which is the corner pixel. */
    check_map(3, 3, 45, (const int32_t[]){1, 2, 5, 0, 4, 8, 3, 6, 7});
    /* Of a 2x2 image the corners (0.5, 0.5) come from (0, 0.707) and so on: y = 1.707 is pixel
     * 1; x = 1 lies on the border and belongs to pixel 1. */
    int32_t map[4];
    eg_rotation_map(2, 2, 45, map);
    assert_int_equal(map[0] / 2, 0); /* (-0.5, -0.5) from (0, -0.707): the upper row */
    assert_int_equal(map[3] / 2, 1); /* (0.5, 0.5) from (0, 0.707): the lower row */
    assert_int_equal(map[1] % 2, 1); /* (0.5, -0.5) from (0.707, 0): the right column */
    assert_int_equal(map[2] % 2, 0);
}

static void test_what_turns_in_from_outside_is_zero(void **state)
{
    (void)state;
    int32_t map[28 * 28];
    eg_rotation_map(28, 28, 30, map);
    assert_int_equal(map[0], -1);
    assert_int_equal(map[27], -1);
    /* Centre of pixel (row 10, column 20): (6.5, -3.5) from the middle; turned back by 30
     * degrees (6.5 c + 3.5 s, 6.5 s - 3.5 c) = (7.379, 0.219): column 21, row 14. */
    assert_int_equal(map[10 * 28 + 20], 14 * 28 + 21);
}

static void test_bytes_become_the_unit_interval(void **state)
{
    (void)state;
    eg_table t = ramp(3, 2, 1, 2);
    t.u8[4] = 255, t.u8[5] = 0;
    eg_recipe *r = make(&(eg_transform){0}, &t);
    float x[8];
    eg_recipe_fill(r, &t, (const int64_t[]){1, 2}, 2, NULL, x);
    const float want[8] = {1,         0,          7 / 255.f,  8 / 255.f,
                           9 / 255.f, 10 / 255.f, 11 / 255.f, 12 / 255.f};
    for (int i = 0; i < 8; i++)
        assert_near(x[i], want[i], 0);
    assert_false(eg_recipe_is_random(r));
    eg_recipe_free(r);
    eg_table_fini(&t);
}

static void test_each_channel_is_normalised_by_its_own(void **state)
{
    (void)state;
    eg_table t = ramp(1, 3, 1, 1);
    eg_transform how = {.n_norm = 3, .mean = {0.5, 0.25, 0}, .std = {0.5, 0.1, 2}};
    eg_recipe *r = make(&how, &t);
    float x[3];
    eg_recipe_fill(r, &t, (const int64_t[]){0}, 1, NULL, x);
    assert_near(x[0], (1 / 255.0 - 0.5) / 0.5, 1e-6);
    assert_near(x[1], (2 / 255.0 - 0.25) / 0.1, 1e-6);
    assert_near(x[2], (3 / 255.0) / 2, 1e-6);
    eg_recipe_free(r);
    eg_table_fini(&t);
}

static void test_rotation_then_permutation(void **state)
{
    (void)state;
    eg_table t = ramp(1, 1, 2, 2); /* 1 2 / 3 4, turned: 2 4 / 1 3 */
    const int32_t reversed[4] = {3, 2, 1, 0};
    eg_recipe *r = make(&(eg_transform){.angle = 90, .permutation = reversed}, &t);
    float x[4];
    eg_recipe_fill(r, &t, (const int64_t[]){0}, 1, NULL, x);
    const float want[4] = {3, 1, 4, 2};
    for (int i = 0; i < 4; i++)
        assert_near(x[i] * 255, want[i], 1e-5);
    eg_recipe_free(r);
    eg_table_fini(&t);
}

static void test_rotated_corners_are_zero_before_normalisation(void **state)
{
    (void)state;
    eg_table t = ramp(1, 1, 28, 28);
    eg_recipe *r =
        make(&(eg_transform){.angle = 30, .n_norm = 1, .mean = {0.5}, .std = {0.25}}, &t);
    float x[784];
    eg_recipe_fill(r, &t, (const int64_t[]){0}, 1, NULL, x);
    assert_near(x[0], -2, 0);
    assert_near(x[10 * 28 + 20], ((14 * 28 + 21 + 1) % 256 / 255.0 - 0.5) / 0.25, 1e-6);
    eg_recipe_free(r);
    eg_table_fini(&t);
}

/* The crop, flip and cutout drawn for one sample, redone the slow way. */
static void check_random(const eg_transform *how, const eg_table *t, uint32_t stream)
{
    int64_t h = t->height, w = t->width, plane = h * w;
    eg_recipe *r = make(how, t);
    eg_rng rng = eg_rng_at(1, 0, stream, EG_FOR_TEST), same = rng;
    float *x = calloc(eg_table_sample(t), sizeof *x);
    eg_recipe_fill(r, t, (const int64_t[]){1}, 1, &rng, x);
    int64_t top = 0, left = 0, flip = 0, cy = -999, cx = -999;
    if (how->pad) {
        top = (int64_t)eg_rng_below(&same, 2 * (uint64_t)how->pad + 1) - how->pad;
        left = (int64_t)eg_rng_below(&same, 2 * (uint64_t)how->pad + 1) - how->pad;
    }
    if (how->flip)
        flip = (int64_t)eg_rng_below(&same, 2);
    if (how->cutout) {
        cy = (int64_t)eg_rng_below(&same, (uint64_t)h);
        cx = (int64_t)eg_rng_below(&same, (uint64_t)w);
    }
    for (int64_t k = 0; k < (int64_t)eg_table_sample(t); k++) {
        int64_t i = k % plane / w, j = k % w, sy = i + top, sx = (flip ? w - 1 - j : j) + left;
        bool inside = sy >= 0 && sy < h && sx >= 0 && sx < w;
        double v = inside ? t->u8[(t->channels + k / plane) * plane + sy * w + sx] : 0;
        double want = (v / 255 - 0.5) / 0.5;
        int64_t half = how->cutout / 2;
        if (how->cutout && i >= cy - half && i < cy + half && j >= cx - half && j < cx + half)
            want = 0;
        assert_near(x[k], want, 1e-6);
    }
    assert_true(eg_recipe_is_random(r));
    free(x);
    eg_recipe_free(r);
}

static void test_crop_flip_and_cutout_do_what_was_drawn(void **state)
{
    (void)state;
    eg_table t = ramp(2, 3, 8, 6);
    eg_transform how = {.n_norm = 1, .mean = {0.5}, .std = {0.5}};
    for (uint32_t stream = 0; stream < 50; stream++) {
        how.pad = 2, how.flip = false, how.cutout = 0;
        check_random(&how, &t, stream);
        how.pad = 0, how.flip = true;
        check_random(&how, &t, stream);
        how.pad = 4, how.cutout = 4;
        check_random(&how, &t, stream);
    }
    eg_table_fini(&t);
}

static void test_an_image_has_four_rotations(void **state)
{
    (void)state;
    eg_table t = ramp(2, 1, 2, 2);
    eg_recipe *r = make(&(eg_transform){.four_rotations = true}, &t);
    assert_int_equal(eg_recipe_fan(r), 4);
    float x[32];
    eg_recipe_fill(r, &t, (const int64_t[]){0, 1}, 2, NULL, x);
    const float want[16] = {1, 2, 3, 4, 2, 4, 1, 3, 4, 3, 2, 1, 3, 1, 4, 2};
    for (int i = 0; i < 16; i++)
        assert_near(x[i] * 255, want[i], 1e-5);
    assert_near(x[16] * 255, 5, 1e-5);
    eg_recipe_free(r);
    eg_table_fini(&t);
}

static void test_floats_are_normalised_but_not_scaled(void **state)
{
    (void)state;
    eg_table t;
    assert_ok(eg_table_alloc_f32(&t, 1, 1, 2, 2, 1));
    for (int i = 0; i < 4; i++)
        t.f32[i] = (float)i * 10;
    eg_recipe *r =
        make(&(eg_transform){.angle = 180, .n_norm = 1, .mean = {10}, .std = {5}}, &t);
    float x[4];
    eg_recipe_fill(r, &t, (const int64_t[]){0}, 1, NULL, x);
    const float want[4] = {4, 2, 0, -2};
    for (int i = 0; i < 4; i++)
        assert_near(x[i], want[i], 1e-6);
    eg_recipe_free(r);
    eg_table_fini(&t);
}

static void test_what_does_not_fit_is_refused(void **state)
{
    (void)state;
    eg_table t = ramp(1, 2, 3, 4);
    eg_recipe *r;
    const int32_t bad[12] = {12};
    assert_fails(eg_recipe_new(&(eg_transform){.permutation = bad}, &t, &r), EG_EINVAL,
                 "permutation: 12 at 0 is outside 0 to 11");
    assert_fails(eg_recipe_new(&(eg_transform){.pad = 3}, &t, &r), EG_EINVAL, "padding");
    assert_fails(eg_recipe_new(&(eg_transform){.n_norm = 3}, &t, &r), EG_EINVAL, "channels");
    assert_fails(eg_recipe_new(&(eg_transform){.n_norm = 1}, &t, &r), EG_EINVAL, "deviation 0");
    assert_fails(eg_recipe_new(&(eg_transform){.four_rotations = true}, &t, &r), EG_EINVAL,
                 "square");
    assert_fails(eg_recipe_new(&(eg_transform){.angle = NAN}, &t, &r), EG_EINVAL, "angle");
    eg_table_fini(&t);
}

static void test_borrowed_values_are_neither_changed_nor_freed(void **state)
{
    (void)state;
    float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    eg_table t, copy;
    assert_ok(eg_table_alloc_f32(&t, 2, 1, 2, 2, 1));
    free(t.f32);
    t.f32 = values, t.borrowed = true;
    assert_ok(eg_table_copy(&t, &copy));
    assert_true(copy.f32 != values && !copy.borrowed && copy.f32[7] == 8);
    eg_table_fini(&copy);
    copy = t;
    assert_ok(eg_alloc(2, sizeof *copy.y, &copy.y));
    assert_ok(eg_table_own(&copy));
    assert_true(copy.f32 != values && !copy.borrowed);
    copy.f32[0] = 9;
    eg_table_fini(&copy);
    assert_ok(eg_table_resize(&t, 1, 1));
    assert_true(t.f32 != values && !t.borrowed && t.f32[0] == 2.5F);
    eg_table_fini(&t);
    assert_true(values[0] == 1);
}

static void test_resize_doubles_and_averages(void **state)
{
    (void)state;
    eg_table t;
    assert_ok(eg_table_alloc_u8(&t, 1, 1, 2, 2, 1));
    t.u8[1] = t.u8[3] = 100; /* 0 100 / 0 100 */
    assert_ok(eg_table_resize(&t, 4, 4));
    const uint8_t wide[4] = {0, 25, 75, 100}; /* centres at -0.25, 0.25, 0.75, 1.25 */
    for (int i = 0; i < 16; i++)
        assert_int_equal(t.u8[i], wide[i % 4]);
    assert_ok(eg_table_resize(&t, 1, 1));
    assert_int_equal(t.u8[0], 50);
    assert_fails(eg_table_resize(&t, 0, 3), EG_EINVAL, "cannot scale");
    eg_table_fini(&t);
}

static void test_grey_becomes_rgb_and_back(void **state)
{
    (void)state;
    eg_table t = ramp(2, 1, 2, 2);
    assert_ok(eg_table_set_channels(&t, 3));
    assert_int_equal(t.channels, 3);
    for (int i = 0; i < 24; i++)
        assert_int_equal(t.u8[i], i / 12 * 4 + i % 4 + 1);
    t.u8[0] = 200, t.u8[4] = 100, t.u8[8] = 50; /* luma 59.8 + 58.7 + 5.7 */
    assert_ok(eg_table_set_channels(&t, 1));
    assert_int_equal(t.u8[0], 124);
    assert_int_equal(t.u8[7], 8);
    assert_fails(eg_table_set_channels(&t, 2), EG_EINVAL, "channels");
    eg_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quarter_turns_move_pixels_exactly),
        cmocka_unit_test(test_a_turn_of_45_degrees_by_hand),
        cmocka_unit_test(test_what_turns_in_from_outside_is_zero),
        cmocka_unit_test(test_bytes_become_the_unit_interval),
        cmocka_unit_test(test_each_channel_is_normalised_by_its_own),
        cmocka_unit_test(test_rotation_then_permutation),
        cmocka_unit_test(test_rotated_corners_are_zero_before_normalisation),
        cmocka_unit_test(test_crop_flip_and_cutout_do_what_was_drawn),
        cmocka_unit_test(test_an_image_has_four_rotations),
        cmocka_unit_test(test_floats_are_normalised_but_not_scaled),
        cmocka_unit_test(test_what_does_not_fit_is_refused),
        cmocka_unit_test(test_borrowed_values_are_neither_changed_nor_freed),
        cmocka_unit_test(test_resize_doubles_and_averages),
        cmocka_unit_test(test_grey_becomes_rgb_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
