/* choose.c - the rule that gives each convolution its kernels.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/conv/conv.h"

#include "engine/graph/dnnl.h"

#include <string.h>

/* A tile of 4 x 4 results takes 36 multiplications per pair of channels instead of 144, or 64
 * instead of 400 for 5 x 5. Measured on AVX2 and AVX-512, from 16 channels on: 1.9 to 3.4 times
 * the direct kernels' speed when tiles are full, so they must be full by half. The smallest
 * images are left out, since a weight that sees one place of them has nothing to drown the
 * rounding of its neighbours.
 * 81 multiplications instead of 144, for 3 x 3 of stride 2, are 1.2 to 2 times the direct speed
 * on maps of 32, 28, 16, 14 and 8, but not of 12, whose tiles are full by 9/16; and fewer than
 * ten tiles do not pay for the transforms of the filters. The portable set keeps its bits. */
enum { CONV_FEWEST_TILES = 10 };

static bool conv_is_winograd(const eg_kernels *k, const eg_conv *c)
{
    int64_t tiles = (c->oh + 3) / 4 * ((c->ow + 3) / 4), places = c->oh * c->ow;
    bool small = c->h < c->kh - 1 || c->w < c->kw - 1;
    if (!eg_winograd_can(k, c) || small)
        return false;
    if (c->stride == 2 && c->kh == 3)
        return !k->own && 4 * places >= 3 * 16 * tiles && c->n * tiles >= CONV_FEWEST_TILES;
    return 2 * places >= 16 * tiles;
}

/* Blocks would pad 10 or 20 channels with zeros. A single sample goes to oneDNN, four times as
 * fast for cnn_small. Without AVX2 oneDNN runs reference code, so 'plain' always comes here,
 * and where nothing is left to oneDNN so does what Winograd does not take. The kernels with the
 * batch innermost take square windows. */
bool eg_conv_is_batched(const eg_kernels *k, const eg_conv *c)
{
    bool odd = c->oc % k->width || (c->ic > 4 && c->ic % k->width);
    bool plain = strcmp(k->isa, "plain") == 0 || (k->own && !conv_is_winograd(k, c));
    return c->groups == 1 && c->kh == c->kw && (plain || (odd && c->n > 1));
}

/* Below avx512 oneDNN has code for images of three channels, but not of one, two or four. */
static bool conv_has_slow_gradient(const eg_kernels *k, const eg_conv *c)
{
    return c->groups == 1 && c->ic <= 4 && c->ic != 3 && strcmp(k->isa, "avx512") != 0;
}

/* What is left is oneDNN's, unless it has reference code alone: for gradients of images, and
 * with AVX2 for weights on maps smaller than the window. */
eg_status eg_emit_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                       const eg_conv_nodes *nodes)
{
    const eg_kernels *k = eg_plan_kernels(p);
    if (eg_conv_is_batched(k, c) ||
        (pass == EG_CONV_BACK_WEIGHTS && conv_has_slow_gradient(k, c)))
        return eg_direct_conv(p, y, pass, c, nodes);
    if (conv_is_winograd(k, c))
        return eg_winograd_conv(p, y, pass, c, nodes);
    if (k->own)
        return eg_unfolded_conv(p, y, pass, c, nodes);
    bool weights = pass == EG_CONV_BACK_WEIGHTS, slow = false;
    bool product = weights && eg_product_can(k, c);
    bool few = pass != EG_CONV_FORWARD && eg_few_can(k, c);
    if (product || few)
        EG_TRY(eg_dnnl_is_reference(p, pass, c, &slow));
    if (slow)
        return product ? eg_product_back_weights(p, y, c, nodes)
                       : eg_few_conv(p, y, pass, c, nodes);
    return eg_dnnl_conv(p, y, pass, c, nodes);
}
