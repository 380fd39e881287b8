/* group_normalize_back.c - the gradient of group_normalize from its result y and r = 1 / std.
 * SPDX-License-Identifier: Apache-2.0
 *
 * dx = r (dy - M(dy) - y M(dy y)), M the mean over a group of channels of one sample. It is its
 * own transpose in dy; for y and r it is differentiated by the same means.
 */
#include "engine/op/op.h"

#include <string.h>

/* [n, groups]: the mean of each group of x [n, c, h, w]. */
static eg_node *group_mean(eg_graph *g, eg_node *x, int64_t groups)
{
    eg_node *maps = eg_global_pool(g, x);
    if (eg_is_poison(maps))
        return maps;
    int64_t n = maps->shape.dim[0], c = maps->shape.dim[1];
    if (groups == c)
        return maps;
    maps = eg_reshape(g, maps, eg_dims(n * groups, c / groups));
    return eg_reshape(g, eg_mean(g, maps, EG_AXIS(1)), eg_dims(n, groups));
}

eg_node *eg_group_spread(eg_graph *g, eg_node *s, int64_t channels)
{
    if (eg_is_poison(s))
        return s;
    int64_t n = s->shape.dim[0], groups = s->shape.dim[1];
    if (groups == channels)
        return s;
    eg_node *column = eg_reshape(g, s, eg_dims(n * groups, 1));
    return eg_reshape(g, eg_expand(g, column, eg_dims(n * groups, channels / groups)),
                      eg_dims(n, channels));
}

/* -r m for every map. */
static eg_node *group_weaken(eg_graph *g, eg_node *x, eg_node *r, eg_node *m)
{
    return eg_scale_maps(
        g, x, eg_group_spread(g, eg_affine(g, eg_mul(g, r, m), -1, 0), x->shape.dim[1]));
}

static eg_node *group_back_vjp(eg_graph *g, eg_node *dx, eg_node *d, int wrt)
{
    eg_node *y = dx->in[0], *r = dx->in[1], *dy = dx->in[2];
    int64_t groups = r->shape.dim[1];
    if (wrt == 2)
        return eg_group_normalize_back(g, y, r, d);
    eg_node *along = group_mean(g, eg_mul(g, dy, y), groups);
    eg_node *other = group_mean(g, eg_mul(g, d, y), groups);
    if (wrt == 0)
        return eg_add(g, group_weaken(g, d, r, along), group_weaken(g, dy, r, other));
    double count = (double)eg_shape_size(y->shape) / (double)eg_shape_size(r->shape);
    eg_node *both = group_mean(g, eg_mul(g, d, dy), groups);
    eg_node *levels = eg_mul(g, group_mean(g, d, groups), group_mean(g, dy, groups));
    return eg_affine(g, eg_sub(g, eg_sub(g, both, levels), eg_mul(g, along, other)), count, 0);
}

static void group_back_reference(const eg_node *dx, const double *const *in, double *out)
{
    int64_t rows = eg_shape_size(dx->in[1]->shape), cols = eg_shape_size(dx->shape) / rows;
    for (int64_t i = 0; i < rows; i++) {
        const double *y = in[0] + i * cols, *dy = in[2] + i * cols;
        double level = 0, along = 0;
        for (int64_t j = 0; j < cols; j++) {
            level += dy[j] / (double)cols;
            along += dy[j] * y[j] / (double)cols;
        }
        for (int64_t j = 0; j < cols; j++)
            out[i * cols + j] = in[1][i] * (dy[j] - level - y[j] * along);
    }
}

/* The coefficients of dx = a dy + b y + c for a sample's channels, [3, c], from the sums of dy
 * and of dy y, which stand where b and c go. */
