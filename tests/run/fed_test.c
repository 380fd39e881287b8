/* fed_test.c - the federation's laws, and every method walked through its contract.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method_runs.h"

#include <engram/method.h>
#include <engram/op.h>
#include <engram/optim.h>
#include <engram/program.h>

#include "base/checksum.h"
#include "io/json.h"
#include "run/experiment/feed.h"

static void write_experiment(const char *runs)
{
    method_runs_write(method_runs_text, runs);
}

/* A run of one method, labelled "one". */
static void write_method(const char *base, const eg_method *m)
{
    char runs[256];
    snprintf(runs, sizeof runs, "- {label: one, method: %s%s}\n", m->component.name,
             method_runs_needs(m));
    method_runs_write(base, runs);
}

static void test_every_method_bears_random_changes_of_images(void **state)
{
    (void)state;
    static const char *const sets[] = {"data.crop=1", "data.flip=true", "data.cutout=3",
                                       "train.rotations=true"};
    for (const eg_method *const *m = eg_methods; *m; m++) {
        write_method((*m)->features ? method_runs_tokens : method_runs_images, *m);
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
            if (strcmp(sets[i], "train.rotations=true") == 0 ? method_rotates(*m)
                                                             : method_augments(*m))
                assert_string_equal(method_runs_run("one", sets[i], 1, 0).hash,
                                    method_runs_run("one", sets[i], -2, 3).hash);
    }
}

/* The same bits, by the same work. */
static void assert_same(const method_outcome *a, method_outcome b)
{
    assert_string_equal(a->hash, b.hash);
    assert_near(a->flops_clients, b.flops_clients, 0);
    assert_near(a->flops_server, b.flops_server, 0);
}

static void test_every_method_repeats_resumes_and_shares_work(void **state)
{
    (void)state;
    for (const eg_method *const *m = eg_methods; *m; m++) {
        write_method(method_runs_base(*m), *m);
        method_outcome one = method_runs_run("one", NULL, 1, 0);
        assert_same(&one, method_runs_run("one", NULL, 2, 0));
        assert_same(&one, method_runs_run("one", NULL, 1, 1));
        assert_same(&one, method_runs_run("one", NULL, 2, 3));
        method_outcome process = method_runs_run("one", NULL, -1, 0);
        assert_same(&one, process);
        assert_true(process.train_seconds > 0); /* what a client's process took counts too */
        assert_same(&one, method_runs_run("one", NULL, -2, 3));
        assert_int_equal(setenv("ENGRAM_CHECKPOINT_SECONDS", "0", 1), 0); /* in every round */
        assert_same(&one, method_runs_run("one", NULL, 1, 0));
        assert_int_equal(unsetenv("ENGRAM_CHECKPOINT_SECONDS"), 0);
    }
}

static void test_parts_without_strength_are_fedavg(void **state)
{
    (void)state;
    static const struct {
        const char *label, *without, *with, *other; /* settings; other: against the defaults */
    } parts[] = {
        {"fedprox", "fedprox.mu=0", "fedprox.mu=1", NULL},
        {"der", "der.alpha=0", "der.alpha=2", "der.batch=3"},
        {"ewc", "ewc.lambda=0", "ewc.lambda=10", "ewc.samples=3"},
        {"fedcurv", "fedcurv.lambda=0", "fedcurv.lambda=0.5", "fedcurv.samples=3"},
    };
    write_experiment("- {label: avg, method: fedavg}\n"
                     "- {label: fedprox, method: fedprox}\n"
                     "- {label: der, method: der}\n"
                     "- {label: ewc, method: ewc}\n"
                     "- {label: fedcurv, method: fedcurv}\n");
    method_outcome avg = method_runs_run("avg", NULL, 1, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        method_outcome standard = method_runs_run(parts[i].label, NULL, 1, 0);
        assert_string_equal(avg.hash,
                            method_runs_run(parts[i].label, parts[i].without, 2, 0).hash);
        assert_string_not_equal(avg.hash, standard.hash);
        assert_string_not_equal(standard.hash,
                                method_runs_run(parts[i].label, parts[i].with, 1, 0).hash);
        if (parts[i].other)
            assert_string_not_equal(standard.hash,
                                    method_runs_run(parts[i].label, parts[i].other, 1, 0).hash);
    }
}

