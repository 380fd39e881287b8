/* unet.c - residual blocks with group norm, attention between places of the smallest maps.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/generator/unet.h"

#include <engram/layers.h>

#include <math.h>
#include <stdio.h>

enum { UNET_GROUPS = 8, UNET_LEAST = 4, UNET_MAX_SKIPS = EG_UNET_LEVELS * 16 };

/* What the parts of one recording share. */
typedef struct unet_pen {
    const eg_unet *u;
    eg_graph *g;
    eg_params *p;
    eg_node *time; /* silu of the learned embedding: [n, 4 width] */
} unet_pen;

typedef struct unet_name {
    char text[64];
} unet_name;

static unet_name unet_of(const char *block, const char *layer)
{
    unet_name n;
    snprintf(n.text, sizeof n.text, "%.40s.%.20s", block, layer);
    return n;
}

/* "down1.0": block number `at` of a level. */
static unet_name unet_block(const char *way, int64_t level, int64_t at)
{
    unet_name n;
    snprintf(n.text, sizeof n.text, "%s%lld.%lld", way, (long long)level, (long long)at);
    return n;
}

static eg_node *unet_conv(const unet_pen *k, const char *name, eg_node *x, int64_t out,
                          int64_t kernel, int64_t stride)
{
    const eg_conv_layer_spec spec = {
        .out = out, .kernel = kernel, .stride = stride, .padding = kernel / 2, .bias = true};
    return eg_conv_layer(k->g, k->p, name, x, &spec);
}

/* Group norm with at most 8 groups of at least 4 channels: of one channel alone, a norm would
 * take away what the time adds to it. */
static eg_node *unet_norm(const unet_pen *k, const char *name, eg_node *x)
{
    int64_t groups = UNET_GROUPS, channels = eg_node_shape(x).dim[1];
    while (groups > 1 && (channels % groups || channels / groups < UNET_LEAST))
        groups--;
    return eg_group_norm_layer(k->g, k->p, name, x, groups);
}

/* x plus two convolutions of it, the time added to every place between them. */
static eg_node *unet_residual(const unet_pen *k, const char *name, eg_node *x, int64_t out)
{
    eg_graph *g = k->g;
    int64_t n = eg_node_shape(x).dim[0], in = eg_node_shape(x).dim[1];
    eg_node *h = eg_silu(g, unet_norm(k, unet_of(name, "norm1").text, x));
    h = unet_conv(k, unet_of(name, "conv1").text, h, out, 3, 1);
    eg_node *t = eg_linear_layer(g, k->p, unet_of(name, "time").text, k->time, out);
    h = eg_add(g, h, eg_reshape(g, t, eg_dims(n, out, 1, 1)));
    h = eg_silu(g, unet_norm(k, unet_of(name, "norm2").text, h));
    h = unet_conv(k, unet_of(name, "conv2").text, h, out, 3, 1);
    if (in != out)
        x = unet_conv(k, unet_of(name, "shortcut").text, x, out, 1, 1);
    return eg_add(g, x, h);
}

/* x plus what every place takes from all others: softmax(q^T k / sqrt(c)), one head. */
static eg_node *unet_attend(const unet_pen *k, const char *name, eg_node *x)
{
    eg_graph *g = k->g;
    const int swapped[] = {0, 2, 1};
    eg_shape s = eg_node_shape(x);
    int64_t n = s.dim[0], c = s.dim[1], places = s.dim[2] * s.dim[3];
    eg_node *h = unet_norm(k, unet_of(name, "norm").text, x);
    h = unet_conv(k, unet_of(name, "qkv").text, h, 3 * c, 1, 1);
    h = eg_reshape(g, h, eg_dims(n, 3 * c, places));
    eg_node *q = eg_transpose(g, eg_slice(g, h, 1, 0, c), swapped);
    eg_node *keys = eg_slice(g, h, 1, c, c), *values = eg_slice(g, h, 1, 2 * c, c);
    eg_node *share = eg_affine(g, eg_matmul(g, q, keys), 1 / sqrt((double)c), 0);
    share = eg_transpose(g, eg_softmax(g, share), swapped); /* [n, from, to] */
    h = eg_reshape(g, eg_matmul(g, values, share), s);
    return eg_add(g, x, unet_conv(k, unet_of(name, "out").text, h, c, 1, 1));
}

static int64_t unet_channels(const eg_unet *u, int64_t level)
{
    return u->width * u->multipliers[level];
}

/* Down: every block's result is kept for the way up. Returns how many there are. */
static int64_t unet_down(const unet_pen *k, eg_node **x, eg_node *skips[UNET_MAX_SKIPS])
{
    int64_t n = 0;
    for (int64_t l = 0; l < k->u->n_levels; l++) {
        int64_t out = unet_channels(k->u, l);
        for (int64_t b = 0; b < k->u->blocks; b++)
            skips[n++] = *x = unet_residual(k, unet_block("down", l, b).text, *x, out);
        if (l + 1 < k->u->n_levels)
            *x = unet_conv(k, eg_layer_number("halve", l).text, *x, out, 3, 2);
    }
    return n;
}

static eg_node *unet_up(const unet_pen *k, eg_node *x, eg_node *const *skips, int64_t n)
{
    for (int64_t l = k->u->n_levels - 1; l >= 0; l--) {
        for (int64_t b = 0; b < k->u->blocks; b++) {
            x = eg_concat(k->g, 2, (eg_node *[]){x, skips[--n]}, 1);
            x = unet_residual(k, unet_block("up", l, b).text, x, unet_channels(k->u, l));
        }
        if (l > 0)
            x = unet_conv(k, eg_layer_number("double", l).text, eg_upsample(k->g, x, 2),
                          unet_channels(k->u, l - 1), 3, 1);
    }
    return x;
}

eg_node *eg_unet_noise(const eg_unet *u, eg_graph *g, eg_params *p, eg_node *x, eg_node *time)
{
    eg_node *skips[UNET_MAX_SKIPS];
    int64_t channels = eg_node_shape(x).dim[1], low = unet_channels(u, u->n_levels - 1);
    unet_pen k = {u, g, p, eg_linear_layer(g, p, "time1", time, 4 * u->width)};
    k.time = eg_silu(g, eg_linear_layer(g, p, "time2", eg_silu(g, k.time), 4 * u->width));
    x = unet_conv(&k, "conv_in", x, u->width, 3, 1);
    int64_t n = unet_down(&k, &x, skips);
    x = unet_residual(&k, "middle0", x, low);
    x = unet_attend(&k, "attend", x);
    x = unet_residual(&k, "middle1", x, low);
    x = unet_up(&k, x, skips, n);
    return unet_conv(&k, "conv_out", eg_silu(g, unet_norm(&k, "norm_out", x)), channels, 3, 1);
}
