/* gradient.c - the gradient of a node as more graph, and the gradients a plan writes out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/graph.h"

#include <engram/op.h>

#include <stdlib.h>

/* depends[id] = 1 for nodes between the roots and any of wrt. */
static void gradient_mark(const eg_graph *g, size_t n, eg_node *const *wrt, int64_t last,
                          unsigned char *depends)
{
    for (size_t i = 0; i < n; i++)
        depends[wrt[i]->id] = 1;
    for (int64_t id = 0; id <= last; id++)
        for (int k = 0; k < g->nodes[id]->n_in; k++)
            depends[id] |= depends[g->nodes[id]->in[k]->id];
}

/* Adds the gradients of y's inputs to adjoint, given that of y. */
static void gradient_pull(eg_graph *g, eg_node *y, const unsigned char *depends,
                          eg_node **adjoint)
{
    for (int k = 0; k < y->n_in; k++) {
        eg_node *x = y->in[k];
        if (!depends[x->id])
            continue;
        if (y->op->no_vjp) {
            eg_poison(g, EG_ENOTSUP, "%s has no gradient: %s", y->op->name, y->op->no_vjp);
            return;
        }
        eg_node *dx = y->op->vjp ? y->op->vjp(g, y, adjoint[y->id], k) : NULL;
        if (!dx || eg_is_poison(dx))
            continue;
        EG_ASSERT(eg_shape_equal(dx->shape, x->shape));
        adjoint[x->id] = adjoint[x->id] ? eg_add(g, adjoint[x->id], dx) : dx;
    }
}

void eg_gradients(eg_graph *g, eg_node *y, size_t n, eg_node *const *wrt, eg_node **out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = g->poison;
    if (g->status != EG_OK)
        return;
    int64_t last = y->id; /* vjp records more nodes; they all come after */
    unsigned char *depends = calloc(g->n_nodes, 1);
    eg_node **adjoint = calloc(g->n_nodes, sizeof(eg_node *));
    if (!depends || !adjoint) {
        eg_poison(g, EG_ENOMEM, "no memory for the gradient of %zu nodes", g->n_nodes);
    } else {
        gradient_mark(g, n, wrt, last, depends);
        adjoint[last] = eg_constant(g, y->shape, 1);
        for (int64_t id = last; id >= 0 && g->status == EG_OK; id--)
            if (adjoint[id] && depends[id])
                gradient_pull(g, g->nodes[id], depends, adjoint);
        for (size_t i = 0; i < n && g->status == EG_OK; i++) {
            eg_node *d = wrt[i]->id <= last ? adjoint[wrt[i]->id] : NULL;
            out[i] = d ? d : eg_constant(g, wrt[i]->shape, 0);
        }
    }
    free(depends);
    free(adjoint);
}

/* The trained tensors of p that are recorded in g; *out is malloc'ed. */
static size_t gradient_params(eg_graph *g, const eg_params *p, eg_node ***out)
{
    size_t n = 0;
    eg_node **list = malloc((g->n_nodes + 1) * sizeof *list);
    for (size_t i = 0; list && i < g->n_nodes; i++) {
        const eg_param_attr *a = g->nodes[i]->attr;
        if (g->nodes[i]->op == &eg_op_param && a->table == p &&
            eg_params_at(p, a->index)->trained)
            list[n++] = g->nodes[i];
    }
    if (!list)
        eg_poison(g, EG_ENOMEM, "no memory for %zu parameters", g->n_nodes);
    *out = list;
    return n;
}

static void gradient_keep(eg_graph *g, eg_node *param, eg_node *grad)
{
    if (eg_grow(&g->grads, g->n_grads, &g->cap_grads, sizeof *g->grads) != EG_OK)
        eg_poison(g, EG_ENOMEM, "%s", eg_error());
    else
        g->grads[g->n_grads++] = (struct eg_grad_output){param, grad};
}

void eg_backward(eg_graph *g, eg_node *loss, const eg_params *p)
{
    eg_node **params = NULL;
    size_t n = gradient_params(g, p, &params);
    eg_node **grads = calloc(n + 1, sizeof *grads);
    if (!grads)
        eg_poison(g, EG_ENOMEM, "no memory for %zu gradients", n);
    if (params && grads) {
        eg_gradients(g, loss, n, params, grads);
        for (size_t i = 0; i < n && g->status == EG_OK; i++)
            gradient_keep(g, params[i], grads[i]);
    }
    free(params);
    free(grads);
}

/* The only node between losses and param that reads it, or NULL when there are more or none. */
static eg_node *gradient_sole_reader(const eg_graph *g, const eg_node *param, int64_t last,
                                     int *wrt, int *n_readers)
{
    eg_node *reader = NULL;
    *n_readers = 0;
    for (int64_t id = 0; id <= last; id++)
        for (int k = 0; k < g->nodes[id]->n_in; k++)
            if (g->nodes[id]->in[k] == param) {
                reader = g->nodes[id];
                *wrt = k;
                ++*n_readers;
            }
    return reader;
}

static eg_node *gradient_norms_of(eg_graph *g, eg_node *param, eg_node *losses, eg_node *sum)
{
    const eg_param_attr *a = param->attr;
    const char *name = eg_params_at(a->table, a->index)->name;
    int wrt = 0, n_readers = 0;
    eg_node *y = gradient_sole_reader(g, param, losses->id, &wrt, &n_readers);
    if (n_readers == 0)
        return sum;
    if (n_readers > 1)
        return eg_poison(g, EG_ENOTSUP, "sample norms: '%s' is used %d times", name, n_readers);
    if (!y->op->sample_norms)
        return eg_poison(g, EG_ENOTSUP, "sample norms: %s has no gradient per sample for '%s'",
                         y->op->name, name);
    eg_node *dy;
    eg_gradients(g, losses, 1, &y, &dy);
    if (eg_is_poison(dy))
        return dy;
    eg_node *norms = y->op->sample_norms(g, y, dy, wrt);
    if (!eg_is_poison(norms) && !eg_shape_equal(norms->shape, losses->shape))
        return eg_poison(g, EG_ENOTSUP, "sample norms: '%s' meets %lld rows for %lld samples",
                         name, (long long)norms->shape.dim[0], (long long)losses->shape.dim[0]);
    return sum ? eg_add(g, sum, norms) : norms;
}

eg_node *eg_sample_norms(eg_graph *g, eg_node *losses, const eg_params *p)
{
    eg_node **params = NULL, *sum = NULL;
    size_t n = gradient_params(g, p, &params);
    if (g->status == EG_OK && losses->shape.rank != 1)
        eg_poison(g, EG_ESHAPE, "sample norms: losses have rank %d, not 1", losses->shape.rank);
    for (size_t i = 0; i < n && g->status == EG_OK; i++)
        sum = gradient_norms_of(g, params[i], losses, sum);
    free(params);
    return g->status == EG_OK && sum ? sum : eg_constant(g, losses->shape, 0);
}