static void test_the_seed_and_every_setting_matter(void **state)
{
    (void)state;
    write_experiment("- {label: er, method: er}\n");
    method_outcome base = method_runs_run("er", NULL, 1, 0);
    static const char *const sets[] = {
        "optimizer.lr=0.05",  "train.epochs=1",         "memory.size=5",
        "memory.kind=window", "memory.kind=random",     "er.batch=3",
        "memory.insert=once", "server.weights=uniform", "optimizer=adam",
        "scenario.rounds=3",  "train.temperature=0.5"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(base.hash, method_runs_run("er", sets[i], 1, 0).hash) == 0 &&
            strcmp(sets[i], "server.weights=uniform") != 0) /* parts are of equal size here */
            fail_msg("%s changes nothing", sets[i]);
}

static void test_replay_forgets_less_than_averaging(void **state)
{
    (void)state;
    write_experiment("- {label: avg, method: fedavg}\n- {label: er, method: er}\n");
    method_outcome avg = method_runs_run("avg", "train.epochs=10", 2, 0);
    method_outcome er = method_runs_run("er", "train.epochs=10", 2, 0);
    assert_true(avg.accuracy < 0.7);
    assert_true(er.accuracy > avg.accuracy + 0.2);
}

/* Central training written out by hand: the same batches, one model. */
static void central_record(void *context, eg_graph *g, int64_t batch)
{
    const eg_net *net = context;
    const eg_net_spec *s = eg_net_spec_of(net);
    eg_node *x = eg_input(g, "x", eg_dims(batch, s->channels, s->height, s->width));
    eg_node *loss = eg_cross_entropy(g, eg_net_forward(net, g, x),
                                     eg_input(g, "labels", eg_dims(batch)), NULL);
    eg_output(g, "loss", loss);
    eg_net_backward(net, g, loss);
}

typedef struct central {
    eg_feed feed;
    eg_program *program;
    eg_optimizer *optimizer;
    float *value, *grad;
} central;

static void central_batch(central *c, const eg_span *span, const int64_t *order, int64_t n)
{
    eg_plan *plan;
    assert_ok(eg_program_plan(c->program, n, &plan));
    for (int64_t i = 0; i < n; i++) {
        eg_sample s = {span->task, span->ids[order[i]]};
        eg_feed_train(&c->feed, &s, 1, NULL,
                      eg_plan_input(plan, "x") + (size_t)i * c->feed.sample,
                      eg_plan_input(plan, "labels") + i);
    }
    assert_ok(eg_plan_run(plan));
    eg_optimizer_step(c->optimizer, c->value, c->grad);
}

static void central_round(central *c, const eg_span *span, int64_t round, bool fresh)
{
    int64_t *order = calloc((size_t)span->n, sizeof *order);
    assert_non_null(order);
    if (fresh)
        eg_optimizer_reset(c->optimizer);
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        eg_rng rng = eg_rng_at(3, 0, (uint32_t)round, EG_FOR_SHUFFLE);
        rng.block = (uint64_t)epoch << 40;
        for (int64_t i = 0; i < span->n; i++)
            order[i] = i;
        eg_rng_shuffle(&rng, (size_t)span->n, order);
        for (int64_t at = 0; at < span->n; at += 16)
            central_batch(c, span, order + at, span->n - at < 16 ? span->n - at : 16);
    }
    free(order);
}

static eg_net *central_open(central *c, const eg_experiment *e)
{
    eg_net *net;
    assert_ok(eg_feed_open(e, 3, NULL, &c->feed));
    assert_ok(eg_net_new(&(eg_net_spec){.model = "mlp",
                                        .options = "depth=1 width=16",
                                        .channels = c->feed.channels,
                                        .height = c->feed.height,
                                        .width = c->feed.width,
                                        .classes = 4},
                         &net));
    const eg_params *p = eg_net_params(net);
    assert_ok(eg_params_alloc(p, &c->value));
    assert_ok(eg_params_alloc(p, &c->grad));
    eg_params_init(p, 3, c->value, NULL);
    assert_ok(eg_program_new(central_record, net, 4, &c->program));
    assert_ok(eg_program_bind(c->program, p, c->value, c->grad, NULL));
    assert_ok(eg_optimizer_new("sgd", eg_params_length(p), &c->optimizer));
    assert_ok(eg_optimizer_set(c->optimizer, "lr", "0.1"));
    assert_ok(eg_optimizer_set(c->optimizer, "momentum", "0.5"));
    return net;
}

