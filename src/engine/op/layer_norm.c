/* layer_norm.c - normalises over the last axes, those of weight, then scales and shifts
 * (Ba et al., 2016, arXiv:1607.06450). bias may be NULL.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *layer_norm_sample(eg_graph *g, int i)
{
    static const struct {
        eg_shape x, weight;
    } s[] = {
        {{2, {3, 6}}, {1, {6}}}, {{3, {2, 3, 4}}, {1, {4}}}, {{3, {2, 3, 4}}, {2, {3, 4}}}};
    if (i >= 3)
        return NULL;
    eg_node *w = eg_sample_input(g, s[i].weight, 0.5, 1.5);
    eg_node *b = i == 1 ? NULL : eg_sample_input(g, s[i].weight, -1, 1);
    return eg_layer_norm(g, eg_sample_input(g, s[i].x, -1, 1), w, b, 1e-5);
}

const eg_op eg_op_layer_norm = {.name = "layer_norm", .sample = layer_norm_sample};

eg_node *eg_layer_norm(eg_graph *g, eg_node *x, eg_node *weight, eg_node *bias, double eps)
{
    if (eg_is_poison(x) || eg_is_poison(weight) || (bias && eg_is_poison(bias)))
        return g->poison;
    eg_shape s = x->shape, w = weight->shape;
    bool fits = w.rank > 0 && w.rank <= s.rank && (!bias || eg_shape_equal(w, bias->shape));
    for (int i = 0; fits && i < w.rank; i++)
        fits = w.dim[i] == s.dim[s.rank - w.rank + i];
    if (!fits) {
        char a[64], b[64], c[64] = "none";
        eg_shape_print(s, a);
        eg_shape_print(w, b);
        if (bias)
            eg_shape_print(bias->shape, c);
        return eg_poison(g, EG_ESHAPE, "layer_norm: x is %s, weight %s, bias %s", a, b, c);
    }
    int64_t cols = eg_shape_size(w);
    eg_node *rows = eg_reshape(g, x, eg_dims(eg_shape_size(s) / cols, cols));
    eg_node *y = eg_mul(g, eg_reshape(g, eg_row_normalize(g, rows, eps), s), weight);
    return bias ? eg_add(g, y, bias) : y;
}
