/* evaluate.c - a graph in double precision by the ops' definitions: slow, simple and trusted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/graph.h"

#include <stdlib.h>
#include <string.h>

void eg_mark_needed(const eg_graph *g, unsigned char *needed)
{
    for (size_t id = g->n_nodes; id-- > 0;)
        for (int k = 0; needed[id] && k < g->nodes[id]->n_in; k++)
            needed[g->nodes[id]->in[k]->id] = 1;
}

static eg_status evaluate_node(const eg_node *x, double *const *values, eg_fill fill,
                               void *context)
{
    if (x->op == &eg_op_input || x->op == &eg_op_param) {
        fill(context, x, values[x->id]);
        return EG_OK;
    }
    if (!x->op->reference)
        return eg_fail(EG_ENOTSUP, "%s has no double-precision form", x->op->name);
    const double **in = calloc((size_t)x->n_in + 1, sizeof *in);
    if (!in)
        return eg_fail(EG_ENOMEM, "no memory for %d inputs", x->n_in);
    for (int k = 0; k < x->n_in; k++)
        in[k] = values[x->in[k]->id];
    x->op->reference(x, in, values[x->id]);
    free(in);
    return EG_OK;
}

static eg_status evaluate_all(const eg_graph *g, const unsigned char *needed, eg_fill fill,
                              void *context, double **values)
{
    for (size_t id = 0; id < g->n_nodes; id++) {
        if (!needed[id])
            continue;
        size_t size = (size_t)eg_shape_size(g->nodes[id]->shape);
        EG_TRY(eg_alloc(size, sizeof(double), &values[id]));
        EG_TRY(evaluate_node(g->nodes[id], values, fill, context));
    }
    return EG_OK;
}

eg_status eg_evaluate(const eg_graph *g, size_t n, eg_node *const *nodes, eg_fill fill,
                      void *context, double *const *out)
{
    EG_TRY(eg_graph_status(g));
    unsigned char *needed = calloc(g->n_nodes, 1);
    double **values = calloc(g->n_nodes, sizeof *values);
    eg_status s =
        needed && values ? EG_OK : eg_fail(EG_ENOMEM, "no memory for %zu nodes", g->n_nodes);
    if (s == EG_OK) {
        for (size_t i = 0; i < n; i++)
            needed[nodes[i]->id] = 1;
        eg_mark_needed(g, needed);
        s = evaluate_all(g, needed, fill, context, values);
    }
    for (size_t i = 0; s == EG_OK && i < n; i++)
        memcpy(out[i], values[nodes[i]->id],
               (size_t)eg_shape_size(nodes[i]->shape) * sizeof(double));
    for (size_t id = 0; values && id < g->n_nodes; id++)
        free(values[id]);
    free(values);
    free(needed);
    return s;
}
