/* csv_data_test.c - tables of comma-separated values as data sets: what becomes of columns and
 * labels, which rows are for testing, and what is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"

#include <engram/data.h>

#include "own_folder.h"

/* Writes data.csv and loads it with options "key=value key=value". */
static eg_status load(const char *text, const char *set, eg_split split, eg_table *t)
{
    const eg_dataset *d = eg_dataset_find("csv");
    void *self;
    files_write(folder, "csv/data.csv", text, strlen(text));
    assert_ok(eg_component_new(&d->component, &self));
    assert_ok(eg_opts_set_text(d->component.opts, self, set));
    eg_status s = eg_dataset_load(d, self, &(eg_origin){.dir = folder}, split, t);
    free(self);
    return s;
}

static const char flowers[] = "\"sepal length\";petal;species;town\r\n"
                              "5.1;1,5;setosa;Ulm\r\n"; /* a comma is no point: refused */

static const char plants[] = "height, width ,species\n"
                             "1,10,\"b, wild\"\n2, 20 ,a\n3,30,\"b, wild\"\n4,40,a\n"
                             "5,50,\"b, wild\"\n-6,6e1,a\n";

static void test_columns_are_values_and_words_are_classes(void **state)
{
    (void)state;
    eg_table train, test;
    assert_ok(load(plants, "test_every=3", EG_TRAIN, &train));
    assert_ok(load(plants, "test_every=3", EG_TEST, &test));
    assert_int_equal(train.n, 4);
    assert_int_equal(train.channels * 100 + train.height * 10 + train.width, 211);
    assert_int_equal(train.classes, 2);
    assert_string_equal(train.names[0], "a");
    assert_string_equal(train.names[1], "b, wild");
    const float want[8] = {1, 10, 2, 20, 3, 30, 4, 40};
    for (int i = 0; i < 8; i++)
        assert_near(train.f32[i], want[i], 0);
    const int32_t y[4] = {1, 0, 1, 0};
    assert_memory_equal(train.y, y, sizeof y);
    assert_int_equal(test.n, 2); /* the third of each class */
    assert_near(test.f32[0], 5, 0);
    assert_near(test.f32[3], 60, 0);
    assert_string_equal(train.note, "rows behind a header by 2 values, separated by commas");
    eg_table_fini(&train);
    eg_table_fini(&test);
}

static void test_numbers_are_classes_in_their_order(void **state)
{
    (void)state;
    eg_table t;
    assert_ok(
        load("10,0.5\n9,0.25\n10,1\n-1,2\n9,3\n-1,1\n", "label=1 test_every=2", EG_TRAIN, &t));
    assert_int_equal(t.n, 3);
    assert_int_equal(t.classes, 3);
    assert_string_equal(t.names[0], "-1");
    assert_string_equal(t.names[1], "9");
    assert_string_equal(t.names[2], "10");
    assert_int_equal(t.y[0], 2);
    assert_near(t.f32[0], 0.5, 0);
    eg_table_fini(&t);
}

static void test_a_second_file_is_for_testing_and_shares_classes(void **state)
{
    (void)state;
    eg_table t;
    files_write(folder, "csv/more.csv", "x,Class\n7,c\n8,a\n", 16);
    assert_ok(load("x,Class\n1,b\n2,a\n", "test_path=csv/more.csv", EG_TEST, &t));
    assert_int_equal(t.n, 2);
    assert_int_equal(t.classes, 3);
    assert_int_equal(t.y[0], 2);
    assert_int_equal(t.y[1], 0);
    eg_table_fini(&t);
    files_write(folder, "csv/more.csv", "x,z,Class\n7,1,c\n", 16);
    assert_fails(load("x,Class\n1,b\n2,a\n", "test_path=csv/more.csv", EG_TEST, &t), EG_ESHAPE,
                 "1 columns of values and");
}

static void test_pictures_have_a_shape_and_are_bytes_if_they_fit(void **state)
{
    (void)state;
    eg_table t;
    assert_ok(load("label,p,q,r,s,u,v\n0,0,255,1,2,3,4\n1,5,6,7,8,9,10\n",
                   "shape=2x3 test_every=1000", EG_TRAIN, &t));
    assert_int_equal(t.channels * 100 + t.height * 10 + t.width, 123);
    assert_null(t.f32);
    assert_int_equal(t.u8[1], 255);
    assert_int_equal(t.u8[11], 10);
    eg_table_fini(&t);
    assert_ok(load("label,p,q,r\n0,0,255.5,1\n", "shape=3x1x1", EG_TRAIN, &t));
    assert_near(t.f32[1], 255.5, 0);
    eg_table_fini(&t);
    assert_fails(load("label,p,q\n0,1,2\n", "shape=2x2", EG_TRAIN, &t), EG_ESHAPE,
                 "data.shape is 2x2, and a row has 2 values");
    assert_fails(load("label,p,q\n0,1,2\n", "shape=two", EG_TRAIN, &t), EG_EINVAL,
                 "'two' is no shape such as 28x28");
}

