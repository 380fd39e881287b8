/* conv2d.c - 2-D convolution (cross-correlation) with stride, padding and groups.
 * SPDX-License-Identifier: Apache-2.0
 *
 * y[n, o] = b[o] + sum over i, r, s of w[o, i, r, s] x[n, i, y + r, x + s]. It is closed under
 * differentiation: its two gradients and itself are each other's gradients.
 */
#include "engine/op/op.h"

#include <string.h>

static eg_node *conv2d_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    const eg_window *win = y->attr;
    const eg_node *x = y->in[0], *w = y->in[1];
    if (wrt == 0)
        return eg_conv2d_back_data(g, dy, y->in[1], *win, x->shape.dim[2], x->shape.dim[3]);
    if (wrt == 1)
        return eg_conv2d_back_weights(g, y->in[0], dy, *win, w->shape.dim[2], w->shape.dim[3]);
    return eg_channel_sum(g, dy);
}

typedef struct conv2d_sum {
    const double *x, *w;
    double *y;
} conv2d_sum;

static void conv2d_visit(void *context, int64_t ix, int64_t iw, int64_t iy)
{
    conv2d_sum *s = context;
    s->y[iy] += s->x[ix] * s->w[iw];
}

static void conv2d_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_conv c = eg_conv_of(y->in[0]->shape, y->in[1]->shape, y->shape, y->attr);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = y->n_in > 2 ? in[2][i / (c.oh * c.ow) % c.oc] : 0;
    eg_conv_visit(&c, conv2d_visit, &(conv2d_sum){in[0], in[1], out});
}

/* The 2x2 max pooling that reads y first; its gradient may read y, too. */
static const eg_node *conv2d_pool(const eg_plan *p, const eg_node *y)
{
    const eg_node *by[2];
    eg_plan_readers(p, y, by);
    bool pools = by[0] && by[0]->op == &eg_op_max_pool;
    return pools && eg_pool_halves(by[0]->attr, y->shape) ? by[0] : NULL;
}

/* True when beside the pooling only its gradient reads y: the places of the maxima do. */
static bool conv2d_needs_winners(const eg_plan *p, const eg_node *y)
{
    const eg_node *by[2];
    return eg_plan_readers(p, y, by) == 2 && by[1]->op == &eg_op_max_pool_back &&
           by[1]->in[0] == y && by[1]->in[1] != y && eg_pool_gradient_fits(p, by[1]);
}

static eg_status conv2d_emit(eg_plan *p, const eg_node *y)
{
    eg_conv c = eg_conv_of(y->in[0]->shape, y->in[1]->shape, y->shape, y->attr);
    const eg_node *pool = conv2d_pool(p, y);
    return eg_emit_conv(p, y, EG_CONV_FORWARD, &c,
                        &(eg_conv_nodes){.x = y->in[0],
                                         .weights = y->in[1],
                                         .bias = y->n_in > 2 ? y->in[2] : NULL,
                                         .relu = eg_sole_relu(p, y),
                                         .pool = pool,
                                         .winners = pool && conv2d_needs_winners(p, y),
                                         .pool_relu = pool ? eg_sole_relu(p, pool) : NULL});
}

static eg_node *conv2d_sample_norms(eg_graph *g, const eg_node *y, eg_node *dy, int wrt)
{
    const eg_shape *w = &y->in[1]->shape;
    if (wrt == 1)
        return eg_conv2d_sample_norms(g, y->in[0], dy, *(const eg_window *)y->attr, w->dim[2],
                                      w->dim[3]);
    return wrt == 2 ? eg_bias_sample_norms(g, dy) : NULL;
}

/* Shapes that take every path: few and odd channels, stride, padding, groups, 1x1, 5x5, 3x5,
 * 3x3 and 5x5 with whole blocks. */
