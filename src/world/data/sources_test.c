/* sources_test.c - CIFAR's form, folders of pictures and NumPy arrays, sound and damaged.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fakes.h"

#include <engram/data.h>

#include "own_folder.h"

/* Loads with options given as "key=value key=value". */
static eg_status load(const char *name, const char *set, eg_split split, eg_table *t)
{
    const eg_dataset *d = eg_dataset_find(name);
    void *self;
    assert_ok(eg_component_new(&d->component, &self));
    char words[256], *rest = words;
    snprintf(words, sizeof words, "%s", set);
    for (char *w; (w = strtok_r(rest, " ", &rest));) {
        char *equals = strchr(w, '=');
        *equals = 0;
        assert_ok(eg_opts_set(d->component.opts, self, w, equals + 1));
    }
    eg_status s = eg_dataset_load(d, self, &(eg_origin){.dir = folder, .seed = 0}, split, t);
    free(self);
    return s;
}

static void test_cifar10_takes_the_files_that_are_there(void **state)
{
    (void)state;
    eg_table t;
    fakes_cifar(folder, "cifar10/data_batch_1.bin", 20, 1);
    fakes_cifar(folder, "cifar10/data_batch_3.bin", 10, 1);
    assert_ok(load("cifar10", "", EG_TRAIN, &t));
    assert_int_equal(t.n, 30);
    assert_string_equal(t.note, "2 of 5 training files are there");
    assert_int_equal(t.u8[25 * 3072 + 100], fakes_pixel(5, 100));
    assert_int_equal(t.y[25], 5);
    eg_table_fini(&t);
    assert_fails(load("cifar10", "", EG_TEST, &t), EG_ENOENT, "test_batch.bin(.gz)");
}

static void test_cifar100_has_fine_and_coarse_labels(void **state)
{
    (void)state;
    eg_table t;
    fakes_cifar(folder, "cifar100/train.bin", 50, 2);
    assert_ok(load("cifar100", "", EG_TRAIN, &t));
    assert_int_equal(t.classes, 100);
    assert_int_equal(t.y[37], 37);
    eg_table_fini(&t);
    assert_ok(load("cifar100", "labels=coarse", EG_TRAIN, &t));
    assert_int_equal(t.classes, 20);
    assert_int_equal(t.y[37], 7);
    eg_table_fini(&t);
}

static void test_damaged_cifar_files_are_named(void **state)
{
    (void)state;
    eg_table t;
    uint8_t record[3073] = {0};
    files_write(folder, "svhn/train.bin", "", 0);
    assert_fails(load("svhn", "", EG_TRAIN, &t), EG_EFORMAT, "train.bin: the file is empty");
    files_write(folder, "svhn/train.bin", record, 3000);
    assert_fails(load("svhn", "", EG_TRAIN, &t), EG_EFORMAT,
                 "train.bin: 3000 bytes are not a whole number of 3073-byte records");
    record[0] = 10;
    files_write_gz(folder, "svhn/test.bin.gz", record, 3073);
    assert_fails(load("svhn", "", EG_TEST, &t), EG_EFORMAT,
                 "test.bin.gz: label 10 of image 0 is outside 0 to 9");
}

static void test_folders_are_classes_in_the_order_of_names(void **state)
{
    (void)state;
    eg_table t;
    fakes_png(folder, "zoo/train/dog/b.png", 4, 6, 40);
    fakes_png(folder, "zoo/train/dog/a.PNG", 9, 3, 20);
    fakes_png(folder, "zoo/train/ant/images/x.png", 2, 2, 60);
    files_write(folder, "zoo/train/ant/notes.txt", "", 0);
    fakes_png(folder, "zoo/test/ant/y.png", 2, 2, 80);
    assert_ok(load("folder", "path=zoo height=5 width=3", EG_TRAIN, &t));
    assert_int_equal(t.n, 3);
    assert_int_equal(t.classes, 2);
    assert_string_equal(t.names[1], "dog");
    const int values[3] = {60, 20, 40}, labels[3] = {0, 1, 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(t.y[i], labels[i]);
        for (int k = 0; k < 45; k++)
            assert_int_equal(t.u8[i * 45 + k], values[i]);
    }
    eg_table_fini(&t);
    assert_ok(load("folder", "path=zoo colour=grey", EG_TEST, &t));
    assert_int_equal(t.n, 1);
    assert_int_equal(t.channels, 1);
    assert_int_equal(t.u8[7], 80);
    eg_table_fini(&t);
    fakes_png(folder, "zoo/test/cow/y.png", 2, 2, 80);
    assert_fails(load("folder", "path=zoo", EG_TEST, &t), EG_EFORMAT,
                 "test/cow: this class has no training folder");
}

