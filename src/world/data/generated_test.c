/* generated_test.c - glyphs and fractals: what their pictures must be like.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/data.h>
#include <stdio.h>
#include <stdlib.h>

enum { GENERATED_IMAGES = 780 };

static eg_status load_two(const char *name, const char *const set[2][2], eg_table *out)
{
    const eg_dataset *d = eg_dataset_find(name);
    char images[16];
    void *self;
    snprintf(images, sizeof images, "%d", GENERATED_IMAGES);
    assert_ok(eg_component_new(&d->component, &self));
    assert_ok(eg_opts_set(d->component.opts, self, "train", images));
    for (int i = 0; i < 2 && set[i][0]; i++)
        assert_ok(eg_opts_set(d->component.opts, self, set[i][0], set[i][1]));
    eg_status s = eg_dataset_load(d, self, &(eg_origin){.dir = NULL, .seed = 5}, EG_TRAIN, out);
    free(self);
    return s;
}

static eg_table load(const char *name, const char *key, const char *value)
{
    const char *const set[2][2] = {{key, value}};
    eg_table t;
    assert_ok(load_two(name, set, &t));
    return t;
}

static void test_every_character_leaves_ink_inside_the_frame(void **state)
{
    (void)state;
    eg_table t = load("glyphs", "classes", "62");
    assert_int_equal(t.classes, 62);
    for (int64_t i = 0; i < t.n; i++) {
        const uint8_t *p = t.u8 + i * 784;
        assert_int_equal(t.y[i], i % 62);
        int bright = 0;
        for (int k = 0; k < 784; k++)
            bright += p[k] > 110;
        if (bright < 8 || bright > 400)
            fail_msg("image %lld of class %d has %d bright pixels", (long long)i, t.y[i],
                     bright);
    }
    eg_table_fini(&t);
}

/* Image i is drawn with the numbers of i whatever its class, and is the same image where the
 * character is the same: number 10 + i mod 26 and i mod 62 agree from i = 754 to 779. */
static void test_glyphs_may_begin_with_a_later_character(void **state)
{
    (void)state;
    static const char *const letters[2][2] = {{"first", "10"}, {"classes", "26"}};
    static const char *const beyond[2][2] = {{"first", "37"}, {"classes", "26"}};
    eg_table all = load("glyphs", "classes", "62"), t, none;
    assert_ok(load_two("glyphs", letters, &t));
    assert_int_equal(t.classes, 26);
    for (int64_t i = 754; i < GENERATED_IMAGES; i++) {
        assert_int_equal(t.y[i] + 10, all.y[i]);
        assert_memory_equal(t.u8 + i * 784, all.u8 + i * 784, 784);
    }
    assert_memory_not_equal(t.u8, all.u8, 784);
    assert_fails(load_two("glyphs", beyond, &none), EG_EINVAL,
                 "26 classes from character 37 on, but there are 62 characters");
    eg_table_fini(&t);
    eg_table_fini(&all);
}

static void test_classes_have_the_names_of_their_characters(void **state)
{
    (void)state;
    const char *const set[2][2] = {{"classes", "3"}, {"first", "35"}};
    eg_table t, copy;
    assert_ok(load_two("glyphs", set, &t));
    assert_ok(eg_table_copy(&t, &copy));
    eg_table_fini(&t);
    assert_string_equal(copy.names[0], "Z");
    assert_string_equal(copy.names[2], "b");
    const char *const strange[] = {"a\nb\xff", "",
                                   "é23456789é123456789é123456789é123456789é12345678é"};
    assert_ok(eg_table_name_classes(&copy, strange));
    assert_string_equal(copy.names[0], "a?b?");
    assert_string_equal(copy.names[1], "");
    assert_int_equal(strlen(copy.names[2]), 55);
    eg_table_fini(&copy);
}