static void group_back_coefficients(float *abc, const float *r, int64_t groups,
                                    const eg_channels *d)
{
    int64_t size = d->c / groups;
    float *a = abc, *b = abc + d->c, *c = abc + 2 * d->c;
    for (int64_t i = 0; i < groups; i++) {
        double level = 0, along = 0, count = (double)(size * d->area);
        for (int64_t k = i * size; k < (i + 1) * size; k++) {
            level += (double)b[k] / count;
            along += (double)c[k] / count;
        }
        for (int64_t k = i * size; k < (i + 1) * size; k++) {
            a[k] = r[i];
            b[k] = (float)(-(double)r[i] * along);
            c[k] = (float)(-(double)r[i] * level);
        }
    }
}

/* in: y, r, dy; out: dx, room for coefficients. */
static eg_status group_back_run(const eg_step *s)
{
    eg_channels d = eg_channels_of(s->k, s->node, s->out[0]->layout);
    int64_t n = d.n, size = (int64_t)(s->out[0]->bytes / sizeof(float)) / n;
    int64_t groups = s->node->in[1]->shape.dim[1];
    float *abc = s->out[1]->data, *zero = abc + 3 * d.c; /* [3, c] and [c] */
    memset(zero, 0, (size_t)d.c * sizeof *zero);
    d.n = 1;
    for (int64_t i = 0; i < n; i++) {
        const float *y = s->in[0]->data + i * size, *dy = s->in[2]->data + i * size;
        s->k->channel_dots(abc + d.c, y, zero, NULL, dy, &d);
        group_back_coefficients(abc, s->in[1]->data + i * groups, groups, &d);
        s->k->channel_back(s->out[0]->data + i * size, y, NULL, dy, abc, &d);
    }
    return EG_OK;
}

static eg_status group_back_emit(eg_plan *p, const eg_node *dx)
{
    eg_layout layout = eg_group_layout(p, dx->in[0]);
    eg_value *in[] = {eg_plan_read(p, dx->in[0], layout),
                      eg_plan_read(p, dx->in[1], EG_ROWMAJOR),
                      eg_plan_read(p, dx->in[2], layout)};
    eg_value *out[] = {
        eg_plan_write(p, dx, layout),
        eg_plan_scratch(p, 4 * (size_t)dx->shape.dim[1] * sizeof(float)),
    };
    eg_plan_in_place(p, out[0], in[2]);
    return eg_plan_step(p, dx, group_back_run, 3, in, 2, out) ? EG_OK : EG_ENOMEM;
}

static eg_node *group_back_sample(eg_graph *g, int i)
{
    static const int64_t c[] = {4, 19, 18}, groups[] = {2, 19, 3};
    if (i > 2)
        return NULL;
    eg_shape s = eg_dims(2, c[i], 3, 2);
    return eg_group_normalize_back(g, eg_sample_input(g, s, -1, 1),
                                   eg_sample_input(g, eg_dims(2, groups[i]), 0.5, 1.5),
                                   eg_sample_input(g, s, -1, 1));
}

const eg_op eg_op_group_normalize_back = {.name = "group_normalize_back",
                                          .vjp = group_back_vjp,
                                          .reference = group_back_reference,
                                          .emit = group_back_emit,
                                          .sample = group_back_sample};

eg_node *eg_group_normalize_back(eg_graph *g, eg_node *y, eg_node *r, eg_node *dy)
{
    if (eg_any_poison(3, (eg_node *[]){y, r, dy}))
        return g->poison;
    if (r->shape.rank != 2 || !eg_shape_equal(y->shape, dy->shape) ||
        r->shape.dim[0] != y->shape.dim[0]) {
        char a[64], b[64], c[64];
        eg_shape_print(y->shape, a);
        eg_shape_print(r->shape, b);
        eg_shape_print(dy->shape, c);
        return eg_poison(g, EG_ESHAPE, "group_normalize_back: y is %s, r %s, dy %s", a, b, c);
    }
    if (!eg_check_groups(g, "group_normalize_back", y, r->shape.dim[1]))
        return g->poison;
    return eg_graph_record(g, &eg_op_group_normalize_back, y->shape, NULL, 0, 3,
                           (eg_node *[]){y, r, dy});
}
