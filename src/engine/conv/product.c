/* product.c - the gradient of weights as matrix products over samples and places, blocked.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For each tap of the window the places at which it meets the image make a matrix of the input
 * and one of the result's gradient; their product is the tap's gradient. That takes any window,
 * and for maps smaller than the window, of which oneDNN knows nothing but its definition, no
 * place is multiplied in vain.
 */
#include "engine/conv/conv.h"

/* Channels of results whose gradient is computed together: it stays in the caches. */
enum { PRODUCT_PIECE = 64 };

/* The places at which one tap meets the image. */
typedef struct product_tap {
    eg_places x, dy;
    int64_t n;    /* of all samples */
    int64_t from; /* places of the taps before it */
} product_tap;

typedef struct product_args {
    int64_t ic, oc, n_taps, places;
    product_tap taps[];
} product_args;

bool eg_product_can(const eg_kernels *k, const eg_conv *c)
{
    return c->groups == 1 && c->ic % k->width == 0 && c->oc % k->width == 0;
}

/* Along one side: the first result whose tap falls inside the image, and how many there are. */
static int64_t product_meet(int64_t tap, int64_t size, int64_t out, const eg_conv *c,
                            int64_t *first)
{
    int64_t before = c->padding - tap; /* places from the image's first to the tap's */
    *first = before > 0 ? (before + c->stride - 1) / c->stride : 0;
    int64_t last = size - 1 + before < 0 ? -1 : (size - 1 + before) / c->stride;
    last = last < out - 1 ? last : out - 1;
    return last < *first ? 0 : last - *first + 1;
}

static product_tap product_tap_at(const eg_conv *c, int64_t row, int64_t col)
{
    product_tap t = {.x = {.n = c->n, .c = c->ic, .h = c->h, .w = c->w, .stride = c->stride},
                     .dy = {.n = c->n, .c = c->oc, .h = c->oh, .w = c->ow, .stride = 1}};
    t.x.rows = t.dy.rows = product_meet(row, c->h, c->oh, c, &t.dy.row);
    t.x.cols = t.dy.cols = product_meet(col, c->w, c->ow, c, &t.dy.col);
    t.x.row = t.dy.row * c->stride + row - c->padding;
    t.x.col = t.dy.col * c->stride + col - c->padding;
    t.n = c->n * t.x.rows * t.x.cols;
    return t;
}

static product_args *product_args_new(eg_plan *p, const eg_conv *c)
{
    int64_t n = c->kh * c->kw;
    product_args *a = eg_plan_alloc(p, sizeof *a + (size_t)n * sizeof *a->taps);
    if (!a)
        return NULL;
    a->ic = c->ic, a->oc = c->oc, a->n_taps = n;
    for (int64_t t = 0; t < n; t++) {
        a->taps[t] = product_tap_at(c, t / c->kw, t % c->kw);
        a->taps[t].from = a->places;
        a->places += a->taps[t].n;
    }
    return a;
}

/* in: x, dy; out: dw, room for both sides' matrices and for a piece's gradient. */
static eg_status product_run(const eg_step *s)
{
    const product_args *a = s->args;
    float *v = s->out[1]->data, *m = s->out[2]->data, *du = s->out[3]->data;
    for (int64_t t = 0; t < a->n_taps; t++) {
        const product_tap *tap = &a->taps[t];
        s->k->places_read(v + tap->from * a->ic, s->in[0]->data, &tap->x, false);
        s->k->places_read(m + tap->from * a->oc, s->in[1]->data, &tap->dy, true);
    }
    for (int64_t o = 0; o < a->oc; o += PRODUCT_PIECE) {
        int64_t oc = a->oc - o < PRODUCT_PIECE ? a->oc - o : PRODUCT_PIECE, step = a->ic * oc;
        for (int64_t t = 0; t < a->n_taps; t++) {
            const product_tap *tap = &a->taps[t];
            eg_panel_product d = {
                .points = 1, .n = tap->n, .ic = a->ic, .oc = oc, .rows = a->ic};
            s->k->panel_product_back(du + t * step, v + tap->from * a->ic,
                                     m + tap->from * a->oc + o * tap->n, &d);
        }
        eg_place_weights w = {.taps = a->n_taps, .ic = a->ic, .oc = oc, .step = step};
        s->k->places_weights(s->out[0]->data + o * a->ic * a->n_taps, du, &w);
    }
    return EG_OK;
}

eg_status eg_product_back_weights(eg_plan *p, const eg_node *y, const eg_conv *c,
                                  const eg_conv_nodes *nodes)
{
    product_args *a = product_args_new(p, c);
    if (!a)
        return EG_ENOMEM;
    int64_t oc = c->oc < PRODUCT_PIECE ? c->oc : PRODUCT_PIECE;
    int64_t places = a->places ? a->places : 1; /* a stride may step over the whole image */
    eg_value *in[] = {eg_plan_read(p, nodes->x, EG_BLOCKED),
                      eg_plan_read(p, nodes->dy, EG_BLOCKED)};
    eg_value *out[] = {
        eg_plan_write(p, y, EG_ROWMAJOR),
        eg_plan_scratch(p, (size_t)(places * a->ic) * sizeof(float)),
        eg_plan_scratch(p, (size_t)(places * a->oc) * sizeof(float)),
        eg_plan_scratch(p, (size_t)(a->n_taps * a->ic * oc) * sizeof(float)),
    };
    eg_step *s = eg_plan_step(p, y, product_run, 2, in, 4, out);
    if (!s)
        return EG_ENOMEM;
    s->args = a;
    s->kernel = "product";
    s->flops = eg_conv_flops(c);
    return EG_OK;
}
