/* one_hot.c - a row of zeros with a one at each index: [.., classes]; no gradient.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/op/view.h"

#include <string.h>

static void one_hot_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t classes = y->shape.dim[y->shape.rank - 1];
    memset(out, 0, (size_t)eg_shape_size(y->shape) * sizeof *out);
    for (int64_t i = 0; i < eg_shape_size(y->in[0]->shape); i++)
        out[i * classes + eg_reference_index(in[0][i], classes)] = 1;
}

static eg_status one_hot_run(const eg_step *s)
{
    eg_shape shape = s->node->shape;
    int64_t classes = shape.dim[shape.rank - 1], at = 0;
    memset(s->out[0]->data, 0, s->out[0]->bytes);
    for (int64_t i = 0; i < eg_shape_size(s->node->in[0]->shape); i++) {
        EG_TRY(eg_index_of("one_hot", s->in[0]->data[i], classes, &at));
        s->out[0]->data[i * classes + at] = 1;
    }
    return EG_OK;
}

static eg_status one_hot_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_one(p, y, one_hot_run, EG_ROWMAJOR);
}

static eg_node *one_hot_sample(eg_graph *g, int i)
{
    return i < 2 ? eg_one_hot(g, eg_sample_index(g, i ? eg_dims(2, 3) : eg_dims(5), 4), 4)
                 : NULL;
}

const eg_op eg_op_one_hot = {.name = "one_hot",
                             .reference = one_hot_reference,
                             .emit = one_hot_emit,
                             .sample = one_hot_sample};

eg_node *eg_one_hot(eg_graph *g, eg_node *index, int64_t classes)
{
    if (eg_is_poison(index))
        return g->poison;
    if (index->shape.rank == EG_MAX_RANK)
        return eg_poison(g, EG_ESHAPE, "one_hot: an index with %d axes", index->shape.rank);
    eg_shape s = index->shape;
    s.dim[s.rank++] = classes;
    return eg_graph_record1(g, &eg_op_one_hot, s, index);
}
