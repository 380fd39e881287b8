/* common.c - the list of ops, and what many of them share: element-wise steps, broadcasting.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

#include <string.h>

// clang-format off
#define X(name, args, help) \
    static const eg_op_entry common_##name = {{#name, help, 0, NULL}, &eg_op_##name};
#include <engram/op.inc>
#undef X

const eg_op_entry *const eg_ops[] = {
#define X(name, args, help) &common_##name,
#include <engram/op.inc>
#undef X
    NULL,
};
// clang-format on
const eg_family eg_op_family = {"ops", "op", eg_ops, NULL};

void eg_reference_map(const eg_node *y, const double *x, double *out, double (*f)(double))
{
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = f(x[i]);
}

eg_layout eg_elementwise_layout(const eg_plan *p, const eg_node *y, bool keeps_zero)
{
    eg_layout layout = eg_plan_common_layout(p, y);
    eg_shape s = y->shape;
    bool filled = eg_layout_size(eg_plan_kernels(p), s, layout) != (size_t)eg_shape_size(s);
    return filled && !keeps_zero ? EG_ROWMAJOR : layout;
}

eg_node *eg_sample_pair(eg_graph *g, int i, double low, double high,
                        eg_node *(*f)(eg_graph *, eg_node *, eg_node *))
{
    static const struct {
        eg_shape a, b;
    } s[] = {
        {{2, {3, 4}}, {2, {3, 4}}},
        {{3, {2, 3, 4}}, {2, {3, 1}}}, /* b broadcast */
        {{0, {0}}, {2, {2, 5}}},       /* a is a scalar */
    };
    if (i >= (int)(sizeof s / sizeof *s))
        return NULL;
    return f(g, eg_sample_input(g, s[i].a, low, high), eg_sample_input(g, s[i].b, low, high));
}

eg_node *eg_sample_pool(eg_graph *g, int i, eg_node *(*f)(eg_graph *, eg_node *, eg_window))
{
    static const struct {
        eg_shape x;
        eg_window win;
    } s[] = {
        {{4, {2, 3, 6, 6}}, {.kernel = 2, .stride = 2}},
        {{4, {1, 18, 5, 7}}, {.kernel = 3, .stride = 2, .padding = 1}},
        {{4, {2, 2, 5, 4}}, {.kernel = 3, .stride = 1}},
    };
    if (i >= (int)(sizeof s / sizeof *s))
        return NULL;
    return f(g, eg_sample_input(g, s[i].x, -1, 1), s[i].win);
}

eg_status eg_emit_one(eg_plan *p, const eg_node *y, eg_status (*run)(const eg_step *),
                      eg_layout layout)
{
    eg_value *x = eg_plan_read(p, y->in[0], layout), *out = eg_plan_write(p, y, layout);
    return eg_plan_step(p, y, run, 1, &x, 1, &out) ? EG_OK : EG_ENOMEM;
}

eg_status eg_share_one(eg_plan *p, const eg_node *y,
                       eg_status (*share)(const eg_step *, const eg_team_part *),
                       eg_layout layout)
{
    eg_value *x = eg_plan_read(p, y->in[0], layout), *out = eg_plan_write(p, y, layout);
    return eg_plan_share(eg_plan_step(p, y, NULL, 1, &x, 1, &out), share);
}

static eg_status common_share_unary(const eg_step *s, const eg_team_part *part)
{
    const eg_unary *f = s->args;
    eg_range r = eg_part_floats(part, s->out[0]->bytes / sizeof(float));
    (*f)(s->out[0]->data + r.from, s->in[0]->data + r.from, (size_t)(r.to - r.from));
    return EG_OK;
}

static eg_status common_share_binary(const eg_step *s, const eg_team_part *part)
{
    const eg_binary *f = s->args;
    eg_range r = eg_part_floats(part, s->out[0]->bytes / sizeof(float));
    (*f)(s->out[0]->data + r.from, s->in[0]->data + r.from, s->in[1]->data + r.from,
         (size_t)(r.to - r.from));
    return EG_OK;
}

eg_status eg_emit_unary(eg_plan *p, const eg_node *y, eg_unary f, bool keeps_zero)
{
    eg_layout layout = eg_elementwise_layout(p, y, keeps_zero);
    eg_value *x = eg_plan_read(p, y->in[0], layout), *out = eg_plan_write(p, y, layout);
    eg_step *s = eg_plan_step(p, y, NULL, 1, &x, 1, &out);
    eg_unary *args = eg_plan_alloc(p, sizeof *args);
    if (eg_plan_share(s, common_share_unary) != EG_OK || !args)
        return EG_ENOMEM;
    *args = f;
    s->args = args;
    eg_plan_in_place(p, out, x);
    return EG_OK;
}

