/* golden_ops_test.c - every op of a convention against PyTorch's: results and gradients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden_ops.py made tests/golden/ops.json in double from inputs rounded to float; here
 * each case is recorded with our ops and computed twice, in double and by a compiled plan. An
 * argument names the instruction set to test.
 */
#include "test.h"

#include "engine/graph/graph.h"
#include "golden_formula.h"
#include "io/json.h"
#include "isa.h"

#include <engram/op.h>

#include <stdio.h>
#include <stdlib.h>

/* The fixture has 12 digits; a plan computes in float. */
#define DOUBLE_GAP 1e-9
#define PLAN_GAP   2e-5

enum { MAX_LEAVES = 6 };

typedef struct leaf {
    const char *name;
    const eg_json *spec; /* shape, t, base, scale, mod; NULL: dy */
    eg_node *node, *grad;
} leaf;

/* One case, recorded. */
typedef struct golden_case {
    const eg_json *json;
    char title[64];
    eg_graph *g;
    eg_params *table; /* of running statistics */
    leaf leaves[MAX_LEAVES + 1];
    size_t n_leaves;
    eg_node *y;
} golden_case;

static const eg_json *member(const eg_json *v, const char *key)
{
    const eg_json *m = eg_json_get(v, key);
    if (!m)
        fail_msg("'%s' is missing", key);
    return m;
}

static double real_of(const eg_json *v)
{
    double out = NAN;
    assert_ok(eg_json_real(v, &out));
    return out;
}

static eg_shape shape_of(const eg_json *v)
{
    eg_shape s = {.rank = (int)eg_json_count(v)};
    assert_true(s.rank <= EG_MAX_RANK);
    for (int i = 0; i < s.rank; i++)
        assert_ok(eg_json_int(eg_json_at(v, (size_t)i), &s.dim[i]));
    return s;
}

/* A setting of the case, or PyTorch's default. */
static double arg_of(const golden_case *c, const char *name, double standard)
{
    const eg_json *v = eg_json_get(member(c->json, "args"), name);
    return v ? real_of(v) : standard;
}

static bool flag_of(const golden_case *c, const char *name)
{
    bool out = false;
    assert_ok(eg_json_bool(member(member(c->json, "args"), name), &out));
    return out;
}

static eg_window window_of(const golden_case *c)
{
    return (eg_window){.kernel = (int64_t)arg_of(c, "kernel_size", 0),
                       .stride = (int64_t)arg_of(c, "stride", 1),
                       .padding = (int64_t)arg_of(c, "padding", 0),
                       .groups = (int64_t)arg_of(c, "groups", 1),
                       .output_padding = (int64_t)arg_of(c, "output_padding", 0)};
}

static eg_node *in(const golden_case *c, const char *name)
{
    for (size_t i = 0; i < c->n_leaves; i++)
        if (strcmp(c->leaves[i].name, name) == 0)
            return c->leaves[i].node;
    fail_msg("%s: no input '%s'", c->title, name);
    return NULL;
}

static eg_node *record_batch_norm(golden_case *c)
{
    eg_node *x = in(c, "x"), *mean = in(c, "running_mean"), *var = in(c, "running_var");
    double eps = arg_of(c, "eps", 1e-5);
    if (!flag_of(c, "training"))
        return eg_batch_norm_eval(c->g, x, mean, var, in(c, "weight"), in(c, "bias"), eps);
    eg_node *stats = eg_channel_stats(c->g, x, mean, var, arg_of(c, "momentum", 0.1));
    return eg_batch_norm(c->g, x, stats, in(c, "weight"), in(c, "bias"), eps);
}

static eg_node *record_conv2d(golden_case *c)
{
    return eg_conv2d(c->g, in(c, "x"), in(c, "weight"), in(c, "bias"), window_of(c));
}

static eg_node *record_conv_transpose2d(golden_case *c)
{
    return eg_conv2d_transpose(c->g, in(c, "x"), in(c, "weight"), in(c, "bias"), window_of(c));
}

