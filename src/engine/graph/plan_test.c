/* plan_test.c - compiling: what is taken together into one step gives what each would alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "against_double.h"
#include "engine/graph/plan_private.h"
#include "engine/op/op.h"
#include "isa.h"
#include "training.h"

#include <stdio.h>

/* A small network under construction, with tensors as it needs them. */
typedef struct bench {
    eg_graph *g;
    eg_params *table;
    int n;
} bench;

static void bench_open(bench *b)
{
    *b = (bench){0};
    assert_ok(eg_graph_new(&b->g));
    assert_ok(eg_params_new(&b->table));
}

static void bench_close(bench *b)
{
    eg_graph_free(b->g);
    eg_params_free(b->table);
}

static eg_node *tensor(bench *b, eg_shape shape)
{
    char name[16];
    snprintf(name, sizeof name, "t%d", b->n++);
    return eg_param(b->g, b->table, name, shape, (eg_init){0});
}

/* Before a batch norm a bias would have only noise as its gradient. */
static eg_node *conv(bench *b, eg_node *x, int64_t out, bool bias)
{
    eg_node *w = tensor(b, eg_dims(out, eg_node_shape(x).dim[1], 3, 3));
    return eg_conv2d(b->g, x, w, bias ? tensor(b, eg_dims(out)) : NULL,
                     (eg_window){.stride = 1, .padding = 1});
}

static eg_node *norm(bench *b, eg_node *x)
{
    eg_shape c = eg_dims(eg_node_shape(x).dim[1]);
    eg_node *stats = eg_channel_stats(b->g, x, NULL, NULL, 0);
    return eg_batch_norm(b->g, x, stats, tensor(b, c), tensor(b, c), 1e-5);
}

static eg_node *norm_eval(bench *b, eg_node *x)
{
    eg_shape c = eg_dims(eg_node_shape(x).dim[1]);
    eg_node *var = eg_state(b->g, b->table, "var", c, (eg_init){0});
    return eg_batch_norm_eval(b->g, x, tensor(b, c), var, tensor(b, c), tensor(b, c), 1e-5);
}

/* A chain whose nodes a plan may take together: the nodes are written to out, their number
 * returned. */
typedef int (*chain)(bench *b, eg_node *x, eg_node **out);

static int chain_conv(bench *b, eg_node *x, eg_node **out)
{
    out[0] = conv(b, x, eg_node_shape(x).dim[1], true);
    out[1] = eg_relu(b->g, out[0]);
    return 2;
}

static int chain_norm(bench *b, eg_node *x, eg_node **out)
{
    out[0] = norm(b, x);
    out[1] = eg_relu(b->g, out[0]);
    return 2;
}

static int chain_norm_eval(bench *b, eg_node *x, eg_node **out)
{
    out[0] = norm_eval(b, x);
    out[1] = eg_relu(b->g, out[0]);
    return 2;
}

static int chain_residual(bench *b, eg_node *x, eg_node **out)
{
    out[0] = conv(b, x, eg_node_shape(x).dim[1], false);
    out[1] = norm(b, out[0]);
    out[2] = eg_add(b->g, out[1], x);
    out[3] = eg_relu(b->g, out[2]);
    return 4;
}

/* Both summands are batch norms, and only one can take in the sum. */
static int chain_projected(bench *b, eg_node *x, eg_node **out)
{
    out[0] = norm(b, conv(b, x, 2 * eg_node_shape(x).dim[1], false));
    out[1] = norm(b, conv(b, x, 2 * eg_node_shape(x).dim[1], false));
    out[2] = eg_add(b->g, out[0], out[1]);
    out[3] = eg_relu(b->g, out[2]);
    return 4;
}

static int chain_linear(bench *b, eg_node *x, eg_node **out)
{
    eg_shape s = eg_node_shape(x);
    int64_t in = eg_shape_size(s) / s.dim[0];
    eg_node *flat = eg_reshape(b->g, x, eg_dims(s.dim[0], in));
    out[0] = eg_linear(b->g, flat, tensor(b, eg_dims(9, in)), tensor(b, eg_dims(9)));
    out[1] = eg_relu(b->g, out[0]);
    return 2;
}

