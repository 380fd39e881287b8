/* stsa_test.c - what the server solves for against the same by hand; a network that stays.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hand_client.h"
#include "one_client.h"

extern const eg_method eg_method_stsa;

static const eg_method *const method = &eg_method_stsa;

/* Three tasks of one class with 12 samples. */
#define TEXT                                                                                   \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 36, test: 6, classes: 3, dim: 4}\n"                            \
    "model: {name: mlp, depth: 1, width: 5}\n"                                                 \
    "scenario: {kind: class-incremental, clients: 1, tasks: 3, rounds: 1}\n"                   \
    "train: {epochs: 1, batch: 12}\n"                                                          \
    "stsa: {width: 7, gamma: 0.5}\n"                                                           \
    "runs: [{label: a, method: stsa}]\n"

enum { SUMS = 1, STAGE = 12, WIDTH = 5, RANDOM = 7, CLASSES = 3 };

/* A server of the one client's network and seed. */
static void server_open(hand_server *h, one_client *o)
{
    hand_server_open(h, method, (const char *const[]){"width", "7", "gamma", "0.5", NULL},
                     o->c->n_params, o->c->param);
    h->s.net = o->net;
    h->s.scenario = o->feed.scenario;
    h->s.seed = ONE_CLIENT_SEED;
    assert_ok(method->server.begin(h->self, &h->s));
}

/* The client's answer to what the server sends. */
static void ask(one_client *o, hand_server *h)
{
    eg_bundle *down;
    assert_ok(eg_bundle_new(&down));
    assert_ok(eg_bundle_copy(down, o->down, ""));
    assert_ok(method->server.send(h->self, &h->s, SUMS, down));
    eg_bundle *own = o->down;
    o->down = down;
    assert_ok(one_client_exchange(o, 0, SUMS));
    o->down = own;
    eg_bundle_free(down);
    assert_ok(method->server.accept(h->self, &h->s, SUMS, 0, o->up));
    assert_ok(method->server.collect(h->self, &h->s, SUMS, 0, o->up));
}

/* phi of a stage's samples with the random layer that the server tells tests. */
static void mapped(one_client *o, int64_t stage, const float *random, double phi[STAGE][RANDOM],
                   float labels[STAGE])
{
    eg_sample samples[STAGE];
    float f[STAGE * WIDTH], x[STAGE * 4];
    one_client_samples(o, stage, STAGE, samples);
    eg_client_feed(o->c, samples, STAGE, x, labels);
    assert_ok(eg_client_look(o->c, NULL, &(eg_rows){.n = STAGE, .samples = samples},
                             &(eg_look){.features = f}));
    for (int i = 0; i < STAGE; i++)
        for (int k = 0; k < RANDOM; k++) {
            phi[i][k] = 0;
            for (int j = 0; j < WIDTH; j++)
                phi[i][k] += (double)f[i * WIDTH + j] * (double)random[j * RANDOM + k];
            phi[i][k] = phi[i][k] > 0 ? phi[i][k] : 0;
        }
}

/* At the minimum of |Y - phi W|^2 + gamma |W|^2 its gradient is 0: phi^T (phi W - Y) + gamma W,
 * over the samples of both stages. */
static void test_the_weights_are_the_ridge_regression_of_all_stages(void **state)
{
    (void)state;
    one_client o;
    hand_server h;
    eg_bundle *known;
    double phi[STAGE][RANDOM], slope[RANDOM][CLASSES] = {{0}}, most = 0;
    float labels[STAGE];
    one_client_open(&o, TEXT, NULL);
    server_open(&h, &o);
    assert_ok(eg_bundle_new(&known));
    assert_ok(method->server.know(h.self, &h.s, known));
    assert_int_equal(eg_bundle_n(known), 0); /* the head answers */
    ask(&o, &h);
    eg_cursor_next(o.cursor, NULL);
    ask(&o, &h);
    assert_ok(method->server.know(h.self, &h.s, known));
    const float *random = eg_bundle_find(known, "stsa.random", NULL);
    const float *w = eg_bundle_find(known, "stsa.weights", NULL); /* [CLASSES, RANDOM] */
    const float *bias = eg_bundle_find(known, "stsa.bias", NULL);
    for (int64_t stage = 0; stage < 2; stage++) {
        mapped(&o, stage, random, phi, labels);
        for (int i = 0; i < STAGE; i++)
            for (int y = 0; y < CLASSES; y++) {
                double off = -(double)((float)y == labels[i]);
                for (int k = 0; k < RANDOM; k++)
                    off += phi[i][k] * (double)w[y * RANDOM + k];
                for (int k = 0; k < RANDOM; k++)
                    slope[k][y] += phi[i][k] * off;
            }
    }
    for (int y = 0; y < CLASSES; y++)
        for (int k = 0; k < RANDOM; k++) {
            double at = (double)w[y * RANDOM + k];
            most = fmax(most, fabs(at));
            assert_near(slope[k][y] + 0.5 * at, 0, 1e-3);
        }
    assert_true(most > 0.1);
    for (int y = 0; y < CLASSES; y++)
        assert_near((double)bias[y], y < 2 ? 0 : -1, 0);
    eg_bundle_free(known);
    hand_server_close(&h);
    one_client_close(&o);
}

/* The first task trains, the others do not; and what a run that stopped knows is the same. */
static void test_the_network_stays_after_the_first_task(void **state)
{
    (void)state;
    one_client o;
    hand_server h, again;
    eg_bundle *known[2];
    one_client_open(&o, TEXT, NULL);
    server_open(&h, &o);
    size_t n = o.c->n_params;
    float *param;
    assert_ok(eg_alloc(n, sizeof *param, &param));
    for (int round = 0; round < 3; round++) {
        memset(param, 0, n * sizeof *param);
        h.s.round = round;
        assert_ok(method->server.refine(h.self, &h.s, param, NULL));
        assert_int_equal(memcmp(param, o.c->param, n * sizeof *param) == 0, round > 0);
        one_client_train(&o);
        assert_int_equal(o.c->n_batches, round == 0);
    }
    eg_cursor_seek(o.cursor, 0);
    ask(&o, &h);
    hand_server_save(&h, "stsa");
    hand_server_open(&again, method, (const char *const[]){"width", "7", "gamma", "0.5", NULL},
                     n, o.c->param);
    again.s.net = o.net, again.s.scenario = h.s.scenario, again.s.seed = ONE_CLIENT_SEED;
    assert_ok(hand_server_go_on(&again, &h));
    for (int i = 0; i < 2; i++) {
        hand_server *which = i ? &again : &h;
        assert_ok(eg_bundle_new(&known[i]));
        assert_ok(method->server.know(which->self, &which->s, known[i]));
    }
    size_t m;
    const float *w = eg_bundle_find(known[0], "stsa.weights", &m);
    assert_non_null(w);
    assert_memory_equal(w, eg_bundle_find(known[1], "stsa.weights", NULL), m * sizeof *w);
    eg_bundle_free(known[0]);
    eg_bundle_free(known[1]);
    free(param);
    hand_server_close(&again);
    hand_server_close(&h);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_weights_are_the_ridge_regression_of_all_stages),
        cmocka_unit_test(test_the_network_stays_after_the_first_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
