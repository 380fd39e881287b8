/* network_test.c - gradients and looks at any weights, on any rows, and what they leave alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

/* Batches of 8; the network has running statistics. With this rate no rectifier of it stands so
 * near zero that the order of rows decides on which side. */
static const char text[] = "name: t\n"
                           "data: {name: glyphs, train: 60, test: 10}\n"
                           "model: {name: resnet18_thin}\n"
                           "scenario: {kind: class-incremental, clients: 1, tasks: 1, "
                           "rounds: 2}\n"
                           "memory: {kind: reservoir, size: 12}\n"
                           "optimizer: {lr: 0.05}\n"
                           "train: {epochs: 1, batch: 8}\n"
                           "runs: [{label: a, method: fedavg}]\n";

enum { N = 21 };

typedef struct fixture {
    one_client one;
    eg_client *c;
    eg_sample samples[N];
    float *x, labels[N]; /* the same, as the network is fed them */
    size_t sample;
} fixture;

static float *copy_of(const float *values, size_t n)
{
    float *copy;
    assert_ok(eg_alloc(n, sizeof *copy, &copy));
    for (size_t i = 0; i < n; i++) /* a network may have no state */
        copy[i] = values[i];
    return copy;
}

static void open_fixture(fixture *f, const char *set)
{
    one_client_open(&f->one, text, set);
    f->c = f->one.c;
    f->sample = f->one.feed.sample;
    one_client_samples(&f->one, 0, N, f->samples);
    assert_ok(eg_alloc(N * f->sample, sizeof *f->x, &f->x));
    eg_client_feed(f->c, f->samples, N, f->x, f->labels);
}

static void close_fixture(fixture *f)
{
    free(f->x);
    one_client_close(&f->one);
}

/* What must stay as it is. */
typedef struct model {
    float *param, *grad, *state;
} model;

static model model_of(const eg_client *c)
{
    return (model){copy_of(c->param, c->n_params), copy_of(c->grad, c->n_params),
                   copy_of(c->state, c->n_state)};
}

static void check_same(const model *m, const eg_client *c)
{
    assert_memory_equal(m->param, c->param, c->n_params * sizeof *c->param);
    assert_memory_equal(m->grad, c->grad, c->n_params * sizeof *c->grad);
    assert_memory_equal(m->state, c->state, c->n_state * sizeof *c->state);
}

static void free_model(model *m)
{
    free(m->param);
    free(m->grad);
    free(m->state);
}

/* A point that is not where the client is. */
static eg_point point_beside(const eg_client *c)
{
    eg_point at = {copy_of(c->param, c->n_params), copy_of(c->state, c->n_state)};
    for (size_t i = 0; i < c->n_params; i++)
        at.param[i] *= 1 + 0.01f * (float)(i % 7);
    for (size_t i = 0; i < c->n_state; i++)
        at.state[i] += 0.01f * (float)(i % 5);
    return at;
}

static void move_to(eg_client *c, const eg_point *at)
{
    memcpy(c->param, at->param, c->n_params * sizeof *c->param);
    memcpy(c->state, at->state, c->n_state * sizeof *c->state);
}

/* The gradient at another point is the one a client would have that stood there. */
static void check_gradient(eg_form form)
{
    fixture f, there;
    const eg_rows rows = {.n = 8, .samples = f.samples};
    const float *gradient, *wanted;
    open_fixture(&f, NULL);
    open_fixture(&there, NULL);
    memset(f.c->grad, 1, f.c->n_params * sizeof *f.c->grad); /* a batch's */
    model before = model_of(f.c);
    eg_point at = point_beside(f.c);
    float *statistics = copy_of(at.state, f.c->n_state);
    move_to(there.c, &at);
    assert_ok(eg_client_gradient(f.c, &at, form, &rows, &gradient));
    assert_ok(eg_client_gradient(there.c, NULL, form, &rows, &wanted));
    check_same(&before, f.c);
    assert_memory_equal(gradient, wanted, f.c->n_params * sizeof *gradient);
    /* Statistics move in training form, and then only those of the point. */
    assert_memory_equal(at.state, there.c->state, f.c->n_state * sizeof *at.state);
    bool moved = memcmp(at.state, statistics, f.c->n_state * sizeof *at.state) != 0;
    assert_int_equal(moved, form == EG_TRAIN_FORM);
    free(statistics);
    free(at.param);
    free(at.state);
    free_model(&before);
    close_fixture(&f);
    close_fixture(&there);
}

