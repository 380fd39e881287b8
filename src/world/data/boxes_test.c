/* boxes_test.c - pictures with boxes are scaled with them; bad ones are refused in a sentence.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fakes.h"

#include "io/image.h"
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
    char labels[FILES_PATH * 2];
    snprintf(labels, sizeof labels, "%s/boxes/labels.txt", folder);
    assert_int_equal(remove(labels), 0);
    assert_fails(load(EG_TRAIN, "", &t), EG_ENOENT,
                 "there is no labels.txt, with a class per line");
}

/* A folder of pictures of 40x20, told in another way than by texts. */
static void setup_told(const char *where, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/labels.txt", where);
    write_text(path, "car\nsign\n");
    for (int i = 1; i <= 2; i++) {
        snprintf(path, sizeof path, "%s/a_%d.png", where, i);
        fakes_png(folder, path, 20, 40, (uint8_t)(20 * i));
    }
    snprintf(path, sizeof path, "%s/%s", where, name);
    write_text(path, text);
}

/* Both formats tell the same box of a_1: from (10, 5) to (30, 15) of 40x20, a sign; and a crowd
 * of cars. */
static const float told[] = {1, 0.5F, 0.5F, 0.5F, 0.5F, EG_CROWD, 0.05F, 0.1F, 0.1F, 0.2F, -1};

static void assert_told(const char *options)
{
    eg_table t;
    assert_ok(load(EG_TRAIN, options, &t));
    assert_int_equal(t.n, 1); /* a_2 is for testing */
    assert_string_equal(t.names[1], "sign");
    for (int i = 0; i < 11; i++)
        assert_near((double)t.target[i], (double)told[i], 1e-6);
    eg_table_fini(&t);
    assert_ok(load(EG_TEST, options, &t));
    assert_near((double)t.target[0], EG_NO_BOX, 0);
    eg_table_fini(&t);
}

#define VOC_OBJECT(more)                                                                       \
    "<object><name>sign</name><pose>Left</pose>" more                                          \
    "<part><name>car</name><bndbox><xmin>1</xmin></bndbox></part></object>"
#define VOC_BOX(a, b, c, d)                                                                    \
    "<bndbox><xmin>" #a "</xmin><ymin>" #b "</ymin><xmax>" #c "</xmax><ymax>" #d               \
    "</ymax></bndbox>"
/* The size told is twice that of the picture: boxes are shares of it. */
#define VOC(objects)                                                                           \
    "<?xml version=\"1.0\"?>\n<!-- made by > hand -->\n<annotation verified='a>b'>\n"          \
    "<size><width>80</width><height>40</height><depth>3</depth></size>\n" objects              \
    "</annotation>\n"

static void test_voc_files_tell_boxes(void **state)
{
    (void)state;
    setup_told(
        "voc", "a_1.xml",
        VOC(VOC_OBJECT(VOC_BOX(20, 10, 60.0, 30)) "<object><name>\n <![CDATA[c]]>&#97;r "
                                                  "</name><difficult>1</difficult>" VOC_BOX(
                                                      0, 0, 8, 8) "</object>"));
    setup_told("voc", "a_2.xml", "<annotation><size/></annotation>");
    assert_told("path=voc height=20 width=40 most=3 test_every=2");
    assert_told("path=voc format=voc height=20 width=40 most=3 test_every=2");
}

static void refused_voc(const char *text, const char *sentence)
{
    eg_table t;
    setup_told("badvoc", "a_1.xml", text);
    setup_told("badvoc", "a_2.xml", "<annotation/>");
    assert_fails(load(EG_TRAIN, "path=badvoc test_every=2", &t), EG_EFORMAT, sentence);
}

