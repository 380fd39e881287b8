/* frozen_test.c - what model.train leaves out: no gradient work, not sent, not changed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <engram/op.h>
#include <engram/program.h>

#include "engine/graph/flops.h"

/* `more` is behind the network's name: ", train: head". */
#define TEXT(method, more)                                                                     \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 80, test: 40, classes: 4, mean: 0.5, std: 0.25}\n"            \
    "model: {name: mlp, depth: 2, width: 24" more "}\n"                                        \
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}\n"   \
    "memory: {kind: reservoir, size: 10}\n"                                                    \
    "optimizer: {lr: 0.1, momentum: 0.5, weight_decay: 0.01}\n"                                \
    "runs: [{label: a, method: " method "}]\n"

enum { SEED = 3, TURNS = 8 }; /* runs_run's seed; two clients in four rounds */

/* The names of the tensors whose values a run with a seed changed, in their order. */
static void changed_tensors(const char *path, char out[256])
{
    char name[1024];
    eg_tensors *file;
    eg_net *net;
    float *param, *state;
    snprintf(name, sizeof name, "%s/model.safetensors", path);
    assert_ok(eg_safetensors_load(name, &file));
    assert_ok(eg_net_of_notes(file, &net));
    const eg_params *p = eg_net_params(net);
    assert_ok(eg_params_alloc(p, &param));
    assert_ok(eg_state_alloc(p, &state));
    eg_params_init(p, SEED, param, state);
    out[0] = 0;
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        const eg_stored *s = eg_tensors_find(file, t->name);
        assert_non_null(s);
        if (memcmp(s->bytes, param + t->offset, t->size * sizeof *param) != 0)
            snprintf(out + strlen(out), 256 - strlen(out), "%s ", t->name);
    }
    free(param);
    free(state);
    eg_net_free(net);
    eg_tensors_free(file);
}

static void test_only_what_is_trained_changes_and_is_sent(void **state)
{
    (void)state;
    static const struct {
        const char *text, *changed;
        double floats; /* sent in a turn */
    } runs[] = {
        {TEXT("fedavg", ""), "fc1.weight fc1.bias fc2.weight fc2.bias head.weight head.bias ",
         784 * 24 + 32 + 24 * 24 + 32 + 4 * 24 + 16},
        {TEXT("fedavg", ", train: head"), "head.weight head.bias ", 4 * 24 + 16},
        {TEXT("fedavg", ", train: [fc2]"), "fc2.weight fc2.bias head.weight head.bias ",
         24 * 24 + 32 + 4 * 24 + 16},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char path[512], changed[256];
        assert_ok(fixture_run(runs[i].text, NULL, 1, 0, path));
        changed_tensors(path, changed);
        assert_string_equal(changed, runs[i].changed);
        double bytes = TURNS * 4 * runs[i].floats; /* and below 400 per turn for names */
        assert_true(runs_value(path, "bytes_up") > bytes);
        assert_true(runs_value(path, "bytes_up") < bytes + TURNS * 400);
        assert_true(runs_value(path, "bytes_down") < bytes + TURNS * 400);
    }
}

static void test_a_frozen_run_repeats_in_processes_and_goes_on(void **state)
{
    (void)state;
    static const char *const texts[] = {TEXT("[er, fed-a-gem, moon]", ", train: head"),
                                        TEXT("local", ", train: [fc2]"),
                                        TEXT("fedavg", ", train: all")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[512], hash[65], again[65];
        assert_ok(fixture_run(texts[i], NULL, 1, 0, path));
        runs_hash(path, hash);
        assert_ok(fixture_run(texts[i], NULL, 2, 3, path)); /* stopped and resumed */
        runs_hash(path, again);
        assert_string_equal(hash, again);
        assert_ok(fixture_run(texts[i], NULL, -2, 0, path)); /* processes */
        runs_hash(path, again);
        assert_string_equal(hash, again);
        assert_ok(fixture_run(texts[i], NULL, -2, 1, path));
        runs_hash(path, again);
        assert_string_equal(hash, again);
    }
}

static void step_record(void *context, eg_graph *g, int64_t batch)
{
    const eg_net *net = context;
    eg_node *logits = eg_net_forward(net, g, eg_input(g, "x", eg_dims(batch, 3, 32, 32)));
    eg_net_backward(net, g,
                    eg_cross_entropy(g, logits, eg_input(g, "y", eg_dims(batch)), NULL));
}

static void forward_record(void *context, eg_graph *g, int64_t batch)
{
    eg_graph_set_training(g, false);
    eg_output(g, "o", eg_net_forward(context, g, eg_input(g, "x", eg_dims(batch, 3, 32, 32))));
}

/* What a run of a plan computes. */
static double flops_of(eg_net *net, eg_recorder record)
{
    eg_program *program;
    eg_plan *plan;
    float *value, *grad, *state;
    const eg_params *p = eg_net_params(net);
    assert_ok(eg_params_alloc(p, &value));
    assert_ok(eg_params_alloc(p, &grad));
    assert_ok(eg_state_alloc(p, &state));
    eg_params_init(p, SEED, value, state);
    assert_ok(eg_program_new(record, net, 1, &program));
    assert_ok(eg_program_bind(program, p, value, grad, state));
    assert_ok(eg_program_plan(program, 4, &plan));
    uint64_t before = eg_flops();
    assert_ok(eg_plan_run(plan));
    double flops = (double)(eg_flops() - before);
    eg_program_free(program);
    free(value);
    free(grad);
    free(state);
    return flops;
}

static void test_a_frozen_encoder_has_no_backward_pass_and_no_statistics(void **state)
{
    (void)state;
    const eg_net_spec spec = {
        .model = "resnet18-thin", .channels = 3, .height = 32, .width = 32, .classes = 10};
    eg_net *whole, *head;
    assert_ok(eg_net_new(&spec, &whole));
    assert_ok(eg_net_new(&spec, &head));
    assert_ok(eg_net_freeze(head, "head"));
    assert_int_equal(eg_state_length(eg_net_params(head)), 0);
    assert_true(flops_of(whole, step_record) > 2.5 * flops_of(whole, forward_record));
    assert_true(flops_of(head, step_record) < 1.02 * flops_of(head, forward_record));
    eg_net_free(whole);
    eg_net_free(head);
}

static void test_names_that_are_none_are_told(void **state)
{
    (void)state;
    char path[512];
    assert_fails(fixture_run(TEXT("fedavg", ", train: [fc2, fc9]"), NULL, 1, 0, path),
                 EG_ENOENT, "model.train: the network has no tensor or layer 'fc9'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_is_trained_changes_and_is_sent),
        cmocka_unit_test(test_a_frozen_run_repeats_in_processes_and_goes_on),
        cmocka_unit_test(test_a_frozen_encoder_has_no_backward_pass_and_no_statistics),
        cmocka_unit_test(test_names_that_are_none_are_told),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