static void test_a_folder_without_a_split_is_split_by_name(void **state)
{
    (void)state;
    eg_table train, test;
    for (int i = 0; i < 10; i++) {
        char name[64];
        snprintf(name, sizeof name, "farm/%s/%d.png", i % 2 ? "pig" : "hen", i);
        fakes_png(folder, name, 3, 3, (uint8_t)(10 * i));
    }
    assert_ok(load("folder", "path=farm", EG_TRAIN, &train));
    assert_ok(load("folder", "path=farm", EG_TEST, &test));
    assert_int_equal(train.n, 8);
    assert_int_equal(test.n, 2);
    assert_int_equal(test.u8[0], 80); /* the fifth of 0 2 4 6 8 */
    assert_int_equal(test.y[1], 1);
    eg_table_fini(&train);
    eg_table_fini(&test);
}

static void test_bad_pictures_are_named(void **state)
{
    (void)state;
    eg_table t;
    files_write(folder, "bad/train/a/empty.png", "", 0);
    assert_fails(load("folder", "path=bad", EG_TRAIN, &t), EG_EFORMAT,
                 "train/a/empty.png: the file is empty");
    files_write(folder, "bad/train/a/empty.png", "GIF89a", 6);
    assert_fails(load("folder", "path=bad", EG_TRAIN, &t), EG_EFORMAT,
                 "empty.png: no PNG, JPEG, WebP or BMP file");
    files_write(folder, "none/train/a/x.txt", "", 0);
    assert_fails(load("folder", "path=none", EG_TRAIN, &t), EG_EFORMAT, "no PNG, JPEG, WebP");
    files_write(folder, "flat/x.png", "", 0);
    assert_fails(load("folder", "path=flat", EG_TRAIN, &t), EG_EFORMAT, "no class folders");
}

static void test_npy_layouts(void **state)
{
    (void)state;
    eg_table t;
    const float x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const int32_t y[2] = {4, 0}, z[1] = {6};
    fakes_npy(folder, "npy/x_train.npy", "<f4", "(2, 1, 2, 3)", x, 48);
    fakes_npy(folder, "npy/y_train.npy", "<i4", "(2, 1)", y, 8);
    fakes_npy(folder, "npy/y_test.npy", "<i4", "(1,)", z, 4);
    assert_ok(load("npy", "layout=hwc", EG_TRAIN, &t));
    assert_int_equal(t.channels * 100 + t.height * 10 + t.width, 312);
    assert_int_equal(t.classes, 7); /* the test labels count too */
    const float want[6] = {0, 3, 1, 4, 2, 5};
    for (int i = 0; i < 6; i++)
        assert_near(t.f32[i], want[i], 0);
    eg_table_fini(&t);
    assert_ok(load("npy", "classes=5", EG_TRAIN, &t));
    assert_int_equal(t.channels * 100 + t.height * 10 + t.width, 123);
    assert_int_equal(t.y[0], 4);
    eg_table_fini(&t);
    assert_fails(load("npy", "classes=4", EG_TRAIN, &t), EG_EFORMAT,
                 "label 4 of sample 0 is outside 0 to 3");
}