static void test_bad_voc_files_are_refused_in_a_sentence(void **state)
{
    (void)state;
    eg_table t;
    static const char object[] = VOC_OBJECT(VOC_BOX(20, 10, 60, 30));
    char *many = malloc(10000 * sizeof object + 64);
    assert_non_null(many);
    size_t n = (size_t)sprintf(many, "<annotation>");
    for (int i = 0; i < 10000; i++)
        n += (size_t)sprintf(many + n, "\n<object><name>car</name>%s</object>",
                             VOC_BOX(2, 2, 4, 4));
    sprintf(many + n, "</annotation>");
    refused_voc(many, "a_1.xml:130: there are more than 128 boxes on one picture");
    free(many);
    refused_voc(VOC(VOC_OBJECT(VOC_BOX(90, 10, 99, 30))),
                "a_1.xml:5: a box has its centre at (1.18");
    refused_voc(VOC(VOC_OBJECT(VOC_BOX(60, 10, 20, 30))), "a_1.xml:5: a box of -0.5x0.5");
    refused_voc(VOC("<object><name>dog</name>" VOC_BOX(1, 1, 2, 2) "</object>"),
                "class 'dog' is none of the 2 classes");
    refused_voc(VOC(VOC_OBJECT(VOC_BOX(1, x, 2, 2))), "a_1.xml:5: 'x' is no number");
    refused_voc(VOC("<object><name>car</name></object>"), "an object has no bndbox");
    refused_voc("<annotation>\n<object>\n</annotation>",
                "a_1.xml:3: an element is closed that is not the innermost");
    refused_voc("<annotation>\n<size>", "a_1.xml:2: the file ends within an element");
    refused_voc("<html></html>", "this is no file of boxes");
    refused_voc("<annotation/><annotation/>", "there is a second outermost element");
    refused_voc("<annotation>&nbsp;</annotation>", "an entity is not known");
    refused_voc("<!DOCTYPE a [<!ENTITY b 'c'>]><annotation/>", "with declarations is not read");
    refused_voc("boxes", "there is text outside of all elements");
    refused_voc("", "the file ends within an element");
    files_write(folder, "badvoc/a_1.xml", "<annotation/>", 13);
    fakes_png(folder, "badvoc/a_3.png", 20, 40, 3);
    assert_fails(load(EG_TRAIN, "path=badvoc test_every=2", &t), EG_ENOENT,
                 "a_3.png has no file of boxes beside it");
}

#define COCO(boxes)                                                                            \
    "{\"categories\":[{\"id\":9,\"name\":\"sign\"},{\"id\":3,\"name\":\"car\"}],\n"            \
    "\"images\":[{\"id\":5,\"file_name\":\"some/where/"                                        \
    "a_1.png\",\"height\":40,\"width\":80},\n"                                                 \
    "{\"id\":2,\"file_name\":\"a_2.png\"}],\n\"annotations\":[" boxes "]}"
#define COCO_BOX(image, category, box)                                                         \
    "{\"id\":1,\"image_id\":" #image ",\"category_id\":" #category ",\"bbox\":" box "}"

static void test_coco_files_tell_boxes(void **state)
{
    (void)state;
    static const char text[] = COCO(
        COCO_BOX(5, 9, "[20,10,40.0,20]") ",{\"image_id\":5,\"category_id\":3,\"iscrowd\":1,"
                                          "\"bbox\":[0,0,8,8]}");
    char path[FILES_PATH * 2];
    setup_told("coco", "boxes.json", text);
    assert_told("path=coco height=20 width=40 most=3 test_every=2");
    snprintf(path, sizeof path, "%s/coco/labels.txt", folder);
    assert_int_equal(remove(path), 0); /* categories by their numbers are car, sign too */
    assert_told("path=coco format=coco height=20 width=40 most=3 test_every=2");
}

/* Categories of the test pictures are told by name: their numbers may be others. */
static void test_classes_are_those_of_the_training_pictures(void **state)
{
    (void)state;
    eg_table t;
    static const char other[] =
        "{\"categories\":[{\"id\":1,\"name\":\"sign\"},{\"id\":2,\"name\":\"car\"}],"
        "\"images\":[{\"id\":1,\"file_name\":\"a_1.png\"},{\"id\":2,\"file_name\":\"a_2.png\"}]"
        ","
        "\"annotations\":[" COCO_BOX(1, 1, "[10,5,20,10]") "]}";
    char path[FILES_PATH * 2];
    setup_told("two/train", "a.json", COCO(COCO_BOX(5, 3, "[20,10,40,20]")));
    setup_told("two/test", "b.json", other);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/two/%s/labels.txt", folder, i ? "train" : "test");
        assert_int_equal(remove(path), 0);
    }
    assert_ok(load(EG_TEST, "path=two height=20 width=40", &t));
    assert_string_equal(t.names[1], "sign");
    assert_near((double)t.target[0], 1, 0);
    assert_near((double)t.target[3], 0.5, 1e-6); /* of the picture, as no size is told */
    eg_table_fini(&t);
}

static void refused_coco(const char *text, const char *sentence)
{
    eg_table t;
    setup_told("badcoco", "boxes.json", text);
    assert_fails(load(EG_TRAIN, "path=badcoco test_every=2", &t), EG_EFORMAT, sentence);
}

