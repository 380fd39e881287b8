/* boxes_test.c - pictures with boxes are scaled with them; bad ones are refused in a sentence.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fakes.h"

#include "world/data/yolo_text.h"

#include <engram/box.h>
#include <engram/data.h>

#include "own_folder.h"

static eg_status load(eg_split split, const char *options, eg_table *out)
{
    const eg_dataset *d = eg_dataset_find("boxes");
    void *self;
    assert_ok(eg_component_new(&d->component, &self));
    assert_ok(eg_opts_set_text(d->component.opts, self, options));
    eg_status s = eg_dataset_load(d, self, &(eg_origin){.dir = folder}, split, out);
    free(self);
    return s;
}

static void write_text(const char *name, const char *text)
{
    files_write(folder, name, text, strlen(text));
}

static int setup(void **state)
{
    open_folder(state);
    write_text("boxes/labels.txt", "car\nsign\n");
    for (int i = 8; i < 12; i++) { /* a_8 to a_11 */
        char name[64];
        snprintf(name, sizeof name, "boxes/a_%d.png", i);
        fakes_png(folder, name, 20, 40, (uint8_t)(20 * i));
        snprintf(name, sizeof name, "boxes/a_%d.txt", i);
        write_text(name, i == 9 ? "1 0.5 0.5 0.5 1\n0 0.25 0.25 0.1 0.2\n" : "");
    }
    return 0;
}

/* A picture of 40x20 becomes 16x8 in a frame of 16x16: four rows of grey above and below. */
static void test_boxes_are_scaled_with_their_picture(void **state)
{
    (void)state;
    eg_table t;
    assert_ok(load(EG_TRAIN, "height=16 width=16 most=3 test_every=4", &t));
    assert_int_equal(t.n, 3); /* 8, 9, 10: numbers by their value */
    assert_int_equal(t.target_width, 15);
    assert_int_equal(t.u8[0], 127);
    const float *b = t.target + 15; /* of a_9, the larger one first */
    const double want[] = {1, 0.5, 0.5, 0.5, 0.5, 0, 0.25, 0.375, 0.1, 0.1, EG_NO_BOX};
    for (int i = 0; i < 11; i++)
        assert_near((double)b[i], want[i], 1e-6);
    assert_int_equal(t.y[1], 1);
    assert_int_equal(t.y[0], 0);
    assert_string_equal(t.names[1], "sign");
    eg_table_fini(&t);
    assert_ok(load(EG_TEST, "height=16 width=16 test_every=4", &t));
    assert_int_equal(t.n, 1);
    eg_table_fini(&t);
}

static void refused(const char *text, const char *sentence)
{
    eg_table t;
    write_text("boxes/a_10.txt", text);
    assert_fails(load(EG_TRAIN, "height=16 width=16", &t), EG_EFORMAT, sentence);
    write_text("boxes/a_10.txt", "");
}

static void test_bad_boxes_are_refused_in_a_sentence(void **state)
{
    (void)state;
    eg_table t;
    char many[10000 * 16 + 1] = "";
    for (size_t i = 0; i < 10000; i++)
        memcpy(many + 16 * i, "0 .5 .5 .1 .1  \n", 16);
    many[sizeof many - 1] = 0;
    refused("0 1.5 0.5 0.1 0.1\n", "a_10.txt:1: a box has its centre at (1.5, 0.5), outside");
    refused("\n0 0.5 0.5 -0.1 0.1\n", "a_10.txt:2: a box of -0.1x0.1 of the picture");
    refused("2 0.5 0.5 0.1 0.1\n", "class 2 is none of the 2 classes");
    refused("-1 0.5 0.5 0.1 0.1\n", "class -1 is no whole number from 0 on");
    refused("0 0.5 0.5 0.1\n", "a line is five numbers, class x y w h");
    refused("0 0.5 0.5 0.1 0.1 7\n", "a line is five numbers");
    refused("0 nan 0.5 0.1 0.1\n", "a line is five numbers");
    refused(many, "a_10.txt:129: there are more than 128 boxes on one picture");
    assert_fails(load(EG_TRAIN, "path=nowhere", &t), EG_ENOENT, "nowhere");
    assert_fails(load(EG_TRAIN, "only=b_", &t), EG_EFORMAT, "that begin with b_");
    fakes_png(folder, "boxes/a_12.png", 20, 40, 3);
    assert_fails(load(EG_TRAIN, "test_every=2", &t), EG_ENOENT,
                 "a_12.png has no text of boxes beside it");
    write_text("boxes/a_12.txt", "");
    write_text("boxes/a_12.png", "no picture");
    assert_fails(load(EG_TRAIN, "test_every=2", &t), EG_EFORMAT, "a_12.png");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes_are_scaled_with_their_picture),
        cmocka_unit_test(test_bad_boxes_are_refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, setup, close_folder);
}
