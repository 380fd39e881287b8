/* against_double.h - everything a compiled graph gives, compared with its double form.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Leaves are filled from a stream of their own: inputs and rows in [-1, 1], weights within
 * 1 / sqrt(fan in), untrained state in [0.5, 1.5].
 */
#ifndef EG_AGAINST_DOUBLE_H
#define EG_AGAINST_DOUBLE_H

#include "test.h"

#include "engine/graph/graph.h"

#include <stdlib.h>

static inline void against_fill(void *context, const eg_node *leaf, double *out)
{
    (void)context;
    double scale = 1, middle = 0;
    if (leaf->op == &eg_op_param) {
        const eg_param_attr *a = leaf->attr;
        const eg_shape *s = &leaf->shape;
        int64_t fan_in = eg_shape_size(*s) / (s->rank ? s->dim[0] : 1);
        if (s->rank > 1)
            scale = 1 / sqrt((double)fan_in);
        if (!eg_params_at(a->table, a->index)->trained)
            scale = 0.5, middle = 1;
    }
    eg_rng r = eg_rng_at(17, (uint32_t)leaf->id, 0, EG_FOR_TEST);
    for (int64_t i = 0; i < eg_shape_size(leaf->shape); i++)
        out[i] = (double)(float)eg_rng_uniform(&r, middle - scale, middle + scale);
}

/* Fills the plan's inputs and the flat arrays of its tensors. */
static inline void against_fill_plan(const eg_graph *g, eg_plan *plan, float *value,
                                     float *state)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const eg_node *x = g->nodes[i];
        float *to = NULL;
        if (x->op == &eg_op_input)
            to = eg_plan_input(plan, ((const eg_input_attr *)x->attr)->name);
        if (x->op == &eg_op_param) {
            const eg_param_attr *a = x->attr;
            const eg_param_info *t = eg_params_at(a->table, a->index);
            to = (t->trained ? value : state) + t->offset;
        }
        if (!to)
            continue;
        double *v = calloc((size_t)eg_shape_size(x->shape), sizeof *v);
        assert_non_null(v);
        against_fill(NULL, x, v);
        for (int64_t j = 0; j < eg_shape_size(x->shape); j++)
            to[j] = (float)v[j];
        free(v);
    }
}

/* The largest difference, relative to the largest value, or to 1. */
static inline double against_gap(const float *have, const double *want, int64_t n)
{
    double largest = 1, worst = 0;
    if (!have)
        return NAN;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    for (int64_t i = 0; i < n; i++) {
        double gap = fabs((double)have[i] - want[i]) / largest;
        worst = gap > worst || isnan(gap) ? gap : worst;
    }
    return worst;
}

/* Compares n nodes, whose floats are given, with their double forms. */
static inline double against_nodes(const eg_graph *g, size_t n, eg_node *const *nodes,
                                   const float *const *have)
{
    double **want = calloc(n + 1, sizeof *want), worst = 0;
    assert_non_null(want);
    for (size_t i = 0; i < n; i++) {
        want[i] = calloc((size_t)eg_shape_size(nodes[i]->shape), sizeof **want);
        assert_non_null(want[i]);
    }
    assert_ok(eg_evaluate(g, n, nodes, against_fill, NULL, want));
    for (size_t i = 0; i < n; i++) {
        double gap = against_gap(have[i], want[i], eg_shape_size(nodes[i]->shape));
        worst = gap > worst || isnan(gap) ? gap : worst;
        free(want[i]);
    }
    free(want);
    return worst;
}

/* Compiles g, runs it twice and gives the largest gap of its outputs and gradients. table may
 * be NULL when g has no tensors. */
static inline double against_double(eg_graph *g, const eg_params *table)
{
    eg_plan *plan;
    float *value = NULL, *grad = NULL, *state = NULL;
    assert_ok(eg_compile(g, &plan));
    if (table) {
        assert_ok(eg_params_alloc(table, &value));
        assert_ok(eg_params_alloc(table, &grad));
        assert_ok(eg_state_alloc(table, &state));
        assert_ok(eg_plan_bind(plan, table, value, grad, state));
    }
    against_fill_plan(g, plan, value, state);
    assert_ok(eg_plan_run(plan));
    assert_ok(eg_plan_run(plan)); /* the first run must leave all that the second needs */
    size_t n = 0;
    eg_node **nodes = calloc(g->n_outputs + g->n_grads + 1, sizeof *nodes);
    const float **have = calloc(g->n_outputs + g->n_grads + 1, sizeof *have);
    assert_true(nodes && have);
    for (size_t i = 0; i < g->n_outputs; i++, n++) {
        nodes[n] = g->outputs[i].node;
        have[n] = eg_plan_output(plan, g->outputs[i].name);
    }
    for (size_t i = 0; i < g->n_grads; i++, n++) {
        const eg_param_attr *a = g->grads[i].param->attr;
        nodes[n] = g->grads[i].grad;
        have[n] = grad + eg_params_at(a->table, a->index)->offset;
    }
    double worst = against_nodes(g, n, nodes, have);
    free(nodes);
    free(have);
    free(value);
    free(grad);
    free(state);
    eg_plan_free(plan);
    return worst;
}

#endif
