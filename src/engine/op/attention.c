/* attention.c - what tokens read of each other: y = softmax(q k^T / sqrt d) v for each head
 * (Vaswani et al., 2017, arXiv:1706.03762); x [n, t, 3 w] holds q, k and v, y is [n, t, w].
 * SPDX-License-Identifier: Apache-2.0
 *
 * With lengths [n], only the first tokens of a sample count: nobody looks at the others, and
 * their rows of y are zero. The gradient is one step too (attention_back).
 */
#include "engine/op/attention.h"

#include <math.h>
#include <string.h>

eg_attention_dims eg_attention_of(const eg_node *y)
{
    const eg_shape *x = &y->in[0]->shape;
    int64_t heads = *(const int64_t *)y->attr;
    return (eg_attention_dims){
        .n = x->dim[0], .tokens = x->dim[1], .heads = heads, .size = x->dim[2] / 3 / heads};
}

size_t eg_attention_scratch(const eg_attention_dims *d)
{
    int64_t filled = (d->tokens + 15) / 16 * 16, wide = (d->size + 15) / 16 * 16;
    return (size_t)(9 * filled * wide + 2 * EG_ATTENTION_ROWS * filled) * sizeof(float);
}

eg_status eg_attention_check(const char *op, const float *lengths, const eg_attention_dims *d)
{
    for (int64_t i = 0; lengths && i < d->n; i++)
        if (!(lengths[i] >= 0 && lengths[i] <= (float)d->tokens) ||
            lengths[i] != floorf(lengths[i]))
            return eg_fail(EG_EINVAL, "%s: a length of %g among %lld tokens", op,
                           (double)lengths[i], (long long)d->tokens);
    return EG_OK;
}

/* The row of the softmax of token r of a head, in p [tokens]; x: at the head's queries. */
static void attention_row(const eg_attention_dims *d, const double *x, int64_t tokens,
                          int64_t r, double *p)
{
    int64_t width = d->heads * d->size;
    double sum = 0, most = -INFINITY;
    for (int64_t j = 0; j < tokens; j++) {
        p[j] = 0;
        for (int64_t k = 0; k < d->size; k++)
            p[j] += x[r * 3 * width + k] * x[(j * 3 + 1) * width + k];
        p[j] /= sqrt((double)d->size);
        most = fmax(most, p[j]);
    }
    for (int64_t j = 0; j < tokens; j++)
        sum += p[j] = exp(p[j] - most);
    for (int64_t j = 0; j < tokens; j++)
        p[j] /= sum;
}

void eg_attention_walk(const eg_node *y, const double *x, const double *lengths,
                       eg_attention_visitor visit, void *context)
{
    eg_attention_dims d = eg_attention_of(y);
    int64_t width = d.heads * d.size;
    double p[EG_ATTENTION_SAMPLE];
    EG_ASSERT(d.tokens <= EG_ATTENTION_SAMPLE);
    for (int64_t i = 0; i < d.n; i++)
        for (int64_t e = 0; e < d.heads; e++) {
            int64_t tokens = lengths ? (int64_t)lengths[i] : d.tokens;
            const double *head = x + i * d.tokens * 3 * width + e * d.size;
            for (int64_t r = 0; r < tokens; r++) {
                attention_row(&d, head, tokens, r, p);
                visit(context, &d, (eg_attention_place){i, e, r, tokens}, p);
            }
        }
}

typedef struct attention_sum {
    const double *x;
    double *y;
} attention_sum;

static void attention_visit(void *context, const eg_attention_dims *d, eg_attention_place at,
                            const double *p)
{
    const attention_sum *s = context;
    int64_t width = d->heads * d->size;
    const double *v = s->x + at.sample * d->tokens * 3 * width + 2 * width + at.head * d->size;
    double *y = s->y + (at.sample * d->tokens + at.row) * width + at.head * d->size;
    for (int64_t j = 0; j < at.tokens; j++)
        for (int64_t k = 0; k < d->size; k++)
            y[k] += p[j] * v[j * 3 * width + k];
}

static void attention_reference(const eg_node *y, const double *const *in, double *out)
{
    attention_sum s = {in[0], out};
    memset(out, 0, (size_t)eg_shape_size(y->shape) * sizeof *out);
    eg_attention_walk(y, in[0], y->n_in > 1 ? in[1] : NULL, attention_visit, &s);
}

static eg_node *attention_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    if (wrt == 1)
        return NULL;
    return eg_attention_back(g, y->in[0], dy, y->n_in > 1 ? y->in[1] : NULL,
                             *(const int64_t *)y->attr);
}

