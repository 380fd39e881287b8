/* golden_pfedgrp_test.c - pFedGRP's local loss (Equation 2) and its gradient against PyTorch's.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden_methods.py says what is in the file. The program is that of a real turn; the
 * guide's outputs are those of the client's own look at drawn rows.
 */
#include "golden_step.h"
#include "one_client.h"

/* A second task, so that the first one's classes are drawn. */
static const char text[] =
    "name: t\n"
    "data: {name: glyphs, train: 160, test: 10, classes: 10, size: 8, mean: 0.5, std: 0.5}\n"
    "model: {name: layers, layers: [conv 8 k3, batch-norm, relu, pool 2, flatten]}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {steps: 1, batch: 8}\n"
    "pfedgrp: {epochs: 1, settings: width=2 batch=4, trial: 10, guided: false}\n"
    "runs: [{label: a, method: pfedgrp}]\n";

enum { MODEL, GUIDE, ROWS = 8, MAX_STEPS = 2 };

static const eg_json *input_of(const eg_json *step, const char *name)
{
    const eg_json *inputs = eg_json_get(step, "inputs");
    for (size_t i = 0; i < eg_json_count(inputs); i++)
        if (strcmp(text_of(eg_json_at(inputs, i), "name"), name) == 0)
            return eg_json_at(inputs, i);
    fail_msg("there is no input '%s'", name);
    return NULL;
}

/* The guide's outputs on the rows, in eval form, into the program's input. */
static void fill_guide(one_client *o, const eg_json *file)
{
    eg_client *c = o->c;
    float *param, *state;
    assert_ok(eg_alloc(c->n_params, sizeof *param, &param));
    assert_ok(eg_alloc(c->n_state, sizeof *state, &state));
    golden_fill_network(eg_net_params(o->net), eg_json_at(eg_json_get(file, "learners"), GUIDE),
                        0, param, state);
    assert_ok(eg_client_look(c, &(eg_weights){param, state}, &(eg_rows){.n = ROWS, .x = c->x},
                             &(eg_look){.logits = eg_plan_input(c->plan, "pfedgrp.guide")}));
    free(param);
    free(state);
}

static double step_off(one_client *o, const eg_json *file, const eg_json *step)
{
    eg_client *c = o->c;
    const eg_params *table = eg_net_params(o->net);
    assert_int_equal(c->batch, ROWS);
    golden_fill_values(input_of(step, "x"), c->x);
    golden_fill_values(input_of(step, "labels"), c->labels);
    golden_fill_values(input_of(step, "drawn"), eg_plan_input(c->plan, "pfedgrp.drawn"));
    fill_guide(o, file);
    golden_fill_network(table, eg_json_at(eg_json_get(file, "learners"), MODEL), 0, c->param,
                        c->state);
    assert_ok(eg_plan_run(c->plan));
    return golden_step_off(step, (double)*eg_plan_output(c->plan, "loss"), table, c->grad);
}

/* What the steps are off by with a setting. Returns how many there are. */
static size_t measure(const char *set, double off[MAX_STEPS])
{
    eg_json *file;
    one_client o;
    assert_ok(eg_json_load("tests/golden/pfedgrp-8.json", &file));
    const eg_json *steps = eg_json_get(file, "steps");
    size_t n = eg_json_count(steps);
    assert_true(n <= MAX_STEPS);
    one_client_open(&o, text, set);
    one_client_train(&o);
    one_client_train(&o);
    for (size_t i = 0; i < n; i++) {
        off[i] = step_off(&o, file, eg_json_at(steps, i));
        print_message("%s: %.1e\n", text_of(eg_json_at(steps, i), "program"), off[i]);
    }
    one_client_close(&o);
    eg_json_free(file);
    return n;
}

static void test_the_loss_equals_that_of_pytorch(void **state)
{
    (void)state;
    double off[MAX_STEPS];
    assert_int_equal(measure(NULL, off), 2);
    assert_true(off[0] < 1e-4 && off[1] < 1e-4);
}

static void test_another_pull_is_seen_where_rows_are_drawn(void **state)
{
    (void)state;
    double off[MAX_STEPS];
    assert_int_equal(measure("pfedgrp.lambda=0.31", off), 2);
    assert_true(off[0] > 1e-3 && off[1] < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_loss_equals_that_of_pytorch),
        cmocka_unit_test(test_another_pull_is_seen_where_rows_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
