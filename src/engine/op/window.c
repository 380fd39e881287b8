/* window.c - windows that slide over images: what convolutions and pooling share.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

int64_t eg_window_count(int64_t size, int64_t kernel, int64_t stride, int64_t padding)
{
    int64_t room = size + 2 * padding - kernel;
    return stride > 0 && kernel > 0 && padding >= 0 && room >= 0 ? room / stride + 1 : 0;
}

eg_conv eg_conv_of(eg_shape x, eg_shape w, eg_shape y, const eg_window *win)
{
    return (eg_conv){.n = x.dim[0],
                     .ic = x.dim[1],
                     .h = x.dim[2],
                     .w = x.dim[3],
                     .oc = y.dim[1],
                     .oh = y.dim[2],
                     .ow = y.dim[3],
                     .kh = w.dim[2],
                     .kw = w.dim[3],
                     .stride = win->stride,
                     .padding = win->padding,
                     .groups = win->groups ? win->groups : 1};
}

/* One output place against one filter: the kernel positions that fall inside the image. */
static void window_visit_place(const eg_conv *c, int64_t ix, int64_t iw, int64_t iy,
                               const int64_t place[2], eg_conv_visitor visit, void *context)
{
    for (int64_t r = 0; r < c->kh; r++)
        for (int64_t s = 0; s < c->kw; s++) {
            int64_t y = place[0] * c->stride - c->padding + r;
            int64_t x = place[1] * c->stride - c->padding + s;
            if (y >= 0 && y < c->h && x >= 0 && x < c->w)
                visit(context, ix + y * c->w + x, iw + r * c->kw + s, iy);
        }
}

void eg_conv_visit(const eg_conv *c, eg_conv_visitor visit, void *context)
{
    int64_t ic = c->ic / c->groups, oc = c->oc / c->groups;
    for (int64_t n = 0; n < c->n; n++)
        for (int64_t o = 0; o < c->oc; o++)
            for (int64_t i = 0; i < ic; i++)
                for (int64_t q = 0; q < c->oh * c->ow; q++)
                    window_visit_place(
                        c, (n * c->ic + o / oc * ic + i) * c->h * c->w,
                        (o * ic + i) * c->kh * c->kw, (n * c->oc + o) * c->oh * c->ow + q,
                        (const int64_t[2]){q / c->ow, q % c->ow}, visit, context);
}

bool eg_pool_shape(eg_graph *g, const char *op, const eg_node *x, const eg_window *win,
                   eg_shape *y)
{
    if (eg_is_poison(x))
        return false;
    if (x->shape.rank != 4) {
        eg_poison(g, EG_ESHAPE, "%s: the input has %d axes, not 4", op, x->shape.rank);
        return false;
    }
    *y = x->shape;
    for (int i = 2; i < 4; i++)
        y->dim[i] = eg_window_count(x->shape.dim[i], win->kernel, win->stride, win->padding);
    if (y->dim[2] < 1 || y->dim[3] < 1 || win->padding >= win->kernel) {
        eg_poison(g, EG_ESHAPE,
                  "%s: a window of %lld, stride %lld, padding %lld does not fit %lld x %lld",
                  op, (long long)win->kernel, (long long)win->stride, (long long)win->padding,
                  (long long)x->shape.dim[2], (long long)x->shape.dim[3]);
        return false;
    }
    return true;
}

bool eg_pool_halves(const eg_window *win, eg_shape x)
{
    return win->kernel == 2 && win->stride == 2 && win->padding == 0 && x.dim[2] % 2 == 0 &&
           x.dim[3] % 2 == 0;
}

void eg_pool_part(const eg_team_part *part, eg_pool_dims *d, int64_t *in, int64_t *out)
{
    eg_range r = eg_team_range(part, d->images, 1);
    *in = r.from * d->h * d->w * d->pitch;
    *out = r.from * d->oh * d->ow * d->pitch;
    d->images = r.to - r.from;
}

eg_pool_dims eg_pool_dims_of(const eg_kernels *k, eg_shape x, eg_shape y, const eg_window *win,
                             eg_layout layout)
{
    int64_t n = x.dim[0], c = x.dim[1], lanes = layout == EG_BATCHED ? eg_batch_lanes(k, n) : 0;
    eg_pool_dims d = {.images = n * c,
                      .chunks = 1,
                      .pitch = 1,
                      .h = x.dim[2],
                      .w = x.dim[3],
                      .oh = y.dim[2],
                      .ow = y.dim[3],
                      .kernel = win->kernel,
                      .stride = win->stride,
                      .padding = win->padding,
                      .vectors = layout != EG_ROWMAJOR};
    if (layout == EG_BLOCKED) {
        d.images = n * ((c + k->width - 1) / k->width);
        d.pitch = k->width;
    } else if (layout == EG_BATCHED) {
        d.images = c;
        d.chunks = lanes / k->width;
        d.pitch = lanes;
    }
    return d;
}

/* The input places of one output place's window. */
static void window_visit_pool(const eg_pool_dims *d, int64_t out, eg_pool_visitor visit,
                              void *context)
{
    int64_t image = out / (d->oh * d->ow), i = out / d->ow % d->oh, j = out % d->ow;
    for (int64_t r = 0; r < d->kernel; r++)
        for (int64_t s = 0; s < d->kernel; s++) {
            int64_t y = i * d->stride - d->padding + r, x = j * d->stride - d->padding + s;
            if (y >= 0 && y < d->h && x >= 0 && x < d->w)
                visit(context, (image * d->h + y) * d->w + x, out);
        }
}

void eg_pool_visit(const eg_pool_dims *d, eg_pool_visitor visit, void *context)
{
    for (int64_t out = 0; out < d->images * d->oh * d->ow; out++)
        window_visit_pool(d, out, visit, context);
}

typedef struct window_best {
    const double *x;
    int64_t place;
} window_best;

static void window_compare(void *context, int64_t in, int64_t out)
{
    window_best *b = context;
    (void)out;
    if (b->place < 0 || b->x[in] > b->x[b->place])
        b->place = in;
}

int64_t eg_pool_argmax(const eg_pool_dims *d, const double *x, int64_t out)
{
    window_best b = {x, -1};
    window_visit_pool(d, out, window_compare, &b);
    return b.place;
}
