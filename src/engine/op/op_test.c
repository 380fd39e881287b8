/* op_test.c - every op of the list: its gradient rule, its second derivative, its kernels.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rules are checked in double precision against central differences; kernels against the double
 * form, from inputs in every layout. An argument names the instruction set to test.
 */
#include "guard.h"

#include "engine/op/op.h"
#include "isa.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { MAX_LEAVES = 8 };

/* A recorded sample: its inputs, and the scalar whose gradient is checked. */
typedef struct probe {
    eg_graph *g;
    eg_node *y;                  /* the op's result */
    eg_node *scalar;             /* sum of y times fixed random numbers */
    eg_node *leaves[MAX_LEAVES]; /* the inputs that have gradients */
    size_t n_leaves;
    const eg_node *moved; /* this leaf's element is moved by shift */
    int64_t element;
    double shift;
} probe;

static void probe_fill(void *context, const eg_node *leaf, double *out)
{
    const probe *p = context;
    const eg_input_attr *a = leaf->attr;
    eg_rng r = eg_rng_at(11, (uint32_t)leaf->id, 0, EG_FOR_TEST);
    for (int64_t i = 0; i < eg_shape_size(leaf->shape); i++)
        out[i] = a->whole ? (double)eg_rng_below(&r, (uint64_t)a->whole)
                          : (double)(float)eg_rng_uniform(&r, a->low, a->high);
    if (leaf == p->moved)
        out[p->element] += p->shift;
}

/* A test's own op: the identity, computed in the layout under test. */
static eg_layout wanted_layout;

static eg_node *laid_out_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    (void)g, (void)y, (void)wrt;
    return dy;
}

static void laid_out_reference(const eg_node *y, const double *const *in, double *out)
{
    memcpy(out, in[0], (size_t)eg_shape_size(y->shape) * sizeof *out);
}

static eg_status laid_out_run(const eg_step *s)
{
    memcpy(s->out[0]->data, s->in[0]->data, s->out[0]->bytes);
    return EG_OK;
}

static eg_status laid_out_emit(eg_plan *p, const eg_node *y)
{
    eg_value *x = eg_plan_read(p, y->in[0], wanted_layout);
    eg_value *out = eg_plan_write(p, y, wanted_layout);
    return eg_plan_step(p, y, laid_out_run, 1, &x, 1, &out) ? EG_OK : EG_ENOMEM;
}

static const eg_op op_laid_out = {.name = "laid_out",
                                  .vjp = laid_out_vjp,
                                  .reference = laid_out_reference,
                                  .emit = laid_out_emit};

static eg_node *laid_out_wrap(eg_graph *g, eg_node *x)
{
    return x->shape.rank == 4 ? eg_graph_record1(g, &op_laid_out, x->shape, x) : x;
}

/* Records sample i of op; false past the last one. */
static bool probe_open(probe *p, const eg_op *op, int i, eg_layout layout)
{
    *p = (probe){0};
    assert_ok(eg_graph_new(&p->g));
    wanted_layout = layout;
    p->g->wrap_sample = layout == EG_ROWMAJOR ? NULL : laid_out_wrap;
    p->y = op->sample(p->g, i);
    if (!p->y) {
        eg_graph_free(p->g);
        return false;
    }
    assert_ok(eg_graph_status(p->g));
    for (size_t k = 0; k < p->g->n_nodes; k++) {
        eg_node *x = p->g->nodes[k];
        if (x->op == &eg_op_input && !((const eg_input_attr *)x->attr)->whole) {
            assert_true(p->n_leaves < MAX_LEAVES);
            p->leaves[p->n_leaves++] = x;
        }
    }
    p->g->wrap_sample = NULL;
    eg_node *c = eg_sample_input(p->g, p->y->shape, -1, 1);
    p->scalar = eg_sum(p->g, eg_mul(p->g, p->y, c), EG_ALL_AXES);
    assert_ok(eg_graph_status(p->g));
    return true;
}

static double probe_value(probe *p, eg_node *scalar)
{
    double v;
    assert_ok(eg_evaluate(p->g, 1, &scalar, probe_fill, p, (double *[]){&v}));
    return v;
}

static double *probe_values(probe *p, eg_node *node)
{
    double *v = calloc((size_t)eg_shape_size(node->shape), sizeof *v);
    assert_non_null(v);
    assert_ok(eg_evaluate(p->g, 1, &node, probe_fill, p, &v));
    return v;
}