static eg_status attention_share(const eg_step *s, const eg_team_part *part)
{
    eg_attention_dims d = eg_attention_of(s->node);
    const eg_team_part some = eg_plan_limit(s, part);
    const float *lengths = s->n_in > 1 ? s->in[1]->data : NULL;
    size_t room = eg_attention_scratch(&d) / sizeof(float);
    EG_TRY(eg_attention_check("attention", lengths, &d));
    if (some.i >= some.n)
        return EG_OK;
    eg_range r = eg_team_range(&some, d.n, 1);
    int64_t width = d.tokens * d.heads * d.size;
    d.n = r.to - r.from;
    if (d.n > 0)
        s->k->attention(s->out[0]->data + r.from * width, s->in[0]->data + r.from * 3 * width,
                        lengths ? lengths + r.from : NULL,
                        s->out[1]->data + room * (size_t)some.i, &d);
    return EG_OK;
}

eg_status eg_attention_emit(eg_plan *p, const eg_node *y,
                            eg_status (*share)(const eg_step *, const eg_team_part *),
                            double products)
{
    eg_attention_dims d = eg_attention_of(y);
    eg_value *in[3];
    for (int i = 0; i < y->n_in; i++)
        in[i] = eg_plan_read(p, y->in[i], EG_ROWMAJOR);
    eg_value *out[] = {eg_plan_write(p, y, EG_ROWMAJOR),
                       eg_plan_scratch(p, eg_attention_scratch(&d) * (size_t)eg_plan_team(p))};
    eg_step *s = eg_plan_step(p, y, NULL, y->n_in, in, 2, out);
    EG_TRY(eg_plan_share(s, share));
    s->flops =
        2 * products * (double)(d.n * d.heads * d.size) * (double)d.tokens * (double)d.tokens;
    return EG_OK;
}

static eg_status attention_emit(eg_plan *p, const eg_node *y)
{
    return eg_attention_emit(p, y, attention_share, 2);
}

eg_node *eg_sample_attention(eg_graph *g, int i, eg_node **lengths, int64_t *heads)
{
    static const struct {
        int64_t n, tokens, heads, size;
        bool lengths;
    } s[] = {
        {2, 3, 2, 2, false}, {1, 7, 1, 3, false}, {3, 4, 2, 2, true}, {1, 37, 1, 17, true}};
    if (i > 3)
        return NULL;
    *heads = s[i].heads;
    *lengths = s[i].lengths ? eg_sample_index(g, eg_dims(s[i].n), s[i].tokens + 1) : NULL;
    return eg_sample_input(g, eg_dims(s[i].n, s[i].tokens, 3 * s[i].heads * s[i].size), -1, 1);
}

static eg_node *attention_sample(eg_graph *g, int i)
{
    eg_node *lengths;
    int64_t heads;
    eg_node *x = eg_sample_attention(g, i, &lengths, &heads);
    return x ? eg_attention(g, x, lengths, heads) : NULL;
}

const eg_op eg_op_attention = {.name = "attention",
                               .vjp = attention_vjp,
                               .reference = attention_reference,
                               .emit = attention_emit,
                               .sample = attention_sample};

bool eg_attention_fits(eg_graph *g, const char *op, const eg_node *x, const eg_node *lengths,
                       int64_t heads)
{
    eg_shape s = x->shape;
    if (s.rank == 3 && heads > 0 && s.dim[2] % (3 * heads) == 0 &&
        (!lengths || (lengths->shape.rank == 1 && lengths->shape.dim[0] == s.dim[0])))
        return true;
    char a[64], b[64] = "none";
    eg_shape_print(s, a);
    if (lengths)
        eg_shape_print(lengths->shape, b);
    eg_poison(g, EG_ESHAPE, "%s: tokens %s and lengths %s for %lld heads", op, a, b,
              (long long)heads);
    return false;
}

eg_node *eg_attention(eg_graph *g, eg_node *x, eg_node *lengths, int64_t heads)
{
    if (eg_is_poison(x) || (lengths && eg_is_poison(lengths)))
        return g->poison;
    if (!eg_attention_fits(g, "attention", x, lengths, heads))
        return g->poison;
    const int64_t *d = x->shape.dim;
    return eg_graph_record(g, &eg_op_attention, eg_dims(d[0], d[1], d[2] / 3), &heads,
                           sizeof heads, lengths ? 2 : 1, (eg_node *[]){x, lengths});
}
