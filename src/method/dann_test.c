/* dann_test.c - the reversed gradient, and a domain head that learns.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/method.h>
#include <engram/op.h>
#include <engram/optim.h>

#include <stdlib.h>

extern const eg_method eg_method_dann;

static const eg_method *const method = &eg_method_dann;

enum { ROWS = 12, DRAWN = 8, DIM = 6, CLASSES = 3, TASKS = 2 };

/* A client with one batch: rows of two tasks, then rows from a memory. */
typedef struct fixture {
    void *self;
    eg_net *net;
    eg_graph *graph;
    eg_spec *spec;
    eg_scenario *scenario;
    int32_t labels[40];
    float *value, *grad; /* [length] */
    size_t length;
    eg_sample drawn[DRAWN];
    eg_client client;
} fixture;

static void open_scenario(fixture *f)
{
    static const char *const sets[][2] = {
        {"kind", "domain-permutation"}, {"clients", "1"}, {"tasks", "2"}, {"rounds", "5"}};
    for (int i = 0; i < 40; i++)
        f->labels[i] = i % CLASSES;
    eg_labels labels = {
        .n_train = 40, .n_test = 40, .classes = CLASSES, .train = f->labels, .test = f->labels};
    assert_ok(eg_spec_new(&f->spec));
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_ok(eg_spec_set(f->spec, sets[i][0], sets[i][1]));
    assert_ok(eg_scenario_new(f->spec, 1, &labels, 1, &f->scenario));
}

/* Records the plain loss, or the method's, and fills the batch; the domain of a row is plain to
 * see in its first value. */
static void record(fixture *f, bool plain)
{
    eg_client *c = &f->client;
    eg_graph *g;
    assert_ok(eg_graph_new(&f->graph));
    g = f->graph;
    eg_node *x = eg_input(g, "x", eg_dims(ROWS, 1, 1, DIM));
    c->features = eg_net_features(f->net, g, x);
    eg_node *loss = eg_cross_entropy(g, eg_net_head(f->net, g, c->features),
                                     eg_input(g, "labels", eg_dims(ROWS)), NULL);
    loss = plain ? loss : method->loss(f->self, c, g, loss);
    eg_output(g, "loss", loss);
    eg_net_backward(f->net, g, loss);
    assert_ok(eg_compile(g, &c->plan));
    assert_ok(eg_plan_bind(c->plan, eg_net_params(f->net), f->value, f->grad, NULL));
    eg_rng rng = eg_rng_at(5, 0, 0, EG_FOR_TEST);
    for (int i = 0; i < ROWS * DIM; i++)
        eg_plan_input(c->plan, "x")[i] = (float)eg_rng_normal(&rng);
    for (int i = 0; i < ROWS; i++) {
        eg_plan_input(c->plan, "labels")[i] = (float)(i / 2 % CLASSES);
        eg_plan_input(c->plan, "x")[i * DIM] += i % TASKS ? 2 : -2;
    }
}

/* Outputs of the second head it wishes for in this scenario. */
static int64_t side(const fixture *f)
{
    eg_wishes wishes = {0};
    assert_ok(method->setup(f->self, &(eg_setting){.scenario = f->scenario}, &wishes));
    assert_int_equal(wishes.side, TASKS);
    return wishes.side;
}

static void open_fixture(fixture *f, const char *lambda, bool plain)
{
    *f = (fixture){.self = calloc(1, method->component.size)};
    assert_non_null(f->self);
    eg_opts_init(method->component.opts, f->self);
    assert_ok(eg_opts_set(method->component.opts, f->self, "lambda", lambda));
    open_scenario(f);
    eg_net_spec spec = {.model = "mlp",
                        .options = "depth=1 width=8",
                        .channels = 1,
                        .height = 1,
                        .width = DIM,
                        .classes = CLASSES,
                        .side = side(f)};
    assert_ok(eg_net_new(&spec, &f->net));
    const eg_params *p = eg_net_params(f->net);
    f->length = eg_params_length(p);
    assert_ok(eg_params_alloc(p, &f->value));
    assert_ok(eg_params_alloc(p, &f->grad));
    eg_params_init(p, 3, f->value, NULL);
    for (int i = 0; i < DRAWN; i++)
        f->drawn[i] = (eg_sample){i % TASKS, i};
    f->client = (eg_client){.net = f->net,
                            .scenario = f->scenario,
                            .batch = ROWS,
                            .drawn = f->drawn,
                            .n_drawn = DRAWN};
    record(f, plain);
}

static void close_fixture(fixture *f)
{
    eg_plan_free(f->client.plan);
    eg_graph_free(f->graph);
    eg_net_free(f->net);
    eg_scenario_free(f->scenario);
    eg_spec_free(f->spec);
    free(f->value);
    free(f->grad);
    free(f->self);
}

static void run(fixture *f)
{
    if (eg_plan_input(f->client.plan, "dann.lambda"))
        assert_ok(method->fill(f->self, &f->client));
    assert_ok(eg_plan_run(f->client.plan));
}

