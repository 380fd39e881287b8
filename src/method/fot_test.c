/* fot_test.c - sketches against the inputs they are of, what the server makes of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hand_client.h"
#include "one_client.h"

extern const eg_method eg_method_fot;

static const eg_method *const method = &eg_method_fot;

/* One client, one task with 12 samples of 4 inputs. */
#define TEXT                                                                                   \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 24, test: 6, classes: 6, dim: 4}\n"                            \
    "model: {name: mlp, depth: 1, width: 5}\n"                                                 \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"                   \
    "train: {epochs: 1, batch: 8}\n"                                                           \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "fot: {columns: 100}\n"                                                                    \
    "runs: [{label: a, method: fot}]\n"

enum { DIM = 4, STAGE = 12, SUBSPACE = 1, COLUMNS = 100 * DIM };

/* The sum of x x^T over the first stage, and its trace. */
static double inputs(one_client *o, double sum[DIM * DIM])
{
    eg_sample samples[STAGE];
    float x[STAGE * DIM], labels[STAGE];
    double trace = 0;
    one_client_samples(o, 0, STAGE, samples);
    eg_client_feed(o->c, samples, STAGE, x, labels);
    memset(sum, 0, DIM * DIM * sizeof *sum);
    for (int n = 0; n < STAGE; n++)
        for (int i = 0; i < DIM; i++) {
            for (int j = 0; j < DIM; j++)
                sum[i * DIM + j] += (double)x[n * DIM + i] * (double)x[n * DIM + j];
            trace += (double)x[n * DIM + i] * (double)x[n * DIM + i];
        }
    return trace;
}

/* Columns of covariance C: their products' mean is C, but for 1 / sqrt(columns). */
static void test_a_sketch_is_a_random_sum_of_the_inputs(void **state)
{
    (void)state;
    one_client o;
    double sum[DIM * DIM], all, rest, trace;
    size_t n;
    one_client_open(&o, TEXT, NULL);
    assert_ok(one_client_exchange(&o, 0, SUBSPACE));
    const float *sketch = eg_bundle_find(o.up, "fot.sketch.0", &n);
    assert_non_null(sketch);
    assert_int_equal(n, DIM * COLUMNS);
    trace = inputs(&o, sum);
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++) {
            double mean = 0;
            for (int k = 0; k < COLUMNS; k++)
                mean += (double)sketch[i * COLUMNS + k] * (double)sketch[j * COLUMNS + k];
            double spread = sqrt(sum[i * DIM + i] * sum[j * DIM + j] / COLUMNS);
            assert_near(mean / COLUMNS, sum[i * DIM + j], 5 * spread);
        }
    assert_true(eg_bundle_scalar_of(o.up, "fot.all.0", &all));
    assert_true(eg_bundle_scalar_of(o.up, "fot.rest.0", &rest));
    assert_near(all, trace, 1e-4 * trace);
    assert_near(rest, trace, 1e-4 * trace);
    assert_null(eg_bundle_find(o.up, "fot.sketch.1", NULL)); /* the head is free */
    one_client_close(&o);
}

/* What the server knows already is not sent again. */
static void test_a_sketch_has_nothing_of_what_is_known(void **state)
{
    (void)state;
    const float known[DIM] = {0.6F, 0, 0.8F, 0};
    one_client o;
    double sum[DIM * DIM], all, rest, along = 0, trace;
    char name[80];
    one_client_open(&o, TEXT, NULL);
    snprintf(name, sizeof name, "fot.%s", eg_params_at(eg_net_params(o.net), 0)->name);
    assert_ok(eg_bundle_add(o.down, name, eg_dims(DIM, 1), known));
    assert_ok(one_client_exchange(&o, 0, SUBSPACE));
    const float *sketch = eg_bundle_find(o.up, "fot.sketch.0", NULL);
    for (int k = 0; k < COLUMNS; k++)
        assert_near((double)(0.6F * sketch[k] + 0.8F * sketch[2 * COLUMNS + k]), 0, 1e-4);
    trace = inputs(&o, sum);
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
            along += (double)known[i] * sum[i * DIM + j] * (double)known[j];
    assert_true(eg_bundle_scalar_of(o.up, "fot.all.0", &all));
    assert_true(eg_bundle_scalar_of(o.up, "fot.rest.0", &rest));
    assert_near(rest, trace - along, 1e-4 * trace);
    assert_near(all, trace, 1e-4 * trace);
    one_client_close(&o);
}

static void test_the_release_tells_lengths_by_samples(void **state)
{
    (void)state;
    const float known[DIM] = {0.6F, 0, 0.8F, 0};
    one_client o;
    double all, rest, energy_all, energy_rest;
    char name[80];
    for (int release = 0; release < 2; release++) {
        one_client_open(&o, TEXT, release ? "fot.variant=release" : NULL);
        snprintf(name, sizeof name, "fot.%s", eg_params_at(eg_net_params(o.net), 0)->name);
        assert_ok(eg_bundle_add(o.down, name, eg_dims(DIM, 1), known));
        assert_ok(one_client_exchange(&o, 0, SUBSPACE));
        assert_true(eg_bundle_scalar_of(o.up, "fot.all.0", release ? &all : &energy_all));
        assert_true(eg_bundle_scalar_of(o.up, "fot.rest.0", release ? &rest : &energy_rest));
        one_client_close(&o);
    }
    assert_near(all, STAGE, 0);
    assert_near(rest / all, sqrt(energy_rest / energy_all), 1e-6);
}

