/* graph.c - recording: nodes, equal records shared, errors that stick.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Leaves have no inputs; their values come from outside (input, param) or from attr. */
static void constant_reference(const eg_node *y, const double *const *in, double *out)
{
    (void)in;
    for (int64_t i = 0; i < eg_shape_size(y->shape); i++)
        out[i] = *(const double *)y->attr;
}

const eg_op eg_op_input = {.name = "input", .impure = true};
const eg_op eg_op_param = {.name = "param"};
const eg_op eg_op_poison = {.name = "poison", .impure = true};
const eg_op eg_op_constant = {.name = "constant", .reference = constant_reference};

eg_status eg_graph_new(eg_graph **out)
{
    eg_graph *g = calloc(1, sizeof *g);
    *out = g;
    if (!g)
        return eg_fail(EG_ENOMEM, "no memory for a graph");
    g->training = true;
    g->poison = eg_arena_alloc(&g->arena, sizeof *g->poison);
    if (!g->poison) {
        eg_graph_free(g);
        *out = NULL;
        return EG_ENOMEM;
    }
    g->poison->op = &eg_op_poison;
    return EG_OK;
}

void eg_graph_free(eg_graph *g)
{
    if (!g)
        return;
    eg_arena_fini(&g->arena);
    free(g->nodes);
    free(g->table);
    free(g->outputs);
    free(g->grads);
    free(g);
}

eg_status eg_graph_status(const eg_graph *g)
{
    return g->status == EG_OK ? EG_OK : eg_fail(g->status, "%s", g->error);
}

void eg_graph_set_training(eg_graph *g, bool training)
{
    g->training = training;
}

bool eg_graph_training(const eg_graph *g)
{
    return g->training;
}

eg_shape eg_node_shape(const eg_node *x)
{
    return x->shape;
}

eg_node *eg_poison(eg_graph *g, eg_status code, const char *format, ...)
{
    if (g->status == EG_OK) {
        va_list args;
        va_start(args, format);
        vsnprintf(g->error, sizeof g->error, format, args);
        va_end(args);
        g->status = code;
    }
    return g->poison;
}

eg_node *eg_graph_fail(eg_graph *g, eg_status code)
{
    return eg_poison(g, code, "%s", eg_error());
}

bool eg_is_poison(const eg_node *x)
{
    return x->op == &eg_op_poison;
}

bool eg_any_poison(int n, eg_node *const *nodes)
{
    for (int i = 0; i < n; i++)
        if (eg_is_poison(nodes[i]))
            return true;
    return false;
}

/* FNV-1a over what makes two records equal. */
static uint64_t graph_hash(const eg_op *op, const void *attr, size_t attr_size, int n_in,
                           eg_node *const *in)
{
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)op;
    for (size_t i = 0; i < attr_size; i++)
        h = (h ^ ((const unsigned char *)attr)[i]) * 0x100000001b3u;
    for (int i = 0; i < n_in; i++)
        h = (h ^ (uint64_t)in[i]->id) * 0x100000001b3u;
    return h ^ h >> 29;
}

static bool graph_same(const eg_node *x, const eg_node *y)
{
    return x->op == y->op && eg_shape_equal(x->shape, y->shape) &&
           x->attr_size == y->attr_size && x->n_in == y->n_in &&
           (!x->attr_size || memcmp(x->attr, y->attr, x->attr_size) == 0) &&
           (!x->n_in || memcmp(x->in, y->in, (size_t)x->n_in * sizeof *x->in) == 0);
}

/* The slot of a node equal to x, or the free one where it belongs. */
static eg_node **graph_slot(eg_graph *g, const eg_node *x)
{
    uint64_t h = graph_hash(x->op, x->attr, x->attr_size, x->n_in, x->in);
    for (size_t i = h % g->table_size;; i = (i + 1) % g->table_size)
        if (!g->table[i] || graph_same(g->table[i], x))
            return &g->table[i];
}

static eg_status graph_grow_table(eg_graph *g)
{
    if (g->n_nodes * 2 < g->table_size)
        return EG_OK;
    size_t old_size = g->table_size;
    eg_node **old = g->table;
    g->table_size = old_size ? old_size * 2 : 256;
    g->table = calloc(g->table_size, sizeof *g->table);
    if (!g->table) {
        g->table = old, g->table_size = old_size;
        return eg_fail(EG_ENOMEM, "no memory for a graph of %zu nodes", g->n_nodes);
    }
    for (size_t i = 0; i < old_size; i++)
        if (old[i])
            *graph_slot(g, old[i]) = old[i];
    free(old);
    return EG_OK;
}

/* A copy of probe in the graph's own memory. */
static eg_node *graph_add(eg_graph *g, const eg_node *probe)
{
    eg_node *x = eg_arena_alloc(&g->arena, sizeof *x);
    eg_node **in = eg_arena_alloc(&g->arena, (size_t)probe->n_in * sizeof *in);
    void *attr = eg_arena_alloc(&g->arena, probe->attr_size);
    if (!x || !in || !attr || eg_grow(&g->nodes, g->n_nodes, &g->cap_nodes, sizeof x) != EG_OK)
        return NULL;
    *x = *probe;
    x->id = (int64_t)g->n_nodes;
    x->in = in;
    x->attr = attr;
    if (probe->n_in)
        memcpy(in, probe->in, (size_t)probe->n_in * sizeof *in);
    if (probe->attr_size)
        memcpy(attr, probe->attr, probe->attr_size);
    g->nodes[g->n_nodes++] = x;
    return x;
}

