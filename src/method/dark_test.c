/* dark_test.c - DER and DER++ through the real worker against logistic regression in double.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

/* One client, two rounds of three batches of eight; the memory never fills up. */
#define TEXT(method, memory)                                                                   \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 24, test: 6, classes: 3, dim: 4}\n"                            \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 2}\n"                   \
    "memory: {kind: reservoir, size: " memory "}\n"                                            \
    "optimizer: {lr: 0.5}\n"                                                                   \
    "train: {epochs: 1, batch: 8}\n"                                                           \
    "runs: [{label: a, method: " method "}]\n"

enum { DIM = 4, CLASSES = 3, BATCH = 8, STEPS = 6, ROWS = BATCH * STEPS };

/* Logistic regression in double, with all rows in the order they were trained on. */
typedef struct regression {
    double w[CLASSES][DIM], b[CLASSES];
    double dw[CLASSES][DIM], db[CLASSES];
    const float *x, *labels; /* [ROWS, DIM], [ROWS] */
    double stored[ROWS][CLASSES];
} regression;

static void regression_logits(const regression *r, int row, double z[CLASSES])
{
    for (int k = 0; k < CLASSES; k++) {
        z[k] = r->b[k];
        for (int d = 0; d < DIM; d++)
            z[k] += r->w[k][d] * (double)r->x[row * DIM + d];
    }
}

/* Adds the gradient for a row, given that for its logits. */
static void regression_add(regression *r, int row, const double dz[CLASSES])
{
    for (int k = 0; k < CLASSES; k++) {
        r->db[k] += dz[k];
        for (int d = 0; d < DIM; d++)
            r->dw[k][d] += dz[k] * (double)r->x[row * DIM + d];
    }
}

/* factor times the gradient of a row's cross entropy. */
static void regression_add_label(regression *r, int row, double factor)
{
    double z[CLASSES], sum = 0;
    regression_logits(r, row, z);
    for (int k = 0; k < CLASSES; k++)
        sum += exp(z[k]);
    for (int k = 0; k < CLASSES; k++)
        z[k] = factor * (exp(z[k]) / sum - (k == (int)r->labels[row]));
    regression_add(r, row, z);
}

/* factor times the gradient of the sum of squares of a row's logits minus those stored. */
static void regression_add_logits(regression *r, int row, double factor)
{
    double z[CLASSES];
    regression_logits(r, row, z);
    for (int k = 0; k < CLASSES; k++)
        z[k] = 2 * factor * (z[k] - r->stored[row][k]);
    regression_add(r, row, z);
}

static void regression_step(regression *r, double lr)
{
    for (int k = 0; k < CLASSES; k++) {
        r->b[k] -= lr * r->db[k];
        for (int d = 0; d < DIM; d++)
            r->w[k][d] -= lr * r->dw[k][d];
    }
    memset(r->dw, 0, sizeof r->dw);
    memset(r->db, 0, sizeof r->db);
}

static void regression_set(regression *r, const one_client *o)
{
    const eg_params *p = eg_net_params(o->net);
    const float *w = o->c->param + eg_params_at(p, 0)->offset;
    const float *b = o->c->param + eg_params_at(p, 1)->offset;
    memset(r, 0, sizeof *r);
    assert_int_equal(eg_params_n(p), 2);
    for (int k = 0; k < CLASSES; k++) {
        r->b[k] = (double)b[k];
        for (int d = 0; d < DIM; d++)
            r->w[k][d] = (double)w[k * DIM + d];
    }
}

/* Which of `filled` rows a draw of n takes that a part makes in a step:
 * found with a memory whose rows are their own numbers. Returns how many. */
static int rows_drawn(int filled, int n, int step, const char *part, uint32_t draw,
                      int out[ROWS])
{
    eg_memory *m;
    float number[ROWS], none[ROWS] = {0}, drawn[ROWS];
    for (int i = 0; i < filled; i++)
        number[i] = (float)i;
    assert_ok(eg_memory_new(EG_MEMORY_RESERVOIR, ROWS, (eg_memory_row){1, 1, 0}, &m));
    assert_ok(eg_memory_set(m, &(eg_memory_rows){filled, filled, 1, number, none, NULL}));
    eg_rng rng = eg_part_stream(&(eg_part_draw){.part = part,
                                                .seed = ONE_CLIENT_SEED,
                                                .when = step / 3,
                                                .step = (uint64_t)(step % 3),
                                                .draw = draw});
    int got = (int)eg_memory_draw(m, &rng, &(eg_memory_rows){.n = n, .x = drawn});
    for (int i = 0; i < got; i++)
        out[i] = (int)drawn[i];
    eg_memory_free(m);
    return got;
}

typedef struct terms {
    double alpha, beta;
    int batch;
    const char *part;
} terms;

/* All steps by hand: the batch, then the terms on what came before it. */
static void regression_train(regression *r, const terms *t)
{
    for (int step = 0; step < STEPS; step++) {
        int rows[ROWS], from = step * BATCH;
        for (int i = from; i < from + BATCH; i++) {
            regression_logits(r, i, r->stored[i]);
            regression_add_label(r, i, 1.0 / BATCH);
        }
        int n = rows_drawn(from, t->batch, step, t->part, 0, rows);
        for (int i = 0; i < n; i++)
            regression_add_logits(r, rows[i], t->alpha / (n * CLASSES));
        n = rows_drawn(from, t->batch, step, t->part, 1, rows);
        for (int i = 0; i < n; i++)
            regression_add_label(r, rows[i], t->beta / n);
        regression_step(r, 0.5);
    }
}

