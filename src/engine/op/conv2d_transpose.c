/* conv2d_transpose.c - transposed convolution: the gradient of a convolution, used forward.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *conv2d_transpose_sample(eg_graph *g, int i)
{
    static const struct {
        int64_t n, ic, h, oc, k;
        eg_window win;
        bool bias;
    } s[] = {
        {2, 5, 4, 3, 4, {.stride = 2, .padding = 1}, true},
        {1, 6, 1, 4, 4, {.stride = 1, .padding = 0}, false},
        {1, 16, 3, 20, 3, {.stride = 2, .padding = 1, .output_padding = 1}, false},
        {2, 4, 3, 6, 3, {.stride = 1, .padding = 1, .groups = 2}, true},
    };
    if (i >= (int)(sizeof s / sizeof *s))
        return NULL;
    int64_t groups = s[i].win.groups ? s[i].win.groups : 1;
    eg_node *x = eg_sample_input(g, eg_dims(s[i].n, s[i].ic, s[i].h, s[i].h), -1, 1);
    eg_node *w =
        eg_sample_input(g, eg_dims(s[i].ic, s[i].oc / groups, s[i].k, s[i].k), -0.5, 0.5);
    eg_node *b = s[i].bias ? eg_sample_input(g, eg_dims(s[i].oc), -1, 1) : NULL;
    return eg_conv2d_transpose(g, x, w, b, s[i].win);
}

const eg_op eg_op_conv2d_transpose = {.name = "conv2d_transpose",
                                      .sample = conv2d_transpose_sample};

eg_node *eg_conv2d_transpose(eg_graph *g, eg_node *x, eg_node *w, eg_node *b, eg_window win)
{
    if (eg_is_poison(x) || eg_is_poison(w) || (b && eg_is_poison(b)))
        return g->poison;
    if (x->shape.rank != 4 || w->shape.rank != 4 || win.output_padding < 0 ||
        win.output_padding >= win.stride)
        return eg_poison(
            g, EG_ESHAPE,
            "conv2d_transpose: input of %d axes, weights of %d, output padding %lld "
            "with stride %lld",
            x->shape.rank, w->shape.rank, (long long)win.output_padding, (long long)win.stride);
    int64_t grow = win.output_padding - 2 * win.padding;
    int64_t h = (x->shape.dim[2] - 1) * win.stride + w->shape.dim[2] + grow;
    int64_t wd = (x->shape.dim[3] - 1) * win.stride + w->shape.dim[3] + grow;
    eg_node *y = eg_conv2d_back_data(g, x, w, win, h, wd);
    return b ? eg_bias(g, y, b) : y;
}