eg_node *eg_graph_record(eg_graph *g, const eg_op *op, eg_shape shape, const void *attr,
                         size_t attr_size, int n_in, eg_node *const *in)
{
    if (g->status != EG_OK || eg_any_poison(n_in, in))
        return g->poison;
    if (eg_shape_check(shape) != EG_OK)
        return eg_poison(g, EG_ESHAPE, "%s: %s", op->name, eg_error());
    eg_node probe = {.op = op,
                     .shape = shape,
                     .n_in = n_in,
                     .in = (eg_node **)(uintptr_t)in, /* read only while probing */
                     .attr = attr,
                     .attr_size = attr_size};
    if (graph_grow_table(g) != EG_OK)
        return eg_poison(g, EG_ENOMEM, "%s", eg_error());
    eg_node **slot = op->impure ? NULL : graph_slot(g, &probe);
    if (slot && *slot)
        return *slot;
    eg_node *x = graph_add(g, &probe);
    if (!x)
        return eg_poison(g, EG_ENOMEM, "%s", eg_error());
    if (slot)
        *slot = x;
    return x;
}

eg_node *eg_graph_record1(eg_graph *g, const eg_op *op, eg_shape shape, eg_node *x)
{
    return eg_graph_record(g, op, shape, NULL, 0, 1, (eg_node *[]){x});
}

eg_node *eg_graph_record2(eg_graph *g, const eg_op *op, eg_shape shape, eg_node *a, eg_node *b)
{
    return eg_graph_record(g, op, shape, NULL, 0, 2, (eg_node *[]){a, b});
}

static eg_node *graph_input(eg_graph *g, const eg_input_attr *attr, eg_shape shape)
{
    return eg_graph_record(g, &eg_op_input, shape, attr, sizeof *attr, 0, NULL);
}

eg_node *eg_find_input(const eg_graph *g, const char *name)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        eg_node *x = g->nodes[i];
        if (x->op == &eg_op_input && strcmp(((const eg_input_attr *)x->attr)->name, name) == 0)
            return x;
    }
    return NULL;
}

eg_node *eg_input(eg_graph *g, const char *name, eg_shape shape)
{
    if (eg_find_input(g, name))
        return eg_poison(g, EG_EINVAL, "input '%s' is recorded twice", name);
    eg_input_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.name = eg_arena_text(&g->arena, "%s", name);
    return attr.name ? graph_input(g, &attr, shape) : eg_poison(g, EG_ENOMEM, "%s", eg_error());
}

static eg_node *graph_sample(eg_graph *g, eg_shape shape, double low, double high,
                             int64_t whole)
{
    eg_input_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.name = eg_arena_text(&g->arena, "sample%zu", g->n_nodes);
    attr.low = low, attr.high = high, attr.whole = whole;
    return attr.name ? graph_input(g, &attr, shape) : eg_poison(g, EG_ENOMEM, "%s", eg_error());
}

eg_node *eg_sample_input(eg_graph *g, eg_shape shape, double low, double high)
{
    eg_node *x = graph_sample(g, shape, low, high, 0);
    return g->wrap_sample ? g->wrap_sample(g, x) : x;
}

eg_node *eg_sample_index(eg_graph *g, eg_shape shape, int64_t n)
{
    return graph_sample(g, shape, 0, 0, n);
}

eg_node *eg_constant(eg_graph *g, eg_shape shape, double value)
{
    return eg_graph_record(g, &eg_op_constant, shape, &value, sizeof value, 0, NULL);
}

static eg_node *graph_param(eg_graph *g, eg_params *p, const eg_param_info *info)
{
    if (g->status != EG_OK)
        return g->poison;
    eg_param_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.table = p;
    eg_status s = eg_params_add(p, info, &attr.index);
    if (s != EG_OK)
        return eg_poison(g, s, "%s", eg_error());
    return eg_graph_record(g, &eg_op_param, info->shape, &attr, sizeof attr, 0, NULL);
}

eg_node *eg_param(eg_graph *g, eg_params *p, const char *name, eg_shape shape, eg_init init)
{
    eg_node *w = graph_param(
        g, p, &(eg_param_info){.name = name, .shape = shape, .trained = true, .init = init});
    eg_adapter adapt = g->adapt;
    if (!adapt || eg_is_poison(w))
        return w;
    g->adapt = NULL; /* what it asks for itself is as it is */
    w = adapt(g->adapt_context, g, p, name, w);
    g->adapt = adapt;
    return w;
}

void eg_graph_adapt(eg_graph *g, eg_adapter adapt, void *context)
{
    g->adapt = adapt;
    g->adapt_context = context;
}

eg_node *eg_state(eg_graph *g, eg_params *p, const char *name, eg_shape shape, eg_init init)
{
    return graph_param(g, p, &(eg_param_info){.name = name, .shape = shape, .init = init});
}

void eg_output(eg_graph *g, const char *name, eg_node *x)
{
    if (g->status != EG_OK || eg_is_poison(x))
        return;
    char *copy = eg_arena_text(&g->arena, "%s", name);
    if (!copy ||
        eg_grow(&g->outputs, g->n_outputs, &g->cap_outputs, sizeof *g->outputs) != EG_OK) {
        eg_poison(g, EG_ENOMEM, "%s", eg_error());
        return;
    }
    g->outputs[g->n_outputs++] = (eg_named){copy, x};
}
