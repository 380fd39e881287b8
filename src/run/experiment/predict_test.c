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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probabilities_are_the_softmax_of_logits),
        cmocka_unit_test(test_pictures_are_brought_to_the_network_s_input),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
