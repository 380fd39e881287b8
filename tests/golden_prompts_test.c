/* golden_prompts_test.c - methods with prompts against PyTorch: loss, features, gradients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden_transformers.py made the values: five images whose tasks are known of three, two
 * tasks of three met, in a transformer of two blocks.
 */
#include "engine/graph/graph.h"
#include "golden_file.h"

#include <engram/method.h>
#include <engram/op.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 5, SAMPLE = 3 * 16 * 16, TASKS = 3, WIDTH = 40, CLASSES = 10 };

typedef struct prompted {
    eg_json *file;
    const eg_json *want;
    const eg_method *method;
    void *options;
    eg_net *net;
    eg_graph *graph;
    eg_plan *plan;
    float *value, *grad;
} prompted;

/* Values of the formula for every tensor that a list of the file names. */
static void prompted_fill(prompted *p, const char *list)
{
    const eg_json *all = eg_json_get(p->want, list);
    for (size_t i = 0; i < eg_json_count(all); i++) {
        const eg_json *t = eg_json_at(all, i);
        const eg_param_info *info = tensor_of(eg_net_params(p->net), text_of(t, "name"));
        const eg_json *base = eg_json_get(t, "base");
        float *to = info->frozen ? info->frozen : p->value + info->offset;
        golden_fill((int)int_of(t, "t"), base ? (float)real_of(t, "base") : 0,
                    (float)real_of(t, "scale"), info->size, to);
    }
}

/* Records the loss as a client does: the tasks, the outputs, what the method adds. */
static void prompted_record(prompted *p, bool tells)
{
    eg_client c = {.net = p->net};
    assert_ok(eg_graph_new(&p->graph));
    eg_graph *g = p->graph;
    eg_node *x = eg_input(g, "x", eg_dims(ROWS, 3, 16, 16));
    if (tells) {
        eg_input(g, EG_TASKS_OPEN, eg_dims(ROWS, TASKS));
        eg_input(g, EG_TASKS_MET, eg_dims(TASKS));
    }
    eg_node *f = eg_net_features(p->net, g, x), *labels = eg_input(g, "labels", eg_dims(ROWS));
    eg_node *loss = eg_cross_entropy(g, eg_net_head(p->net, g, f), labels, NULL);
    loss = p->method->loss(p->options, &c, g, loss);
    eg_output(g, "loss", loss);
    eg_output(g, "features", f);
    eg_net_backward(p->net, g, loss);
    assert_ok(eg_graph_status(g));
    assert_ok(eg_compile(g, &p->plan));
    assert_ok(eg_plan_bind(p->plan, eg_net_params(p->net), p->value, p->grad, NULL));
}

static void prompted_tell(prompted *p)
{
    static const float open[ROWS * TASKS] = {0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0};
    static const float met[TASKS] = {1, 1, 0};
    float *to = eg_plan_input(p->plan, EG_TASKS_OPEN);
    if (to)
        memcpy(to, open, sizeof open);
    to = eg_plan_input(p->plan, EG_TASKS_MET);
    if (to)
        memcpy(to, met, sizeof met);
}

static void prompted_open(prompted *p, size_t run, const char *set)
{
    const eg_net_spec spec = {.model = "vit",
                              .options = "patch=4 width=40 depth=2 heads=2 ratio=1.5 size=24",
                              .channels = 3,
                              .height = 16,
                              .width = 16,
                              .classes = CLASSES};
    char train[64];
    *p = (prompted){0};
    assert_ok(eg_json_load("tests/golden/prompts.json", &p->file));
    p->want = eg_json_at(eg_json_get(p->file, "runs"), run);
    p->method = eg_method_find(text_of(p->want, "method"));
    assert_non_null(p->method);
    assert_ok(eg_component_new(&p->method->component, &p->options));
    assert_ok(eg_opts_set_text(p->method->component.opts, p->options, set));
    const eg_graft graft = {&p->method->component, p->options, p->method->features};
    assert_ok(eg_net_new_grafted(&spec, &graft, &p->net));
    snprintf(train, sizeof train, "[%s]", p->method->component.name);
    assert_ok(eg_net_freeze(p->net, train));
    const eg_params *table = eg_net_params(p->net);
    assert_ok(eg_params_alloc(table, &p->value));
    assert_ok(eg_params_alloc(table, &p->grad));
    prompted_fill(p, "frozen");
    prompted_fill(p, "gradients");
}

static void prompted_run(prompted *p)
{
    golden_fill(GOLDEN_INPUT, 0, 1, (size_t)ROWS * SAMPLE, eg_plan_input(p->plan, "x"));
    golden_fill_labels(GOLDEN_LABELS, CLASSES, ROWS, eg_plan_input(p->plan, "labels"));
    prompted_tell(p);
    assert_ok(eg_plan_run(p->plan));
}