/* A leaky relu is not a relu, forward or backward. */
static int chain_leaky(bench *b, eg_node *x, eg_node **out)
{
    out[0] = conv(b, x, eg_node_shape(x).dim[1], true);
    out[1] = eg_leaky_relu(b->g, out[0], 0.2);
    out[2] = norm(b, out[1]);
    out[3] = eg_leaky_relu(b->g, out[2], 0.3);
    return 4;
}

static int chain_twice(bench *b, eg_node *x, eg_node **out)
{
    out[0] = conv(b, x, eg_node_shape(x).dim[1], true);
    out[1] = eg_relu(b->g, out[0]);
    out[2] = eg_relu(b->g, out[1]);
    return 3;
}

static int chain_pool(bench *b, eg_node *x, eg_node **out)
{
    out[0] = eg_relu(b->g, conv(b, x, eg_node_shape(x).dim[1], true));
    out[1] = eg_max_pool(b->g, out[0], (eg_window){.kernel = 2, .stride = 2});
    return 2;
}

static int chain_pool_over(bench *b, eg_node *x, eg_node **out)
{
    out[0] = eg_relu(b->g, conv(b, x, eg_node_shape(x).dim[1], true));
    out[1] = eg_max_pool(b->g, out[0], (eg_window){.kernel = 3, .stride = 1, .padding = 1});
    return 2;
}

static const struct {
    const char *name;
    chain record;
} chains[] = {
    {"conv, relu", chain_conv},           {"batch norm, relu", chain_norm},
    {"eval norm, relu", chain_norm_eval}, {"residual", chain_residual},
    {"projected", chain_projected},       {"linear, relu", chain_linear},
    {"leaky relu", chain_leaky},          {"relu twice", chain_twice},
    {"relu, max pool", chain_pool},       {"windows that meet", chain_pool_over},
};

enum { N_CHAINS = sizeof chains / sizeof *chains };

/* Every subset of a chain's nodes as outputs, with gradients of the last one. */
static void check_chain(size_t i, eg_shape shape)
{
    for (unsigned kept = 0, all = 1; kept < all; kept++) {
        bench b;
        bench_open(&b);
        eg_node *nodes[4] = {NULL};
        eg_node *x = eg_input(b.g, "x", shape);
        int n = chains[i].record(&b, eg_tanh(b.g, x), nodes);
        all = 1u << n;
        for (int k = 0; k < n; k++) {
            char name[16];
            snprintf(name, sizeof name, "%d", k);
            if (kept >> k & 1)
                eg_output(b.g, name, nodes[k]);
        }
        eg_node *square = eg_mul(b.g, nodes[n - 1], nodes[n - 1]);
        eg_backward(b.g, eg_sum(b.g, square, EG_ALL_AXES), b.table);
        assert_ok(eg_graph_status(b.g));
        double gap = against_double(b.g, b.table);
        if (!(gap <= 5e-5))
            fail_msg("%s, %lld channels, outputs %x: off by %g", chains[i].name,
                     (long long)shape.dim[1], kept, gap);
        bench_close(&b);
    }
}

static void test_outputs_within_a_fused_chain_are_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CHAINS; i++) {
        check_chain(i, eg_dims(3, 16, 5, 4));  /* blocked */
        check_chain(i, eg_dims(16, 10, 3, 4)); /* batch innermost, lanes full */
        check_chain(i, eg_dims(3, 10, 4, 4));  /* and filled up */
    }
}

/* The steps whose nodes are of this op. */
static int count_steps(const eg_plan *p, const eg_op *op)
{
    int n = 0;
    for (size_t i = 0; i < eg_plan_n_steps(p); i++)
        n += strcmp(eg_plan_step_info(p, i).op, op->name) == 0 &&
             !eg_plan_step_info(p, i).reorder;
    return n;
}

