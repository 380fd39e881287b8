/* attention_back.c - the gradient of attention: with P a softmax, s its scale and dP = dy v^T,
 * dS = P (dP - rowsum(dP P)), dq = s dS k, dk = s dS^T q, dv = P^T dy.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/attention.h"

#include <math.h>
#include <string.h>

typedef struct attention_back_sum {
    const double *x, *dy;
    double *dx;
} attention_back_sum;

static double attention_back_dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

static void attention_back_visit(void *context, const eg_attention_dims *d,
                                 eg_attention_place at, const double *p)
{
    const attention_back_sum *s = context;
    int64_t w = d->heads * d->size, from = at.sample * d->tokens * 3 * w + at.head * d->size;
    const double *x = s->x + from, *q = x + at.row * 3 * w;
    const double *dy = s->dy + (at.sample * d->tokens + at.row) * w + at.head * d->size;
    double *dx = s->dx + from, *dq = dx + at.row * 3 * w, dot = 0;
    for (int64_t j = 0; j < at.tokens; j++)
        dot += p[j] * attention_back_dot(dy, x + (j * 3 + 2) * w, d->size);
    for (int64_t j = 0; j < at.tokens; j++) {
        const double *key = x + (j * 3 + 1) * w, *v = key + w;
        double *dk = dx + (j * 3 + 1) * w, *dv = dk + w;
        double ds = p[j] * (attention_back_dot(dy, v, d->size) - dot) / sqrt((double)d->size);
        for (int64_t k = 0; k < d->size; k++) {
            dq[k] += ds * key[k];
            dk[k] += ds * q[k];
            dv[k] += p[j] * dy[k];
        }
    }
}

static void attention_back_reference(const eg_node *y, const double *const *in, double *out)
{
    attention_back_sum s = {in[0], in[1], out};
    memset(out, 0, (size_t)eg_shape_size(y->shape) * sizeof *out);
    eg_attention_walk(y, in[0], y->n_in > 2 ? in[2] : NULL, attention_back_visit, &s);
}

static eg_status attention_back_share(const eg_step *s, const eg_team_part *part)
{
    eg_attention_dims d = eg_attention_of(s->node);
    const eg_team_part some = eg_plan_limit(s, part);
    const float *lengths = s->n_in > 2 ? s->in[2]->data : NULL;
    size_t room = eg_attention_scratch(&d) / sizeof(float);
    EG_TRY(eg_attention_check("attention_back", lengths, &d));
    if (some.i >= some.n)
        return EG_OK;
    eg_range r = eg_team_range(&some, d.n, 1);
    int64_t width = d.tokens * d.heads * d.size;
    d.n = r.to - r.from;
    if (d.n > 0)
        s->k->attention_back(s->out[0]->data + r.from * 3 * width,
                             s->in[0]->data + r.from * 3 * width,
                             s->in[1]->data + r.from * width, lengths ? lengths + r.from : NULL,
                             s->out[1]->data + room * (size_t)some.i, &d);
    return EG_OK;
}

static eg_status attention_back_emit(eg_plan *p, const eg_node *y)
{
    return eg_attention_emit(p, y, attention_back_share, 5);
}

static eg_node *attention_back_sample(eg_graph *g, int i)
{
    eg_node *lengths;
    int64_t heads;
    eg_node *x = eg_sample_attention(g, i, &lengths, &heads);
    if (!x)
        return NULL;
    const int64_t *d = x->shape.dim;
    return eg_attention_back(g, x, eg_sample_input(g, eg_dims(d[0], d[1], d[2] / 3), -1, 1),
                             lengths, heads);
}

const eg_op eg_op_attention_back = {.name = "attention_back",
                                    .reference = attention_back_reference,
                                    .emit = attention_back_emit,
                                    .sample = attention_back_sample,
                                    .no_vjp = "it is a fused backward"};

eg_node *eg_attention_back(eg_graph *g, eg_node *x, eg_node *dy, eg_node *lengths,
                           int64_t heads)
{
    if (eg_is_poison(x) || eg_is_poison(dy) || (lengths && eg_is_poison(lengths)))
        return g->poison;
    if (!eg_attention_fits(g, "attention_back", x, lengths, heads))
        return g->poison;
    return eg_graph_record(g, &eg_op_attention_back, x->shape, &heads, sizeof heads,
                           lengths ? 3 : 2, (eg_node *[]){x, dy, lengths});
}
