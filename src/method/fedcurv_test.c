/* fedcurv_test.c - the penalty of two clients by hand, and whose Fishers the sums hold.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include "method/fisher.h"

extern const eg_method eg_method_fedcurv;

static const eg_method *const method = &eg_method_fedcurv;

enum { N = 3 };
static const float fishers[3][N] = {{1, 0.5f, 0}, {2, 0, 4}, {0.25f, 8, 1}};
static const float weights[3][N] = {{3, -1, 2}, {-2, 5, 1}, {4, 4, -3}};

static void *open_part(const char *lambda)
{
    void *self = calloc(1, method->size);
    assert_non_null(self);
    eg_opts_init(method->opts, self);
    assert_ok(eg_opts_set(method->opts, self, "lambda", lambda));
    return self;
}

static void close_part(void *self)
{
    method->fini(self);
    free(self);
}

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

static void collect(void *server, int64_t round, int k)
{
    eg_server s = {.n_params = N, .round = round};
    eg_bundle *up = upload_of(k);
    assert_ok(method->collect(server, &s, k, up));
    eg_bundle_free(up);
}

/* The gradient of lambda sum_j (w - w_j)^T F_j (w - w_j) over the others by its definition,
 * against what client k's hooks add with what the server sends it. */
static void check_pull(void *server, int k, unsigned others)
{
    void *self = open_part("0.75");
    eg_server s = {.n_params = N};
    float param[N] = {0.5f, -2, 1.5f}, grad[N] = {1, 2, 3};
    eg_client c = {.n_params = N, .id = k, .param = param, .grad = grad};
    eg_bundle *down, *kept = upload_of(k);
    assert_ok(eg_bundle_new(&down));
    assert_ok(method->send_all(server, &s, down));
    assert_ok(method->recall(self, &c, kept));
    assert_ok(method->download(self, &c, down));
    assert_ok(method->grad(self, &c));
    for (int i = 0; i < N; i++) {
        double expected = 1 + i;
        for (int j = 0; j < 3; j++)
            if (others >> j & 1)
                expected += 2 * 0.75 * (double)fishers[j][i] *
                            ((double)param[i] - (double)weights[j][i]);
        assert_near((double)grad[i], expected, 1e-5);
    }
    eg_bundle_free(down);
    eg_bundle_free(kept);
    close_part(self);
}

static void test_a_client_is_held_to_the_others(void **state)
{
    (void)state;
    void *server = open_part("0.75");
    check_pull(server, 0, 0); /* nothing before the first uploads */
    collect(server, 0, 0);
    check_pull(server, 0, 0); /* alone */
    collect(server, 0, 1);
    check_pull(server, 0, 1u << 1);
    check_pull(server, 1, 1u << 0);
    check_pull(server, 2, 1u << 0 | 1u << 1); /* it was absent, and has an older upload */
    collect(server, 1, 1);                    /* the next round's stand instead of these */
    collect(server, 1, 2);
    check_pull(server, 0, 1u << 1 | 1u << 2);
    check_pull(server, 2, 1u << 1);
    close_part(server);
}

static void test_a_checkpoint_brings_the_sums_back(void **state)
{
    (void)state;
    void *server = open_part("0.75"), *later = open_part("0.75");
    eg_server s = {.n_params = N};
    eg_bundle *b;
    assert_ok(eg_bundle_new(&b));
    assert_ok(method->save(server, &s, b));
    assert_int_equal(eg_bundle_n(b), 0);
    assert_ok(method->load(later, &s, b));
    collect(server, 4, 0);
    collect(server, 4, 2);
    assert_ok(method->save(server, &s, b));
    assert_ok(method->load(later, &s, b));
    check_pull(later, 0, 1u << 2);
    check_pull(later, 1, 1u << 0 | 1u << 2);
    collect(later, 5, 1); /* a new round begins anew */
    check_pull(later, 0, 1u << 1);
    eg_bundle_free(b);
    close_part(server);
    close_part(later);
}

static void test_what_does_not_fit_is_said(void **state)
{
    (void)state;
    void *self = open_part("1");
    eg_client c = {.n_params = N};
    eg_bundle *b;
    assert_ok(eg_bundle_new(&b));
    const float client = 0;
    assert_ok(eg_bundle_add_flat(b, "fedcurv.clients", &client, 1));
    assert_fails(method->download(self, &c, b), EG_ENOENT, "does not have");
    assert_ok(eg_bundle_add_flat(b, "fedcurv.fisher", fishers[0], N));
    assert_fails(method->recall(self, &c, b), EG_ESHAPE, "3 and 0 values, not 3");
    eg_bundle_free(b);
    close_part(self);
}

#define TEXT                                                                                   \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 40, test: 6, classes: 4, dim: 4}\n"                            \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"                   \
    "train: {epochs: 1, batch: 8, lr: 0.2}\n"                                                  \
    "runs: [{label: a, method: fedcurv}]\n"

/* Through the worker: the Fisher of the round's data at the trained weights, up and kept. */
static void check_upload(const char *set, int64_t take)
{
    one_client o;
    one_client_open(&o, TEXT, set);
    one_client_train(&o);
    one_client_train(&o);
    eg_client *c = &o.worker.client;
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
    assert_memory_equal(up, eg_bundle_find(o.kept, "fedcurv.fisher", NULL),
                        c->n_params * sizeof *up);
    assert_memory_equal(pull, eg_bundle_find(o.kept, "fedcurv.pull", NULL),
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
    assert_null(eg_bundle_find(o.kept, "fedcurv.fisher", NULL));
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