/* The fusions happen at all: else the tests here would compare a thing with itself. */
static void test_chains_are_fused_unless_an_output_stands_between(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        bench b;
        bench_open(&b);
        eg_node *nodes[4];
        eg_plan *plan;
        chain_residual(&b, eg_input(b.g, "x", eg_dims(3, 16, 5, 4)), nodes);
        eg_output(b.g, "y", nodes[3]);
        for (int k = 1; kept && k < 3; k++)
            eg_output(b.g, k == 1 ? "norm" : "sum", nodes[k]);
        assert_ok(eg_compile(b.g, &plan));
        assert_int_equal(count_steps(plan, &eg_op_add), kept);
        assert_int_equal(count_steps(plan, &eg_op_leaky_relu), kept);
        assert_int_equal(count_steps(plan, &eg_op_batch_norm), 1);
        eg_plan_free(plan);
        bench_close(&b);
    }
}

static void test_a_pooled_relu_passes_its_gradient_on_at_once(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        bench b;
        bench_open(&b);
        eg_node *nodes[4];
        eg_plan *plan;
        chain_pool(&b, eg_input(b.g, "x", eg_dims(3, 16, 4, 4)), nodes);
        eg_backward(b.g, eg_sum(b.g, eg_mul(b.g, nodes[1], nodes[1]), EG_ALL_AXES), b.table);
        for (size_t i = 0; kept && i < b.g->n_nodes; i++)
            if (b.g->nodes[i]->op == &eg_op_max_pool_back)
                eg_output(b.g, "between", b.g->nodes[i]);
        assert_ok(eg_compile(b.g, &plan));
        assert_int_equal(count_steps(plan, &eg_op_leaky_relu_back), kept);
        assert_int_equal(count_steps(plan, &eg_op_max_pool_back), 1);
        eg_plan_free(plan);
        bench_close(&b);
    }
}

/* A training step of the net; apart: every value between is an output, which nothing may take
 * into another step. */
typedef struct run {
    eg_graph *g;
    eg_plan *plan;
    float *grad, *state;
} run;

static void run_open(run *r, const eg_net *net, float *value, bool apart)
{
    const eg_params *p = eg_net_params(net);
    assert_ok(eg_graph_new(&r->g));
    training_record(net, r->g, 8);
    for (size_t i = 0; apart && i < r->g->n_nodes; i++) {
        char name[32];
        snprintf(name, sizeof name, "node %zu", i);
        if (r->g->nodes[i]->n_in)
            eg_output(r->g, name, r->g->nodes[i]);
    }
    assert_ok(eg_compile(r->g, &r->plan));
    assert_ok(eg_params_alloc(p, &r->grad));
    assert_ok(eg_state_alloc(p, &r->state));
    eg_params_init(p, 2, value, r->state);
    assert_ok(eg_plan_bind(r->plan, p, value, r->grad, r->state));
    training_fill(r->plan, net, 8, 2);
    assert_ok(eg_plan_run(r->plan));
}

static void run_close(run *r)
{
    eg_plan_free(r->plan);
    eg_graph_free(r->g);
    free(r->grad);
    free(r->state);
}

/* |a - b| / |b| over n floats. */
static double distance(const float *a, const float *b, size_t n)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        off += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        size += (double)b[i] * (double)b[i];
    }
    return size > 0 ? sqrt(off / size) : sqrt(off);
}

static void test_models_compute_the_same_with_every_step_apart(void **state)
{
    (void)state;
    for (size_t i = 0; eg_models[i]; i++) {
        const eg_net_spec spec = training_images(eg_models[i]->component.name, 28);
        eg_net *net;
        float *value = NULL;
        assert_ok(eg_net_new(&spec, &net));
        assert_ok(eg_params_alloc(eg_net_params(net), &value));
        run fused, apart;
        run_open(&fused, net, value, false);
        run_open(&apart, net, value, true);
        double loss = (double)*eg_plan_output(apart.plan, "loss");
        double gap = distance(fused.grad, apart.grad, eg_params_length(eg_net_params(net)));
        print_message("%s: %zu steps, %zu apart, gradients off by %.1e\n", spec.model,
                      eg_plan_n_steps(fused.plan), eg_plan_n_steps(apart.plan), gap);
        assert_near((double)*eg_plan_output(fused.plan, "loss"), loss, 1e-6 * loss);
        assert_near(gap, 0, 1e-6);
        size_t length = eg_state_length(eg_net_params(net));
        assert_near(distance(fused.state, apart.state, length), 0, 1e-6);
        run_close(&fused);
        run_close(&apart);
        free(value);
        eg_net_free(net);
    }
}