static bool is_side(const fixture *f, size_t i)
{
    return strncmp(eg_params_at(eg_net_params(f->net), i)->name, "side", 4) == 0;
}

static double term(fixture *f)
{
    run(f);
    return (double)*eg_plan_output(f->client.plan, "dann.loss");
}

/* The slope of the domain loss along value i, by differences. */
static double slope(fixture *f, size_t i)
{
    const float step = 1e-3f;
    float was = f->value[i];
    f->value[i] = was + step;
    double up = term(f);
    f->value[i] = was - step;
    double down = term(f);
    f->value[i] = was;
    return (up - down) / (2 * (double)step);
}

static void test_the_body_gets_the_reversed_slope_and_the_head_its_own(void **state)
{
    (void)state;
    fixture f, plain;
    open_fixture(&f, "0.7", false);
    open_fixture(&plain, "0.7", true);
    run(&plain);
    run(&f);
    float *gradient = calloc(f.length, sizeof *gradient);
    assert_non_null(gradient);
    memcpy(gradient, f.grad, f.length * sizeof *gradient);
    const eg_params *p = eg_net_params(f.net);
    int far = 0;
    for (size_t i = 0; i < eg_params_n(p); i++)
        for (size_t k = 0; k < eg_params_at(p, i)->size; k++) {
            size_t at = eg_params_at(p, i)->offset + k;
            double s = slope(&f, at), factor = is_side(&f, i) ? 1 : -0.7;
            assert_near((double)gradient[at] - (double)plain.grad[at], factor * s, 3e-3);
            far += !is_side(&f, i) && fabs(s) > 0.03;
        }
    assert_true(far > 5); /* there was something to reverse */
    free(gradient);
    close_fixture(&plain);
    close_fixture(&f);
}

static void test_at_lambda_zero_body_and_head_train_as_without(void **state)
{
    (void)state;
    fixture f, plain; /* the schedule is 0 in round 0 */
    eg_optimizer *a, *b;
    open_fixture(&f, "0", false);
    open_fixture(&plain, "0", true);
    assert_ok(eg_optimizer_new("sgd", f.length, &a));
    assert_ok(eg_optimizer_new("sgd", f.length, &b));
    for (int step = 0; step < 20; step++) {
        run(&f);
        run(&plain);
        eg_optimizer_step(a, f.value, f.grad);
        eg_optimizer_step(b, plain.value, plain.grad);
    }
    const eg_params *p = eg_net_params(f.net);
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        bool same = true;
        for (size_t k = t->offset; k < t->offset + t->size; k++)
            same = same && f.value[k] == plain.value[k];
        assert_int_equal(same, !is_side(&f, i));
    }
    eg_optimizer_free(a);
    eg_optimizer_free(b);
    close_fixture(&plain);
    close_fixture(&f);
}

static void test_lambda_follows_the_rounds(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "0", false);
    const float *lambda = eg_plan_input(f.client.plan, "dann.lambda");
    static const double expected[] = {0, 0.46211715726, 0.76159415596}; /* tanh(5 p) */
    for (f.client.round = 0; f.client.round < 3; f.client.round++) {
        run(&f);
        assert_near((double)*lambda, expected[f.client.round], 1e-6);
    }
    close_fixture(&f);
    open_fixture(&f, "0.25", false);
    f.client.round = 7;
    run(&f);
    assert_near((double)*eg_plan_input(f.client.plan, "dann.lambda"), 0.25, 0);
    close_fixture(&f);
}

/* Trains with a lambda and returns the domain loss afterwards. */
static double train(const char *lambda, double *before)
{
    fixture f;
    eg_optimizer *o;
    open_fixture(&f, lambda, false);
    assert_ok(eg_optimizer_new("sgd", f.length, &o));
    assert_ok(eg_optimizer_set(o, "lr", "0.1"));
    *before = term(&f);
    for (int step = 0; step < 100; step++) {
        run(&f);
        eg_optimizer_step(o, f.value, f.grad);
    }
    double after = term(&f);
    eg_optimizer_free(o);
    close_fixture(&f);
    return after;
}

static void test_the_domain_head_learns_unless_the_body_resists(void **state)
{
    (void)state;
    double before, free_body = train("0", &before);
    assert_true(free_body < 0.5 * before);
    assert_true(train("2", &before) > 1.5 * free_body);
}

static void test_rows_of_unknown_task_have_no_domain(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "1", false);
    double all = term(&f);
    float *x = eg_plan_input(f.client.plan, "x");
    for (int i = DRAWN * DIM; i < ROWS * DIM; i++)
        x[i] = 9;
    assert_near(term(&f), all, 1e-6);
    x[0] = 9;
    assert_true(fabs(term(&f) - all) > 1e-3);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_body_gets_the_reversed_slope_and_the_head_its_own),
        cmocka_unit_test(test_at_lambda_zero_body_and_head_train_as_without),
        cmocka_unit_test(test_lambda_follows_the_rounds),
        cmocka_unit_test(test_the_domain_head_learns_unless_the_body_resists),
        cmocka_unit_test(test_rows_of_unknown_task_have_no_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