/* The largest relative gap between the gradients of scalar and central differences. */
static double probe_gap(probe *p, eg_node *scalar, eg_node *const *grads)
{
    const double h = 1e-5;
    double worst = 0;
    for (size_t k = 0; k < p->n_leaves; k++) {
        int64_t size = eg_shape_size(p->leaves[k]->shape), stride = size / 40 + 1;
        double *grad = probe_values(p, grads[k]);
        for (int64_t i = 0; i < size; i += stride) {
            p->moved = p->leaves[k], p->element = i;
            p->shift = h;
            double up = probe_value(p, scalar);
            p->shift = -h;
            double down = probe_value(p, scalar);
            p->moved = NULL;
            double gap = fabs((up - down) / (2 * h) - grad[i]) / fmax(1, fabs(grad[i]));
            worst = gap > worst || isnan(gap) ? gap : worst;
        }
        free(grad);
    }
    return worst;
}

static double first_order_gap(probe *p)
{
    eg_node *grads[MAX_LEAVES];
    eg_gradients(p->g, p->scalar, p->n_leaves, p->leaves, grads);
    assert_ok(eg_graph_status(p->g));
    return probe_gap(p, p->scalar, grads);
}

/* The gradient of sum(grads * fixed random numbers): the second derivative along a direction.
 * False when the op says that it has none. */
static bool second_order_gap(probe *p, double *gap)
{
    eg_node *grads[MAX_LEAVES], *sum = NULL;
    eg_gradients(p->g, p->scalar, p->n_leaves, p->leaves, grads);
    for (size_t k = 0; k < p->n_leaves; k++) {
        eg_node *d = eg_sample_input(p->g, p->leaves[k]->shape, -1, 1);
        eg_node *term = eg_sum(p->g, eg_mul(p->g, grads[k], d), EG_ALL_AXES);
        sum = sum ? eg_add(p->g, sum, term) : term;
    }
    if (!sum)
        return true;
    eg_gradients(p->g, sum, p->n_leaves, p->leaves, grads);
    if (eg_graph_status(p->g) == EG_ENOTSUP)
        return false;
    assert_ok(eg_graph_status(p->g));
    *gap = probe_gap(p, sum, grads);
    return true;
}

/* Not-a-number wherever a run may write before it reads: as a run gone wrong leaves it. */
static void spoil(eg_plan *plan)
{
    for (size_t i = 0; i < plan->n_values; i++) {
        eg_value *v = plan->values[i];
        if (v->home == EG_IN_ARENA && !eg_plan_root(v)->pinned)
            memset(v->data, 0xff, v->bytes);
    }
}

/* The largest gap between a plan's outputs and the double form, relative to the largest value.
 * Every buffer ends, or begins, at a protected page. */
static double kernel_gap(probe *p, size_t n, eg_node *const *nodes, bool end)
{
    char name[32];
    for (size_t k = 0; k < n; k++) {
        snprintf(name, sizeof name, "o%zu", k);
        eg_output(p->g, name, nodes[k]);
    }
    eg_plan *plan;
    assert_ok(eg_compile(p->g, &plan));
    guard pages = guard_plan(plan, end);
    for (size_t k = 0; k < p->g->n_nodes; k++) {
        const eg_node *x = p->g->nodes[k];
        if (x->op != &eg_op_input)
            continue;
        float *to = eg_plan_input(plan, ((const eg_input_attr *)x->attr)->name);
        double *v = calloc((size_t)eg_shape_size(x->shape), sizeof *v);
        assert_non_null(v);
        probe_fill(p, x, v);
        for (int64_t i = 0; to && i < eg_shape_size(x->shape); i++)
            to[i] = (float)v[i];
        free(v);
    }
    assert_ok(eg_plan_run(plan));
    spoil(plan);
    assert_ok(eg_plan_run(plan)); /* a second run must not depend on what the first left */
    double worst = 0;
    for (size_t k = 0; k < n; k++) {
        snprintf(name, sizeof name, "o%zu", k);
        const float *got = eg_plan_output(plan, name);
        double *want = probe_values(p, nodes[k]), largest = 1;
        for (int64_t i = 0; i < eg_shape_size(nodes[k]->shape); i++)
            largest = fmax(largest, fabs(want[i]));
        for (int64_t i = 0; i < eg_shape_size(nodes[k]->shape); i++) {
            double gap = fabs((double)got[i] - want[i]) / largest;
            worst = gap > worst || isnan(gap) ? gap : worst;
        }
        free(want);
    }
    eg_plan_free(plan);
    guard_free(&pages);
    return worst;
}

