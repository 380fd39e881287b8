/* idx_test.c - IDX files as people have them, and damaged ones: each error names its file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fakes.h"

#include "world/data/idx.h"

#include <time.h>

#include "own_folder.h"

static eg_status load(const char *name, const char *dir, eg_split split, eg_table *t)
{
    return eg_dataset_load(eg_dataset_find(name), NULL, &(eg_origin){.dir = dir, .seed = 0},
                           split, t);
}

static void test_every_usual_file_name_is_found(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
        {"train-images.idx3-ubyte", "train-labels.idx1-ubyte"},
        {"mnist-train-images-idx3-ubyte.gz", "mnist-train-labels-idx1-ubyte.gz"},
        {"mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte"},
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char own[FILES_PATH];
        eg_table t;
        files_folder(own);
        fakes_idx(own, names[k][0], 20, 28, 0);
        fakes_idx(own, names[k][1], 20, 0, 10);
        assert_ok(load("mnist", own, EG_TRAIN, &t));
        assert_int_equal(t.n, 20);
        assert_int_equal(t.u8[28 * 28 + 5], fakes_pixel(1, 5));
        assert_int_equal(t.y[13], 3);
        eg_table_fini(&t);
        files_remove(own);
    }
}

/* Replaces MNIST's training files by these bytes and expects one clear sentence. */
static void check_bad(const char *images, size_t n_images, const char *labels, size_t n_labels,
                      const char *words)
{
    eg_table t;
    files_write(folder, "train-images-idx3-ubyte", images, n_images);
    files_write(folder, "train-labels-idx1-ubyte", labels, n_labels);
    assert_fails(load("mnist", folder, EG_TRAIN, &t), EG_EFORMAT, words);
    assert_true(strncmp(eg_error(), "mnist: ", 7) == 0);
    assert_non_null(strstr(eg_error(), "idx"));
    assert_null(t.u8);
}

static void test_damaged_files_are_named(void **state)
{
    (void)state;
#define IMAGES "\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\2" /* two images of 1x2 pixels */
#define LABELS "\0\0\10\1\0\0\0\2"
    check_bad("", 0, LABELS "ab", 10, "train-images-idx3-ubyte: the file is empty");
    check_bad(IMAGES "abcd", 20, "", 0, "train-labels-idx1-ubyte: the file is empty");
    check_bad(IMAGES "abc", 19, LABELS "\1\2", 10, "19 bytes where the header announces 20");
    check_bad(IMAGES "abcde", 21, LABELS "\1\2", 10, "more than the expected 20 bytes");
    check_bad(IMAGES "abcd", 20, LABELS "\1\12", 10, "label 10 of image 1 is outside 0 to 9");
    check_bad(IMAGES "abcd", 20, LABELS "\1\2\3", 11, "more than the expected 10");
    check_bad(IMAGES "abcd", 20, "\0\0\10\1\0\0\0\3\1\2\3", 11, "holds 2 images, but");
    check_bad(IMAGES "abcd", 12, LABELS "\1\2", 10, "cut short in its header");
    check_bad("<html>not found", 15, LABELS "\1\2", 10, "not an IDX file");
    check_bad(LABELS "\1\2", 10, LABELS "\1\2", 10, "1 dimensions where 3 are expected");
    check_bad("\0\0\10\3\0\0\0\0\0\0\0\1\0\0\0\2", 16, "\0\0\10\1\0\0\0\0", 8, "no images");
    check_bad("\0\0\10\3\377\377\377\377\377\377\377\377\377\377\377\377", 16, LABELS, 8,
              "too many elements");
    check_bad("\0\0\10\3\377\377\377\377\0\0\0\1\0\0\0\1", 17, LABELS, 8,
              "17 bytes where the header announces 4294967311");
    check_bad("\0\0\13\3\0\0\0\1\0\0\0\1\0\0\0\1ab", 18, "\0\0\10\1\0\0\0\1\0", 9, "shorts");
}

static void test_emnist_stands_upright_and_letters_start_at_zero(void **state)
{
    (void)state;
    fakes_idx(folder, "emnist/emnist-letters-train-images-idx3-ubyte", 3, 4, 0);
    const char labels[] = "\0\0\10\1\0\0\0\3\1\32\2";
    files_write(folder, "emnist/emnist-letters-train-labels-idx1-ubyte", labels, 11);
    const eg_dataset *d = eg_dataset_find("emnist");
    void *self;
    assert_ok(eg_component_new(&d->component, &self));
    assert_ok(eg_opts_set(d->component.opts, self, "split", "letters"));
    eg_table t;
    assert_ok(eg_dataset_load(d, self, &(eg_origin){.dir = folder, .seed = 0}, EG_TRAIN, &t));
    free(self);
    assert_int_equal(t.classes, 26);
    assert_int_equal(t.y[0], 0);
    assert_int_equal(t.y[1], 25);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 16; k++)
            assert_int_equal(t.u8[i * 16 + k], fakes_pixel(i, k % 4 * 4 + k / 4));
    eg_table_fini(&t);
}

