/* fedcurv_test.c - the penalty of two clients by hand, and whose Fishers the sums hold.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hand_client.h"
#include "one_client.h"

#include "method/lib/fisher.h"

extern const eg_method eg_method_fedcurv;

static const eg_method *const method = &eg_method_fedcurv;

enum { N = 3 };
static const float fishers[3][N] = {{1, 0.5f, 0}, {2, 0, 4}, {0.25f, 8, 1}};
static const float weights[3][N] = {{3, -1, 2}, {-2, 5, 1}, {4, 4, -3}};

static const char *const options[] = {"lambda", "0.75", NULL};

/* What client k uploads, and keeps. */
static eg_bundle *upload_of(int k)
{
    eg_bundle *b;
    float pull[N];
    for (int i = 0; i < N; i++)
        pull[i] = fishers[k][i] * weights[k][i];
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(b, "fedcurv.fisher", fishers[k], N));
    assert_ok(eg_bundle_add_flat(b, "fedcurv.pull", pull, N));
    return b;
}

static void collect(hand_server *server, int64_t round, int k)
{
    eg_bundle *up = upload_of(k);
    server->s.round = round;
    assert_ok(method->server.accept(server->self, &server->s, EG_TRAINING, k, up));
    assert_ok(method->server.collect(server->self, &server->s, EG_TRAINING, k, up));
    eg_bundle_free(up);
}

/* The gradient of lambda sum_j (w - w_j)^T F_j (w - w_j) over the others by its definition,
 * against what client k's hooks add with what the server sends it. */
static void check_pull(hand_server *server, int k, unsigned others)
{
    float param[N] = {0.5f, -2, 1.5f}, grad[N] = {1, 2, 3};
    hand_client h;
    eg_bundle *down;
    hand_client_open(&h, method, options, N, param, grad);
    h.c->id = k;
    hand_client_keep(&h, "fedcurv", upload_of(k));
    assert_ok(eg_bundle_new(&down));
    assert_ok(method->server.send(server->self, &server->s, EG_TRAINING, down));
    assert_ok(method->client.download(h.self, h.c, EG_TRAINING, down));
    assert_ok(method->client.grad(h.self, h.c));
    for (int i = 0; i < N; i++) {
        double expected = 1 + i;
        for (int j = 0; j < 3; j++)
            if (others >> j & 1)
                expected += 2 * 0.75 * (double)fishers[j][i] *
                            ((double)param[i] - (double)weights[j][i]);
        assert_near((double)grad[i], expected, 1e-5);
    }
    eg_bundle_free(down);
    hand_client_close(&h);
}

static void test_a_client_is_held_to_the_others(void **state)
{
    (void)state;
    hand_server server;
    hand_server_open(&server, method, options, N, NULL);
    check_pull(&server, 0, 0); /* nothing before the first uploads */
    collect(&server, 0, 0);
    check_pull(&server, 0, 0); /* alone */
    collect(&server, 0, 1);
    check_pull(&server, 0, 1u << 1);
    check_pull(&server, 1, 1u << 0);
    check_pull(&server, 2, 1u << 0 | 1u << 1); /* it was absent, and has an older upload */
    collect(&server, 1, 1);                    /* the next round's stand instead of these */
    collect(&server, 1, 2);
    check_pull(&server, 0, 1u << 1 | 1u << 2);
    check_pull(&server, 2, 1u << 1);
    hand_server_close(&server);
}

static void test_a_checkpoint_brings_the_sums_back(void **state)
{
    (void)state;
    hand_server server, early, later;
    hand_server_open(&server, method, options, N, NULL);
    hand_server_open(&early, method, options, N, NULL);
    hand_server_open(&later, method, options, N, NULL);
    const eg_bundle *saved = hand_server_save(&server, "fedcurv");
    assert_null(eg_bundle_find(saved, "fedcurv.fisher", NULL));
    assert_null(eg_bundle_find(saved, "fedcurv.clients", NULL));
    assert_ok(hand_server_go_on(&early, &server));
    check_pull(&early, 0, 0);
    collect(&server, 4, 0);
    collect(&server, 4, 2);
    hand_server_save(&server, "fedcurv");
    assert_ok(hand_server_go_on(&later, &server));
    check_pull(&later, 0, 1u << 2);
    check_pull(&later, 1, 1u << 0 | 1u << 2);
    collect(&later, 4, 1); /* the round they are of goes on */
    check_pull(&later, 0, 1u << 1 | 1u << 2);
    collect(&later, 5, 1); /* a new round begins anew */
    check_pull(&later, 0, 1u << 1);
    hand_server_close(&server);
    hand_server_close(&early);
    hand_server_close(&later);
}

