/* dataset_test.c - what every data set must do, walked through the list.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fakes.h"

#include <engram/data.h>

#include "own_folder.h"

static int setup(void **state)
{
    open_folder(state);
    fakes_write(folder);
    return 0;
}

/* Options as they come, but few samples. */
static void *options(const eg_dataset *d)
{
    void *self;
    assert_ok(eg_component_new(&d->component, &self));
    const eg_opt *train = eg_opts_find(d->component.opts, "train");
    if (!train || train->type != EG_OPT_IS_INT)
        return self;
    assert_ok(eg_opts_set(d->component.opts, self, "train", "220"));
    if (eg_opts_find(d->component.opts, "test"))
        assert_ok(eg_opts_set(d->component.opts, self, "test", "210"));
    return self;
}

static bool is_generated(const eg_dataset *d)
{
    return d->generated;
}

static eg_table load(const eg_dataset *d, eg_split split, uint64_t seed)
{
    eg_table t;
    void *self = options(d);
    assert_ok(eg_dataset_load(d, self, &(eg_origin){.dir = folder, .seed = seed}, split, &t));
    free(self);
    return t;
}

static void test_names_are_file_names_in_order(void **state)
{
    (void)state;
    static const char *const names[] = {
#define X(name) #name,
#include "world/data/list.inc"
#undef X
        NULL,
    };
    for (size_t i = 0; names[i]; i++) {
        assert_string_equal(eg_datasets[i]->component.name, names[i]);
        assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
        assert_ptr_equal(eg_dataset_find(names[i]), eg_datasets[i]);
    }
    assert_ptr_equal(eg_dataset_find("fashion-mnist"), eg_dataset_find("fashion_mnist"));
    assert_null(eg_dataset_find("nothing"));
    assert_non_null(strstr(eg_error(), "there are blobs, boxes, cifar10"));
}

static void check_table(const eg_dataset *d, const eg_table *t)
{
    assert_true(t->n > 0 && t->channels > 0 && t->height > 0 && t->width > 0);
    assert_true((t->u8 == NULL) != (t->f32 == NULL));
    for (int64_t i = 0; i < t->n; i++)
        if (t->y[i] < 0 || t->y[i] >= t->classes)
            fail_msg("%s: label %d of %lld", d->component.name, t->y[i], (long long)i);
}

static void test_both_splits_load_with_labels_in_range(void **state)
{
    (void)state;
    for (const eg_dataset *const *d = eg_datasets; *d; d++) {
        eg_table train = load(*d, EG_TRAIN, 1), test = load(*d, EG_TEST, 1);
        check_table(*d, &train);
        check_table(*d, &test);
        assert_int_equal(train.classes, test.classes);
        assert_int_equal(eg_table_sample(&train), eg_table_sample(&test));
        eg_table_fini(&train);
        eg_table_fini(&test);
    }
}

static void test_same_seed_same_bytes_and_only_generated_ones_follow_it(void **state)
{
    (void)state;
    for (const eg_dataset *const *d = eg_datasets; *d; d++)
        for (int split = EG_TRAIN; split <= EG_TEST; split++) {
            char digest[3][65];
            for (int k = 0; k < 3; k++) {
                eg_table t = load(*d, (eg_split)split, k == 2 ? 2 : 1);
                eg_table_digest(&t, digest[k]);
                eg_table_fini(&t);
            }
            assert_string_equal(digest[0], digest[1]);
            if (is_generated(*d))
                assert_string_not_equal(digest[0], digest[2]);
            else
                assert_string_equal(digest[0], digest[2]);
        }
}

