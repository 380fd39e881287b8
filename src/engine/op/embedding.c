/* embedding.c - row index[i] of a table [n, d], for every element of index: [.., d].
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

#include <string.h>

static eg_node *embedding_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    return wrt == 0 ? eg_embedding_back(g, dy, y->in[1], y->in[0]->shape.dim[0]) : NULL;
}

static void embedding_reference(const eg_node *y, const double *const *in, double *out)
{
    eg_shape table = y->in[0]->shape;
    int64_t d = table.dim[1];
    for (int64_t i = 0; i < eg_shape_size(y->in[1]->shape); i++)
        memcpy(out + i * d, in[0] + eg_reference_index(in[1][i], table.dim[0]) * d,
               (size_t)d * sizeof *out);
}

static eg_status embedding_run(const eg_step *s)
{
    eg_shape table = s->node->in[0]->shape;
    int64_t d = table.dim[1], n = eg_shape_size(s->node->in[1]->shape), at = 0;
    for (int64_t i = 0; i < n; i++) {
        EG_TRY(eg_index_of("embedding", s->in[1]->data[i], table.dim[0], &at));
        memcpy(s->out[0]->data + i * d, s->in[0]->data + at * d, (size_t)d * sizeof(float));
    }
    return EG_OK;
}

static eg_status embedding_emit(eg_plan *p, const eg_node *y)
{
    eg_value *in[] = {eg_plan_read(p, y->in[0], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_step(p, y, embedding_run, 2, in, 1, &out) ? EG_OK : EG_ENOMEM;
}

static eg_node *embedding_sample(eg_graph *g, int i)
{
    if (i >= 2)
        return NULL;
    eg_node *table = eg_sample_input(g, eg_dims(4, 3), -1, 1);
    return eg_embedding(g, table, eg_sample_index(g, i ? eg_dims(2, 5) : eg_dims(6), 4));
}

const eg_op eg_op_embedding = {.name = "embedding",
                               .vjp = embedding_vjp,
                               .reference = embedding_reference,
                               .emit = embedding_emit,
                               .sample = embedding_sample};

eg_node *eg_embedding(eg_graph *g, eg_node *table, eg_node *index)
{
    if (eg_is_poison(table) || eg_is_poison(index))
        return g->poison;
    if (table->shape.rank != 2 || index->shape.rank == EG_MAX_RANK)
        return eg_poison(g, EG_ESHAPE, "embedding: a table with %d axes, an index with %d",
                         table->shape.rank, index->shape.rank);
    eg_shape s = index->shape;
    s.dim[s.rank++] = table->shape.dim[1];
    return eg_graph_record2(g, &eg_op_embedding, s, table, index);
}