static void test_femnist_keeps_complete_writers_and_splits_each(void **state)
{
    (void)state;
    fakes_femnist(folder);
    eg_table train, test;
    assert_ok(load("femnist", folder, EG_TRAIN, &train));
    assert_ok(load("femnist", folder, EG_TEST, &test));
    assert_int_equal(train.n, 81); /* three writers, 27 of 30 each */
    assert_int_equal(test.n, 9);
    int64_t per[3] = {0};
    for (int64_t i = 0; i < train.n; i++)
        per[train.group[i]]++;
    assert_true(per[0] == 27 && per[1] == 27 && per[2] == 27);
    assert_int_equal(test.u8[0], fakes_pixel(9, 0)); /* the tenth image of the first writer */
    assert_int_equal(test.y[3], (60 + 9) % 62); /* and of the third, who is now the second */
    assert_int_equal(test.group[3], 1);
    int64_t both;
    assert_ok(eg_table_overlap(&train, &test, &both));
    assert_int_equal(both, 0);
    eg_table_fini(&train);
    eg_table_fini(&test);
}

/* Digits are images 0 to 9 of writer 0, 62 to 71 of writer 2, and none of writer 3, who is
 * not counted then. */
static void test_femnist_has_its_digits_alone(void **state)
{
    (void)state;
    fakes_femnist(folder);
    const eg_dataset *d = eg_dataset_find("femnist");
    void *self;
    assert_ok(eg_component_new(&d->component, &self));
    assert_ok(eg_opts_set(d->component.opts, self, "characters", "digits"));
    eg_table train, test;
    assert_ok(
        eg_dataset_load(d, self, &(eg_origin){.dir = folder, .seed = 0}, EG_TRAIN, &train));
    assert_ok(eg_dataset_load(d, self, &(eg_origin){.dir = folder, .seed = 0}, EG_TEST, &test));
    free(self);
    assert_int_equal(train.classes, 10);
    assert_int_equal(train.n, 18);
    assert_int_equal(test.n, 2);
    for (int64_t i = 0; i < train.n; i++) {
        assert_int_equal(train.y[i], i % 9);
        assert_int_equal(train.group[i], i / 9);
    }
    assert_true(test.y[0] == 9 && test.y[1] == 9);
    assert_int_equal(test.u8[28 * 28], fakes_pixel(71, 0));
    eg_table_fini(&train);
    eg_table_fini(&test);
}

/* Letters are images 10 to 29 of writer 0, 60, 61 and 72 to 89 of writer 2, and all of writer
 * 3, with labels from S to Z and from a to v. */
static void test_femnist_has_letters_whatever_their_case(void **state)
{
    (void)state;
    fakes_femnist(folder);
    const eg_dataset *d = eg_dataset_find("femnist");
    static const int32_t tested[] = {9, 19, 7, 17, 1, 11, 21};
    void *self;
    assert_ok(eg_component_new(&d->component, &self));
    assert_ok(eg_opts_set(d->component.opts, self, "characters", "letters"));
    eg_table train, test;
    assert_ok(
        eg_dataset_load(d, self, &(eg_origin){.dir = folder, .seed = 0}, EG_TRAIN, &train));
    assert_ok(eg_dataset_load(d, self, &(eg_origin){.dir = folder, .seed = 0}, EG_TEST, &test));
    free(self);
    assert_int_equal(train.classes, 26);
    assert_int_equal(train.n, 63);
    assert_int_equal(test.n, 7);
    for (int64_t i = 0; i < test.n; i++)
        assert_int_equal(test.y[i], tested[i]);
    for (int64_t i = 0; i < 9; i++)
        assert_int_equal(train.y[i], i);
    assert_int_equal(train.u8[0], fakes_pixel(10, 0));
    assert_true(train.y[18] == 24 && train.y[19] == 25 && train.y[20] == 0);
    assert_int_equal(train.u8[18 * 28 * 28], fakes_pixel(60, 0));
    assert_true(train.group[17] == 0 && train.group[18] == 1 && train.group[62] == 2);
    assert_true(train.y[36] == 18 && train.y[43] == 25 && train.y[44] == 0); /* S, Z, a */
    eg_table_fini(&train);
    eg_table_fini(&test);
}

static void test_real_files_load_quickly_when_they_are_here(void **state)
{
    (void)state;
    static const char *const names[] = {"mnist", "fashion_mnist"};
    for (int k = 0; k < 2; k++) {
        eg_table t;
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (load(names[k], NULL, EG_TRAIN, &t) != EG_OK) {
            print_message("%s is not here\n", names[k]);
            continue;
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
        double seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
        print_message("%s: %lld images in %.3f s\n", names[k], (long long)t.n, seconds);
        assert_int_equal(t.n, 60000);
        assert_true(seconds < 5); /* a second on a quiet machine; sanitizers and load cost */
        eg_table_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_usual_file_name_is_found),
        cmocka_unit_test(test_damaged_files_are_named),
        cmocka_unit_test(test_emnist_stands_upright_and_letters_start_at_zero),
        cmocka_unit_test(test_femnist_keeps_complete_writers_and_splits_each),
        cmocka_unit_test(test_femnist_has_its_digits_alone),
        cmocka_unit_test(test_femnist_has_letters_whatever_their_case),
        cmocka_unit_test(test_real_files_load_quickly_when_they_are_here),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