static void central_hash(const eg_params *p, const float *value, char hash[65])
{
    eg_sha256 h;
    uint8_t digest[32];
    eg_sha256_init(&h);
    for (size_t i = 0; i < eg_params_n(p); i++)
        eg_sha256_add(&h, value + eg_params_at(p, i)->offset,
                      eg_params_at(p, i)->size * sizeof(float));
    eg_sha256_end(&h, digest);
    eg_sha256_text(digest, hash);
}

/* The model of central training, with an optimiser that is fresh each round or never. */
static void central_train(bool fresh, char hash[65])
{
    char file[FILES_PATH * 2];
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    eg_experiment *e;
    central c;
    assert_ok(eg_experiment_load(file, "one", 0, NULL, &e));
    eg_net *net = central_open(&c, e);
    for (int64_t round = 0; round < 4; round++) {
        int64_t n;
        const eg_span *span = eg_scenario_spans(c.feed.scenario, 0, round / 2, &n);
        assert_int_equal(n, 1);
        central_round(&c, span, round, fresh);
    }
    central_hash(eg_net_params(net), c.value, hash);
    eg_optimizer_free(c.optimizer);
    eg_program_free(c.program);
    eg_net_free(net);
    eg_feed_close(&c.feed);
    eg_experiment_free(e);
    free(c.value);
    free(c.grad);
}

static const char *const one_client =
    "- {label: one, method: fedavg, overrides: {scenario: {clients: 1}}}\n";

static void test_one_client_is_central_training(void **state)
{
    (void)state;
    char hash[65];
    write_experiment(one_client);
    central_train(true, hash);
    assert_string_equal(hash, method_runs_run("one", NULL, 2, 0).hash);
}

static void test_one_client_that_keeps_its_optimiser_is_never_interrupted(void **state)
{
    (void)state;
    static const char keep[] = "train.optimizer_state=keep";
    char hash[65], fresh[65];
    write_experiment(one_client);
    central_train(false, hash);
    central_train(true, fresh);
    assert_string_not_equal(hash, fresh);
    assert_string_equal(hash, method_runs_run("one", keep, 1, 0).hash);
    assert_string_equal(hash, method_runs_run("one", keep, 1, 3).hash);
}

static void test_a_kept_optimiser_survives_stop_and_wire(void **state)
{
    (void)state;
    write_experiment(
        "- {label: keep, method: er, overrides: {train: {optimizer_state: keep}}}\n"
        "- {label: fresh, method: er}\n");
    /* The file's own is SGD with momentum. */
    static const char *const sets[] = {NULL, "optimizer=adam", "optimizer=adamw"};
    for (int i = 0; i < 3; i++) {
        method_outcome whole = method_runs_run("keep", sets[i], 1, 0);
        assert_string_equal(whole.hash, method_runs_run("keep", sets[i], 2, 1).hash);
        assert_string_equal(whole.hash, method_runs_run("keep", sets[i], -2, 3).hash);
        assert_string_not_equal(whole.hash, method_runs_run("fresh", sets[i], 1, 0).hash);
    }
    /* Without momentum there is nothing to keep. */
    method_outcome plain = method_runs_run("fresh", "optimizer.momentum=0", 1, 0);
    assert_string_equal(plain.hash, method_runs_run("keep", "optimizer.momentum=0", 1, 0).hash);
}

/* A server that goes all the way along the mean change is plain averaging, nearly: the change
 * is taken off and added again. Every other rule changes the result, and survives a stop. */
