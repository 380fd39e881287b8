/* resize.c - images scaled to another size by a bicubic filter: y = A x B^T for each map.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its gradient is the same op the other way, x = A^T y B, whose gradient it is in turn.
 */
#include "engine/op/resize.h"
#include "engine/op/op.h"

#include <math.h>
#include <string.h>

/* The small side and the large one are those of the op that goes forward. */
typedef struct resize {
    int64_t from_h, from_w, to_h, to_w;
    int64_t back; /* x is of the second size, y of the first */
} resize;

/* Taps of both axes, in the plan's memory. */
typedef struct resize_taps {
    eg_cubic *y, *x;
} resize_taps;

eg_cubic eg_cubic_at(int64_t i, int64_t from, int64_t to)
{
    const double a = -0.75;
    double place = ((double)i + 0.5) * (double)from / (double)to - 0.5;
    int64_t first = (int64_t)floor(place) - 1;
    eg_cubic c;
    for (int64_t k = 0; k < EG_CUBIC_TAPS; k++) {
        double d = fabs(place - (double)(first + k));
        int64_t at = first + k < 0 ? 0 : first + k;
        c.at[k] = at < from ? at : from - 1;
        c.weight[k] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                             : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
    return c;
}

static eg_node *resize_record(eg_graph *g, eg_node *x, const resize *r)
{
    const int64_t *d = x->shape.dim;
    eg_shape s =
        eg_dims(d[0], d[1], r->back ? r->from_h : r->to_h, r->back ? r->from_w : r->to_w);
    return eg_graph_record(g, &eg_op_resize, s, r, sizeof *r, 1, &x);
}

static eg_node *resize_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    resize r = *(const resize *)y->attr;
    (void)wrt;
    r.back = !r.back;
    return resize_record(g, dy, &r);
}

static void resize_reference(const eg_node *y, const double *const *in, double *out)
{
    const resize *r = y->attr;
    int64_t small = r->from_h * r->from_w, large = r->to_h * r->to_w;
    memset(out, 0, (size_t)eg_shape_size(y->shape) * sizeof *out);
    for (int64_t i = 0; i < y->shape.dim[0] * y->shape.dim[1] * large; i++) {
        eg_cubic v = eg_cubic_at(i % large / r->to_w, r->from_h, r->to_h);
        eg_cubic h = eg_cubic_at(i % r->to_w, r->from_w, r->to_w);
        for (int k = 0; k < EG_CUBIC_TAPS * EG_CUBIC_TAPS; k++) {
            int64_t j = i / large * small + v.at[k / EG_CUBIC_TAPS] * r->from_w +
                        h.at[k % EG_CUBIC_TAPS];
            double w = v.weight[k / EG_CUBIC_TAPS] * h.weight[k % EG_CUBIC_TAPS];
            out[r->back ? j : i] += w * in[0][r->back ? i : j];
        }
    }
}

/* One map up: rows first, into line [from_w]. */
static void resize_up(const resize *r, const resize_taps *t, const float *x, float *line,
                      float *y)
{
    for (int64_t i = 0; i < r->to_h; i++) {
        const eg_cubic *v = &t->y[i];
        for (int64_t j = 0; j < r->from_w; j++) {
            line[j] = 0;
            for (int k = 0; k < EG_CUBIC_TAPS; k++)
                line[j] += (float)v->weight[k] * x[v->at[k] * r->from_w + j];
        }
        for (int64_t j = 0; j < r->to_w; j++, y++) {
            const eg_cubic *h = &t->x[j];
            *y = 0;
            for (int k = 0; k < EG_CUBIC_TAPS; k++)
                *y += (float)h->weight[k] * line[h->at[k]];
        }
    }
}

static void resize_down(const resize *r, const resize_taps *t, const float *x, float *line,
                        float *y)
{
    memset(y, 0, (size_t)(r->from_h * r->from_w) * sizeof *y);
    for (int64_t i = 0; i < r->to_h; i++) {
        const eg_cubic *v = &t->y[i];
        memset(line, 0, (size_t)r->from_w * sizeof *line);
        for (int64_t j = 0; j < r->to_w; j++, x++)
            for (int k = 0; k < EG_CUBIC_TAPS; k++)
                line[t->x[j].at[k]] += (float)t->x[j].weight[k] * *x;
        for (int k = 0; k < EG_CUBIC_TAPS; k++)
            for (int64_t j = 0; j < r->from_w; j++)
                y[v->at[k] * r->from_w + j] += (float)v->weight[k] * line[j];
    }
}

static eg_status resize_run(const eg_step *s)
{
    const resize *r = s->node->attr;
    int64_t small = r->from_h * r->from_w, large = r->to_h * r->to_w;
    for (int64_t i = 0; i < s->node->shape.dim[0] * s->node->shape.dim[1]; i++)
        (r->back ? resize_down
                 : resize_up)(r, s->args, s->in[0]->data + i * (r->back ? large : small),
                              s->out[1]->data, s->out[0]->data + i * (r->back ? small : large));
    return EG_OK;
}

static eg_status resize_emit(eg_plan *p, const eg_node *y)
{
    const resize *r = y->attr;
    eg_value *x = eg_plan_read(p, y->in[0], EG_ROWMAJOR);
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR),
                       eg_plan_scratch(p, (size_t)r->from_w * sizeof(float))};
    eg_step *s = eg_plan_step(p, y, resize_run, 1, &x, 2, out);
    resize_taps *t = eg_plan_alloc(p, sizeof *t);
    if (!s || !t)
        return EG_ENOMEM;
    t->y = eg_plan_alloc(p, (size_t)r->to_h * sizeof *t->y);
    t->x = eg_plan_alloc(p, (size_t)r->to_w * sizeof *t->x);
    if (!t->y || !t->x)
        return EG_ENOMEM;
    for (int64_t i = 0; i < r->to_h; i++)
        t->y[i] = eg_cubic_at(i, r->from_h, r->to_h);
    for (int64_t i = 0; i < r->to_w; i++)
        t->x[i] = eg_cubic_at(i, r->from_w, r->to_w);
    s->args = t;
    return EG_OK;
}

static eg_node *resize_sample(eg_graph *g, int i)
{
    static const resize s[] = {{2, 3, 5, 4, 0}, {4, 4, 3, 9, 0}, {3, 2, 4, 7, 1}};
    if (i > 2)
        return NULL;
    const resize *r = &s[i];
    eg_node *x = eg_sample_input(
        g, eg_dims(2, 2, r->back ? r->to_h : r->from_h, r->back ? r->to_w : r->from_w), -1, 1);
    return resize_record(g, x, r);
}

const eg_op eg_op_resize = {.name = "resize",
                            .vjp = resize_vjp,
                            .reference = resize_reference,
                            .emit = resize_emit,
                            .sample = resize_sample};

eg_node *eg_resize(eg_graph *g, eg_node *x, int64_t height, int64_t width)
{
    if (eg_is_poison(x))
        return x;
    if (x->shape.rank != 4 || height < 1 || width < 1)
        return eg_poison(g, EG_ESHAPE, "resize: a tensor with %d axes to %lldx%lld",
                         x->shape.rank, (long long)height, (long long)width);
    const int64_t *d = x->shape.dim;
    if (d[2] == height && d[3] == width)
        return x;
    return resize_record(g, x, &(resize){d[2], d[3], height, width, 0});
}