static eg_node *record_max_pool2d(golden_case *c)
{
    return eg_max_pool(c->g, in(c, "x"), window_of(c));
}

static eg_node *record_avg_pool2d(golden_case *c)
{
    return eg_avg_pool(c->g, in(c, "x"), window_of(c));
}

static eg_node *record_amax(golden_case *c)
{
    const eg_json *dims = member(member(c->json, "args"), "dim");
    unsigned axes = 0;
    for (size_t i = 0; i < eg_json_count(dims); i++)
        axes |= EG_AXIS((unsigned)real_of(eg_json_at(dims, i)));
    return eg_max(c->g, in(c, "x"), axes);
}

static eg_node *record_gelu(golden_case *c)
{
    return eg_gelu(c->g, in(c, "x"));
}

static eg_node *record_kl_div(golden_case *c)
{
    return eg_kl_divergence(c->g, in(c, "log_q"), in(c, "p"));
}

static eg_node *record_bce_with_logits(golden_case *c)
{
    return eg_bce_with_logits(c->g, in(c, "logits"), in(c, "targets"));
}

static eg_node *record_cross_entropy(golden_case *c)
{
    const char *labels = flag_of(c, "soft") ? "targets" : "labels";
    return eg_cross_entropy(c->g, in(c, "logits"), in(c, labels), NULL);
}

static eg_node *record_mse(golden_case *c)
{
    return eg_mse(c->g, in(c, "a"), in(c, "b"));
}

static eg_node *record_layer_norm(golden_case *c)
{
    return eg_layer_norm(c->g, in(c, "x"), in(c, "weight"), in(c, "bias"),
                         arg_of(c, "eps", 1e-5));
}

static eg_node *record_group_norm(golden_case *c)
{
    return eg_group_norm(c->g, in(c, "x"), (int64_t)arg_of(c, "groups", 0), in(c, "weight"),
                         in(c, "bias"), arg_of(c, "eps", 1e-5));
}

static eg_node *record_instance_norm(golden_case *c)
{
    return eg_instance_norm(c->g, in(c, "x"), in(c, "weight"), in(c, "bias"),
                            arg_of(c, "eps", 1e-5));
}

static eg_node *record_normalize(golden_case *c)
{
    return eg_l2_normalize(c->g, in(c, "x"));
}

static eg_node *record_embedding(golden_case *c)
{
    return eg_embedding(c->g, in(c, "table"), in(c, "index"));
}

static eg_node *record_interpolate(golden_case *c)
{
    return eg_upsample(c->g, in(c, "x"), (int64_t)arg_of(c, "scale_factor", 0));
}

// clang-format off
#define RECORDERS(X)                                                                           \
    X(amax) X(avg_pool2d) X(batch_norm) X(bce_with_logits) X(conv2d) X(conv_transpose2d)       \
    X(cross_entropy) X(embedding) X(gelu) X(group_norm) X(instance_norm) X(interpolate)        \
    X(kl_div) X(layer_norm) X(max_pool2d) X(mse) X(normalize)
// clang-format on

static const struct {
    const char *op; /* as PyTorch calls it */
    eg_node *(*record)(golden_case *c);
} recorders[] = {
#define X(name) {#name, record_##name},
    RECORDERS(X)
#undef X
};

enum { N_RECORDERS = sizeof recorders / sizeof *recorders };

static void case_record(golden_case *c)
{
    const char *op = NULL;
    assert_ok(eg_json_text(member(c->json, "op"), &op));
    for (size_t i = 0; i < N_RECORDERS && !c->y; i++)
        if (strcmp(recorders[i].op, op) == 0)
            c->y = recorders[i].record(c);
    if (!c->y)
        fail_msg("no op of ours stands for '%s'", op);
    assert_ok(eg_graph_status(c->g));
}

static void case_add_leaf(golden_case *c, const char *name, const eg_json *spec)
{
    assert_true(c->n_leaves < MAX_LEAVES);
    eg_shape shape = shape_of(member(spec, "shape"));
    bool running = strncmp(name, "running_", 8) == 0;
    eg_node *node = running ? eg_state(c->g, c->table, name, shape, (eg_init){0})
                            : eg_input(c->g, name, shape);
    c->leaves[c->n_leaves++] = (leaf){.name = name, .spec = spec, .node = node};
}