static void prompted_close(prompted *p)
{
    eg_plan_free(p->plan);
    eg_graph_free(p->graph);
    eg_net_free(p->net);
    eg_json_free(p->file);
    free(p->options);
    free(p->value);
    free(p->grad);
}

/* A tensor has the norm and the entries that PyTorch has. */
static void prompted_check(const eg_json *want, const float *have, size_t size)
{
    double norm = 0, off = golden_distance(eg_json_get(want, "at"), have, size, 1e-6);
    for (size_t i = 0; i < size; i++)
        norm += (double)have[i] * (double)have[i];
    print_message("  %s: norm %.6g, entries off by %.2g\n", text_of(want, "name"), sqrt(norm),
                  off);
    assert_near(sqrt(norm), real_of(want, "norm"), 1e-4 * real_of(want, "norm") + 1e-9);
    assert_true(off < 1e-4);
}

static const char *const sets[] = {
    "pool=6 length=3 top=2 pull=0.5", "pool=6 length=3 top=2 pull=0.5 choice=batch",
    "pool=3 length=2 expert_length=3 blocks=1 expert_blocks=1 pull=1",
    "pool=6 length=2 blocks=2 ortho=0.1", "pool=6 length=2 blocks=2 ortho=0"};

static void test_losses_features_and_gradients_are_pytorchs(void **state)
{
    (void)state;
    for (size_t run = 0; run < sizeof sets / sizeof *sets; run++) {
        prompted p;
        prompted_open(&p, run, sets[run]);
        prompted_record(&p, true);
        prompted_run(&p);
        double loss = (double)*eg_plan_output(p.plan, "loss");
        print_message("%s: loss %.7g\n", p.method->component.name, loss);
        assert_near(loss, real_of(p.want, "loss"), 1e-5 * real_of(p.want, "loss"));
        prompted_check(eg_json_get(p.want, "features"), eg_plan_output(p.plan, "features"),
                       (size_t)ROWS * WIDTH);
        const eg_json *all = eg_json_get(p.want, "gradients");
        const eg_params *table = eg_net_params(p.net);
        size_t n_trained = 0;
        for (size_t i = 0; i < eg_params_n(table); i++)
            n_trained += !eg_params_at(table, i)->frozen;
        assert_int_equal(eg_json_count(all), n_trained); /* nothing else is trained */
        for (size_t i = 0; i < n_trained; i++) {
            const eg_json *t = eg_json_at(all, i);
            const eg_param_info *info = tensor_of(table, text_of(t, "name"));
            prompted_check(t, p.grad + info->offset, info->size);
        }
        prompted_close(&p);
    }
}

/* Where nobody tells of tasks, all keys and all components count. */
static void test_a_graph_that_tells_no_tasks_has_all(void **state)
{
    (void)state;
    for (size_t run = 2; run < sizeof sets / sizeof *sets; run++) {
        prompted all, told;
        float features[ROWS * WIDTH];
        prompted_open(&all, run, sets[run]);
        prompted_record(&all, false);
        prompted_run(&all);
        memcpy(features, eg_plan_output(all.plan, "features"), sizeof features);
        prompted_open(&told, run, sets[run]);
        prompted_record(&told, true);
        prompted_run(&told);
        assert_memory_not_equal(features, eg_plan_output(told.plan, "features"),
                                sizeof features);
        float *to = eg_plan_input(told.plan, run == 2 ? EG_TASKS_OPEN : EG_TASKS_MET);
        for (size_t i = 0; i < (run == 2 ? ROWS : 1) * (size_t)TASKS; i++)
            to[i] = 1;
        assert_ok(eg_plan_run(told.plan));
        assert_memory_equal(features, eg_plan_output(told.plan, "features"), sizeof features);
        prompted_close(&told);
        prompted_close(&all);
    }
}

static void test_a_network_with_too_few_blocks_is_refused(void **state)
{
    (void)state;
    static const char *const methods[] = {"dualprompt", "coda_prompt"};
    const eg_net_spec spec = {.model = "vit",
                              .options = "depth=4",
                              .channels = 3,
                              .height = 16,
                              .width = 16,
                              .classes = CLASSES};
    for (size_t i = 0; i < 2; i++) {
        const eg_method *m = eg_method_find(methods[i]);
        void *options;
        eg_net *net;
        assert_ok(eg_component_new(&m->component, &options));
        const eg_graft graft = {&m->component, options, m->features};
        assert_fails(eg_net_new_grafted(&spec, &graft, &net), EG_ESHAPE,
                     "prompts for blocks 1 to 5 of a network that has 4");
        free(options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_features_and_gradients_are_pytorchs),
        cmocka_unit_test(test_a_graph_that_tells_no_tasks_has_all),
        cmocka_unit_test(test_a_network_with_too_few_blocks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
