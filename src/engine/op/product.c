/* product.c - the product of two matrices, each transposed or not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/op.h"

typedef struct product_attr {
    int32_t ta, tb; /* stored transposed */
} product_attr;

static eg_product_shape product_dims(const eg_node *y)
{
    const product_attr *a = y->attr;
    return (eg_product_shape){.ta = a->ta,
                              .tb = a->tb,
                              .m = y->shape.dim[0],
                              .n = y->shape.dim[1],
                              .k = y->in[0]->shape.dim[a->ta ? 0 : 1]};
}

/* With A = op(a), B = op(b): dA = dy B^T and dB = A^T dy, each in the way it is stored. */
static eg_node *product_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    const product_attr *t = y->attr;
    eg_node *a = y->in[0], *b = y->in[1];
    if (wrt == 0)
        return t->ta ? eg_product(g, b, dy, t->tb, true) : eg_product(g, dy, b, false, !t->tb);
    return t->tb ? eg_product(g, dy, a, true, t->ta) : eg_product(g, a, dy, !t->ta, false);
}

static void product_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_product_shape d = product_dims(y);
    for (int64_t i = 0; i < d.m; i++)
        for (int64_t j = 0; j < d.n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < d.k; l++)
                sum += in[0][d.ta ? l * d.m + i : i * d.k + l] *
                       in[1][d.tb ? j * d.k + l : l * d.n + j];
            out[i * d.n + j] = sum;
        }
}

enum { PRODUCT_ROWS = 8 };

/* Rows of the result. oneDNN's products stay whole: with AVX2 its sums depend on their number.
 */
static eg_status product_share(const eg_step *s, const eg_team_part *part)
{
    eg_product_shape d = product_dims(s->node);
    eg_range r = eg_team_range(part, d.m, s->k->own ? PRODUCT_ROWS : d.m);
    d.a_row = d.ta ? d.m : d.k;
    d.m = r.to - r.from;
    if (d.m == 0)
        return EG_OK;
    return eg_multiply(s->k, &d, s->in[0]->data + r.from * (d.ta ? 1 : d.k), s->in[1]->data,
                       s->out[0]->data + r.from * d.n);
}

static eg_status product_emit(eg_plan *p, const eg_node *y)
{
    eg_value *in[] = {eg_plan_read(p, y->in[0], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    eg_step *s = eg_plan_step(p, y, NULL, 2, in, 1, &out);
    EG_TRY(eg_plan_share(s, product_share));
    eg_product_shape d = product_dims(y);
    s->flops = 2.0 * (double)d.m * (double)d.n * (double)d.k;
    return EG_OK;
}

static eg_node *product_sample(eg_graph *g, int i)
{
    if (i > 3)
        return NULL;
    bool ta = i & 1, tb = i & 2;
    eg_node *a = eg_sample_input(g, ta ? eg_dims(4, 3) : eg_dims(3, 4), -1, 1);
    eg_node *b = eg_sample_input(g, tb ? eg_dims(5, 4) : eg_dims(4, 5), -1, 1);
    return eg_product(g, a, b, ta, tb);
}

const eg_op eg_op_product = {.name = "product",
                             .vjp = product_vjp,
                             .reference = product_reference,
                             .emit = product_emit,
                             .sample = product_sample};

eg_node *eg_product(eg_graph *g, eg_node *a, eg_node *b, bool ta, bool tb)
{
    if (eg_is_poison(a) || eg_is_poison(b))
        return g->poison;
    const int64_t *da = a->shape.dim, *db = b->shape.dim;
    if (a->shape.rank != 2 || b->shape.rank != 2 || da[ta ? 0 : 1] != db[tb ? 1 : 0]) {
        char sa[64], sb[64];
        eg_shape_print(a->shape, sa);
        eg_shape_print(b->shape, sb);
        return eg_poison(g, EG_ESHAPE, "product: %s%s and %s%s do not fit", sa,
                         ta ? " transposed" : "", sb, tb ? " transposed" : "");
    }
    return eg_graph_record(g, &eg_op_product, eg_dims(da[ta ? 1 : 0], db[tb ? 0 : 1]),
                           &(product_attr){ta, tb}, sizeof(product_attr), 2,
                           (eg_node *[]){a, b});
}