static void test_leaves_and_gradients_may_be_outputs(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    eg_node *x = eg_input(b.g, "x", eg_dims(2, 16, 3, 3)), *w = tensor(&b, eg_dims(4, 144));
    eg_node *y = eg_product(b.g, eg_reshape(b.g, x, eg_dims(2, 144)), w, false, true), *dw;
    eg_node *sum = eg_sum(b.g, eg_mul(b.g, y, y), EG_ALL_AXES);
    eg_backward(b.g, sum, b.table);
    eg_gradients(b.g, sum, 1, &w, &dw); /* the same node as the table's gradient */
    eg_output(b.g, "x", x);
    eg_output(b.g, "w", w);
    eg_output(b.g, "dw", dw);
    eg_output(b.g, "dw again", dw);
    eg_output(b.g, "one", eg_constant(b.g, eg_dims(3), 1));
    assert_true(against_double(b.g, b.table) < 1e-5);
    bench_close(&b);
}

static void test_a_gradient_of_several_tensors_reaches_each(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    eg_node *u = tensor(&b, eg_dims(5)), *v = tensor(&b, eg_dims(5)),
            *w = tensor(&b, eg_dims(5));
    tensor(&b, eg_dims(7)); /* recorded, but no part of the loss: its gradient is zero */
    eg_node *sum = eg_add(b.g, eg_add(b.g, u, v), eg_affine(b.g, w, 2, 0));
    eg_backward(b.g, eg_sum(b.g, eg_mul(b.g, sum, sum), EG_ALL_AXES), b.table);
    assert_int_equal(b.g->n_grads, 4);
    assert_true(against_double(b.g, b.table) < 1e-6);
    bench_close(&b);
}

/* A tensor seen under another shape must be laid out by that shape, not by its own. */
static void test_a_reshaped_tensor_is_read_in_any_layout(void **state)
{
    (void)state;
    for (int64_t c = 10; c <= 16; c += 6) { /* batch innermost, blocked */
        bench b;
        bench_open(&b);
        eg_node *x = conv(&b, eg_input(b.g, "x", eg_dims(1, c, 3, 3)), c, false);
        eg_node *map = eg_reshape(b.g, tensor(&b, eg_dims(9 * c)), eg_dims(1, c, 3, 3));
        eg_node *row = eg_state(b.g, b.table, "row", eg_dims(3, 3, c), (eg_init){0});
        eg_node *y = eg_mul(b.g, eg_add(b.g, eg_relu(b.g, x), map),
                            eg_reshape(b.g, row, eg_dims(1, c, 3, 3)));
        eg_output(b.g, "y", conv(&b, eg_tanh(b.g, y), c, true));
        eg_backward(b.g, eg_sum(b.g, eg_mul(b.g, y, y), EG_ALL_AXES), b.table);
        assert_true(against_double(b.g, b.table) < 1e-5);
        bench_close(&b);
    }
}

static void test_a_graph_without_outputs_is_not_compiled(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    eg_plan *plan;
    eg_relu(b.g, eg_input(b.g, "x", eg_dims(2)));
    assert_fails(eg_compile(b.g, &plan), EG_EINVAL, "no output");
    assert_null(plan);
    bench_close(&b);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs_within_a_fused_chain_are_right),
        cmocka_unit_test(test_chains_are_fused_unless_an_output_stands_between),
        cmocka_unit_test(test_a_pooled_relu_passes_its_gradient_on_at_once),
        cmocka_unit_test(test_models_compute_the_same_with_every_step_apart),
        cmocka_unit_test(test_leaves_and_gradients_may_be_outputs),
        cmocka_unit_test(test_a_gradient_of_several_tensors_reaches_each),
        cmocka_unit_test(test_a_reshaped_tensor_is_read_in_any_layout),
        cmocka_unit_test(test_a_graph_without_outputs_is_not_compiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