static void test_glyphs_without_noise_are_smooth(void **state)
{
    (void)state;
    eg_table t = load("glyphs", "noise", "0");
    for (int64_t i = 0; i < t.n; i++) { /* most of an image is paper of one shade */
        int count[256] = {0}, most = 0;
        for (int k = 0; k < 784; k++)
            count[t.u8[i * 784 + k]]++;
        for (int k = 0; k < 256; k++)
            most = count[k] > most ? count[k] : most;
        assert_true(most > 350);
    }
    eg_table_fini(&t);
}

static void test_single_fractals_equal_those_of_the_table(void **state)
{
    (void)state;
    eg_table t = load("fractals", "classes", "7");
    eg_fractals *f;
    assert_ok(eg_fractals_new(&(eg_fractals_opts){7, 32, 10000}, 5, &f));
    uint8_t rgb[3072];
    const int64_t some[] = {619, 0, 13};
    for (int k = 0; k < 3; k++) {
        assert_ok(eg_fractals_image(f, EG_TRAIN, some[k], rgb));
        assert_memory_equal(rgb, t.u8 + some[k] * 3072, 3072);
    }
    eg_fractals_free(f);
    eg_table_fini(&t);
}

static void test_fractals_have_any_size(void **state)
{
    (void)state;
    const int64_t sizes[] = {2, 3, 33, 100, 257};
    for (size_t k = 0; k < 5; k++) {
        int64_t n = 3 * sizes[k] * sizes[k];
        eg_fractals *f;
        uint8_t *rgb = malloc((size_t)n);
        assert_ok(eg_fractals_new(&(eg_fractals_opts){3, sizes[k], 500}, 1, &f));
        for (int64_t i = 0; i < 20; i++)
            assert_ok(eg_fractals_image(f, EG_TEST, i, rgb));
        eg_fractals_free(f);
        free(rgb);
    }
    eg_fractals *f;
    assert_fails(eg_fractals_new(&(eg_fractals_opts){3, 1, 500}, 1, &f), EG_EINVAL, "1 pixels");
}

static void test_no_fractal_appears_twice(void **state)
{
    (void)state;
    eg_table a = load("fractals", "classes", "2"), b;
    const eg_dataset *d = eg_dataset_find("fractals");
    assert_ok(eg_dataset_load(d, NULL, &(eg_origin){.dir = NULL, .seed = 6}, EG_TEST, &b));
    assert_int_equal(b.n, 2000);
    int64_t same;
    assert_ok(eg_table_overlap(&a, &b, &same));
    assert_int_equal(same, 0);
    assert_ok(eg_table_repeats(&b, &same));
    assert_int_equal(same, 0);
    eg_table_fini(&a);
    eg_table_fini(&b);
}

/* White on black: a pixel is dark where no point fell, and most of a fractal shows. */
static void test_grey_fractals_stand_on_black(void **state)
{
    (void)state;
    enum { SIZE = 32, IMAGES = 40 };
    uint8_t grey[SIZE * SIZE], again[SIZE * SIZE];
    int64_t dark = 0, light = 0;
    eg_fractals *f;
    assert_ok(eg_fractals_new(&(eg_fractals_opts){4, SIZE, 2000}, 3, &f));
    for (int64_t i = 0; i < IMAGES; i++) {
        assert_ok(eg_fractals_grey(f, EG_TRAIN, i, grey));
        assert_ok(eg_fractals_grey(f, EG_TRAIN, i, again));
        assert_memory_equal(grey, again, sizeof grey);
        for (int k = 0; k < SIZE * SIZE; k++)
            dark += grey[k] == 0, light += grey[k] > 60;
    }
    assert_true(dark > IMAGES * SIZE * SIZE / 5 && light > IMAGES * SIZE * SIZE / 20);
    eg_fractals_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_character_leaves_ink_inside_the_frame),
        cmocka_unit_test(test_glyphs_may_begin_with_a_later_character),
        cmocka_unit_test(test_classes_have_the_names_of_their_characters),
        cmocka_unit_test(test_glyphs_without_noise_are_smooth),
        cmocka_unit_test(test_single_fractals_equal_those_of_the_table),
        cmocka_unit_test(test_fractals_have_any_size),
        cmocka_unit_test(test_grey_fractals_stand_on_black),
        cmocka_unit_test(test_no_fractal_appears_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
