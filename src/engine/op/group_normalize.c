/* group_normalize.c - each group of a sample's channels minus its mean, over its deviation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * y = (x - mean) r, r = 1 / sqrt(var + eps), over the group's channels and all its places.
 */
#include "engine/op/op.h"

#include <math.h>

static eg_node *group_normalize_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)wrt;
    const eg_group_attr *a = y->attr;
    eg_node *r = eg_group_rstd(g, y->in[0], a->groups, a->eps);
    return eg_group_normalize_back(g, y, r, dy);
}

void eg_reference_moments(const double *x, int64_t n, double *mean, double *var)
{
    *mean = *var = 0;
    for (int64_t i = 0; i < n; i++)
        *mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        *var += (x[i] - *mean) * (x[i] - *mean) / (double)n;
}

static void group_normalize_reference(const eg_node *y, const double *const *in, double *out)
{
    const eg_group_attr *a = y->attr;
    int64_t rows = y->shape.dim[0] * a->groups, cols = eg_shape_size(y->shape) / rows;
    for (int64_t i = 0; i < rows; i++) {
        double mean, var;
        eg_reference_moments(in[0] + i * cols, cols, &mean, &var);
        for (int64_t j = i * cols; j < (i + 1) * cols; j++)
            out[j] = (in[0][j] - mean) / sqrt(var + a->eps);
    }
}

void eg_group_moments(const eg_kernels *k, const float *x, const eg_channels *d,
                      const eg_group_attr *a, float *stats)
{
    int64_t size = d->c / a->groups;
    k->channel_stats(stats, x, d);
    for (int64_t i = 0; i < a->groups; i++) {
        double mean = 0, var = 0;
        float *means = stats + i * size, *vars = stats + d->c + i * size;
        for (int64_t c = 0; c < size; c++)
            mean += (double)means[c] / (double)size;
        for (int64_t c = 0; c < size; c++) {
            double gap = (double)means[c] - mean;
            var += ((double)vars[c] + gap * gap) / (double)size;
        }
        for (int64_t c = 0; c < size; c++) {
            means[c] = (float)mean;
            vars[c] = (float)(1 / sqrt(var + a->eps));
        }
    }
}

eg_layout eg_group_layout(const eg_plan *p, const eg_node *x)
{
    eg_layout layout = eg_plan_layout(p, x);
    return layout == EG_BATCHED ? EG_ROWMAJOR : layout;
}

/* in: x; out: y, room for two rows of channels. */
static eg_status group_normalize_run(const eg_step *s)
{
    eg_channels d = eg_channels_of(s->k, s->node, s->out[0]->layout);
    int64_t n = d.n, size = (int64_t)(s->out[0]->bytes / sizeof(float)) / n;
    float *shift = s->out[1]->data, *scale = shift + d.c;
    d.n = 1;
    for (int64_t i = 0; i < n; i++) {
        const float *x = s->in[0]->data + i * size;
        eg_group_moments(s->k, x, &d, s->node->attr, shift);
        for (int64_t c = 0; c < d.c; c++)
            shift[c] *= -scale[c];
        s->k->channel_affine(s->out[0]->data + i * size, x, scale, shift, NULL, false, &d);
    }
    return EG_OK;
}

static eg_status group_normalize_emit(eg_plan *p, const eg_node *y)
{
    eg_layout layout = eg_group_layout(p, y->in[0]);
    eg_value *x = eg_plan_read(p, y->in[0], layout);
    eg_value *out[] = {
        eg_plan_write(p, y, layout),
        eg_plan_scratch(p, 2 * (size_t)y->shape.dim[1] * sizeof(float)),
    };
    eg_plan_in_place(p, out[0], x);
    return eg_plan_step(p, y, group_normalize_run, 1, &x, 2, out) ? EG_OK : EG_ENOMEM;
}

static eg_node *group_normalize_sample(eg_graph *g, int i)
{
    static const int64_t c[] = {4, 19, 18, 32}, groups[] = {2, 19, 3, 32};
    return i > 3 ? NULL
                 : eg_group_normalize(g, eg_sample_input(g, eg_dims(2, c[i], 3, 2 + i), -1, 1),
                                      groups[i], i ? 1e-5 : 0.1);
}

const eg_op eg_op_group_normalize = {.name = "group_normalize",
                                     .vjp = group_normalize_vjp,
                                     .reference = group_normalize_reference,
                                     .emit = group_normalize_emit,
                                     .sample = group_normalize_sample};

bool eg_check_groups(eg_graph *g, const char *op, const eg_node *x, int64_t groups)
{
    if (eg_is_poison(x))
        return false;
    if (x->shape.rank != 4 || groups < 1 || x->shape.dim[1] % groups) {
        char text[64];
        eg_shape_print(x->shape, text);
        eg_poison(g, EG_ESHAPE, "%s: %s in %lld groups of channels", op, text,
                  (long long)groups);
        return false;
    }
    return true;
}

eg_node *eg_group_normalize(eg_graph *g, eg_node *x, int64_t groups, double eps)
{
    if (!eg_check_groups(g, "group_normalize", x, groups))
        return g->poison;
    eg_group_attr a = {groups, eps};
    return eg_graph_record(g, &eg_op_group_normalize, x->shape, &a, sizeof a, 1, &x);
}