static void test_bad_coco_files_are_refused_in_a_sentence(void **state)
{
    (void)state;
    eg_table t;
    char *many = malloc(10000 * 80 + 1024);
    assert_non_null(many);
    size_t n = (size_t)sprintf(many, "%.*s", (int)(strlen(COCO("")) - 2), COCO(""));
    for (int i = 0; i < 10000; i++)
        n += (size_t)sprintf(many + n, "%s" COCO_BOX(5, 3, "[2,2,4,4]"), i ? "," : "");
    sprintf(many + n, "]}");
    refused_coco(many, "annotations, number 129 (a_1.png): there are more than 128 boxes");
    free(many);
    refused_coco(COCO(COCO_BOX(5, 9, "[90,10,9,9]")),
                 "number 1 (a_1.png): a box has its centre");
    refused_coco(COCO(COCO_BOX(5, 9, "[20,10,-4,9]")),
                 "number 1 (a_1.png): a box of -0.05x0.225");
    refused_coco(COCO(COCO_BOX(5, 7, "[2,1,4,9]")), "number 1: no category has the id 7");
    refused_coco(COCO(COCO_BOX(6, 9, "[2,1,4,9]")), "number 1: no image has the id 6");
    refused_coco(COCO(COCO_BOX(5, 9, "[2,1,4]")), "number 1: bbox: 3 numbers, not 4");
    refused_coco(COCO("{\"image_id\":5,\"category_id\":9}"), "number 1: 'bbox' is missing");
    refused_coco("{\"categories\":[]}", "categories: there are 0");
    refused_coco("{\"categories\":[{\"id\":1,\"name\":\"a\"},{\"id\":1,\"name\":\"b\"}]}",
                 "categories: the id 1 is there twice");
    refused_coco(
        "{\"categories\":[{\"id\":1,\"name\":\"a\"}],\"images\":[],\"annotations\":{}}",
        "boxes.json: ");
    refused_coco("[", "boxes.json: line 1");
    setup_told(
        "badcoco", "boxes.json",
        "{\"categories\":[{\"id\":1,\"name\":\"dog\"}],\"images\":[{\"id\":1,"
        "\"file_name\":\"a_1.png\"}],\"annotations\":[" COCO_BOX(1, 1, "[2,1,4,9]") "]}");
    assert_fails(load(EG_TRAIN, "path=badcoco test_every=2", &t), EG_EFORMAT,
                 "class 'dog' is none of the 2 classes");
    assert_fails(load(EG_TEST, "path=badcoco test_every=2", &t), EG_ENOENT,
                 "no image is called 'a_2.png'");
    setup_told("badcoco", "more.json", "{}");
    assert_fails(load(EG_TRAIN, "path=badcoco", &t), EG_EFORMAT,
                 "there are 2 JSON files in it");
    setup_told("nolabels", "a_1.txt", "");
    char path[FILES_PATH * 2];
    snprintf(path, sizeof path, "%s/nolabels/labels.txt", folder);
    assert_int_equal(remove(path), 0);
    assert_fails(load(EG_TRAIN, "path=nolabels", &t), EG_ENOENT,
                 "there is no labels.txt, with a class per line");
}

/* The sheet has each box in the colour of its class, and nothing but pictures without. */
static void test_a_sheet_has_boxes_drawn(void **state)
{
    (void)state;
    eg_table t;
    eg_image plain, drawn;
    char path[FILES_PATH * 2];
    assert_ok(load(EG_TRAIN, "height=40 width=40 most=3 test_every=4", &t));
    snprintf(path, sizeof path, "%s/sheet.png", folder);
    assert_ok(eg_table_sheet(&t, 10, path));
    assert_ok(eg_image_load(path, &plain));
    assert_ok(eg_table_sheet_boxes(&t, 10, path));
    assert_ok(eg_image_load(path, &drawn));
    /* a_9 is alone in the second row, at (2, 44): a sign from (10, 10) to (30, 30), whose right
     * side is drawn at column 29. */
    size_t at = 3 * (size_t)((44 + 20) * drawn.width + 2 + 29);
    assert_int_equal(drawn.pixels[at], 64);
    assert_int_equal(drawn.pixels[at + 1], 224);
    assert_int_equal(plain.pixels[at], plain.pixels[at + 1]);
    at = 3 * (size_t)((44 + 20) * drawn.width + 2 + 20); /* within, nothing is */
    assert_int_equal(drawn.pixels[at], plain.pixels[at]);
    eg_image_fini(&plain);
    eg_image_fini(&drawn);
    eg_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes_are_scaled_with_their_picture),
        cmocka_unit_test(test_a_sheet_has_boxes_drawn),
        cmocka_unit_test(test_bad_boxes_are_refused_in_a_sentence),
        cmocka_unit_test(test_voc_files_tell_boxes),
        cmocka_unit_test(test_bad_voc_files_are_refused_in_a_sentence),
        cmocka_unit_test(test_coco_files_tell_boxes),
        cmocka_unit_test(test_classes_are_those_of_the_training_pictures),
        cmocka_unit_test(test_bad_coco_files_are_refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, setup, close_folder);
}
