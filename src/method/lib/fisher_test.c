/* fisher_test.c - the diagonal Fisher against its closed form and against sample norms.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include "method/lib/fisher.h"

#define TEXT(data, model)                                                                      \
    "name: t\n"                                                                                \
    "data: " data "\n"                                                                         \
    "model: " model "\n"                                                                       \
    "scenario: {kind: class-incremental, clients: 1, tasks: 1, rounds: 1}\n"                   \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "train: {epochs: 1, batch: 8}\n"                                                           \
    "runs: [{label: a, method: fedavg}]\n"

enum { DIM = 4, CLASSES = 3, N = 20 };

/* Adds a sample's squared gradient of logistic regression, ((p - y) x)^2 and (p - y)^2. */
static void add_squares(const one_client *o, eg_sample s, double w2[CLASSES * DIM],
                        double b2[CLASSES])
{
    const eg_params *p = eg_net_params(o->net);
    const float *w = o->c->param + eg_params_at(p, 0)->offset;
    const float *b = o->c->param + eg_params_at(p, 1)->offset;
    float x[DIM], label;
    double z[CLASSES], sum = 0;
    eg_feed_train(&o->feed, &s, 1, NULL, x, &label);
    for (int k = 0; k < CLASSES; k++) {
        z[k] = (double)b[k];
        for (int d = 0; d < DIM; d++)
            z[k] += (double)w[k * DIM + d] * (double)x[d];
        sum += exp(z[k]);
    }
    for (int k = 0; k < CLASSES; k++) {
        double dz = exp(z[k]) / sum - (k == (int)label);
        b2[k] += dz * dz;
        for (int d = 0; d < DIM; d++)
            w2[k * DIM + d] += pow(dz * (double)x[d], 2);
    }
}

static void check_closed_form(int64_t take, int64_t expected)
{
    one_client o;
    one_client_open(
        &o,
        TEXT("{name: blobs, train: 20, test: 3, classes: 3, dim: 4}", "{name: mlp, depth: 0}"),
        NULL);
    const eg_params *p = eg_net_params(o.net);
    int64_t n_spans;
    const eg_span *spans = eg_scenario_spans(o.feed.scenario, 0, 0, &n_spans);
    assert_int_equal(n_spans, 1);
    assert_int_equal(spans->n, N);
    /* In two halves: what is taken is spread over all of them. */
    const eg_span halves[] = {{spans->task, 7, spans->ids},
                              {spans->task, N - 7, spans->ids + 7}};
    float *fisher;
    double w2[CLASSES * DIM] = {0}, b2[CLASSES] = {0};
    assert_ok(eg_params_alloc(p, &fisher));
    assert_ok(eg_fisher(o.c, halves, 2, take, fisher));
    for (int64_t i = 0; i < expected; i++)
        add_squares(&o, (eg_sample){spans->task, spans->ids[i * N / expected]}, w2, b2);
    for (int i = 0; i < CLASSES * DIM; i++)
        assert_near((double)fisher[eg_params_at(p, 0)->offset + (size_t)i],
                    w2[i] / (double)expected, 1e-7);
    for (int i = 0; i < CLASSES; i++)
        assert_near((double)fisher[eg_params_at(p, 1)->offset + (size_t)i],
                    b2[i] / (double)expected, 1e-7);
    free(fisher);
    one_client_close(&o);
}

static void test_logistic_regression_has_the_closed_form(void **state)
{
    (void)state;
    check_closed_form(0, N);
    check_closed_form(6, 6);
    check_closed_form(1000, N);
}

/* The sum of a sample's squares is its gradient's squared norm, computed another way; neither
 * dropout nor batch statistics have a part in it. */
static void check_against_norms(const char *text)
{
    enum { TAKEN = 4 };
    one_client o;
    one_client_open(&o, text, NULL);
    eg_client *c = o.c;
    int64_t n_spans;
    const eg_span *spans = eg_scenario_spans(o.feed.scenario, 0, 0, &n_spans);
    float *fisher, *again, norms[TAKEN], *before;
    eg_sample samples[TAKEN];
    double sum = 0, mean = 0;
    for (int i = 0; i < TAKEN; i++)
        samples[i] = (eg_sample){spans->task, spans->ids[i]};
    assert_ok(eg_params_alloc(eg_net_params(o.net), &fisher));
    assert_ok(eg_params_alloc(eg_net_params(o.net), &again));
    assert_ok(eg_state_alloc(eg_net_params(o.net), &before));
    if (c->n_state)
        memcpy(before, c->state, c->n_state * sizeof *before);
    const eg_span first = {spans->task, TAKEN, spans->ids};
    assert_ok(eg_fisher(c, &first, 1, 0, fisher));
    c->step++;
    assert_ok(eg_fisher(c, &first, 1, 0, again));
    assert_memory_equal(fisher, again, c->n_params * sizeof *fisher);
    if (c->n_state)
        assert_memory_equal(before, c->state, c->n_state * sizeof *before);
    assert_ok(eg_client_look(c, NULL, &(eg_rows){.n = TAKEN, .samples = samples},
                             &(eg_look){.norms = norms}));
    for (size_t i = 0; i < c->n_params; i++)
        sum += (double)fisher[i];
    for (int i = 0; i < TAKEN; i++)
        mean += (double)norms[i] / TAKEN;
    assert_true(mean > 1e-3);
    assert_near(sum / mean, 1, 1e-4);
    free(fisher);
    free(again);
    free(before);
    one_client_close(&o);
}

static void test_it_sums_to_the_norms_in_eval_form(void **state)
{
    (void)state;
    check_against_norms(TEXT("{name: glyphs, train: 20, test: 10}", "{name: cnn_small}"));
    check_against_norms(TEXT("{name: glyphs, train: 20, test: 10}", "{name: resnet18_thin}"));
}

static void test_no_samples_have_none(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT("{name: blobs, train: 20, test: 3}", "{name: mlp, depth: 0}"),
                    NULL);
    float *fisher;
    assert_ok(eg_params_alloc(eg_net_params(o.net), &fisher));
    fisher[0] = 7;
    assert_ok(eg_fisher(o.c, NULL, 0, 0, fisher));
    for (size_t i = 0; i < o.c->n_params; i++)
        assert_true(fisher[i] == 0);
    free(fisher);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logistic_regression_has_the_closed_form),
        cmocka_unit_test(test_it_sums_to_the_norms_in_eval_form),
        cmocka_unit_test(test_no_samples_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
