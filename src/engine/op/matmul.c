/* matmul.c - matrix products, one for each leading index: [b, m, k] [b, k, n] -> [b, m, n].
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two matrices are recorded as eg_product. A batched node holds which of its inputs it reads
 * transposed, so that its gradients are batched products again.
 */
#include "engine/op/op.h"

typedef struct matmul {
    bool ta, tb;
} matmul;

static eg_node *matmul_record(eg_graph *g, eg_node *a, eg_node *b, bool ta, bool tb);

static eg_product_shape matmul_dims(const eg_node *y)
{
    const matmul *f = y->attr;
    return (eg_product_shape){.ta = f->ta,
                              .tb = f->tb,
                              .m = y->shape.dim[1],
                              .n = y->shape.dim[2],
                              .k = y->in[0]->shape.dim[f->ta ? 1 : 2]};
}

static eg_node *matmul_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    const matmul *f = y->attr;
    eg_node *a = y->in[0], *b = y->in[1];
    if (wrt == 0) /* of y = op(a) op(b): dy op(b)^T, transposed when a is */
        return f->ta ? matmul_record(g, b, dy, f->tb, true)
                     : matmul_record(g, dy, b, false, !f->tb);
    return f->tb ? matmul_record(g, dy, a, true, f->ta)
                 : matmul_record(g, a, dy, !f->ta, false);
}

static void matmul_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_product_shape d = matmul_dims(y);
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++) {
        int64_t l = i / (d.m * d.n), r = i / d.n % d.m, c = i % d.n;
        const double *a = in[0] + l * d.m * d.k, *b = in[1] + l * d.k * d.n;
        out[i] = 0;
        for (int64_t k = 0; k < d.k; k++)
            out[i] += a[d.ta ? k * d.m + r : r * d.k + k] * b[d.tb ? c * d.k + k : k * d.n + c];
    }
}

static eg_status matmul_share(const eg_step *s, const eg_team_part *part)
{
    eg_product_shape d = matmul_dims(s->node);
    const float *a = s->in[0]->data, *b = s->in[1]->data;
    eg_range r = eg_team_range(part, s->node->shape.dim[0], 1);
    for (int64_t l = r.from; l < r.to; l++)
        EG_TRY(eg_multiply(s->k, &d, a + l * d.m * d.k, b + l * d.k * d.n,
                           s->out[0]->data + l * d.m * d.n));
    return EG_OK;
}

static eg_status matmul_emit(eg_plan *p, const eg_node *y)
{
    eg_value *in[] = {eg_plan_read(p, y->in[0], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    eg_step *s = eg_plan_step(p, y, NULL, 2, in, 1, &out);
    EG_TRY(eg_plan_share(s, matmul_share));
    s->kernel = "gemm";
    s->flops = 2.0 * (double)eg_shape_size(y->shape) * (double)matmul_dims(y).k;
    return EG_OK;
}

static eg_node *matmul_sample(eg_graph *g, int i)
{
    if (i == 0)
        return eg_matmul(g, eg_sample_input(g, eg_dims(3, 4), -1, 1),
                         eg_sample_input(g, eg_dims(4, 5), -1, 1));
    if (i > 4)
        return NULL;
    bool ta = i & 1, tb = i & 2;
    eg_node *a = eg_sample_input(g, ta ? eg_dims(2, 4, 3) : eg_dims(2, 3, 4), -1, 1);
    eg_node *b = eg_sample_input(g, tb ? eg_dims(2, 5, 4) : eg_dims(2, 4, 5), -1, 1);
    return matmul_record(g, a, b, ta, tb);
}

const eg_op eg_op_matmul = {.name = "matmul",
                            .vjp = matmul_vjp,
                            .reference = matmul_reference,
                            .emit = matmul_emit,
                            .sample = matmul_sample};

/* Batched: every matrix is one of a stack. */
static eg_node *matmul_record(eg_graph *g, eg_node *a, eg_node *b, bool ta, bool tb)
{
    if (eg_is_poison(a) || eg_is_poison(b))
        return g->poison;
    eg_shape x = a->shape, y = b->shape;
    if (x.dim[0] != y.dim[0])
        return eg_poison(g, EG_ESHAPE, "matmul: %lld matrices against %lld",
                         (long long)x.dim[0], (long long)y.dim[0]);
    int64_t k = x.dim[ta ? 1 : 2], rows = y.dim[tb ? 2 : 1];
    if (k != rows)
        return eg_poison(g, EG_ESHAPE, "matmul: %lld columns against %lld rows", (long long)k,
                         (long long)rows);
    matmul f = {ta, tb};
    return eg_graph_record(g, &eg_op_matmul,
                           eg_dims(x.dim[0], x.dim[ta ? 2 : 1], y.dim[tb ? 1 : 2]), &f,
                           sizeof f, 2, (eg_node *[]){a, b});
}

eg_node *eg_matmul(eg_graph *g, eg_node *a, eg_node *b)
{
    if (eg_is_poison(a) || eg_is_poison(b))
        return g->poison;
    if (a->shape.rank == 2 && b->shape.rank == 2)
        return eg_product(g, a, b, false, false);
    if (a->shape.rank != 3 || b->shape.rank != 3)
        return eg_poison(g, EG_ESHAPE, "matmul: tensors with %d and %d axes; both need 2, or 3",
                         a->shape.rank, b->shape.rank);
    return matmul_record(g, a, b, false, false);
}
