/* uploads_test.c - eval.local: what clients upload, tested on their own tasks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <math.h>

#define TEXT(clients, more, method)                                                            \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 400, test: 80, classes: 4}\n"                                  \
    "model: {name: mlp, depth: 1, width: 16}\n"                                                \
    "scenario: {kind: class-incremental, clients: " clients ", tasks: 2, rounds: 2" more "}\n" \
    "memory: {kind: reservoir, size: 20}\n"                                                    \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "train: {epochs: 2, batch: 16}\n"                                                          \
    "runs: [{label: a, method: " method "}]\n"

#define FOUR(method) TEXT("4", ", partition: iid", method)

static void test_a_lone_client_uploads_what_becomes_the_model(void **state)
{
    (void)state;
    char path[512];
    int pairs = 0;
    assert_ok(fixture_run(TEXT("1", "", "fedavg"), "eval.local=true", 1, 0, path));
    eg_events *e = fixture_events(path);
    for (size_t i = 1; i < e->n_eval; i++) {
        const eg_eval_event *server = &e->eval[i - 1], *client = &e->eval[i];
        if (client->who < 0)
            continue;
        assert_int_equal(server->who, -1);
        assert_int_equal(server->round, client->round);
        assert_true(client->task_end && client->full);
        assert_memory_equal(server->n, client->n, 2 * sizeof *client->n);
        assert_memory_equal(server->correct, client->correct, 2 * sizeof *client->correct);
        pairs++;
    }
    assert_int_equal(pairs, 2); /* the ends of two tasks */
    eg_events_free(e);
    assert_near(runs_value(path, "client_mean"), runs_value(path, "acc_final"), 1e-12);
}

/* Classes of a client's own, which the mean of four models that know others cannot keep. */
static void test_uploads_know_the_clients_own_classes_better_than_their_mean(void **state)
{
    (void)state;
    static const char text[] = TEXT("4", ", partition: {kind: parts, classes: 1}", "fedavg");
    char path[512];
    assert_ok(fixture_run(text, NULL, 1, 0, path));
    assert_true(isnan(runs_value(path, "client_mean")));
    assert_ok(fixture_run(text, "eval.local=true", 1, 0, path));
    double local = runs_value(path, "client_mean"), global = runs_value(path, "acc_final");
    assert_true(local > 0.4 && local <= 1); /* the last of two classes at least */
    assert_true(fabs(local - global) > 0.01);
}

static void test_the_model_is_the_same_with_and_without(void **state)
{
    (void)state;
    char path[512], with[65], without[65];
    assert_ok(fixture_run(FOUR("er"), NULL, 1, 0, path));
    runs_hash(path, without);
    assert_ok(fixture_run(FOUR("er"), "eval.local=true", 2, 0, path));
    runs_hash(path, with);
    assert_string_equal(with, without);
    double mean = runs_value(path, "client_mean");
    assert_ok(fixture_run(FOUR("er"), "eval.local=true", -2, 3, path));
    assert_near(runs_value(path, "client_mean"), mean, 0);
    assert_ok(fixture_run(FOUR("er"), "eval.local=true", 1, 2, path));
    assert_near(runs_value(path, "client_mean"), mean, 0);
}

/* Who is not there when a task ends has uploaded nothing. */
static void test_only_those_who_took_part_are_tested(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(TEXT("4", ", partition: iid, per_round: 2", "fedavg"),
                          "eval.local=true", 1, 0, path));
    eg_events *e = fixture_events(path);
    int tested = 0;
    for (size_t i = 0; i < e->n_eval; i++) {
        const eg_eval_event *v = &e->eval[i];
        if (v->who < 0)
            continue;
        const eg_round_event *r = &e->round[v->round - 1];
        assert_int_equal(r->round, v->round);
        assert_true(r->clients[0] == v->who || r->clients[1] == v->who);
        tested++;
    }
    assert_int_equal(tested, 4);
    eg_events_free(e);
}

/* Clients with models of their own, and those of a stream, are tested once all the same. */
static void test_where_clients_are_tested_anyway_it_changes_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        FOUR("local"),
        "name: t\n"
        "data: {name: blobs, train: 800, test: 200, classes: 4}\n"
        "model: {name: mlp, depth: 0}\n"
        "scenario: {kind: realtime, clients: 2, classes: 2, shared: 0, samples: 20}\n"
        "runs: [{label: a, method: fedavg}]\n",
    };
    char path[512];
    for (size_t i = 0; i < 2; i++) {
        assert_ok(fixture_run(texts[i], NULL, 1, 0, path));
        eg_events *without = fixture_events(path);
        assert_ok(fixture_run(texts[i], "eval.local=true", 1, 0, path));
        eg_events *with = fixture_events(path);
        assert_int_equal(with->n_eval, without->n_eval);
        eg_events_free(with);
        eg_events_free(without);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lone_client_uploads_what_becomes_the_model),
        cmocka_unit_test(test_uploads_know_the_clients_own_classes_better_than_their_mean),
        cmocka_unit_test(test_the_model_is_the_same_with_and_without),
        cmocka_unit_test(test_only_those_who_took_part_are_tested),
        cmocka_unit_test(test_where_clients_are_tested_anyway_it_changes_nothing),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