static void check_model(const regression *r, const one_client *o)
{
    regression got;
    regression_set(&got, o);
    for (int k = 0; k < CLASSES; k++) {
        assert_near(got.b[k], r->b[k], 2e-6);
        for (int d = 0; d < DIM; d++)
            assert_near(got.w[k][d], r->w[k][d], 2e-6);
    }
}

/* Trains both ways, with the rows that the memory kept in their order. */
static void check_against_hand(const char *text, const char *set, const terms *t)
{
    one_client o;
    regression r;
    size_t n;
    one_client_open(&o, text, set);
    regression_set(&r, &o);
    one_client_train(&o);
    one_client_train(&o);
    const eg_bundle *memory = one_client_kept(&o, "memory");
    assert_non_null(memory);
    r.x = eg_bundle_find(memory, "memory.x", &n);
    assert_int_equal(n, ROWS * DIM);
    r.labels = eg_bundle_find(memory, "memory.labels", NULL);
    regression_train(&r, t);
    check_model(&r, &o);
    const float *logits = eg_bundle_find(memory, "memory.logits", &n);
    assert_int_equal(n, ROWS * CLASSES);
    for (int i = 0; i < ROWS * CLASSES; i++)
        assert_near((double)logits[i], r.stored[i / CLASSES][i % CLASSES], 5e-6);
    one_client_close(&o);
}

static void test_der_holds_the_logits_from_before_the_step(void **state)
{
    (void)state;
    check_against_hand(TEXT("der", "100"), NULL,
                       &(terms){.alpha = 1, .batch = 32, .part = "der"});
    check_against_hand(TEXT("der", "100"), "der.alpha=0.3",
                       &(terms){.alpha = 0.3, .batch = 32, .part = "der"});
    check_against_hand(TEXT("der", "100"), "der.batch=5",
                       &(terms){.alpha = 1, .batch = 5, .part = "der"});
}

static void test_derpp_draws_twice(void **state)
{
    (void)state;
    terms t = {1, 0.5, 32, "derpp"};
    check_against_hand(TEXT("der++", "100"), NULL, &t);
    t.batch = 5;
    check_against_hand(TEXT("derpp", "100"), "derpp.batch=5", &t);
    t.batch = 32, t.beta = 2;
    check_against_hand(TEXT("derpp", "100"), "derpp.beta=2", &t);
    t.beta = 0.5, t.alpha = 0;
    check_against_hand(TEXT("derpp", "100"), "derpp.alpha=0", &t);
}

static void test_nothing_to_replay_is_plain_training(void **state)
{
    (void)state;
    const char *plain = TEXT("fedavg", "100"), *der = TEXT("der", "100");
    assert_true(one_client_same(plain, "train.batch=24", der, "train.batch=24", 1));
    assert_false(one_client_same(plain, "train.batch=24", der, "train.batch=24", 2));
    assert_true(one_client_same(plain, NULL, der, "der.alpha=0", 2));
    const char *both = TEXT("derpp, overrides: {derpp: {alpha: 0}}", "100");
    assert_true(one_client_same(plain, NULL, both, "derpp.beta=0", 2));
}

/* Dropout and batch norm of the batch's own forward pass do not feel the memory's: a term too
 * weak to count leaves the same bits. */
static void check_forwards_are_apart(const char *net)
{
    char plain[1024], der[1024];
    static const char text[] = "name: t\n"
                               "data: {name: glyphs, train: 24, test: 10}\n"
                               "model: {name: %s}\n"
                               "scenario: {kind: class-incremental, clients: 1, tasks: 1, "
                               "rounds: 2}\n"
                               "memory: {kind: reservoir, size: 10}\n"
                               "optimizer: {lr: 0.1}\n"
                               "train: {epochs: 1, batch: 8}\n"
                               "runs: [{label: a, method: %s}]\n";
    snprintf(plain, sizeof plain, text, net, "fedavg");
    snprintf(der, sizeof der, text, net, "der");
    assert_true(one_client_same(plain, NULL, der, "der.alpha=1e-30", 2));
    assert_false(one_client_same(plain, NULL, der, NULL, 2));
}

static void test_the_forward_of_the_batch_stands_alone(void **state)
{
    (void)state;
    check_forwards_are_apart("cnn_small");
    check_forwards_are_apart("resnet18_thin");
}

static void test_every_option_matters(void **state)
{
    (void)state;
    static const char *const sets[] = {"derpp.alpha=2", "derpp.beta=1", "derpp.batch=3"};
    const char *text = TEXT("derpp", "6"); /* a memory that is full, too */
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_false(one_client_same(text, NULL, text, sets[i], 2));
    assert_false(one_client_same(TEXT("der", "6"), NULL, TEXT("der", "6"), "der.alpha=2", 2));
    assert_false(one_client_same(TEXT("der", "6"), NULL, TEXT("der", "6"), "der.batch=3", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_der_holds_the_logits_from_before_the_step),
        cmocka_unit_test(test_derpp_draws_twice),
        cmocka_unit_test(test_nothing_to_replay_is_plain_training),
        cmocka_unit_test(test_the_forward_of_the_batch_stands_alone),
        cmocka_unit_test(test_every_option_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
