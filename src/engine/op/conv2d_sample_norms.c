/* conv2d_sample_norms.c - the squared norm of each sample's own conv2d weight gradient: [n].
 * SPDX-License-Identifier: Apache-2.0
 *
 * A sample's gradient is dW = D U^T with D = dy [oc, places] and U = the unfolded input
 * [ic kh kw, places]. Either it is formed, or its norm is taken from the two Gram matrices,
 * |dW|^2 = sum of (D^T D) (U^T U) over pairs of places: the cheaper one by their sizes.
 */
#include "engine/op/op.h"

#include <stdlib.h>
#include <string.h>

typedef struct norms_attr {
    eg_window win;
    int64_t kh, kw;
} norms_attr;

static eg_conv norms_geometry(const eg_node *y)
{
    const norms_attr *a = y->attr;
    const eg_shape *x = &y->in[0]->shape, *dy = &y->in[1]->shape;
    return eg_conv_of(*x, eg_dims(dy->dim[1], x->dim[1] / a->win.groups, a->kh, a->kw), *dy,
                      &a->win);
}

typedef struct norms_sum {
    const double *x, *dy;
    double *dw; /* [n, size] */
    int64_t size, per_sample;
} norms_sum;

static void norms_visit(void *context, int64_t ix, int64_t iw, int64_t iy)
{
    norms_sum *s = context;
    s->dw[iy / s->per_sample * s->size + iw] += s->x[ix] * s->dy[iy];
}

static void norms_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_conv c = norms_geometry(y);
    int64_t size = c.oc * (c.ic / c.groups) * c.kh * c.kw;
    norms_sum s = {in[0], in[1], NULL, size, c.oc * c.oh * c.ow};
    if (eg_alloc((size_t)(c.n * size), sizeof *s.dw, &s.dw) != EG_OK)
        return;
    eg_conv_visit(&c, norms_visit, &s);
    for (int64_t n = 0; n < c.n; n++) {
        out[n] = 0;
        for (int64_t i = 0; i < size; i++)
            out[n] += s.dw[n * size + i] * s.dw[n * size + i];
    }
    free(s.dw);
}

static eg_status norms_run_gram(const eg_step *s)
{
    eg_conv c = norms_geometry(s->node);
    int64_t places = c.oh * c.ow, rows = c.ic * c.kh * c.kw;
    float *u = s->out[1]->data, *gram_u = s->out[2]->data, *gram_d = gram_u + places * places;
    for (int64_t n = 0; n < c.n; n++) {
        const float *dy = s->in[1]->data + n * c.oc * places;
        eg_conv_unfold(&c, s->in[0]->data + n * c.ic * c.h * c.w, u);
        eg_product_shape du = {.ta = true, .m = places, .n = places, .k = rows};
        eg_product_shape dd = {.ta = true, .m = places, .n = places, .k = c.oc};
        EG_TRY(eg_multiply(s->k, &du, u, u, gram_u));
        EG_TRY(eg_multiply(s->k, &dd, dy, dy, gram_d));
        double norm;
        s->k->dot(&norm, gram_u, gram_d, (size_t)(places * places));
        s->out[0]->data[n] = (float)(norm > 0 ? norm : 0);
    }
    return EG_OK;
}

static eg_status norms_emit(eg_plan *p, const eg_node *y)
{
    eg_conv c = norms_geometry(y);
    int64_t places = c.oh * c.ow, rows = c.ic * c.kh * c.kw;
    if (c.groups > 1 || places * (c.oc + rows) >= c.oc * rows)
        return (eg_plan_kernels(p)->own ? eg_unfolded_sample_norms : eg_dnnl_conv_sample_norms)(
            p, y, &c, y->in[0], y->in[1]);
    eg_value *in[] = {eg_plan_read(p, y->in[0], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    eg_value *out[] = {
        eg_plan_write(p, y, EG_ROWMAJOR),
        eg_plan_scratch(p, (size_t)(rows * places) * sizeof(float)),
        eg_plan_scratch(p, 2 * (size_t)(places * places) * sizeof(float)),
    };
    eg_step *s = eg_plan_step(p, y, norms_run_gram, 2, in, 3, out);
    if (!s)
        return EG_ENOMEM;
    s->kernel = "gram";
    s->flops = 2.0 * (double)(c.n * places * places) * (double)(c.oc + rows);
    return EG_OK;
}

static eg_node *norms_sample(eg_graph *g, int i)
{
    static const struct {
        int64_t n, ic, h, oc, oh, k;
        eg_window win;
    } s[] = {
        {3, 3, 6, 5, 6, 3, {.stride = 1, .padding = 1}},   /* per-sample gradients */
        {2, 16, 2, 32, 2, 3, {.stride = 1, .padding = 1}}, /* Gram matrices */
        {2, 16, 4, 24, 2, 3, {.stride = 2, .padding = 1}},
        {2, 4, 5, 6, 5, 3, {.stride = 1, .padding = 1, .groups = 2}},
    };
    if (i >= (int)(sizeof s / sizeof *s))
        return NULL;
    eg_node *x = eg_sample_input(g, eg_dims(s[i].n, s[i].ic, s[i].h, s[i].h), -1, 1);
    eg_node *dy = eg_sample_input(g, eg_dims(s[i].n, s[i].oc, s[i].oh, s[i].oh), -1, 1);
    return eg_conv2d_sample_norms(g, x, dy, s[i].win, s[i].k, s[i].k);
}

const eg_op eg_op_conv2d_sample_norms = {.name = "conv2d_sample_norms",
                                         .reference = norms_reference,
                                         .emit = norms_emit,
                                         .sample = norms_sample,
                                         .no_vjp = "it is a measurement"};

eg_node *eg_conv2d_sample_norms(eg_graph *g, eg_node *x, eg_node *dy, eg_window win, int64_t kh,
                                int64_t kw)
{
    eg_node *dw = eg_conv2d_back_weights(g, x, dy, win, kh, kw); /* for its checks only */
    if (eg_is_poison(dw))
        return g->poison;
    norms_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.win = win;
    attr.win.groups = win.groups ? win.groups : 1;
    attr.win.kernel = attr.win.output_padding = 0;
    attr.kh = kh, attr.kw = kw;
    return eg_graph_record(g, &eg_op_conv2d_sample_norms, eg_dims(x->shape.dim[0]), &attr,
                           sizeof attr, 2, (eg_node *[]){x, dy});
}