/* A server of the one client's network. */
static void server_open(hand_server *h, one_client *o)
{
    hand_server_open(h, method, (const char *const[]){"columns", "1", NULL}, o->c->n_params,
                     o->c->param);
    h->s.net = o->net;
    h->s.scenario = o->feed.scenario;
}

/* A mean answer whose sketch is diag(sqrt(energies)), of which `all` is what there was. */
static eg_bundle *answer(const double energies[DIM], double all)
{
    eg_bundle *b;
    float sketch[DIM * DIM] = {0};
    double rest = 0;
    for (int i = 0; i < DIM; i++) {
        sketch[i * DIM + i] = (float)sqrt(energies[i]);
        rest += energies[i];
    }
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(b, "fot.sketch.0", sketch, DIM * DIM));
    assert_ok(eg_bundle_scalar(b, "fot.rest.0", rest));
    assert_ok(eg_bundle_scalar(b, "fot.all.0", all));
    return b;
}

static int64_t columns_after(hand_server *h, const double energies[DIM], double all)
{
    size_t n = 0;
    char name[80];
    eg_bundle *b = answer(energies, all);
    snprintf(name, sizeof name, "fot.%s", eg_params_at(eg_net_params(h->s.net), 0)->name);
    assert_ok(method->server.accept(h->self, &h->s, SUBSPACE, 0, b));
    assert_ok(method->server.collect(h->self, &h->s, SUBSPACE, EG_SERVER, b));
    eg_bundle_free(b);
    eg_bundle_find(hand_server_save(h, "fot"), name, &n);
    return (int64_t)n / DIM;
}

/* The threshold is 0.94, then 0.941. Of 60 + 30 + 8 + 2, 98 are the first with 94. In the next
 * task 5 of 100 are left, fewer than 5.9: nothing is added. Then 10 of 100, all along the last
 * input: (0.1 - 0.058) / 0.1 of them are wanted. */
static void test_the_server_adds_what_the_threshold_lacks(void **state)
{
    (void)state;
    one_client o;
    hand_server h, again;
    one_client_open(&o, TEXT, NULL);
    server_open(&h, &o);
    assert_ok(method->server.begin(h.self, &h.s));
    assert_int_equal(columns_after(&h, (const double[]){60, 2, 8, 30}, 100), 3);
    assert_int_equal(columns_after(&h, (const double[]){0, 5, 0, 0}, 100), 3);
    server_open(&again, &o);
    assert_ok(hand_server_go_on(&again, &h));
    assert_int_equal(columns_after(&again, (const double[]){0, 10, 0, 0}, 100), 4);
    hand_server_close(&again);
    hand_server_close(&h);
    one_client_close(&o);
}

/* The change of the first layer loses what lies along inputs 0, 2 and 3; all else stays. */
static void test_the_mean_change_keeps_off_the_past(void **state)
{
    (void)state;
    one_client o;
    hand_server h;
    float *mean, *refined;
    one_client_open(&o, TEXT, NULL);
    const eg_params *table = eg_net_params(o.net);
    const eg_param_info *w = eg_params_at(table, 0);
    server_open(&h, &o);
    assert_ok(method->server.begin(h.self, &h.s));
    assert_ok(eg_params_alloc(table, &mean));
    assert_ok(eg_params_alloc(table, &refined));
    eg_params_init(table, 5, mean, NULL);
    memcpy(refined, mean, o.c->n_params * sizeof *mean);
    assert_ok(method->server.refine(h.self, &h.s, refined, NULL)); /* no task has ended */
    assert_memory_equal(refined, mean, o.c->n_params * sizeof *mean);
    columns_after(&h, (const double[]){60, 2, 8, 30}, 100);
    assert_ok(method->server.refine(h.self, &h.s, refined, NULL));
    for (size_t i = 0; i < o.c->n_params; i++) {
        bool held = i >= w->offset && i < w->offset + w->size && (i - w->offset) % DIM != 1;
        assert_near((double)refined[i], (double)(held ? o.c->param[i] : mean[i]), 1e-6);
    }
    free(mean);
    free(refined);
    hand_server_close(&h);
    one_client_close(&o);
}

static void test_what_no_inputs_could_tell_is_left_out(void **state)
{
    (void)state;
    const float few[3] = {1, 2, 3};
    one_client o;
    hand_server h;
    eg_bundle *b = answer((const double[]){4, 3, 2, 1}, 9);
    one_client_open(&o, TEXT, NULL);
    server_open(&h, &o);
    assert_ok(method->server.begin(h.self, &h.s));
    assert_fails(method->server.accept(h.self, &h.s, SUBSPACE, 0, b), EG_EINVAL,
                 "layer 0's inputs is not from 0 to all");
    eg_bundle_clear(b);
    assert_ok(eg_bundle_add_flat(b, "fot.sketch.0", few, 3));
    assert_fails(method->server.accept(h.self, &h.s, SUBSPACE, 0, b), EG_ESHAPE,
                 "fot.sketch.0");
    eg_bundle_free(b);
    hand_server_close(&h);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sketch_is_a_random_sum_of_the_inputs),
        cmocka_unit_test(test_a_sketch_has_nothing_of_what_is_known),
        cmocka_unit_test(test_the_release_tells_lengths_by_samples),
        cmocka_unit_test(test_the_server_adds_what_the_threshold_lacks),
        cmocka_unit_test(test_the_mean_change_keeps_off_the_past),
        cmocka_unit_test(test_what_no_inputs_could_tell_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
