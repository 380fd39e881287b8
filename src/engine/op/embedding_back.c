/* embedding_back.c - adds row i at row index[i] of a table of n: the gradient of embedding.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

#include <string.h>

static eg_node *embedding_back_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    return wrt == 0 ? eg_embedding(g, dy, y->in[1]) : NULL;
}

static void embedding_back_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t n = y->shape.dim[0], d = y->shape.dim[1];
    memset(out, 0, (size_t)(n * d) * sizeof *out);
    for (int64_t i = 0; i < eg_shape_size(y->in[1]->shape); i++)
        for (int64_t j = 0; j < d; j++)
            out[eg_reference_index(in[1][i], n) * d + j] += in[0][i * d + j];
}

static eg_status embedding_back_run(const eg_step *s)
{
    int64_t n = s->node->shape.dim[0], d = s->node->shape.dim[1], at = 0;
    const float *x = s->in[0]->data;
    float *y = s->out[0]->data;
    memset(y, 0, s->out[0]->bytes);
    for (int64_t i = 0; i < eg_shape_size(s->node->in[1]->shape); i++) {
        EG_TRY(eg_index_of("embedding_back", s->in[1]->data[i], n, &at));
        s->k->add(y + at * d, y + at * d, x + i * d, (size_t)d);
    }
    return EG_OK;
}

static eg_status embedding_back_emit(eg_plan *p, const eg_node *y)
{
    eg_value *in[] = {eg_plan_read(p, y->in[0], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_step(p, y, embedding_back_run, 2, in, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *embedding_back_sample(eg_graph *g, int i)
{
    if (i >= 2)
        return NULL;
    eg_node *rows = eg_sample_input(g, i ? eg_dims(2, 5, 3) : eg_dims(6, 3), -1, 1);
    eg_node *index = eg_sample_index(g, i ? eg_dims(2, 5) : eg_dims(6), 4);
    return eg_embedding_back(g, rows, index, 4);
}

const eg_op eg_op_embedding_back = {.name = "embedding_back",
                                    .vjp = embedding_back_vjp,
                                    .reference = embedding_back_reference,
                                    .emit = embedding_back_emit,
                                    .sample = embedding_back_sample};

eg_node *eg_embedding_back(eg_graph *g, eg_node *rows, eg_node *index, int64_t n)
{
    if (eg_is_poison(rows) || eg_is_poison(index))
        return g->poison;
    eg_shape s = rows->shape;
    s.rank -= s.rank > 0;
    if (rows->shape.rank == 0 || !eg_shape_equal(s, index->shape)) {
        char a[64], b[64];
        eg_shape_print(rows->shape, a);
        eg_shape_print(index->shape, b);
        return eg_poison(g, EG_ESHAPE, "embedding_back: rows are %s, the index is %s", a, b);
    }
    return eg_graph_record2(g, &eg_op_embedding_back, eg_dims(n, rows->shape.dim[s.rank]), rows,
                            index);
}
