/* engram/graph.h - record a computation, differentiate it, compile it, run it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A graph owns every node recorded in it and is used by one thread at a time. Shapes are fixed
 * when a node is recorded. An op that cannot be recorded returns a poison node and marks the
 * graph; later ops do nothing, the first error stays, and eg_compile reports it: one check an
 * expression.
 *
 * Every tensor holds floats, in row-major order where a caller sees it; labels and indices are
 * floats that hold whole numbers.
 */
#ifndef EG_GRAPH_H
#define EG_GRAPH_H

#include <engram/params.h>
#include <engram/rng.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_graph eg_graph;
typedef struct eg_node eg_node;
typedef struct eg_plan eg_plan;

eg_status eg_graph_new(eg_graph **out);
void eg_graph_free(eg_graph *g); /* NULL is fine */

/* The graph's first error; EG_OK when there is none. */
eg_status eg_graph_status(const eg_graph *g);

/* Marks the graph as failed, for the reason in this thread's error text, as an op does that
 * cannot be recorded: for those who record with code of their own. Returns the poison node. */
eg_node *eg_graph_fail(eg_graph *g, eg_status code);

/* Whether layers record their training form (batch statistics, dropout). True at first. */
void eg_graph_set_training(eg_graph *g, bool training);
bool eg_graph_training(const eg_graph *g);

/* A tensor that the caller fills before each run, found in the plan by its name. */
eg_node *eg_input(eg_graph *g, const char *name, eg_shape shape);

/* Every element the same value. */
eg_node *eg_constant(eg_graph *g, eg_shape shape, double value);

/* A trained tensor, or an untrained one (batch-norm statistics), of table p. It is added to the
 * table when the name is new there; the same name gives the same tensor, so that a network
 * recorded twice in a graph shares its weights. */
eg_node *eg_param(eg_graph *g, eg_params *p, const char *name, eg_shape shape, eg_init init);
eg_node *eg_state(eg_graph *g, eg_params *p, const char *name, eg_shape shape, eg_init init);

/* Until it is taken away (NULL), adapt is given every trained tensor that eg_param hands out,
 * and returns what stands in its place: w itself, or something of the same shape made with it
 * and with tensors of its own. */
typedef eg_node *(*eg_adapter)(void *context, eg_graph *g, eg_params *p, const char *name,
                               eg_node *w);
void eg_graph_adapt(eg_graph *g, eg_adapter adapt, void *context);

eg_shape eg_node_shape(const eg_node *x);

/* Records d(sum of y) / d(wrt[i]) into out[i] for n nodes. Gradients are graph: they can be
 * differentiated again. What y does not depend on gets a constant zero. */
void eg_gradients(eg_graph *g, eg_node *y, size_t n, eg_node *const *wrt, eg_node **out);

/* Keeps a value readable after a run under a name. */
void eg_output(eg_graph *g, const char *name, eg_node *x);

/* Records the gradient of loss for every trained tensor of p that the graph uses; a run writes
 * them into the flat gradient array bound for p (zeros for what loss does not touch). */
void eg_backward(eg_graph *g, eg_node *loss, const eg_params *p);

/* Squared norms of every sample's own gradient over all trained tensors of p: [n] for losses
 * [n], each row depending on its own sample only (record the network in eval form). A tensor
 * used twice, or by an op that mixes samples, is an error. */
eg_node *eg_sample_norms(eg_graph *g, eg_node *losses, const eg_params *p);

/* Compiles all outputs and gradients of g. The plan keeps pointers into g: free the plan first.
 */
eg_status eg_compile(eg_graph *g, eg_plan **out);

/* Memory that plans share which never run at the same time: all that a run needs and nobody
 * reads behind it. It is as large as its largest plan, and must outlive all of them. */
typedef struct eg_room eg_room;
eg_status eg_room_new(eg_room **out);
void eg_room_free(eg_room *r);                                      /* NULL is fine */
eg_status eg_compile_in(eg_graph *g, eg_room *room, eg_plan **out); /* NULL: one of its own */
void eg_plan_free(eg_plan *p);                                      /* NULL is fine */

/* Where the values of a table live during the next runs: flat arrays with the table's layout.
 * grad may be NULL when the graph has no eg_backward, state when the table has none. */
eg_status eg_plan_bind(eg_plan *p, const eg_params *table, float *value, float *grad,
                       float *state);

/* The buffer of an input (to be filled) or an output (to be read after a run), in row-major
 * order; borrowed, valid until the plan is freed. NULL when the name is not there. */
float *eg_plan_input(eg_plan *p, const char *name);
const float *eg_plan_output(const eg_plan *p, const char *name);
/* The shape of an input or output. False when the name is not there. */
bool eg_plan_shape(const eg_plan *p, const char *name, eg_shape *out);

/* Random ops draw from the stream key at this step: a pure function of both. */
void eg_plan_seed(eg_plan *p, const eg_rng *stream, uint64_t step);

/* Runs every step once. Allocates, hashes and locks nothing of ours. */
eg_status eg_plan_run(eg_plan *p);

/* What a plan is made of, for benchmarks and reports. */
typedef struct eg_step_info {
    const char *op;     /* "conv2d" */
    const char *kernel; /* "jit:avx2", "reorder" */
    char shape[64];     /* of the result */
    double flops;       /* multiplications and additions of the definition, 0 if not counted */
    double seconds;     /* the least of the runs timed */
    bool reorder;       /* only changes a layout */
    bool activation;    /* a reorder of activations, not of weights */
} eg_step_info;

size_t eg_plan_n_steps(const eg_plan *p);
eg_step_info eg_plan_step_info(const eg_plan *p, size_t i);
void eg_plan_set_timing(eg_plan *p, bool on); /* resets the seconds */
double eg_plan_flops(const eg_plan *p);
size_t eg_plan_bytes(const eg_plan *p); /* the arena */

/* Instruction sets: "avx512", "avx2", "plain", or "neon", and "portable", whose results have
 * the same bits on every kind of machine. The best one is taken unless a lower one is chosen
 * here, before anything is compiled; EG_ENOTSUP when the machine lacks it, or the environment's
 * ENGRAM_ISA, the best one that may be seen, hides it. */
eg_status eg_isa_set(const char *name);
const char *eg_isa_name(void);

/* What one core does at most: 1e9 multiplications and additions per second, measured now. */
double eg_isa_peak_gflops(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