static void test_generated_samples_depend_on_their_index_alone(void **state)
{
    (void)state;
    for (const eg_dataset *const *d = eg_datasets; *d; d++) {
        if (!is_generated(*d))
            continue;
        eg_table all = load(*d, EG_TRAIN, 3), few, test = load(*d, EG_TEST, 3);
        void *self = options(*d);
        assert_ok(eg_opts_set((*d)->component.opts, self, "train", "30"));
        assert_ok(
            eg_dataset_load(*d, self, &(eg_origin){.dir = folder, .seed = 3}, EG_TRAIN, &few));
        free(self);
        size_t size = eg_table_sample(&few) * (few.u8 ? 1 : 4);
        const uint8_t *a = few.u8 ? few.u8 : (uint8_t *)few.f32;
        const uint8_t *b = all.u8 ? all.u8 : (uint8_t *)all.f32;
        const uint8_t *c = test.u8 ? test.u8 : (uint8_t *)test.f32;
        assert_memory_equal(a, b, 30 * size);
        assert_memory_equal(few.y, all.y, 30 * sizeof *few.y);
        assert_memory_not_equal(c, b, size); /* the splits are not the same images */
        int64_t repeats;
        assert_ok(eg_table_overlap(&all, &test, &repeats));
        assert_int_equal(repeats, 0);
        assert_ok(eg_table_repeats(&all, &repeats));
        assert_int_equal(repeats, 0);
        eg_table_fini(&all);
        eg_table_fini(&few);
        eg_table_fini(&test);
    }
}

static void test_a_missing_set_says_where_it_was_looked_for(void **state)
{
    (void)state;
    char empty[FILES_PATH], where[FILES_PATH + 32];
    files_folder(empty);
    for (const eg_dataset *const *d = eg_datasets; *d; d++) {
        eg_table t;
        if (is_generated(*d) || (strcmp((*d)->component.name, "fashion_mnist") == 0 &&
                                 access("/usr/share/datasets/fashion-mnist", F_OK) == 0))
            continue;
        eg_status s =
            eg_dataset_load(*d, NULL, &(eg_origin){.dir = empty, .seed = 0}, EG_TRAIN, &t);
        assert_int_equal(s, EG_ENOENT);
        snprintf(where, sizeof where, "%s/%s", empty, (*d)->component.name);
        if (!strstr(eg_error(), where) ||
            strstr(eg_error(), (*d)->component.name) != eg_error())
            fail_msg("%s does not say %s", eg_error(), where);
    }
    eg_table t;
    char home[FILES_PATH] = "";
    const eg_dataset *mnist = eg_dataset_find("mnist");
    if (getenv("HOME"))
        snprintf(home, sizeof home, "%s", getenv("HOME"));
    unsetenv("ENGRAM_DATA");
    unsetenv("HOME");
    assert_fails(eg_dataset_load(mnist, NULL, NULL, EG_TRAIN, &t), EG_ENOENT,
                 "no data folder is given: use --data-dir or ENGRAM_DATA");
    setenv("HOME", empty, 1);
    snprintf(where, sizeof where, "%s/.local/share/engram/mnist", empty);
    assert_fails(eg_dataset_load(mnist, NULL, NULL, EG_TRAIN, &t), EG_ENOENT, where);
    assert_non_null(strstr(eg_error(), "'tools/data mnist' brings the four files"));
    setenv("HOME", home, 1);
    setenv("ENGRAM_DATA", folder, 1);
    assert_ok(eg_dataset_load(eg_dataset_find("mnist"), NULL, NULL, EG_TRAIN, &t));
    eg_table_fini(&t);
    files_remove(empty);
}

static void test_every_set_has_a_contact_sheet(void **state)
{
    (void)state;
    char path[FILES_PATH + 32];
    snprintf(path, sizeof path, "%s/sheet.png", folder);
    for (const eg_dataset *const *d = eg_datasets; *d; d++) {
        eg_table t = load(*d, EG_TRAIN, 1);
        eg_image im;
        if (t.ids) { /* texts are printed instead */
            assert_non_null((*d)->spell);
            eg_table_fini(&t);
            continue;
        }
        assert_ok(eg_table_sheet(&t, 3, path));
        assert_ok(eg_image_load(path, &im));
        assert_int_equal(im.height, 2 + t.classes * (t.height + 2));
        eg_image_fini(&im);
        eg_table_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_file_names_in_order),
        cmocka_unit_test(test_both_splits_load_with_labels_in_range),
        cmocka_unit_test(test_same_seed_same_bytes_and_only_generated_ones_follow_it),
        cmocka_unit_test(test_generated_samples_depend_on_their_index_alone),
        cmocka_unit_test(test_a_missing_set_says_where_it_was_looked_for),
        cmocka_unit_test(test_every_set_has_a_contact_sheet),
    };
    return cmocka_run_group_tests(tests, setup, close_folder);
}