static void test_columns_can_be_left_out(void **state)
{
    (void)state;
    eg_table t;
    assert_ok(load("id,x,town,y\na,1,Ulm,0\nb,2,Bonn,1\n", "drop=id,3", EG_TRAIN, &t));
    assert_int_equal(t.channels, 1);
    assert_near(t.f32[1], 2, 0);
    eg_table_fini(&t);
    assert_fails(load("id,x,y\na,1,0\n", "drop=town", EG_TRAIN, &t), EG_EINVAL,
                 "data.drop: there is no column 'town'; there are 3: id, x, y");
    assert_fails(load("id,x,y\na,1,0\n", "drop=y", EG_TRAIN, &t), EG_EINVAL,
                 "'y' is the column of labels");
    assert_fails(load("id,x,y\na,1,0\n", "label=4", EG_TRAIN, &t), EG_EINVAL,
                 "data.label: there is no column '4'");
}

static void test_what_is_wrong_is_named_by_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *set, *says;
    } all[] = {
        {"x,y\n1,a\n,b\n", "", "data.csv:3: column 'x' is empty; data.drop leaves columns out"},
        {"x,y\n1,a\nnan,b\n", "", "data.csv:3: column 'x' holds 'nan', which is no number"},
        {"1,a\n2 3,b\n", "", "data.csv:2: column 1 holds '2 3', which is no number"},
        {"x,y\n1,a\n1,2,b\n", "", "data.csv:3: 3 fields, where the first row has 2"},
        {"x,y\n1,\n", "", "data.csv:2: the label is empty"},
        {"x,y\n", "", "there are no rows for training"},
        {"", "", "the file is empty"},
        {"y\na\nb\n", "", "no column of numbers beside the labels"},
        {"x,y\n1e99,a\n", "", "'1e99', which is no number"},
        {flowers, "label=species", "column 'petal' holds '1,5', which is no number"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        eg_table t;
        assert_int_equal(load(all[i].text, all[i].set, EG_TRAIN, &t), EG_EFORMAT);
        if (!strstr(eg_error(), all[i].says))
            fail_msg("'%s' does not say '%s'", eg_error(), all[i].says);
    }
}

static void test_a_path_is_looked_for_beside_the_file_then_here_then_with_the_data(void **state)
{
    (void)state;
    char beside[FILES_PATH * 2], cwd[1024];
    const eg_dataset *d = eg_dataset_find("csv");
    void *self;
    eg_table t;
    snprintf(beside, sizeof beside, "%s/own", folder);
    files_write(folder, "csv/data.csv", "1,a\n2,b\n", 8);
    files_write(folder, "own/other.txt", "", 0);
    assert_ok(eg_component_new(&d->component, &self));
    const eg_origin from = {.dir = folder, .beside = beside};
    assert_ok(eg_dataset_load(d, self, &from, EG_TRAIN, &t));
    assert_int_equal(t.n, 2);
    eg_table_fini(&t);
    files_write(folder, "own/csv/data.csv", "1,a\n2,b\n3,c\n", 12);
    assert_ok(eg_dataset_load(d, self, &from, EG_TRAIN, &t));
    assert_int_equal(t.n, 3);
    eg_table_fini(&t);
    assert_ok(eg_opts_set(d->component.opts, self, "path", "nowhere.csv"));
    assert_fails(eg_dataset_load(d, self, &from, EG_TRAIN, &t), EG_ENOENT,
                 "there is no 'nowhere.csv'; looked for: ");
    assert_non_null(strstr(eg_error(), beside));
    assert_non_null(getcwd(cwd, sizeof cwd));
    strcat(cwd, "/nowhere.csv");
    assert_non_null(strstr(eg_error(), cwd));
    free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_are_values_and_words_are_classes),
        cmocka_unit_test(test_numbers_are_classes_in_their_order),
        cmocka_unit_test(test_a_second_file_is_for_testing_and_shares_classes),
        cmocka_unit_test(test_pictures_have_a_shape_and_are_bytes_if_they_fit),
        cmocka_unit_test(test_columns_can_be_left_out),
        cmocka_unit_test(test_what_is_wrong_is_named_by_line_and_column),
        cmocka_unit_test(
            test_a_path_is_looked_for_beside_the_file_then_here_then_with_the_data),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
