/* afcl_test.c - the head of whole runs against ridge regression on all data at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"
#include "runs.h"

#include "own_folder.h"

/* Three tasks of two classes; features are a hidden layer that nobody trains. */
static const char *const text =
    "name: t\n"
    "data: {name: blobs, train: 240, test: 60, classes: 6, dim: 5}\n"
    "model: {name: mlp, depth: 1, width: 7}\n"
    "scenario:\n"
    "  kind: class-incremental\n"
    "  clients: %d\n"
    "  tasks: 3\n"
    "  rounds: 2\n"
    "  class_order: shuffled\n"
    "  seed: %d\n"
    "  partition: {kind: %s}\n"
    "train: {epochs: 1, batch: 16}\n"
    "optimizer: {lr: 0.1}\n"
    "afcl: {gamma: 0.5}\n"
    "runs: [{label: a, method: afcl}]\n";

enum { DIM = 5, WIDTH = 7, CLASSES = 6 };

/* What a run of this text comes to: its model, and the split it was made with. */
typedef struct outcome {
    one_client o; /* of the same experiment and seed */
    float *param; /* [n_params] at the end */
    char path[512];
} outcome;

static void outcome_open(outcome *out, int clients, int seed, const char *partition,
                         int workers, int64_t stop)
{
    char full[1024], file[640], note[FILES_PATH * 2];
    eg_experiment *e;
    snprintf(full, sizeof full, text, clients, seed, partition);
    files_write(folder, "t.yaml", full, strlen(full));
    snprintf(note, sizeof note, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(note, NULL, 0, NULL, &e));
    assert_ok(runs_run(e, folder, workers, stop, out->path));
    eg_experiment_free(e);
    one_client_open(&out->o, full, NULL);
    const eg_params *table = eg_net_params(out->o.net);
    assert_ok(eg_params_alloc(table, &out->param));
    snprintf(file, sizeof file, "%s/model.safetensors", out->path);
    assert_ok(eg_params_load(table, file, out->param, NULL));
}

static void outcome_close(outcome *out)
{
    one_client_close(&out->o);
    free(out->param);
}

/* The hidden layer of a sample, in double; returns its class. */
static int features(const outcome *out, eg_sample s, double f[WIDTH])
{
    const eg_params *table = eg_net_params(out->o.net);
    const float *w = out->param + eg_params_at(table, 0)->offset;
    const float *b = out->param + eg_params_at(table, 1)->offset;
    float x[DIM], label;
    eg_client_feed(out->o.c, &s, 1, x, &label);
    for (int j = 0; j < WIDTH; j++) {
        f[j] = (double)b[j];
        for (int d = 0; d < DIM; d++)
            f[j] += (double)w[j * DIM + d] * (double)x[d];
        f[j] = f[j] > 0 ? f[j] : 0;
    }
    return (int)label;
}

/* Gauss-Jordan elimination of [a | q], rows of WIDTH + CLASSES. */
static void eliminate(double a[WIDTH][WIDTH + CLASSES])
{
    for (int p = 0; p < WIDTH; p++)
        for (int i = 0; i < WIDTH; i++) {
            double times = i == p ? 1 - 1 / a[p][p] : a[i][p] / a[p][p];
            for (int j = WIDTH + CLASSES - 1; j >= p; j--)
                a[i][j] -= times * a[p][j];
        }
}

/* The head that all samples of all clients and stages have at once. */
static void assert_joint(const outcome *out)
{
    const eg_scenario *s = out->o.feed.scenario;
    const eg_params *table = eg_net_params(out->o.net);
    const float *head = out->param + eg_params_at(table, 2)->offset;
    double a[WIDTH][WIDTH + CLASSES] = {{0}}, f[WIDTH], most = 0;
    int64_t n_spans, n = 0;
    for (int64_t c = 0; c < eg_scenario_n_clients(s); c++)
        for (int64_t stage = 0; stage < eg_scenario_n_stages(s, c); stage++) {
            const eg_span *spans = eg_scenario_spans(s, c, stage, &n_spans);
            for (int64_t k = 0; k < n_spans; k++)
                for (int64_t i = 0; i < spans[k].n; i++, n++) {
                    int y = features(out, (eg_sample){spans[k].task, spans[k].ids[i]}, f);
                    for (int j = 0; j < WIDTH; j++) {
                        a[j][WIDTH + y] += f[j];
                        for (int l = 0; l < WIDTH; l++)
                            a[j][l] += f[j] * f[l];
                    }
                }
        }
    assert_int_equal(n, 240);
    for (int j = 0; j < WIDTH; j++)
        a[j][j] += 0.5;
    eliminate(a);
    for (int j = 0; j < WIDTH; j++)
        for (int y = 0; y < CLASSES; y++)
            most = fmax(most, fabs(a[j][WIDTH + y]));
    for (int j = 0; j < WIDTH; j++)
        for (int y = 0; y < CLASSES; y++)
            assert_near((double)head[y * WIDTH + j], a[j][WIDTH + y], 1e-4 * most);
    assert_true(most > 0.1);
}

static void test_any_split_and_order_give_the_joint_regression(void **state)
{
    (void)state;
    static const char *const partitions[] = {"iid", "dirichlet, alpha: 0.3, min: 1", "shards"};
    static const int clients[] = {1, 3, 8};
    for (int i = 0; i < 3; i++)
        for (int seed = 1; seed <= 3; seed++) {
            outcome out;
            outcome_open(&out, clients[i], seed, partitions[(i + seed) % 3], 1, 0);
            assert_joint(&out);
            outcome_close(&out);
        }
}

/* Sums are kept to the last bit between rounds, also by a server that stopped. */
static void test_a_server_that_stops_goes_on_with_the_same_sums(void **state)
{
    (void)state;
    outcome whole, parts;
    outcome_open(&whole, 3, 1, "iid", 1, 0);
    outcome_open(&parts, 3, 1, "iid", 2, 3);
    assert_joint(&parts);
    assert_memory_equal(whole.param, parts.param, whole.o.c->n_params * sizeof *whole.param);
    outcome_close(&whole);
    outcome_close(&parts);
}

/* A stage is sent once, unless the server has not heard it; the model does not move. */
static void test_a_stage_is_sent_until_it_is_heard(void **state)
{
    (void)state;
    char full[1024];
    one_client o;
    float heard = 0;
    snprintf(full, sizeof full, text, 1, 1, "iid");
    one_client_open(&o, full, NULL);
    for (int turn = 0; turn < 3; turn++) {
        double stage;
        heard = turn == 2;
        eg_bundle_clear(o.down);
        assert_ok(eg_bundle_add_flat(o.down, "param", o.c->param, o.c->n_params));
        assert_ok(eg_bundle_add_flat(o.down, "afcl.heard", &heard, 1));
        assert_ok(one_client_turn(&o, 0));
        assert_int_equal(eg_bundle_scalar_of(o.up, "afcl.stage", &stage), turn < 2);
        assert_int_equal(o.c->n_batches, 0);
    }
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_split_and_order_give_the_joint_regression),
        cmocka_unit_test(test_a_server_that_stops_goes_on_with_the_same_sums),
        cmocka_unit_test(test_a_stage_is_sent_until_it_is_heard),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
