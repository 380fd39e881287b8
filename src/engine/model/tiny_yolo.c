/* tiny_yolo.c - the small network of YOLO's second version (Redmon and Farhadi, 2017).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nine convolutions: 3x3 of 16, 32, 64, 128, 256 and 512 channels, each followed by a 2x2
 * max-pooling, the last of stride 1 that keeps the size; 3x3 of twice 1024; 1x1. All but the
 * last have batch norm and leaky rectifiers of slope 0.1. One cell is 32x32 pixels. For five
 * anchors and 20 classes on three channels: 15,861,773 parameters. `width` makes all of them
 * thinner.
 */
#include <engram/layers.h>

#include "engine/graph/graph.h"

enum { TINY_YOLO_CELL = 32, TINY_YOLO_POOLED = 6 };

typedef struct tiny_yolo {
    int64_t width, n_anchors;
    eg_opt_list anchors;
    double coordinates, object, background, kinds, ignore;
} tiny_yolo;

// clang-format off
static const eg_opt tiny_yolo_opts[] = {
    EG_OPT_INT(tiny_yolo, width, 16, 1, 1024, "channels of the first convolution; the last but one has 64 times as many. 16: as published; 4 to 8: thin, for CPUs"),
    EG_OPT_INT(tiny_yolo, n_anchors, 5, 1, EG_MAX_ANCHORS, "shapes of boxes, by k-means of the training boxes"),
    EG_OPT_LIST(tiny_yolo, anchors, 2 * EG_MAX_ANCHORS, "0", 0, 4, "the shapes themselves, width and height in turn as shares of the image; 0: by the training boxes"),
    EG_OPT_REAL(tiny_yolo, coordinates, 1, 0, 1e3, "factor of the loss of places and sizes"),
    EG_OPT_REAL(tiny_yolo, object, 5, 0, 1e3, "factor of the loss of surety where there is a box"),
    EG_OPT_REAL(tiny_yolo, background, 1, 0, 1e3, "factor of the loss of surety where there is none"),
    EG_OPT_REAL(tiny_yolo, kinds, 1, 0, 1e3, "factor of the loss of classes"),
    EG_OPT_REAL(tiny_yolo, ignore, 0.6, 0, 1, "what overlaps a box by more is not held to be background"),
    EG_OPT_END,
};
// clang-format on

static eg_status tiny_yolo_settle(void *self)
{
    tiny_yolo *m = self;
    if (m->anchors.n > 1) {
        if (m->anchors.n % 2)
            return eg_fail(EG_EINVAL, "anchors: %lld numbers are no pairs of width and height",
                           (long long)m->anchors.n);
        for (int64_t i = 0; i < m->anchors.n; i++)
            if (m->anchors.value[i] <= 0)
                return eg_fail(EG_EINVAL, "anchors: number %lld is %g, but sizes are above 0",
                               (long long)i + 1, m->anchors.value[i]);
        m->n_anchors = m->anchors.n / 2;
    }
    return EG_OK;
}

static void tiny_yolo_region(const void *self, int64_t height, int64_t width, int64_t classes,
                             eg_region *out)
{
    const tiny_yolo *m = self;
    *out = (eg_region){.rows = height / TINY_YOLO_CELL,
                       .columns = width / TINY_YOLO_CELL,
                       .anchors = m->n_anchors,
                       .classes = classes,
                       .coordinates = m->coordinates,
                       .object = m->object,
                       .background = m->background,
                       .kinds = m->kinds,
                       .ignore = m->ignore};
    for (int64_t i = 0; m->anchors.n > 1 && i < m->anchors.n; i++)
        out->anchor[i / 2][i % 2] = m->anchors.value[i];
}

static eg_node *tiny_yolo_block(eg_graph *g, eg_params *p, int64_t number, eg_node *x,
                                int64_t channels)
{
    const eg_conv_layer_spec conv = {.out = channels, .kernel = 3, .stride = 1, .padding = 1};
    x = eg_conv_layer(g, p, eg_layer_number("conv", number).text, x, &conv);
    x = eg_batch_norm_layer(g, p, eg_layer_number("bn", number).text, x);
    return eg_leaky_relu(g, x, 0.1);
}

/* Maxima over 2x2 places, each with those right of it and below: the size stays. */
static eg_node *tiny_yolo_keep(eg_graph *g, eg_node *x)
{
    if (eg_is_poison(x))
        return x;
    int64_t h = x->shape.dim[2], w = x->shape.dim[3];
    x = eg_max_pool(g, x, (eg_window){.kernel = 2, .stride = 1, .padding = 1});
    return eg_slice(g, eg_slice(g, x, 2, 1, h), 3, 1, w);
}

static eg_node *tiny_yolo_features(const void *self, eg_graph *g, eg_params *p, eg_node *x)
{
    const tiny_yolo *m = self;
    int64_t channels = m->width;
    for (int64_t i = 1; i <= TINY_YOLO_POOLED; i++, channels *= 2) {
        x = tiny_yolo_block(g, p, i, x, channels);
        x = i < TINY_YOLO_POOLED ? eg_max_pool(g, x, (eg_window){.kernel = 2, .stride = 2})
                                 : tiny_yolo_keep(g, x);
    }
    x = tiny_yolo_block(g, p, 7, x, channels);
    x = tiny_yolo_block(g, p, 8, x, channels);
    return eg_flatten(g, x);
}

/* A 1x1 convolution: the cells need not be told apart. outputs: anchors (5 + classes) cells */
static eg_node *tiny_yolo_head(const void *self, eg_graph *g, eg_params *p, eg_node *features,
                               int64_t outputs)
{
    const tiny_yolo *m = self;
    if (eg_is_poison(features))
        return features;
    int64_t n = features->shape.dim[0], channels = 64 * m->width;
    int64_t cells = features->shape.dim[1] / channels;
    if (outputs % cells != 0)
        return eg_poison(g, EG_ESHAPE, "%lld outputs are not as many for each of %lld cells",
                         (long long)outputs, (long long)cells);
    eg_node *x = eg_reshape(g, features, eg_dims(n, channels, cells, 1));
    x = eg_conv_layer(
        g, p, "conv9", x,
        &(eg_conv_layer_spec){.out = outputs / cells, .kernel = 1, .stride = 1, .bias = true});
    return eg_flatten(g, x);
}

const eg_model eg_model_tiny_yolo = {
    .component = {"tiny_yolo", "tiny YOLO, version 2: nine convolutions that find boxes",
                  sizeof(tiny_yolo), tiny_yolo_opts},
    .settle = tiny_yolo_settle,
    .region = tiny_yolo_region,
    .features = tiny_yolo_features,
    .head = tiny_yolo_head,
};