eg_status eg_emit_binary(eg_plan *p, const eg_node *y, eg_binary f, bool keeps_zero)
{
    eg_layout layout = eg_elementwise_layout(p, y, keeps_zero);
    eg_value *in[] = {eg_plan_read(p, y->in[0], layout), eg_plan_read(p, y->in[1], layout)};
    eg_value *out = eg_plan_write(p, y, layout);
    eg_step *s = eg_plan_step(p, y, NULL, 2, in, 1, &out);
    eg_binary *args = eg_plan_alloc(p, sizeof *args);
    if (eg_plan_share(s, common_share_binary) != EG_OK || !args)
        return EG_ENOMEM;
    *args = f;
    s->args = args;
    eg_plan_in_place(p, out, in[0]);
    eg_plan_in_place(p, out, in[1]);
    return EG_OK;
}

bool eg_broadcast(eg_graph *g, const char *op, eg_node **a, eg_node **b)
{
    if (eg_is_poison(*a) || eg_is_poison(*b))
        return false;
    eg_shape s = {.rank = (*a)->shape.rank > (*b)->shape.rank ? (*a)->shape.rank
                                                              : (*b)->shape.rank};
    for (int i = 0; i < s.rank; i++) {
        int ia = i - (s.rank - (*a)->shape.rank), ib = i - (s.rank - (*b)->shape.rank);
        int64_t da = ia < 0 ? 1 : (*a)->shape.dim[ia], db = ib < 0 ? 1 : (*b)->shape.dim[ib];
        if (da != db && da != 1 && db != 1) {
            char ta[64], tb[64];
            eg_shape_print((*a)->shape, ta);
            eg_shape_print((*b)->shape, tb);
            eg_poison(g, EG_ESHAPE, "%s: %s and %s do not broadcast", op, ta, tb);
            return false;
        }
        s.dim[i] = da == 1 ? db : da;
    }
    *a = eg_expand(g, *a, s);
    *b = eg_expand(g, *b, s);
    return true;
}

eg_channels eg_channels_of(const eg_kernels *k, const eg_node *x, eg_layout layout)
{
    eg_shape s = x->shape;
    eg_channels d = {.n = s.dim[0], .c = s.dim[1], .area = 1, .blocked = layout == EG_BLOCKED};
    for (int i = 2; i < s.rank; i++)
        d.area *= s.dim[i];
    if (layout == EG_BATCHED) {
        d.area *= eg_batch_lanes(k, d.n);
        d.n = 1;
    }
    return d;
}

bool eg_channels_part(const eg_kernels *k, const eg_team_part *part, eg_channels *d,
                      eg_range *own)
{
    int64_t width = d->blocked ? k->width : 1;
    *own = eg_team_range(part, d->c, width);
    d->from = own->from / width;
    d->to = (own->to + width - 1) / width;
    return own->to > own->from;
}

eg_range eg_part_floats(const eg_team_part *part, size_t n)
{
    return eg_team_range(part, (int64_t)n, 256);
}

eg_layout eg_channel_layout(const eg_plan *p, const eg_node *x)
{
    eg_layout layout = eg_plan_layout(p, x);
    bool filled = eg_batch_lanes(eg_plan_kernels(p), x->shape.dim[0]) != x->shape.dim[0];
    return layout == EG_BATCHED && filled ? EG_ROWMAJOR : layout;
}

const eg_node *eg_sole_relu(const eg_plan *p, const eg_node *x)
{
    const eg_node *relu = eg_plan_sole_reader(p, x, &eg_op_leaky_relu);
    return relu && eg_rectify_slope(relu) == 0 ? relu : NULL;
}

eg_node *eg_bias_sample_norms(eg_graph *g, eg_node *dy)
{
    eg_node *d = dy;
    if (dy->shape.rank == 4)
        d = eg_affine(g, eg_global_pool(g, dy), (double)(dy->shape.dim[2] * dy->shape.dim[3]),
                      0);
    return eg_reshape(g, eg_sum(g, eg_mul(g, d, d), EG_AXIS(1)), eg_dims(dy->shape.dim[0]));
}

bool eg_check_channels(eg_graph *g, const char *op, const eg_node *x, int n,
                       eg_node *const *rows)
{
    if (eg_is_poison(x) || eg_any_poison(n, rows))
        return false;
    if (x->shape.rank != 2 && x->shape.rank != 4) {
        eg_poison(g, EG_ESHAPE, "%s: the input has %d axes, not 2 or 4", op, x->shape.rank);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (eg_shape_size(rows[i]->shape) % x->shape.dim[1] ||
            rows[i]->shape.dim[rows[i]->shape.rank - 1] != x->shape.dim[1]) {
            eg_poison(g, EG_ESHAPE, "%s: %lld values for %lld channels", op,
                      (long long)eg_shape_size(rows[i]->shape), (long long)x->shape.dim[1]);
            return false;
        }
    return true;
}
