/* conv2d_back_weights.c - the gradient of conv2d for its weights.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_conv back_weights_geometry(const eg_node *y)
{
    return eg_conv_of(y->in[0]->shape, y->shape, y->in[1]->shape, y->attr);
}

/* y = W(x, dy) is linear in both. */
static eg_node *back_weights_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    const eg_window *win = y->attr;
    const eg_shape *x = &y->in[0]->shape;
    return wrt == 0 ? eg_conv2d_back_data(g, y->in[1], dy, *win, x->dim[2], x->dim[3])
                    : eg_conv2d(g, y->in[0], dy, NULL, *win);
}

typedef struct back_weights_sum {
    const double *x, *dy;
    double *dw;
} back_weights_sum;

static void back_weights_visit(void *context, int64_t ix, int64_t iw, int64_t iy)
{
    back_weights_sum *s = context;
    s->dw[iw] += s->x[ix] * s->dy[iy];
}

static void back_weights_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_conv c = back_weights_geometry(y);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = 0;
    eg_conv_visit(&c, back_weights_visit, &(back_weights_sum){in[0], in[1], out});
}

/* m, the gradient of a max pooling, is not computed: its work is done here, and that of the
 * relu's gradient before it and of the sum after it. */
static void back_weights_unpool(const eg_plan *p, const eg_node *m, eg_conv_nodes *nodes)
{
    const eg_node *by[2];
    nodes->pooled = m->in[0];
    nodes->dy = m->in[1];
    if (eg_plan_skipped(p, nodes->dy)) {
        nodes->mask = nodes->dy->in[0];
        nodes->dy = nodes->dy->in[1];
    }
    if (eg_plan_readers(p, m, by) == 2)
        nodes->sum = by[1];
}

static eg_status back_weights_emit(eg_plan *p, const eg_node *y)
{
    eg_conv c = back_weights_geometry(y);
    eg_conv_nodes nodes = {.x = y->in[0], .dy = y->in[1]};
    if (eg_plan_skipped(p, y->in[1]))
        back_weights_unpool(p, y->in[1], &nodes);
    return eg_emit_conv(p, y, EG_CONV_BACK_WEIGHTS, &c, &nodes);
}

static eg_node *back_weights_sample(eg_graph *g, int i)
{
    if (i > 1)
        return NULL;
    eg_window win = {.stride = 1 + i, .padding = 1};
    eg_node *x = eg_sample_input(g, eg_dims(2, 5, 6, 5), -1, 1);
    eg_node *dy = eg_sample_input(g, i ? eg_dims(2, 18, 3, 3) : eg_dims(2, 18, 6, 5), -1, 1);
    return eg_conv2d_back_weights(g, x, dy, win, 3, 3);
}

const eg_op eg_op_conv2d_back_weights = {.name = "conv2d_back_weights",
                                         .vjp = back_weights_vjp,
                                         .reference = back_weights_reference,
                                         .emit = back_weights_emit,
                                         .sample = back_weights_sample};

eg_node *eg_conv2d_back_weights(eg_graph *g, eg_node *x, eg_node *dy, eg_window win, int64_t kh,
                                int64_t kw)
{
    if (eg_is_poison(x) || eg_is_poison(dy))
        return g->poison;
    win.groups = win.groups ? win.groups : 1;
    win.kernel = win.output_padding = 0;
    const int64_t *d = dy->shape.dim, *s = x->shape.dim;
    if (x->shape.rank != 4 || dy->shape.rank != 4 || win.groups < 1 || s[1] % win.groups ||
        d[1] % win.groups || s[0] != d[0] ||
        eg_window_count(s[2], kh, win.stride, win.padding) != d[2] ||
        eg_window_count(s[3], kw, win.stride, win.padding) != d[3]) {
        char tx[64], td[64];
        eg_shape_print(x->shape, tx);
        eg_shape_print(dy->shape, td);
        return eg_poison(g, EG_ESHAPE,
                         "conv2d_back_weights: input %s and gradient %s do not fit %lld x %lld",
                         tx, td, (long long)kh, (long long)kw);
    }
    return eg_graph_record(g, &eg_op_conv2d_back_weights,
                           eg_dims(d[1], s[1] / win.groups, kh, kw), &win, sizeof win, 2,
                           (eg_node *[]){x, dy});
}