static void test_npy_labels_may_be_words_or_ones_among_zeros(void **state)
{
    (void)state;
    eg_table t;
    const float x[6] = {0, 1, 2, 3, 4, 5}, hot[9] = {0, 0, 1, 1, 0, 0, 0, 0, 1};
    const uint16_t half[6] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0xc500};
    fakes_npy(folder, "npy/x_train.npy", "<f4", "(3, 2)", x, 24);
    fakes_npy(folder, "npy/y_train.npy", "|S4", "(3,)", "wolfant\0wolf", 12);
    fakes_npy(folder, "npy/y_test.npy", "|S3", "(1, 1)", "cat", 3);
    assert_ok(load("npy", "", EG_TRAIN, &t));
    assert_int_equal(t.classes, 3);
    assert_string_equal(t.names[2], "wolf");
    const int32_t words[3] = {2, 0, 2}, ones[3] = {2, 0, 2};
    assert_memory_equal(t.y, words, sizeof words);
    eg_table_fini(&t);
    fakes_npy(folder, "npy/y_train.npy", "<f4", "(3, 3)", hot, 36);
    assert_fails(load("npy", "", EG_TRAIN, &t), EG_EFORMAT, "has words and the other numbers");
    fakes_npy(folder, "npy/y_test.npy", "<f4", "(1, 3)", hot, 12);
    fakes_npy(folder, "npy/x_train.npy", "<f2", "(3, 2)", half, 12);
    files_write(folder, "npy/classes.txt", "a\r\nb c\n", 8);
    assert_fails(load("npy", "", EG_TRAIN, &t), EG_EFORMAT,
                 "names of 2 classes, and 3 classes");
    files_write(folder, "npy/classes.txt", "a\r\nb c\nd", 9);
    assert_ok(load("npy", "", EG_TRAIN, &t));
    assert_int_equal(t.classes, 3);
    assert_string_equal(t.names[1], "b c");
    assert_memory_equal(t.y, ones, sizeof ones);
    assert_near(t.f32[5], -5, 0);
    eg_table_fini(&t);
    fakes_npy(folder, "npy/y_train.npy", "<f4", "(3, 2)", x, 24);
    assert_fails(load("npy", "", EG_TRAIN, &t), EG_EFORMAT, "sample 1: an axis of 2");
    fakes_npy(folder, "npy/y_train.npy", "<f4", "(3, 3)", hot + 3, 36 - 12);
    assert_int_not_equal(load("npy", "", EG_TRAIN, &t), EG_OK);
    files_write(folder, "npy/classes.txt", "", 0);
}

static void test_npy_channels_last_are_not_taken_for_rows(void **state)
{
    (void)state;
    static const char *const shapes[] = {"(2, 6, 2, 1)", "(2, 2, 2, 3)", "(1, 6, 1, 4)"};
    eg_table t;
    const uint8_t x[24] = {0};
    const int32_t y[2] = {0, 1};
    fakes_npy(folder, "npy/y_train.npy", "<i4", "(2,)", y, 8);
    fakes_npy(folder, "npy/y_test.npy", "<i4", "(2,)", y, 8);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        fakes_npy(folder, "npy/x_train.npy", "|u1", shapes[i], x, 24);
        assert_fails(load("npy", "", EG_TRAIN, &t), EG_ESHAPE, "data.layout to hwc");
    }
    fakes_npy(folder, "npy/x_train.npy", "|u1", "(2, 6, 2, 1)", x, 24);
    assert_ok(load("npy", "layout=chw", EG_TRAIN, &t)); /* said to be so */
    assert_int_equal(t.channels, 6);
    eg_table_fini(&t);
    assert_ok(load("npy", "layout=hwc", EG_TRAIN, &t));
    assert_int_equal(t.channels, 1);
    eg_table_fini(&t);
    fakes_npy(folder, "npy/x_train.npy", "|u1", "(2, 3, 1, 4)", x,
              24); /* small, but no doubt */
    assert_ok(load("npy", "", EG_TRAIN, &t));
    assert_int_equal(t.channels, 3);
    eg_table_fini(&t);
}

/* A gzip file that unpacks to far more than its shape says, or whose shape is beyond reason. */
static void test_npy_files_grow_no_larger_than_their_shape(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *says;
    } all[] = {
        {"(2, 4)}          ", "x_train.npy: holds more than the expected 88 bytes"},
        {"(999999, 999999)}", "x_train.npy: the shape needs 999998000081 bytes"},
    };
    static uint8_t bomb[1 << 20];
    eg_table t;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int n =
            snprintf((char *)bomb, 100,
                     "\x93NUMPY\1%c%c%c{'descr': '|u1', 'fortran_order': False, 'shape': %s", 0,
                     70, 0, all[i].shape);
        memset(bomb + n, ' ', (size_t)(80 - n));
        files_write_gz(folder, "npy/x_train.npy", bomb, sizeof bomb);
        assert_fails(load("npy", "classes=0", EG_TRAIN, &t), EG_EFORMAT, all[i].says);
    }
}