/* Records the op, and the gradients of sum(y dy) that the fixture holds. */
static void case_open(golden_case *c, const eg_json *json)
{
    *c = (golden_case){.json = json};
    const char *op = NULL, *name = NULL;
    assert_ok(eg_json_text(member(json, "op"), &op));
    assert_ok(eg_json_text(member(json, "case"), &name));
    snprintf(c->title, sizeof c->title, "%s, %s", op, name);
    assert_ok(eg_graph_new(&c->g));
    assert_ok(eg_params_new(&c->table));
    const eg_json *spec;
    for (name = NULL; eg_json_next(member(json, "in"), &name, &spec);)
        case_add_leaf(c, name, spec);
    case_record(c);
    eg_node *dy = eg_input(c->g, "dy", c->y->shape);
    eg_node *sum = eg_sum(c->g, eg_mul(c->g, c->y, dy), EG_ALL_AXES);
    for (size_t i = 0; i < c->n_leaves; i++)
        if (eg_json_get(member(json, "grad"), c->leaves[i].name))
            eg_gradients(c->g, sum, 1, &c->leaves[i].node, &c->leaves[i].grad);
    c->leaves[c->n_leaves] = (leaf){.name = "dy", .node = dy};
    assert_ok(eg_graph_status(c->g));
}

static void case_close(golden_case *c)
{
    eg_graph_free(c->g);
    eg_params_free(c->table);
}

static void leaf_fill(const leaf *l, float *out)
{
    size_t n = (size_t)eg_shape_size(l->node->shape);
    if (!l->spec) {
        golden_fill(GOLDEN_DY, 0, 1, n, out);
        return;
    }
    int t = (int)real_of(member(l->spec, "t"));
    float base = (float)real_of(member(l->spec, "base"));
    float scale = (float)real_of(member(l->spec, "scale"));
    double mod = real_of(member(l->spec, "mod"));
    if (mod > 0)
        golden_fill_labels(t, (uint32_t)mod, n, out);
    else
        golden_fill(t, base, scale, n, out);
    for (size_t j = 0; mod > 0 && j < n; j++)
        out[j] = base + scale * out[j];
}

static void check_values(const golden_case *c, const char *what, const eg_json *want,
                         const double *have, double gap)
{
    double largest = 1;
    for (size_t j = 0; j < eg_json_count(want); j++)
        largest = fmax(largest, fabs(real_of(eg_json_at(want, j))));
    for (size_t j = 0; j < eg_json_count(want); j++) {
        double w = real_of(eg_json_at(want, j));
        if (!(fabs(have[j] - w) <= gap * largest))
            fail_msg("%s: %s[%zu] is %.12g, PyTorch has %.12g", c->title, what, j, have[j], w);
    }
}

static void check_output(const golden_case *c, const char *name, eg_shape shape,
                         const double *have, double gap)
{
    const eg_json *want = member(member(c->json, "out"), name);
    if (!eg_shape_equal(shape_of(member(want, "shape")), shape))
        fail_msg("%s: %s has another shape", c->title, name);
    check_values(c, name, member(want, "value"), have, gap);
}

static void case_fill(void *context, const eg_node *node, double *out)
{
    const golden_case *c = context;
    size_t n = (size_t)eg_shape_size(node->shape), i = 0;
    while (c->leaves[i].node != node)
        assert_true(++i <= c->n_leaves);
    float *v = calloc(n, sizeof *v);
    assert_non_null(v);
    leaf_fill(&c->leaves[i], v);
    for (size_t j = 0; j < n; j++)
        out[j] = (double)v[j];
    free(v);
}