static void test_server_optimisers_move_the_model_and_survive_a_stop(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "server.optimizer=sgd",  "server.optimizer=momentum", "server.optimizer=adam",
        "server.optimizer=yogi", "server.optimizer=adagrad",
    };
    write_experiment("- {label: avg, method: fedavg}\n");
    method_outcome avg = method_runs_run("avg", NULL, 1, 0);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        method_outcome whole = method_runs_run("avg", rules[i], 1, 0);
        assert_string_equal(whole.hash, method_runs_run("avg", rules[i], -2, 2).hash);
        if (i > 0)
            assert_string_not_equal(whole.hash, avg.hash);
    }
}

static void test_bad_settings_are_said_with_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *runs, *words;
    } bad[] = {
        {"- {label: a, method: nothing}\n", "there is no method 'nothing'"},
        {"- {label: a, method: fedavg, overrides: {optimizer: {lr: -1}}}\n", "outside"},
        {"- {label: a, method: fedavg, overrides: {train: {speed: 1}}}\n", "no option 'speed'"},
        {"- {label: a, method: fedavg, colour: red}\n", "no key 'colour'"},
        {"- {label: a, method: [fedavg, fedavg]}\n", "twice"},
        {"- {label: a}\n", "needs a method"},
        {"- {label: a, method: [dann, shared]}\n", "both want a second head"},
        {"- {label: a, method: [dgr, fedlwf_2t]}\n", "'dgr' and 'fedlwf_2t' both reweigh"},
        {"- {label: a, method: [fedlwf_2t, fedcil]}\n", "'fedlwf_2t' and 'fedcil' both"},
        {"- {label: a, method: [fedcil, dgr]}\n", "'fedcil' and 'dgr' both reweigh"},
        {"- {label: a, method: er, overrides: {memory: {kind: none}}}\n", "needs a memory"},
        {"- {label: a, method: [ncm, icarl]}\n", "'ncm' and 'icarl' both answer tests"},
        {"- {label: a, method: [icarl, der]}\n",
         "'icarl' fills the memory without the outputs"},
    };
    char file[FILES_PATH * 2];
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        eg_experiment *e;
        write_experiment(bad[i].runs);
        assert_int_not_equal(eg_experiment_load(file, "a", 0, NULL, &e), EG_OK);
        if (!strstr(eg_error(), bad[i].words) || !strstr(eg_error(), "t.yaml:17"))
            fail_msg("'%s' does not say '%s' and where", eg_error(), bad[i].words);
    }
}

static void test_what_a_scenario_lacks_is_said_before_the_first_round(void **state)
{
    (void)state;
    static const char text[] = "name: t\n"
                               "data: {name: blobs, train: 400, test: 80, classes: 4}\n"
                               "model: {name: mlp, depth: 0}\n"
                               "scenario: {kind: async-count, clients: 2, tasks: 2}\n"
                               "runs: [{label: a, method: fixed}]\n";
    char file[FILES_PATH * 2], path[512];
    files_write(folder, "t.yaml", text, sizeof text - 1);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    eg_experiment *e;
    bool stopped;
    assert_ok(eg_experiment_load(file, "a", 0, NULL, &e));
    assert_fails(eg_experiment_run(e, &(eg_run_how){.out = folder}, path, &stopped), EG_ENOTSUP,
                 "fixed needs");
    eg_experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_client_is_central_training),
        cmocka_unit_test(test_one_client_that_keeps_its_optimiser_is_never_interrupted),
        cmocka_unit_test(test_a_kept_optimiser_survives_stop_and_wire),
        cmocka_unit_test(test_parts_without_strength_are_fedavg),
        cmocka_unit_test(test_every_method_repeats_resumes_and_shares_work),
        cmocka_unit_test(test_every_method_bears_random_changes_of_images),
        cmocka_unit_test(test_the_seed_and_every_setting_matter),
        cmocka_unit_test(test_replay_forgets_less_than_averaging),
        cmocka_unit_test(test_server_optimisers_move_the_model_and_survive_a_stop),
        cmocka_unit_test(test_bad_settings_are_said_with_line_and_column),
        cmocka_unit_test(test_what_a_scenario_lacks_is_said_before_the_first_round),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