/* Labels from 1 would be a class too many; ids of words would be learned from as if they were
 * measured. */
static void test_npy_labels_from_1_and_ids_are_said(void **state)
{
    (void)state;
    eg_table t;
    const int64_t ids[4] = {101, 2023, 255, 102}, grey[4] = {0, 255, 17, 3};
    const int32_t y[2] = {1, 10}, z[1] = {3};
    fakes_npy(folder, "npy/x_train.npy", "<i8", "(2, 2)", grey, 32);
    fakes_npy(folder, "npy/y_train.npy", "<i4", "(2,)", y, 8);
    fakes_npy(folder, "npy/y_test.npy", "<i4", "(1,)", z, 4);
    assert_fails(
        load("npy", "", EG_TRAIN, &t), EG_EINVAL,
        "labels are 1 to 10, and classes are counted from 0: that would be 11 classes, "
        "1 of them without a sample; take 1 off every label, or set data.classes to 11");
    assert_ok(load("npy", "classes=11", EG_TRAIN, &t));
    assert_near(t.f32[1], 255, 0);
    eg_table_fini(&t);
    fakes_npy(folder, "npy/x_train.npy", "<i8", "(2, 2)", ids, 32);
    assert_fails(load("npy", "classes=11", EG_TRAIN, &t), EG_EINVAL,
                 "x_train has whole numbers such as 2023, as ids of words have");
}

static void test_npy_pairs_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    eg_table t;
    const float x[4] = {0}, half[2] = {0, 0.5f};
    fakes_npy(folder, "npy/x_train.npy", "<f4", "(2, 2)", x, 16);
    fakes_npy(folder, "npy/y_train.npy", "<f4", "(1,)", x, 4);
    assert_fails(load("npy", "", EG_TRAIN, &t), EG_ESHAPE,
                 "2 samples, but 1 labels in y_train");
    fakes_npy(folder, "npy/y_train.npy", "<f4", "(2,)", half, 8);
    assert_fails(load("npy", "", EG_TRAIN, &t), EG_EFORMAT, "label 0.5 of sample 1");
    fakes_npy(folder, "npy/x_train.npy", "<f4", "(4,)", x, 16);
    assert_fails(load("npy", "", EG_TRAIN, &t), EG_ESHAPE, "1 axes");
    const float broken[] = {0, 1, NAN, 3};
    fakes_npy(folder, "npy/x_train.npy", "<f4", "(2, 2)", broken, 16);
    fakes_npy(folder, "npy/y_train.npy", "<f4", "(2,)", x, 8);
    assert_fails(load("npy", "", EG_TRAIN, &t), EG_EFORMAT, "sample 1: ");
    assert_non_null(strstr(eg_error(), "x_train has a value that is not finite"));
    files_write(folder, "npy/a.npz", "PK", 2);
    assert_fails(load("npy", "path=npy/a.npz", EG_TRAIN, &t), EG_EFORMAT, "a.npz: not a zip");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cifar10_takes_the_files_that_are_there),
        cmocka_unit_test(test_cifar100_has_fine_and_coarse_labels),
        cmocka_unit_test(test_damaged_cifar_files_are_named),
        cmocka_unit_test(test_folders_are_classes_in_the_order_of_names),
        cmocka_unit_test(test_a_folder_without_a_split_is_split_by_name),
        cmocka_unit_test(test_bad_pictures_are_named),
        cmocka_unit_test(test_npy_layouts),
        cmocka_unit_test(test_npy_labels_may_be_words_or_ones_among_zeros),
        cmocka_unit_test(test_npy_channels_last_are_not_taken_for_rows),
        cmocka_unit_test(test_npy_files_grow_no_larger_than_their_shape),
        cmocka_unit_test(test_npy_labels_from_1_and_ids_are_said),
        cmocka_unit_test(test_npy_pairs_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
