/* group_norm.c - normalises groups of channels within a sample, then scales and shifts each
 * channel (Wu and He, 2018, arXiv:1803.08494). weight and bias may be NULL.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *group_norm_sample(eg_graph *g, int i)
{
    static const eg_shape s[] = {
        {4, {2, 4, 3, 3}}, {4, {2, 6, 2, 3}}, {2, {3, 8}}, {4, {2, 32, 3, 2}}};
    if (i >= 4)
        return NULL;
    eg_node *x = eg_sample_input(g, s[i], -1, 1);
    eg_node *w = i == 1 ? NULL : eg_sample_input(g, eg_dims(s[i].dim[1]), 0.5, 1.5);
    eg_node *b = i == 1 ? NULL : eg_sample_input(g, eg_dims(s[i].dim[1]), -1, 1);
    return eg_group_norm(g, x, i == 1 ? 3 : i == 3 ? 8 : 2, w, b, 1e-5);
}

const eg_op eg_op_group_norm = {.name = "group_norm", .sample = group_norm_sample};

/* scale x + shift along axis 1, either one optional. */
static eg_node *group_norm_affine(eg_graph *g, eg_node *x, eg_node *scale, eg_node *shift)
{
    if (scale)
        return eg_channel_affine(g, x, scale,
                                 shift ? shift : eg_constant(g, eg_dims(x->shape.dim[1]), 0));
    return shift ? eg_bias(g, x, shift) : x;
}

eg_node *eg_group_norm(eg_graph *g, eg_node *x, int64_t groups, eg_node *weight, eg_node *bias,
                       double eps)
{
    if (eg_is_poison(x) || (weight && eg_is_poison(weight)) || (bias && eg_is_poison(bias)))
        return g->poison;
    eg_shape s = x->shape;
    if (s.rank < 2)
        return eg_poison(g, EG_ESHAPE, "group_norm: a tensor with %d axes", s.rank);
    if (groups < 1 || s.dim[1] % groups != 0)
        return eg_poison(g, EG_ESHAPE, "group_norm: %lld channels in %lld groups",
                         (long long)s.dim[1], (long long)groups);
    int64_t rows = s.dim[0] * groups;
    eg_shape flat = eg_dims(rows, eg_shape_size(s) / rows);
    eg_node *y = s.rank == 4
                     ? eg_group_normalize(g, x, groups, eps)
                     : eg_reshape(g, eg_row_normalize(g, eg_reshape(g, x, flat), eps), s);
    return eg_is_poison(y) ? y : group_norm_affine(g, y, weight, bias);
}
