/* fedssi_test.c - the surrogate's way and what it found important, by hand; the pull of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hand_client.h"
#include "one_client.h"

extern const eg_method eg_method_fedssi;

static const eg_method *const method = &eg_method_fedssi;

/* One client, three tasks of two rounds; every epoch is one batch. */
#define TEXT(method)                                                                           \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 90, test: 6, classes: 6, dim: 4}\n"                            \
    "model: {name: mlp, depth: 1, width: 5}\n"                                                 \
    "scenario: {kind: class-incremental, clients: 1, tasks: 3, rounds: 2}\n"                   \
    "train: {epochs: 1, batch: 30}\n"                                                          \
    "optimizer: {lr: 0.2}\n"                                                                   \
    "fedssi: {alpha: 1, epochs: 2, lambda: 0.25, xi: 0.01}\n"                                  \
    "runs: [{label: a, method: " method "}]\n"

enum { STAGE = 30 };

static void test_the_pull_worked_by_hand(void **state)
{
    (void)state;
    const float omega[] = {0.5f, 2, 0}, anchor[] = {1, -1, 5};
    float param[] = {3, -2, 7}, grad[] = {1, 1, 1};
    hand_client h;
    eg_bundle *b;
    hand_client_open(&h, method, (const char *const[]){"alpha", "10", NULL}, 3, param, grad);
    assert_ok(method->client.download(h.self, h.c, EG_TRAINING, NULL));
    assert_ok(method->client.grad(h.self, h.c)); /* no task has ended yet */
    assert_near((double)grad[0], 1, 0);
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(b, "fedssi.all", anchor, 3));
    assert_ok(eg_bundle_add_flat(b, "fedssi.omega", omega, 3));
    assert_ok(eg_bundle_add_flat(b, "fedssi.anchor", anchor, 3));
    hand_client_keep(&h, "fedssi", b);
    assert_ok(method->client.download(h.self, h.c, EG_TRAINING, NULL));
    assert_ok(method->client.grad(h.self, h.c));
    assert_near((double)grad[0], 1 + 2 * 10 * 0.5 * 2, 1e-6);
    assert_near((double)grad[1], 1 + 2 * 10 * 2.0 * -1, 1e-6);
    assert_near((double)grad[2], 1, 0);
    h.c->n_params = 4;
    hand_client_next(&h);
    assert_fails(method->client.download(h.self, h.c, EG_TRAINING, NULL), EG_ESHAPE,
                 "3 values, not 4");
    hand_client_close(&h);
}

/* What a stage is found to need from w on: two steps, each along the gradient of all samples.
 * q(0.25) = 1.5, so v moves by -0.2 (g + 1.5 (v - w)). */
static void importance_by_hand(one_client *o, int64_t stage, const float *w, double *omega)
{
    eg_sample all[STAGE];
    size_t n = o->c->n_params;
    float *v;
    double *path;
    one_client_samples(o, stage, STAGE, all);
    assert_ok(eg_alloc(n, sizeof *v, &v));
    assert_ok(eg_alloc(n, sizeof *path, &path));
    memcpy(v, w, n * sizeof *v);
    for (int step = 0; step < 2; step++) {
        const eg_point at = {v, NULL};
        const float *g;
        assert_ok(eg_client_gradient(o->c, &at, EG_TRAIN_FORM,
                                     &(eg_rows){STAGE, all, NULL, NULL}, &g));
        for (size_t i = 0; i < n; i++) {
            double back = 0.2 * ((double)g[i] + 1.5 * (double)(v[i] - w[i]));
            path[i] += (double)g[i] * back;
            v[i] -= (float)back;
        }
    }
    for (size_t i = 0; i < n; i++) {
        double way = (double)(v[i] - w[i]);
        omega[i] += (path[i] > 0 ? path[i] : 0) / (way * way + 0.01);
    }
    free(v);
    free(path);
}

static void assert_all_near(const eg_bundle *kept, const char *name, const double *values,
                            size_t n)
{
    const float *is = eg_bundle_find(kept, name, NULL);
    double most = 0;
    assert_non_null(is);
    for (size_t i = 0; i < n; i++) {
        assert_near((double)is[i], values[i], 1e-4 * (1 + values[i]));
        most = values[i] > most ? values[i] : most;
    }
    assert_true(most > 0.1);
}

/* In every task it is held to what the tasks before needed; its own counts from the next on. */
static void test_every_task_adds_what_it_needs(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT("fedssi"), NULL);
    size_t n = o.c->n_params;
    float *w;
    double *sum, *before;
    assert_ok(eg_alloc(n, sizeof *w, &w));
    assert_ok(eg_alloc(n, sizeof *sum, &sum));
    assert_ok(eg_alloc(n, sizeof *before, &before));
    for (int round = 0; round < 6; round++) {
        bool begins = round % 2 == 0;
        if (begins)
            memcpy(w, o.c->param, n * sizeof *w); /* what the next round receives */
        one_client_train(&o);
        if (begins) {
            memcpy(before, sum, n * sizeof *sum);
            importance_by_hand(&o, round / 2, w, sum);
        }
        const eg_bundle *kept = one_client_kept(&o, "fedssi");
        assert_all_near(kept, "fedssi.all", sum, n);
        assert_int_equal(eg_bundle_find(kept, "fedssi.omega", NULL) != NULL, round >= 2);
        if (round < 2)
            continue;
        assert_all_near(kept, "fedssi.omega", before, n);
        assert_memory_equal(eg_bundle_find(kept, "fedssi.anchor", NULL), w, n * sizeof *w);
    }
    free(w);
    free(sum);
    free(before);
    one_client_close(&o);
}

static void test_every_option_matters(void **state)
{
    (void)state;
    static const char *const sets[] = {"fedssi.alpha=2", "fedssi.lambda=0.5", "fedssi.xi=1",
                                       "fedssi.epochs=3", "fedssi.lr=0.1"};
    const char *plain = TEXT("fedavg"), *text = TEXT("fedssi");
    assert_true(one_client_same(plain, NULL, text, "fedssi.alpha=0", 4));
    assert_true(one_client_same(plain, NULL, text, NULL, 2)); /* in the first task */
    assert_false(one_client_same(plain, NULL, text, NULL, 4));
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_false(one_client_same(text, NULL, text, sets[i], 4));
}

static void test_a_surrogate_that_must_diverge_is_refused(void **state)
{
    (void)state;
    hand_part p = {.train = {.epochs = 1, .batch = 1, .lr = 1, .optimizer = "sgd"}};
    assert_ok(eg_parts_add(&p.parts, method));
    assert_ok(eg_parts_set(&p.parts, "fedssi", "lambda", "0.1"));
    assert_fails(eg_parts_setup(&p.parts, &(eg_setting){.train = &p.train}, true, &p.agreed),
                 EG_EINVAL,
                 "lr 1 times q(lambda) = 4.5 is not below 2; raise lambda above 0.2");
    eg_parts_free(&p.parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_pull_worked_by_hand),
        cmocka_unit_test(test_every_task_adds_what_it_needs),
        cmocka_unit_test(test_every_option_matters),
        cmocka_unit_test(test_a_surrogate_that_must_diverge_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