static void check_in_double(golden_case *c)
{
    eg_node *nodes[MAX_LEAVES + 1] = {c->y};
    double *have[MAX_LEAVES + 1];
    size_t n = 1;
    for (size_t i = 0; i < c->n_leaves; i++)
        if (c->leaves[i].grad)
            nodes[n++] = c->leaves[i].grad;
    for (size_t k = 0; k < n; k++)
        assert_non_null(have[k] =
                            calloc((size_t)eg_shape_size(nodes[k]->shape), sizeof **have));
    assert_ok(eg_evaluate(c->g, n, nodes, case_fill, c, have));
    check_output(c, "y", c->y->shape, have[0], DOUBLE_GAP);
    n = 1;
    for (size_t i = 0; i < c->n_leaves; i++)
        if (c->leaves[i].grad)
            check_values(c, c->leaves[i].name,
                         member(member(c->json, "grad"), c->leaves[i].name), have[n++],
                         DOUBLE_GAP);
    for (size_t k = 0; k < n; k++)
        free(have[k]);
}

static double *widened(const float *v, size_t n)
{
    double *out = calloc(n, sizeof *out);
    assert_non_null(out);
    assert_non_null(v);
    for (size_t j = 0; j < n; j++)
        out[j] = (double)v[j];
    return out;
}

static void check_buffer(const golden_case *c, const char *name, const eg_node *node,
                         const float *v)
{
    double *have = widened(v, (size_t)eg_shape_size(node->shape));
    check_output(c, name, node->shape, have, PLAN_GAP);
    free(have);
}

static void check_gradients(const golden_case *c, const eg_plan *plan)
{
    for (size_t i = 0; i < c->n_leaves; i++) {
        const leaf *l = &c->leaves[i];
        if (!l->grad)
            continue;
        double *have =
            widened(eg_plan_output(plan, l->name), (size_t)eg_shape_size(l->grad->shape));
        check_values(c, l->name, member(member(c->json, "grad"), l->name), have, PLAN_GAP);
        free(have);
    }
}

/* Running statistics are moved by one run, so they are set and the plan runs once. */
static void check_by_plan(golden_case *c)
{
    eg_output(c->g, "y", c->y);
    for (size_t i = 0; i < c->n_leaves; i++)
        if (c->leaves[i].grad)
            eg_output(c->g, c->leaves[i].name, c->leaves[i].grad);
    eg_plan *plan;
    float *state = NULL;
    assert_ok(eg_compile(c->g, &plan));
    assert_ok(eg_state_alloc(c->table, &state));
    assert_ok(eg_plan_bind(plan, c->table, NULL, NULL, state));
    for (size_t i = 0; i <= c->n_leaves; i++) {
        const leaf *l = &c->leaves[i];
        float *to = eg_plan_input(plan, l->name);
        if (l->node->op == &eg_op_param)
            to = state + eg_params_at(c->table, strcmp(l->name, "running_var") == 0)->offset;
        if (to)
            leaf_fill(l, to);
    }
    assert_ok(eg_plan_run(plan));
    check_buffer(c, "y", c->y, eg_plan_output(plan, "y"));
    for (size_t i = 0; i < eg_params_n(c->table); i++) {
        const eg_param_info *t = eg_params_at(c->table, i);
        check_buffer(c, t->name, in(c, t->name), state + t->offset);
    }
    check_gradients(c, plan);
    eg_plan_free(plan);
    free(state);
}

static void check_every_case(void (*check)(golden_case *c))
{
    eg_json *file;
    assert_ok(eg_json_load("tests/golden/ops.json", &file));
    assert_int_equal((int)real_of(member(file, "dy")), GOLDEN_DY);
    const eg_json *cases = member(file, "cases");
    assert_true(eg_json_count(cases) >= 28);
    for (size_t i = 0; i < eg_json_count(cases); i++) {
        golden_case c;
        case_open(&c, eg_json_at(cases, i));
        check(&c);
        case_close(&c);
    }
    eg_json_free(file);
}

static void test_double_forms_follow_pytorch(void **state)
{
    (void)state;
    check_every_case(check_in_double);
}

static void test_compiled_plans_follow_pytorch(void **state)
{
    (void)state;
    check_every_case(check_by_plan);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_double_forms_follow_pytorch),
        cmocka_unit_test(test_compiled_plans_follow_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
