/* sum_pool_back.c - the gradient of sum_pool: dy at every place of its window.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

static eg_node *sum_pool_back_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    return eg_sum_pool(g, dy, *(const eg_window *)y->attr);
}

typedef struct sum_pool_back_sum {
    const double *dy;
    double *dx;
} sum_pool_back_sum;

static void sum_pool_back_add(void *context, int64_t in, int64_t out)
{
    sum_pool_back_sum *s = context;
    s->dx[in] += s->dy[out];
}

static void sum_pool_back_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_pool_dims d = eg_pool_dims_of(NULL, y->shape, y->in[0]->shape, y->attr, EG_ROWMAJOR);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = 0;
    eg_pool_visit(&d, sum_pool_back_add, &(sum_pool_back_sum){in[0], out});
}

static eg_status sum_pool_back_run(const eg_step *s)
{
    const eg_node *y = s->node;
    eg_pool_dims d =
        eg_pool_dims_of(s->k, y->shape, y->in[0]->shape, y->attr, s->out[0]->layout);
    s->k->sum_pool_back(s->out[0]->data, s->in[0]->data, 1, &d);
    return EG_OK;
}

static eg_status sum_pool_back_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_plan_layout(p, y->in[0]);
    eg_value *dy = eg_plan_read(p, y->in[0], layout), *out = eg_plan_write(p, y, layout);
    return eg_plan_step(p, y, sum_pool_back_run, 1, &dy, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *sum_pool_back_sample(eg_graph *g, int i)
{
    return i > 0 ? NULL
                 : eg_sum_pool_back(g, eg_sample_input(g, eg_dims(2, 3, 3, 4), -1, 1),
                                    (eg_window){.kernel = 3, .stride = 2, .padding = 1}, 5, 7);
}

const eg_op eg_op_sum_pool_back = {.name = "sum_pool_back",
                                   .vjp = sum_pool_back_vjp,
                                   .reference = sum_pool_back_reference,
                                   .emit = sum_pool_back_emit,
                                   .sample = sum_pool_back_sample};

eg_node *eg_sum_pool_back(eg_graph *g, eg_node *dy, eg_window win, int64_t h, int64_t w)
{
    if (eg_is_poison(dy))
        return g->poison;
    win.groups = win.output_padding = 0;
    const int64_t *d = dy->shape.dim;
    if (dy->shape.rank != 4 ||
        eg_window_count(h, win.kernel, win.stride, win.padding) != d[2] ||
        eg_window_count(w, win.kernel, win.stride, win.padding) != d[3])
        return eg_poison(g, EG_ESHAPE, "sum_pool_back: the gradient does not give %lld x %lld",
                         (long long)h, (long long)w);
    return eg_graph_record(g, &eg_op_sum_pool_back, eg_dims(d[0], d[1], h, w), &win, sizeof win,
                           1, &dy);
}
