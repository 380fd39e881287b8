/* stream_test.c - in a real-time stream clients are judged by all they have met, each round.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include "run/experiment/feed.h"

#include <stdlib.h>

enum { CLIENTS = 3, TASKS = 2, ROUNDS = 6, DIM = 16, CLASSES = 4 };

/* A round is a task of 10 samples of each of 2 classes. A class has 100 training samples, so
 * its 20 test samples are cut into 10 parts: 2 of each class per round. */
#define STREAM(method)                                                                         \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 400, test: 80, classes: 4, spread: 1}\n"                       \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: realtime, clients: 3, classes: 2, samples: 10, rounds: 6, "              \
    "per_round: 2}\n"                                                                          \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "runs: [{label: a, method: " method "}]\n"

/* What an evaluation says of one client. */
typedef struct heard {
    int64_t met, n;
    double right;
} heard;

static void hear_one(const eg_eval_event *e, heard *out)
{
    assert_int_equal(out->met, 0); /* one evaluation per round */
    out->met = e->met;
    for (size_t t = 0; t < TASKS; t++) {
        out->right += (double)e->correct[t];
        out->n += e->n[t];
    }
}

/* Fills out [ROUNDS + 1, CLIENTS] and returns how many evaluations of the server there were. */
static int64_t hear(const char *path, heard *out)
{
    eg_events *events = fixture_events(path);
    int64_t server = 0;
    for (const eg_eval_event *e = events->eval; e < events->eval + events->n_eval; e++) {
        if (e->who < 0)
            server++;
        else if (e->met >= 0) /* else the untrained model */
            hear_one(e, &out[e->round * CLIENTS + e->who]);
    }
    eg_events_free(events);
    return server;
}

/* How often each client took part before the end of each round, from the log. */
static void count_turns(const char *path, int64_t *out)
{
    eg_events *events = fixture_events(path);
    for (const eg_round_event *e = events->round; e < events->round + events->n_round; e++)
        for (size_t i = 0; i < e->n_clients; i++)
            for (int64_t r = e->round; r <= ROUNDS; r++)
                out[r * CLIENTS + e->clients[i]]++;
    eg_events_free(events);
}

static void check_counts_and_metrics(const char *path, const heard *h)
{
    int64_t turns[(ROUNDS + 1) * CLIENTS] = {0};
    double sum_of_rounds = 0, last = 0;
    count_turns(path, turns);
    for (int64_t r = 1; r <= ROUNDS; r++) {
        double sum = 0, weight = 0;
        for (int64_t c = 0; c < CLIENTS; c++) {
            const heard *x = &h[r * CLIENTS + c];
            assert_int_equal(x->met, 20 * turns[r * CLIENTS + c]);
            assert_int_equal(x->n, 4 * turns[r * CLIENTS + c]);
            if (x->n > 0) {
                sum += (double)x->met * x->right / (double)x->n;
                weight += (double)x->met;
            }
        }
        last = sum / weight;
        sum_of_rounds += last;
    }
    assert_near(runs_value(path, "acc_t"), last, 1e-12);
    assert_near(runs_value(path, "aa"), sum_of_rounds / ROUNDS, 1e-12);
}

static eg_net *load_model(const char *path, float **param)
{
    eg_net *net;
    char file[1024];
    assert_ok(eg_net_new(&(eg_net_spec){.model = "mlp",
                                        .options = "depth=0",
                                        .channels = DIM,
                                        .height = 1,
                                        .width = 1,
                                        .classes = CLASSES},
                         &net));
    assert_ok(eg_params_alloc(eg_net_params(net), param));
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    assert_ok(eg_params_load(eg_net_params(net), file, *param, NULL));
    return net;
}

/* The final model's right answers on all a client has met, worked out in double. */
static int64_t count_right(const eg_feed *f, const eg_cursor *c, int64_t client,
                           const eg_params *p, const float *param)
{
    int64_t ids[80], right = 0, n = eg_cursor_test(c, client, ids);
    const float *w = param + eg_params_at(p, 0)->offset;
    const float *b = param + eg_params_at(p, 1)->offset;
    for (int64_t i = 0; i < n; i++) {
        double z[CLASSES];
        int best = 0;
        for (int k = 0; k < CLASSES; k++) {
            z[k] = (double)b[k];
            for (int d = 0; d < DIM; d++)
                z[k] += (double)w[k * DIM + d] * (double)f->test[0].f32[ids[i] * DIM + d];
            best = z[k] > z[best] ? k : best;
        }
        right += best == f->test[0].y[ids[i]];
    }
    return right;
}

static void test_the_global_model_is_judged_on_each_clients_past(void **state)
{
    (void)state;
    char path[512];
    heard h[(ROUNDS + 1) * CLIENTS] = {0};
    assert_ok(fixture_run(STREAM("fedavg"), NULL, 2, 0, path));
    assert_int_equal(hear(path, h), 2); /* untrained, and at the end */
    check_counts_and_metrics(path, h);
    eg_experiment *e;
    eg_feed f;
    eg_cursor *c;
    float *param;
    assert_ok(fixture_load(STREAM("fedavg"), NULL, &e));
    assert_ok(eg_feed_open(e, 3, NULL, &f));
    assert_ok(eg_cursor_new(f.scenario, &c));
    eg_cursor_seek(c, ROUNDS);
    eg_net *net = load_model(path, &param);
    for (int64_t k = 0; k < CLIENTS; k++)
        assert_near(h[ROUNDS * CLIENTS + k].right,
                    (double)count_right(&f, c, k, eg_net_params(net), param), 1e-9);
    free(param);
    eg_net_free(net);
    eg_cursor_free(c);
    eg_feed_close(&f);
    eg_experiment_free(e);
}

static void test_own_models_are_judged_on_their_own_past_alone(void **state)
{
    (void)state;
    char path[512];
    heard h[(ROUNDS + 1) * CLIENTS] = {0};
    assert_ok(fixture_run(STREAM("local"), NULL, 1, 0, path));
    assert_int_equal(hear(path, h), 0);
    check_counts_and_metrics(path, h);
    double aa = runs_value(path, "aa");
    assert_ok(fixture_run(STREAM("local"), NULL, 2, 4, path));
    assert_true(aa == runs_value(path, "aa"));
}

static void test_other_scenarios_have_no_such_metrics(void **state)
{
    (void)state;
    static const char common[] =
        "name: t\n"
        "data: {name: blobs, train: 400, test: 80, classes: 4}\n"
        "model: {name: mlp, depth: 0}\n"
        "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 1, partition: iid}\n"
        "runs: [{label: a, method: fedavg}]\n";
    char path[512];
    assert_ok(fixture_run(common, NULL, 1, 0, path));
    assert_true(isnan(runs_value(path, "aa")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_global_model_is_judged_on_each_clients_past),
        cmocka_unit_test(test_own_models_are_judged_on_their_own_past_alone),
        cmocka_unit_test(test_other_scenarios_have_no_such_metrics),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