static void test_what_does_not_fit_is_said(void **state)
{
    (void)state;
    static const char words[] = "tensor 'fedcurv.pull' is missing";
    hand_client h;
    hand_server server;
    eg_bundle *down, *half;
    const float client = 0;
    hand_client_open(&h, method, options, N, NULL, NULL);
    hand_server_open(&server, method, options, N, NULL);
    assert_ok(eg_bundle_new(&down));
    assert_ok(eg_bundle_new(&half));
    assert_ok(eg_bundle_add_flat(down, "fedcurv.clients", &client, 1));
    assert_fails(method->client.download(h.self, h.c, EG_TRAINING, down), EG_ENOENT,
                 "does not have");
    assert_ok(eg_bundle_add_flat(half, "fedcurv.fisher", fishers[0], N));
    assert_fails(method->server.accept(server.self, &server.s, EG_TRAINING, 0, half), EG_ENOENT,
                 words);
    assert_fails(method->client.download(h.self, h.c, EG_TRAINING, half), EG_ENOENT, words);
    hand_client_keep(&h, "fedcurv", half);
    eg_bundle_clear(down);
    assert_fails(method->client.download(h.self, h.c, EG_TRAINING, down), EG_ENOENT, words);
    eg_bundle_free(down);
    hand_client_close(&h);
    hand_server_close(&server);
}

#define TEXT                                                                                   \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 40, test: 6, classes: 4, dim: 4}\n"                            \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"                   \
    "optimizer: {lr: 0.2}\n"                                                                   \
    "train: {epochs: 1, batch: 8}\n"                                                           \
    "runs: [{label: a, method: fedcurv}]\n"

/* Through the worker: the Fisher of the round's data at the trained weights, up and kept. */
static void check_upload(const char *set, int64_t take)
{
    one_client o;
    one_client_open(&o, TEXT, set);
    one_client_train(&o);
    one_client_train(&o);
    const eg_bundle *kept = one_client_kept(&o, "fedcurv");
    eg_client *c = o.c;
    float *fisher;
    int64_t n_spans;
    const eg_span *spans = eg_scenario_spans(o.feed.scenario, 0, 1, &n_spans);
    assert_ok(eg_alloc(c->n_params, sizeof *fisher, &fisher));
    assert_ok(eg_fisher(c, spans, n_spans, take, fisher));
    const float *up = eg_bundle_find(o.up, "fedcurv.fisher", NULL);
    const float *pull = eg_bundle_find(o.up, "fedcurv.pull", NULL);
    assert_memory_equal(up, fisher, c->n_params * sizeof *up);
    for (size_t i = 0; i < c->n_params; i++)
        assert_near((double)pull[i], (double)fisher[i] * (double)c->param[i], 1e-7);
    assert_non_null(kept);
    assert_memory_equal(up, eg_bundle_find(kept, "fedcurv.fisher", NULL),
                        c->n_params * sizeof *up);
    assert_memory_equal(pull, eg_bundle_find(kept, "fedcurv.pull", NULL),
                        c->n_params * sizeof *pull);
    free(fisher);
    one_client_close(&o);
}

static void test_the_upload_is_the_fisher_at_the_trained_weights(void **state)
{
    (void)state;
    check_upload(NULL, 256);
    check_upload("fedcurv.samples=0", 0);
    check_upload("fedcurv.samples=3", 3);
}

static void test_without_strength_nothing_is_sent(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT, "fedcurv.lambda=0");
    one_client_train(&o);
    assert_null(eg_bundle_find(o.up, "fedcurv.fisher", NULL));
    assert_null(one_client_kept(&o, "fedcurv"));
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_is_held_to_the_others),
        cmocka_unit_test(test_a_checkpoint_brings_the_sums_back),
        cmocka_unit_test(test_what_does_not_fit_is_said),
        cmocka_unit_test(test_the_upload_is_the_fisher_at_the_trained_weights),
        cmocka_unit_test(test_without_strength_nothing_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