static void test_a_gradient_at_another_point_leaves_the_client_alone(void **state)
{
    (void)state;
    check_gradient(EG_TRAIN_FORM);
    check_gradient(EG_EVAL_FORM);
}

/* After a look elsewhere the client's own model is where it was. */
static void test_what_a_point_leaves_open_is_the_clients_own(void **state)
{
    (void)state;
    fixture f;
    const eg_rows rows = {.n = 8, .samples = f.samples};
    const float *gradient;
    open_fixture(&f, NULL);
    eg_point at = point_beside(f.c);
    assert_ok(eg_client_gradient(f.c, NULL, EG_EVAL_FORM, &rows, &gradient));
    float *own = copy_of(gradient, f.c->n_params);
    const eg_point points[] = {
        {f.c->param, f.c->state}, {f.c->param, NULL}, {NULL, f.c->state}, {NULL, NULL}};
    for (int i = 0; i < 4; i++) {
        assert_ok(eg_client_gradient(f.c, &at, EG_EVAL_FORM, &rows, &gradient));
        assert_memory_not_equal(own, gradient, f.c->n_params * sizeof *own);
        assert_ok(eg_client_gradient(f.c, &points[i], EG_EVAL_FORM, &rows, &gradient));
        assert_memory_equal(own, gradient, f.c->n_params * sizeof *own);
    }
    free(own);
    free(at.param);
    free(at.state);
    close_fixture(&f);
}

static void test_a_gradient_of_ones_own_rows_is_that_of_samples(void **state)
{
    (void)state;
    fixture f;
    const float *gradient;
    open_fixture(&f, NULL);
    const eg_rows samples = {.n = N, .samples = f.samples};
    const eg_rows rows = {.n = N, .x = f.x, .labels = f.labels};
    assert_ok(eg_client_gradient(f.c, NULL, EG_EVAL_FORM, &samples, &gradient));
    float *first = copy_of(gradient, f.c->n_params);
    assert_ok(eg_client_gradient(f.c, NULL, EG_EVAL_FORM, &rows, &gradient));
    assert_memory_equal(first, gradient, f.c->n_params * sizeof *first);
    free(first);
    close_fixture(&f);
}

typedef struct looks {
    float norms[N], losses[N], *logits, *features;
} looks;

static void look(fixture *f, const eg_weights *at, const eg_rows *rows, looks *out)
{
    size_t d = (size_t)eg_net_n_features(f->c->net), classes = (size_t)f->c->n_classes;
    assert_ok(eg_alloc(N * classes, sizeof *out->logits, &out->logits));
    assert_ok(eg_alloc(N * d, sizeof *out->features, &out->features));
    assert_ok(eg_client_look(f->c, at, rows,
                             &(eg_look){out->norms, out->losses, out->logits, out->features}));
}

static void check_looks(const fixture *f, const looks *a, const looks *b)
{
    size_t d = (size_t)eg_net_n_features(f->c->net), classes = (size_t)f->c->n_classes;
    assert_memory_equal(a->norms, b->norms, sizeof a->norms);
    assert_memory_equal(a->losses, b->losses, sizeof a->losses);
    assert_memory_equal(a->logits, b->logits, N * classes * sizeof *a->logits);
    assert_memory_equal(a->features, b->features, N * d * sizeof *a->features);
}

static void free_looks(looks *l)
{
    free(l->logits);
    free(l->features);
}

static double flops_of(eg_program *p)
{
    eg_plan *plan;
    assert_ok(eg_program_plan(p, 8, &plan));
    return eg_plan_flops(plan);
}

static void assert_close(const float *got, const float *want, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)want[i]));
    for (size_t i = 0; i < n; i++)
        assert_near(got[i], want[i], 1e-6 * most);
}

