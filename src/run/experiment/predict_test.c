/* predict_test.c - what a model says of images, worked out by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/predict.h>

#include "test.h"

#include "io/image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "own_folder.h"

enum { CLASSES = 3, PIXELS = 2 };

static char path[FILES_PATH * 2];

/* A linear network of two pixels with logits w x + b, x from 0 to 1. */
static eg_saved *model(void)
{
    static const float weight[CLASSES][PIXELS] = {{1, 0}, {0, 2}, {-1, -1}};
    static const float bias[CLASSES] = {0, -0.5F, 0.25F};
    static const eg_stored_note notes[] = {{"mean", "0"}, {"std", "1"}};
    const eg_net_spec spec = {.model = "mlp",
                              .channels = 1,
                              .height = 1,
                              .width = PIXELS,
                              .classes = CLASSES,
                              .options = "depth=0"};
    float *value;
    eg_net *net;
    eg_saved *saved;
    assert_ok(eg_net_new(&spec, &net));
    const eg_params *p = eg_net_params(net);
    assert_ok(eg_params_alloc(p, &value));
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        memcpy(value + t->offset, t->shape.rank == 2 ? &weight[0][0] : bias,
               (t->shape.rank == 2 ? CLASSES * PIXELS : CLASSES) * sizeof(float));
    }
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_ok(eg_net_save(net, path, value, NULL, notes, 2));
    free(value);
    eg_net_free(net);
    assert_ok(eg_saved_open(path, &saved));
    return saved;
}

typedef struct heard {
    int64_t n;
    eg_prediction last;
    float probability[CLASSES], logits[CLASSES];
} heard;

static eg_status hear(void *context, const eg_prediction *p)
{
    heard *h = context;
    assert_int_equal(p->index, h->n++);
    assert_int_equal(p->n_classes, CLASSES);
    h->last = *p;
    memcpy(h->probability, p->probability, sizeof h->probability);
    memcpy(h->logits, p->logits, sizeof h->logits);
    return p->index == 1 ? eg_fail(EG_EBUSY, "enough") : EG_OK;
}

static void test_probabilities_are_the_softmax_of_logits(void **state)
{
    (void)state;
    eg_saved *s = model();
    eg_table t;
    heard h = {0};
    assert_ok(eg_table_alloc_u8(&t, 1, 1, 1, PIXELS, CLASSES));
    t.u8[0] = 51, t.u8[1] = 204; /* 0.2, 0.8 */
    assert_ok(eg_predict_table(s, &t, hear, &h));
    assert_int_equal(h.n, 1);
    assert_near(h.logits[0], 0.2, 1e-6);
    assert_near(h.logits[1], 1.1, 1e-6);
    assert_near(h.logits[2], -0.75, 1e-6);
    double sum = exp(0.2) + exp(1.1) + exp(-0.75);
    assert_near(h.probability[0], exp(0.2) / sum, 1e-6);
    assert_near(h.probability[1], exp(1.1) / sum, 1e-6);
    assert_near(h.probability[2], exp(-0.75) / sum, 1e-6);
    assert_int_equal(h.last.best, 1);
    eg_table_fini(&t);
    eg_saved_free(s);
}

static void test_pictures_are_brought_to_the_network_s_input(void **state)
{
    (void)state;
    eg_saved *s = model();
    uint8_t pixels[4 * 2 * 3]; /* RGB of 4 x 2: the left half black, the right one white */
    char file[FILES_PATH * 2];
    heard h = {0};
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = i / 3 % 2 == 0 ? 0 : 255;
    snprintf(file, sizeof file, "%s/half.png", folder);
    assert_ok(eg_png_save(file, &(eg_image){4, 2, 3, pixels}));
    const char *paths[] = {file, file, file};
    assert_fails(eg_predict_files(s, paths, 3, hear, &h), EG_EBUSY, "enough");
    assert_int_equal(h.n, 2); /* the visit's failure ends the walk */
    assert_near(h.logits[0], 0, 1e-6);
    assert_near(h.logits[1], 1.5, 1e-6);
    assert_near(h.logits[2], -0.75, 1e-6);
    paths[1] = "none.png";
    h.n = 0;
    assert_fails(eg_predict_files(s, paths, 3, hear, &h), EG_ENOENT, "none.png");
    assert_fails(eg_predict_files(s, &(const char *){path}, 1, hear, &h), EG_EFORMAT,
                 "model.safetensors");
    assert_fails(eg_predict_files(s, paths, 0, hear, &h), EG_EINVAL, "0 pictures");
    assert_int_equal(h.n, 0);
    eg_saved_free(s);
}

/* A tiny YOLO of one anchor on 2x2 cells, with weights of 0: every cell puts out a box of half
 * the frame around its middle, half sure, three to one of class 0. */
static eg_saved *finder(void)
{
    static const float bias[] = {0, 0, 0, 0, 0, 1.0986123F, 0};
    static const eg_stored_note notes[] = {{"mean", "0"}, {"std", "1"}, {"names", "car\nsign"}};
    const eg_net_spec spec = {.model = "tiny-yolo",
                              .channels = 3,
                              .height = 64,
                              .width = 64,
                              .classes = 4 * 7,
                              .options = "width=1 anchors=[0.5, 0.5]"};
    float *value, *stats;
    eg_net *net;
    eg_saved *saved;
    assert_ok(eg_net_new(&spec, &net));
    const eg_params *p = eg_net_params(net);
    assert_ok(eg_params_alloc(p, &value));
    assert_ok(eg_state_alloc(p, &stats));
    for (size_t i = 0; i < eg_params_n(p); i++)
        if (strcmp(eg_params_at(p, i)->name, "conv9.bias") == 0)
            memcpy(value + eg_params_at(p, i)->offset, bias, sizeof bias);
    snprintf(path, sizeof path, "%s/finder.safetensors", folder);
    assert_ok(eg_net_save(net, path, value, stats, notes, 3));
    free(value);
    free(stats);
    eg_net_free(net);
    assert_ok(eg_saved_open(path, &saved));
    return saved;
}

