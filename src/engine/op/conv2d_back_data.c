/* conv2d_back_data.c - the gradient of conv2d for its input; also the transposed convolution.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_conv back_data_geometry(const eg_node *y)
{
    return eg_conv_of(y->shape, y->in[1]->shape, y->in[0]->shape, y->attr);
}

/* y = B(dy, w) is linear in both: the gradient for dy is the convolution of y's with w. */
static eg_node *back_data_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    const eg_window *win = y->attr;
    const eg_shape *w = &y->in[1]->shape;
    return wrt == 0 ? eg_conv2d(g, dy, y->in[1], NULL, *win)
                    : eg_conv2d_back_weights(g, dy, y->in[0], *win, w->dim[2], w->dim[3]);
}

typedef struct back_data_sum {
    const double *dy, *w;
    double *dx;
} back_data_sum;

static void back_data_visit(void *context, int64_t ix, int64_t iw, int64_t iy)
{
    back_data_sum *s = context;
    s->dx[ix] += s->w[iw] * s->dy[iy];
}

static void back_data_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_conv c = back_data_geometry(y);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = 0;
    eg_conv_visit(&c, back_data_visit, &(back_data_sum){in[0], in[1], out});
}

static eg_status back_data_emit(eg_plan *p, const eg_node *y)
{
    eg_conv c = back_data_geometry(y);
    return eg_emit_conv(p, y, EG_CONV_BACK_DATA, &c,
                        &(eg_conv_nodes){.dy = y->in[0], .weights = y->in[1]});
}

static eg_node *back_data_sample(eg_graph *g, int i)
{
    if (i > 1)
        return NULL;
    eg_window win = {.stride = 1 + i, .padding = 1};
    eg_node *dy = eg_sample_input(g, eg_dims(2, 17, 3, 3), -1, 1);
    eg_node *w = eg_sample_input(g, eg_dims(17, 4, 3, 3), -0.5, 0.5);
    return eg_conv2d_back_data(g, dy, w, win, i ? 6 : 3, i ? 5 : 3);
}

const eg_op eg_op_conv2d_back_data = {.name = "conv2d_back_data",
                                      .vjp = back_data_vjp,
                                      .reference = back_data_reference,
                                      .emit = back_data_emit,
                                      .sample = back_data_sample};

eg_node *eg_conv2d_back_data(eg_graph *g, eg_node *dy, eg_node *w, eg_window win, int64_t h,
                             int64_t wd)
{
    if (eg_is_poison(dy) || eg_is_poison(w))
        return g->poison;
    win.groups = win.groups ? win.groups : 1;
    win.kernel = win.output_padding = 0;
    const int64_t *d = dy->shape.dim, *k = w->shape.dim;
    if (dy->shape.rank != 4 || w->shape.rank != 4 || win.groups < 1 || k[0] != d[1] ||
        k[0] % win.groups || eg_window_count(h, k[2], win.stride, win.padding) != d[2] ||
        eg_window_count(wd, k[3], win.stride, win.padding) != d[3]) {
        char td[64], tw[64];
        eg_shape_print(dy->shape, td);
        eg_shape_print(w->shape, tw);
        return eg_poison(g, EG_ESHAPE,
                         "conv2d_back_data: gradient %s and weights %s do not give %lld x %lld",
                         td, tw, (long long)h, (long long)wd);
    }
    return eg_graph_record(g, &eg_op_conv2d_back_data, eg_dims(d[0], k[1] * win.groups, h, wd),
                           &win, sizeof win, 2, (eg_node *[]){dy, w});
}