/* Norms and gradient together are what a look and a gradient are one after the other. */
static void check_both(const char *set, bool one_pass)
{
    fixture f, apart;
    const float *gradient, *wanted;
    float norms[8], each[8];
    open_fixture(&f, set);
    open_fixture(&apart, set);
    const eg_rows rows = {.n = 8, .samples = f.samples};
    eg_point at = point_beside(f.c), there = point_beside(apart.c);
    model before = model_of(f.c);
    assert_ok(eg_client_gradient_norms(f.c, &at, &rows, norms, &gradient));
    check_same(&before, f.c);
    assert_ok(eg_client_look(apart.c, &(eg_weights){there.param, there.state}, &rows,
                             &(eg_look){.norms = each}));
    assert_ok(eg_client_gradient(apart.c, &there, EG_TRAIN_FORM, &rows, &wanted));
    assert_close(norms, each, 8);
    assert_close(gradient, wanted, f.c->n_params);
    assert_close(at.state, there.state, f.c->n_state);
    eg_worker *w = f.c->worker;
    double both = flops_of(w->both), sum = flops_of(w->looks[1]) + flops_of(w->plain[0]);
    assert_true(both < (one_pass ? 0.75 : 1) * sum); /* the first layer is shared always */
    free_model(&before);
    free(at.param), free(at.state), free(there.param), free(there.state);
    close_fixture(&f);
    close_fixture(&apart);
}

static void test_norms_and_gradient_share_a_pass_where_forms_are_one(void **state)
{
    (void)state;
    check_both(NULL, false);              /* batch norm */
    check_both("model=cnn_small", false); /* dropout */
    check_both("model=cnn", true);
    check_both("model=mlp", true);
    check_both("train.classes=seen", false); /* with a mask */
}

/* 21 rows are cut into batches of 8. */
static void test_a_look_at_ones_own_rows_is_that_at_samples(void **state)
{
    (void)state;
    fixture f;
    looks of_samples, of_rows, beside, there;
    open_fixture(&f, NULL);
    const eg_rows samples = {.n = N, .samples = f.samples};
    const eg_rows rows = {.n = N, .x = f.x, .labels = f.labels};
    model before = model_of(f.c);
    eg_point at = point_beside(f.c);
    look(&f, NULL, &samples, &of_samples);
    look(&f, NULL, &rows, &of_rows);
    check_looks(&f, &of_samples, &of_rows);
    look(&f, &(eg_weights){at.param, at.state}, &rows, &beside);
    assert_memory_not_equal(beside.losses, of_rows.losses, sizeof beside.losses);
    check_same(&before, f.c);
    move_to(f.c, &at);
    look(&f, NULL, &samples, &there);
    check_looks(&f, &beside, &there);
    free_looks(&of_samples);
    free_looks(&of_rows);
    free_looks(&beside);
    free_looks(&there);
    free(at.param);
    free(at.state);
    free_model(&before);
    close_fixture(&f);
}

/* Without labels the logits are the same, whatever the loss counts. */
static void test_a_look_at_rows_without_labels(void **state)
{
    (void)state;
    static const char *const sets[] = {"train.classes=all", "train.classes=task"};
    for (int i = 0; i < 2; i++) {
        fixture f;
        looks full;
        open_fixture(&f, sets[i]);
        size_t n = N * (size_t)f.c->n_classes;
        float *logits;
        assert_ok(eg_alloc(n, sizeof *logits, &logits));
        assert_ok(eg_client_look(f.c, NULL, &(eg_rows){.n = N, .x = f.x},
                                 &(eg_look){.logits = logits}));
        look(&f, NULL, &(eg_rows){.n = N, .samples = f.samples}, &full);
        for (size_t k = 0; k < n; k++)
            assert_near((double)logits[k], (double)full.logits[k], 1e-5);
        free(logits);
        free_looks(&full);
        close_fixture(&f);
    }
}