static bool has_gradient(const probe *p)
{
    for (size_t k = 0; k < p->g->n_nodes; k++)
        if (p->g->nodes[k]->op->no_vjp && p->y->op->no_vjp)
            return false;
    return true;
}

static void test_every_gradient_rule_agrees_with_differences(void **state)
{
    (void)state;
    probe p;
    for (const eg_op_entry *const *e = eg_ops; *e; e++)
        for (int i = 0; probe_open(&p, (*e)->op, i, EG_ROWMAJOR); i++) {
            if (has_gradient(&p)) {
                double gap = first_order_gap(&p);
                if (!(gap <= 1e-6))
                    fail_msg("%s, sample %d: gradient off by %g", (*e)->op->name, i, gap);
            }
            eg_graph_free(p.g);
        }
}

static void test_every_op_has_samples(void **state)
{
    (void)state;
    for (const eg_op_entry *const *e = eg_ops; *e; e++) {
        assert_non_null((*e)->op->sample);
        probe p;
        if (!probe_open(&p, (*e)->op, 0, EG_ROWMAJOR))
            fail_msg("%s has no sample", (*e)->op->name);
        eg_graph_free(p.g);
        assert_true(strlen((*e)->component.help) > 5);
    }
}

/* What a WGAN-GP critic and its penalty are made of. */
static bool needs_second_order(const char *name)
{
    static const char *const names[] = {
        "conv2d",
        "conv2d_back_data",
        "conv2d_back_weights",
        "conv2d_transpose",
        "linear",
        "leaky_relu",
        "relu",
        "leaky_relu_back",
        "layer_norm",
        "instance_norm",
        "group_norm",
        "group_normalize",
        "group_normalize_back",
        "group_rstd",
        "scale_maps",
        "tanh",
        "sum",
        "mean",
        "sqrt",
        "row_normalize",
        "row_rstd",
        "mul",
        "div",
        "add",
        "sub",
        "affine",
        "expand",
        "reshape",
        "global_pool",
        "bias",
        "product",
        "matmul",
        "l2_normalize",
        "channel_affine",
        "avg_pool",
        "max_pool",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void test_second_derivatives_agree_with_differences(void **state)
{
    (void)state;
    probe p;
    for (const eg_op_entry *const *e = eg_ops; *e; e++)
        for (int i = 0; probe_open(&p, (*e)->op, i, EG_ROWMAJOR); i++) {
            double gap = 0;
            if (has_gradient(&p) && !second_order_gap(&p, &gap) &&
                needs_second_order((*e)->op->name))
                fail_msg("%s has no second derivative: %s", (*e)->op->name, eg_error());
            if (!(gap <= 1e-6))
                fail_msg("%s, sample %d: second derivative off by %g", (*e)->op->name, i, gap);
            eg_graph_free(p.g);
        }
}

static void check_kernels(eg_layout layout)
{
    probe p;
    for (const eg_op_entry *const *e = eg_ops; *e; e++)
        for (int i = 0; probe_open(&p, (*e)->op, i, layout); i++) {
            eg_node *nodes[MAX_LEAVES + 1] = {p.y};
            size_t n = 1;
            if (has_gradient(&p)) {
                eg_gradients(p.g, p.scalar, p.n_leaves, p.leaves, nodes + 1);
                n += p.n_leaves;
            }
            for (int end = 0; end < 2; end++) {
                double gap = kernel_gap(&p, n, nodes, end);
                if (!(gap <= 2e-5))
                    fail_msg("%s, sample %d: kernel off by %g", (*e)->op->name, i, gap);
            }
            eg_graph_free(p.g);
        }
}

static void test_every_kernel_agrees_with_the_double_form(void **state)
{
    (void)state;
    check_kernels(EG_ROWMAJOR);
}

static void test_every_kernel_agrees_from_laid_out_inputs(void **state)
{
    (void)state;
    check_kernels(EG_BLOCKED);
}

static void test_every_kernel_agrees_with_the_batch_innermost(void **state)
{
    (void)state;
    check_kernels(EG_BATCHED);
}

/* The checks must see a wrong rule: every op's own rule, made wrong by a thousandth. */
static const eg_op *broken_original;

static eg_node *broken_vjp(eg_graph *g, eg_node *y, eg_node *dy, int wrt)
{
    eg_node *dx = broken_original->vjp(g, y, dy, wrt);
    return dx ? eg_affine(g, dx, 1.001, 0) : NULL;
}

static void test_a_broken_rule_is_seen_for_every_op(void **state)
{
    (void)state;
    probe p;
    int broken = 0;
    for (const eg_op_entry *const *e = eg_ops; *e; e++) {
        if (!(*e)->op->vjp || !probe_open(&p, (*e)->op, 0, EG_ROWMAJOR))
            continue;
        if (p.y->op == (*e)->op && p.n_leaves) {
            eg_op wrong = *(*e)->op;
            broken_original = (*e)->op;
            wrong.vjp = broken_vjp;
            p.y->op = &wrong;
            if (!(first_order_gap(&p) > 1e-6))
                fail_msg("%s: a rule off by a thousandth passes", (*e)->op->name);
            broken++;
        }
        eg_graph_free(p.g);
    }
    assert_true(broken > 40);
}

/* And a wrong kernel: the sum computed as a difference. */
static eg_status wrong_emit(eg_plan *p, const eg_node *y)
{
    return eg_emit_binary(p, y, eg_plan_kernels(p)->sub, true);
}

static void test_a_broken_kernel_is_seen(void **state)
{
    (void)state;
    probe p;
    assert_true(probe_open(&p, &eg_op_add, 0, EG_ROWMAJOR));
    eg_op wrong = eg_op_add;
    wrong.emit = wrong_emit;
    p.y->op = &wrong;
    assert_true(kernel_gap(&p, 1, &p.y, true) > 1e-3);
    eg_graph_free(p.g);
}

/* And a write of one float past the end. */
static void test_a_stray_write_is_seen(void **state)
{
    (void)state;
    probe p;
    eg_plan *plan;
    assert_true(probe_open(&p, &eg_op_add, 0, EG_ROWMAJOR));
    eg_output(p.g, "y", p.y);
    assert_ok(eg_compile(p.g, &plan));
    guard pages = guard_plan(plan, true);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        float *y = (float *)eg_plan_output(plan, "y");
        y[eg_shape_size(p.y->shape)] = 1;
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    eg_plan_free(plan);
    guard_free(&pages);
    eg_graph_free(p.g);
}

static void test_a_fused_backward_says_that_it_ends_there(void **state)
{
    (void)state;
    probe p;
    assert_true(probe_open(&p, &eg_op_batch_norm, 1, EG_ROWMAJOR));
    double gap;
    assert_false(second_order_gap(&p, &gap));
    assert_non_null(strstr(eg_error(), "batch_norm"));
    eg_graph_free(p.g);
}

static void test_wrong_shapes_are_said_with_their_numbers(void **state)
{
    (void)state;
    eg_graph *g;
    assert_ok(eg_graph_new(&g));
    eg_node *a = eg_input(g, "a", eg_dims(3, 4)), *b = eg_input(g, "b", eg_dims(5, 6));
    eg_node *y =
        eg_add(g, eg_matmul(g, a, b), eg_relu(g, a)); /* the second error is not told */
    eg_output(g, "y", y);
    eg_plan *plan;
    assert_fails(eg_compile(g, &plan), EG_ESHAPE, "[3, 4]");
    assert_null(plan);
    eg_graph_free(g);
}

static void test_an_index_out_of_range_is_an_error_of_the_run(void **state)
{
    (void)state;
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_output(g, "y", eg_one_hot(g, eg_input(g, "i", eg_dims(2)), 10));
    assert_ok(eg_compile(g, &plan));
    eg_plan_input(plan, "i")[1] = 12;
    assert_fails(eg_plan_run(plan), EG_EINVAL, "12");
    eg_plan_free(plan);
    eg_graph_free(g);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_has_samples),
        cmocka_unit_test(test_every_gradient_rule_agrees_with_differences),
        cmocka_unit_test(test_second_derivatives_agree_with_differences),
        cmocka_unit_test(test_every_kernel_agrees_with_the_double_form),
        cmocka_unit_test(test_every_kernel_agrees_from_laid_out_inputs),
        cmocka_unit_test(test_every_kernel_agrees_with_the_batch_innermost),
        cmocka_unit_test(test_a_broken_rule_is_seen_for_every_op),
        cmocka_unit_test(test_a_broken_kernel_is_seen),
        cmocka_unit_test(test_a_stray_write_is_seen),
        cmocka_unit_test(test_a_fused_backward_says_that_it_ends_there),
        cmocka_unit_test(test_wrong_shapes_are_said_with_their_numbers),
        cmocka_unit_test(test_an_index_out_of_range_is_an_error_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
