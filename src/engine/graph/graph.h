/* graph.h - nodes, ops and what an op's file needs to record and define itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_GRAPH_H
#define EG_SRC_GRAPH_H

#include <engram/graph.h>

#include "base/base.h"

typedef struct eg_op eg_op;

/* One recorded result. Everything is set by eg_graph_record and stays. */
struct eg_node {
    const eg_op *op;
    eg_shape shape;
    int64_t id; /* its place in the order of recording, so inputs have smaller ids */
    int n_in;
    eg_node **in;
    const void *attr; /* the op's own struct, or NULL */
    size_t attr_size;
};

/* What an op is. vjp, sample_norms and emit may be NULL where noted. */
struct eg_op {
    const char *name;

    /* The gradient for input wrt, given the gradient dy of the result y, recorded with other
     * ops. Returns NULL for no dependence. A NULL hook: the op has no gradient at all (a label,
     * a mask); asking for one gives zero. */
    eg_node *(*vjp)(eg_graph *g, eg_node *y, eg_node *dy, int wrt);

    /* The definition, in double precision: in[i] and out are row-major. */
    void (*reference)(const eg_node *y, const double *const *in, double *out);

    /* Adds the steps that compute y to the plan. */
    eg_status (*emit)(eg_plan *p, const eg_node *y);

    /* The i-th small example, recorded from eg_sample inputs; NULL past the last one. Every
     * test of ops runs on these. */
    eg_node *(*sample)(eg_graph *g, int i);

    /* Squared norms [n] of each sample's gradient for input wrt, a trained tensor; NULL: none.
     */
    eg_node *(*sample_norms)(eg_graph *g, const eg_node *y, eg_node *dy, int wrt);

    const char *no_vjp; /* why asking for a gradient is an error: "a fused backward" */
    bool impure; /* two records are two nodes even when all is equal (random, stateful) */
};

/* Where a trained or untrained tensor lives. */
typedef struct eg_param_attr {
    const eg_params *table;
    size_t index;
} eg_param_attr;

typedef struct eg_named {
    const char *name;
    eg_node *node;
} eg_named;

struct eg_graph {
    eg_arena arena;
    eg_node **nodes;
    size_t n_nodes, cap_nodes;
    eg_node **table; /* hash of pure nodes, so that equal records are one node */
    size_t table_size;
    eg_named *outputs;
    size_t n_outputs, cap_outputs;
    struct eg_grad_output {
        eg_node *param, *grad;
    } * grads;
    size_t n_grads, cap_grads;
    eg_node *poison;
    eg_node *(*wrap_sample)(eg_graph *g, eg_node *x); /* tests: what samples see of an input */
    eg_adapter adapt; /* NULL, or what stands in for trained tensors as they are asked for */
    void *adapt_context;
    bool training;
    bool measured; /* its plans say what they take (eg_plan_bytes), and take nothing: they do
                      not run */
    eg_status status;
    char error[512];
};

extern const eg_op eg_op_input, eg_op_constant, eg_op_param, eg_op_poison;

/* Records a node. attr is copied. Inputs are n_in nodes, or poison when any of them is. */
eg_node *eg_graph_record(eg_graph *g, const eg_op *op, eg_shape shape, const void *attr,
                         size_t attr_size, int n_in, eg_node *const *in);
eg_node *eg_graph_record1(eg_graph *g, const eg_op *op, eg_shape shape, eg_node *x);
eg_node *eg_graph_record2(eg_graph *g, const eg_op *op, eg_shape shape, eg_node *a, eg_node *b);

/* Marks the graph with its first error and returns the poison node. */
eg_node *eg_poison(eg_graph *g, eg_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool eg_is_poison(const eg_node *x);
/* EG_ESHAPE when a dimension is below 1, or the size is beyond any memory. */
eg_status eg_shape_check(eg_shape s);
/* True when any of the n nodes is poison: the op has nothing to check and nothing to record. */
bool eg_any_poison(int n, eg_node *const *nodes);

/* An input's name and, for the inputs of samples, which values tests give it. */
typedef struct eg_input_attr {
    const char *name;
    double low, high; /* uniform in [low, high] */
    int64_t whole;    /* > 0: whole numbers below it instead */
} eg_input_attr;

/* The input of this name; NULL: there is none. */
eg_node *eg_find_input(const eg_graph *g, const char *name);

/* Inputs of samples: values uniform in [low, high], or indices in [0, n). */
eg_node *eg_sample_input(eg_graph *g, eg_shape shape, double low, double high);
eg_node *eg_sample_index(eg_graph *g, eg_shape shape, int64_t n);

/* Evaluates n nodes in double precision by the ops' reference forms. fill gives the values of
 * inputs and params; out[i] has room for nodes[i]. */
typedef void (*eg_fill)(void *context, const eg_node *leaf, double *out);
eg_status eg_evaluate(const eg_graph *g, size_t n, eg_node *const *nodes, eg_fill fill,
                      void *context, double *const *out);

/* needed[id] = 1 for the nodes marked already and all they depend on. */
void eg_mark_needed(const eg_graph *g, unsigned char *needed);

#endif