static void test_the_memorys_gradient_is_that_of_its_rows(void **state)
{
    (void)state;
    fixture f;
    const float *gradient;
    open_fixture(&f, NULL);
    assert_ok(eg_client_replay_gradient(f.c, 5, 0, &gradient));
    assert_null(gradient); /* the memory is empty */
    assert_ok(one_client_turn(&f.one, 0));
    model before = model_of(f.c);
    float *statistics = copy_of(f.c->state, f.c->n_state);
    assert_ok(eg_client_replay_gradient(f.c, 100, 0, &gradient)); /* all 12, in some order */
    float *replayed = copy_of(gradient, f.c->n_params);
    eg_memory_rows rows = eg_memory_get(f.c->memory);
    assert_int_equal(rows.n, 12);
    assert_memory_equal(before.param, f.c->param, f.c->n_params * sizeof *before.param);
    assert_memory_equal(before.grad, f.c->grad, f.c->n_params * sizeof *before.grad);
    assert_ok(eg_client_gradient(f.c, &(eg_point){NULL, statistics}, EG_TRAIN_FORM,
                                 &(eg_rows){.n = 12, .x = rows.x, .labels = rows.labels},
                                 &gradient));
    for (size_t i = 0; i < f.c->n_params; i++)
        assert_near((double)replayed[i], (double)gradient[i], 1e-4);
    free(replayed);
    free(statistics);
    free_model(&before);
    close_fixture(&f);
}

/* A transformer's gradient of many rows is taken in pieces, and is the mean of theirs. */
static void test_a_transformers_gradient_is_that_of_its_pieces(void **state)
{
    (void)state;
    static const char tokens[] =
        "name: t\n"
        "data: {name: glyphs, train: 60, test: 10, size: 8}\n"
        "model: {name: vit, patch: 4, width: 8, depth: 1, heads: 1}\n"
        "scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 2}\n"
        "memory: {kind: reservoir, size: 40}\n"
        "train: {epochs: 1, batch: 8}\n"
        "runs: [{label: a, method: er}]\n";
    enum { ROWS = 37, WHOLE = 16 };
    one_client o;
    eg_sample samples[ROWS];
    const float *got;
    one_client_open(&o, tokens, NULL);
    one_client_samples(&o, 0, ROWS, samples);
    double *sum = calloc(o.c->n_params, sizeof *sum);
    assert_non_null(sum);
    one_client_train(&o);                /* so that a memory is there */
    for (int64_t i = 0; i < ROWS; i++) { /* one by one, which is never cut */
        const eg_rows one = {.n = 1, .samples = samples + i};
        assert_ok(eg_client_gradient(o.c, NULL, EG_TRAIN_FORM, &one, &got));
        for (size_t k = 0; k < o.c->n_params; k++)
            sum[k] += (double)got[k] / ROWS;
    }
    assert_ok(eg_client_gradient(o.c, NULL, EG_TRAIN_FORM,
                                 &(eg_rows){.n = ROWS, .samples = samples}, &got));
    double off = 0, norm = 0;
    for (size_t k = 0; k < o.c->n_params; k++) {
        off += ((double)got[k] - sum[k]) * ((double)got[k] - sum[k]);
        norm += sum[k] * sum[k];
    }
    assert_true(norm > 0 && off < 1e-10 * norm);
    /* All rows that the memory holds, which are the mean of themselves in any order. */
    int64_t there = eg_memory_filled(o.c->memory);
    assert_true(there > 2 * WHOLE);
    assert_ok(eg_client_replay_gradient(o.c, there, 0, &got));
    double replayed = 0;
    for (size_t k = 0; k < o.c->n_params; k++)
        replayed += (double)got[k] * (double)got[k];
    assert_true(replayed > 0.01 * norm && replayed < 100 * norm);
    free(sum);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_gradient_at_another_point_leaves_the_client_alone),
        cmocka_unit_test(test_what_a_point_leaves_open_is_the_clients_own),
        cmocka_unit_test(test_a_gradient_of_ones_own_rows_is_that_of_samples),
        cmocka_unit_test(test_norms_and_gradient_share_a_pass_where_forms_are_one),
        cmocka_unit_test(test_a_look_at_ones_own_rows_is_that_at_samples),
        cmocka_unit_test(test_a_look_at_rows_without_labels),
        cmocka_unit_test(test_the_memorys_gradient_is_that_of_its_rows),
        cmocka_unit_test(test_a_transformers_gradient_is_that_of_its_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