typedef struct seen_boxes {
    eg_saved *saved;
    const char *picture, *drawn;
    int64_t n;
    eg_found found[8];
} seen_boxes;

static eg_status see(void *context, const eg_prediction *p)
{
    seen_boxes *s = context;
    assert_null(p->probability);
    assert_int_equal(p->n_classes, 2);
    s->n = p->n_found;
    memcpy(s->found, p->found, (size_t)p->n_found * sizeof *p->found);
    return eg_predict_draw(s->saved, s->picture, p, 0.3, s->drawn);
}

/* A picture of 40x20 is the middle half of the frame: a box of half the frame's height is as
 * high as the picture, and those of the upper cells have their centres at its upper edge. */
static void test_boxes_are_shares_of_the_picture(void **state)
{
    (void)state;
    char file[FILES_PATH * 2], drawn[FILES_PATH * 2], name[EG_CLASS_NAME];
    uint8_t *pixels = calloc(20 * 40, 3);
    assert_ok(pixels ? EG_OK : EG_ENOMEM);
    snprintf(file, sizeof file, "%s/dark.png", folder);
    snprintf(drawn, sizeof drawn, "%s/drawn.png", folder);
    assert_ok(eg_png_save(file, &(eg_image){20, 40, 3, pixels}));
    free(pixels);
    seen_boxes s = {.saved = finder(), .picture = file, .drawn = drawn};
    assert_true(eg_saved_finds_boxes(s.saved));
    assert_int_equal(eg_saved_n_classes(s.saved), 2);
    assert_string_equal(eg_saved_class(s.saved, 1, name), "sign");
    assert_null(eg_saved_class(s.saved, 2, name));
    assert_ok(eg_predict_files(s.saved, &(const char *){file}, 1, see, &s));
    assert_int_equal(s.n, 8);
    for (int i = 0; i < 8; i++) { /* classes in turn of their scores, cells in order */
        const eg_found *f = &s.found[i];
        int class = i / 4, row = i / 2 % 2;
        assert_near((double)f->score, i < 4 ? 0.375 : 0.125, 1e-6);
        assert_near((double)f->box.label, class, 0);
        assert_near((double)f->box.x, 0.25 + 0.5 * (i % 2), 1e-6);
        assert_near((double)f->box.y, row, 1e-6);
        assert_near((double)f->box.w, 0.5, 1e-6);
        assert_near((double)f->box.h, 1, 1e-6);
    }
    eg_image im;
    assert_ok(eg_image_load(drawn, &im));
    assert_int_equal(im.width, 40);
    assert_int_equal(im.pixels[3 * (15 * 40)], 255); /* the left side of a car's box, */
    assert_int_equal(im.pixels[3 * (15 * 40) + 1], 99);
    assert_int_equal(im.pixels[3 * (15 * 40 + 10)], 0); /* and nothing within */
    eg_image_fini(&im);
    eg_saved_free(s.saved);
}

/* Two true boxes of class 0: one as the network puts it out, at the first of its four boxes;
 * one nowhere. Precision is 1 up to recall 1/2: 51 of 101 places. */
static void test_average_precision_of_a_saved_model(void **state)
{
    (void)state;
    eg_saved *s = finder();
    eg_table t;
    double half[2];
    eg_precisions out = {.half = half};
    static const float truth[] = {0, 0.25F, 0.25F, 0.5F, 0.5F, 0, 0.5F, 0.9F, 0.1F, 0.1F};
    assert_ok(eg_table_alloc_u8(&t, 1, 3, 64, 64, 2));
    assert_fails(eg_saved_precision(s, &t, &out), EG_EINVAL, "these samples have none");
    assert_ok(eg_table_alloc_targets(&t, 10));
    memcpy(t.target, truth, sizeof truth);
    assert_ok(eg_saved_precision(s, &t, &out));
    assert_near(out.at_half, 51.0 / 101, 1e-9);
    assert_near(half[1], -1, 0);
    eg_table_fini(&t);
    assert_ok(eg_table_alloc_u8(&t, 1, 3, 64, 64, 3));
    assert_ok(eg_table_alloc_targets(&t, 5));
    assert_fails(eg_saved_precision(s, &t, &out), EG_EINVAL, "3 classes, the network knows 2");
    eg_table_fini(&t);
    eg_saved_free(s);
    s = model();
    assert_ok(eg_table_alloc_u8(&t, 1, 1, 1, PIXELS, CLASSES));
    assert_fails(eg_saved_precision(s, &t, &out), EG_EINVAL, "tells classes");
    eg_table_fini(&t);
    eg_saved_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probabilities_are_the_softmax_of_logits),
        cmocka_unit_test(test_pictures_are_brought_to_the_network_s_input),
        cmocka_unit_test(test_boxes_are_shares_of_the_picture),
        cmocka_unit_test(test_average_precision_of_a_saved_model),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