static eg_node *conv2d_sample(eg_graph *g, int i)
{
    static const struct {
        int64_t n, ic, h, w, oc, k;
        eg_window win;
        bool bias;
        int64_t wider; /* the kernel, than it is high */
    } s[] = {
        {2, 3, 6, 5, 4, 3, {.stride = 1, .padding = 1}, true, 0},
        {2, 1, 7, 7, 5, 5, {.stride = 1, .padding = 2}, true, 0},
        {1, 17, 5, 4, 18, 3, {.stride = 2, .padding = 1}, false, 0},
        {2, 16, 4, 4, 32, 1, {.stride = 2, .padding = 0}, false, 0},
        {2, 6, 5, 5, 4, 3, {.stride = 1, .padding = 1, .groups = 2}, true, 0},
        {1, 5, 1, 1, 3, 1, {.stride = 1}, false, 0},
        {2, 4, 9, 8, 3, 4, {.stride = 2, .padding = 1}, true, 0},
        {2, 5, 7, 8, 6, 3, {.stride = 1, .padding = 1}, true, 2},
        {2, 16, 8, 7, 16, 4, {.stride = 2, .padding = 1}, false, -2},
        {1, 16, 6, 7, 32, 3, {.stride = 1, .padding = 1}, true, 0},
        {1, 16, 7, 6, 16, 5, {.stride = 1, .padding = 2}, true, 0},
    };
    if (i >= (int)(sizeof s / sizeof *s))
        return NULL;
    int64_t groups = s[i].win.groups ? s[i].win.groups : 1;
    eg_node *x = eg_sample_input(g, eg_dims(s[i].n, s[i].ic, s[i].h, s[i].w), -1, 1);
    eg_node *w = eg_sample_input(
        g, eg_dims(s[i].oc, s[i].ic / groups, s[i].k, s[i].k + s[i].wider), -0.5, 0.5);
    eg_node *b = s[i].bias ? eg_sample_input(g, eg_dims(s[i].oc), -1, 1) : NULL;
    return eg_conv2d(g, x, w, b, s[i].win);
}

const eg_op eg_op_conv2d = {.name = "conv2d",
                            .vjp = conv2d_vjp,
                            .reference = conv2d_reference,
                            .emit = conv2d_emit,
                            .sample = conv2d_sample,
                            .sample_norms = conv2d_sample_norms};

static bool conv2d_fits(eg_graph *g, const eg_node *x, const eg_node *w, const eg_node *b,
                        const eg_window *win)
{
    char tx[64], tw[64];
    eg_shape_print(x->shape, tx);
    eg_shape_print(w->shape, tw);
    const int64_t *dx = x->shape.dim, *dw = w->shape.dim;
    if (x->shape.rank != 4 || w->shape.rank != 4 || win->groups < 1 ||
        dx[1] != dw[1] * win->groups || dw[0] % win->groups)
        eg_poison(g, EG_ESHAPE, "conv2d: input %s, weights %s, %lld groups do not fit", tx, tw,
                  (long long)win->groups);
    else if (b && (b->shape.rank != 1 || b->shape.dim[0] != dw[0]))
        eg_poison(g, EG_ESHAPE, "conv2d: a bias of %lld for %lld channels",
                  (long long)eg_shape_size(b->shape), (long long)dw[0]);
    else if (!eg_window_count(dx[2], dw[2], win->stride, win->padding) ||
             !eg_window_count(dx[3], dw[3], win->stride, win->padding))
        eg_poison(g, EG_ESHAPE, "conv2d: weights %s, stride %lld, padding %lld do not fit %s",
                  tw, (long long)win->stride, (long long)win->padding, tx);
    else
        return true;
    return false;
}

eg_node *eg_conv2d(eg_graph *g, eg_node *x, eg_node *w, eg_node *b, eg_window win)
{
    if (eg_is_poison(x) || eg_is_poison(w) || (b && eg_is_poison(b)))
        return g->poison;
    win.groups = win.groups ? win.groups : 1;
    win.kernel = win.output_padding =
        0; /* the weights say the kernel: equal nodes, equal attr */
    if (!conv2d_fits(g, x, w, b, &win))
        return g->poison;
    const int64_t *dx = x->shape.dim, *dw = w->shape.dim;
    eg_shape y = eg_dims(dx[0], dw[0], eg_window_count(dx[2], dw[2], win.stride, win.padding),
                         eg_window_count(dx[3], dw[3], win.stride, win.padding));
    return eg_graph_record(g, &eg_op_conv2d, y, &win, sizeof win, b ? 3 : 2,
                           (eg_node *[]){x, w, b});
}
