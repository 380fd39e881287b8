/* af_fcl_test.c - a flow goes there and back, its densities are those of what it draws, and
 * AF-FCL's loss is the sum of its terms, by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include "engine/model/net.h"
#include "method/lib/flow.h"

enum { D = 5, ROWS = 6, CLASSES = 3 };

static void open_flow(eg_flow *f)
{
    assert_ok(eg_flow_open(f, D, CLASSES, 7));
    eg_params_init(f->table, 5, f->own->param, f->own->state);
}

static void fill_rows(float *x, float *labels)
{
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    for (int i = 0; i < ROWS * D; i++)
        x[i] = (float)eg_rng_normal(&rng);
    for (int i = 0; i < ROWS; i++)
        labels[i] = (float)(i % CLASSES);
}

static void test_what_a_flow_draws_of_codes_is_what_they_are_of(void **state)
{
    (void)state;
    eg_flow f;
    float x[ROWS * D], labels[ROWS], codes[ROWS * D], logs[ROWS], back[ROWS * D];
    open_flow(&f);
    fill_rows(x, labels);
    assert_ok(eg_flow_look(&f, &(eg_flow_rows){ROWS, x, labels}, codes, logs));
    assert_ok(eg_flow_draw(&f, ROWS, codes, labels, back));
    double moved = 0;
    for (int i = 0; i < ROWS * D; i++) {
        assert_near((double)back[i], (double)x[i], 1e-4);
        moved += fabs((double)(codes[i] - x[i]));
    }
    assert_true(moved > 1);
    eg_flow_close(&f);
}

/* The determinant of the 5 by 5 matrix of differences, by elimination. */
static double log_determinant(double m[D][D])
{
    double sum = 0;
    for (int k = 0; k < D; k++) {
        int best = k;
        for (int i = k + 1; i < D; i++)
            best = fabs(m[i][k]) > fabs(m[best][k]) ? i : best;
        for (int j = 0; j < D; j++) {
            double other = m[k][j];
            m[k][j] = m[best][j];
            m[best][j] = other;
        }
        sum += log(fabs(m[k][k]));
        for (int i = k + 1; i < D; i++)
            for (int j = D - 1; j >= k; j--)
                m[i][j] -= m[i][k] / m[k][k] * m[k][j];
    }
    return sum;
}

/* log p(x) = log N(z) + log |dz / dx|, the derivative by differences. */
static void test_densities_follow_from_how_codes_move(void **state)
{
    (void)state;
    eg_flow f;
    float x[ROWS * D], labels[ROWS], codes[ROWS * D], logs[ROWS];
    open_flow(&f);
    fill_rows(x, labels);
    double jacobian[D][D];
    for (int j = 0; j < D; j++)
        for (int side = -1; side <= 1; side += 2) {
            float moved[D], one[D], log_p;
            memcpy(moved, x, sizeof moved);
            moved[j] += (float)side * 0.01F;
            assert_ok(eg_flow_look(&f, &(eg_flow_rows){1, moved, labels}, one, &log_p));
            for (int i = 0; i < D; i++)
                jacobian[i][j] = side < 0 ? -(double)one[i] : jacobian[i][j] + (double)one[i];
        }
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++)
            jacobian[i][j] /= 0.02;
    assert_ok(eg_flow_look(&f, &(eg_flow_rows){ROWS, x, labels}, codes, logs));
    double want = -0.5 * D * log(2 * acos(-1)) + log_determinant(jacobian);
    for (int i = 0; i < D; i++)
        want -= 0.5 * (double)codes[i] * (double)codes[i];
    assert_near((double)logs[0], want, 2e-3);
    eg_flow_close(&f);
}

static void test_a_flow_learns_where_its_rows_are(void **state)
{
    (void)state;
    eg_flow f;
    float x[64 * D], labels[64], drawn[64 * D], noise[64 * D];
    double first, last, mean = 0;
    open_flow(&f);
    assert_ok(eg_learner_optimize(f.own, "adam", "lr=0.01"));
    eg_rng rng = eg_rng_at(2, 0, 0, EG_FOR_TEST);
    for (int i = 0; i < 64 * D; i++) {
        labels[i / D] = (float)(i / D % 2);
        noise[i] = (float)eg_rng_normal(&rng);
        x[i] = (float)(0.2 * eg_rng_normal(&rng)) + 3 * labels[i / D];
    }
    for (int i = 0; i < 150; i++)
        assert_ok(eg_flow_learn(&f, &(eg_flow_rows){64, x, labels}, NULL, 0,
                                i == 0 ? &first : &last));
    assert_true(last < first - 3);
    assert_ok(eg_flow_draw(&f, 64, noise, labels, drawn));
    for (int i = 0; i < 64 * D; i++) /* of class 1 about 3, of class 0 about 0 */
        mean += (double)drawn[i] * (labels[i / D] > 0 ? 1 : -1) / (32 * D);
    assert_near(mean, 3, 0.4);
    eg_flow_close(&f);
}

static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 80, test: 20, classes: 4, dim: 6}\n"
    "model: {name: mlp, depth: 1, width: 6}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"
    "optimizer: {lr: 0}\n"
    "train: {steps: 1, batch: 8}\n"
    "af_fcl: {hidden: 8, lr: 0, feature: 0.5, outputs: 0.7, replay: 30, drawn: 0.2}\n"
    "runs: [{label: a, method: af_fcl}]\n";

/* -sum softmax(told / t) log softmax(own / t) over the first n_open outputs. */
static double entropy(const float *told, const float *own, int n_open, double t)
{
    double all = 0, mine = 0, sum = 0;
    for (int y = 0; y < n_open; y++) {
        all += exp((double)told[y] / t);
        mine += exp((double)own[y] / t);
    }
    for (int y = 0; y < n_open; y++)
        sum -= exp((double)told[y] / t) / all * ((double)own[y] / t - log(mine));
    return sum;
}

/* Nothing learns, so the old model is the model: its features are apart by nothing. The loss
 * the plan has is then worked out from the inputs that were filled. */
static void test_the_loss_is_the_sum_of_its_terms(void **state)
{
    (void)state;
    one_client o;
    float logits[8 * 4];
    one_client_open(&o, text, NULL);
    eg_client *c = o.c;
    eg_flow f;
    assert_ok(eg_flow_open(&f, eg_net_n_features(o.net), 4, 8));
    eg_params_init(f.table, 4, f.own->param, f.own->state);
    assert_ok(eg_learner_keep(f.own, "af_fcl.flow", o.down));
    one_client_train(&o);
    assert_ok(eg_learner_keep(f.own, "af_fcl.flow", o.down));
    assert_ok(one_client_turn(&o, 0));
    assert_ok(eg_client_look(c, NULL, &(eg_rows){.n = 8, .x = c->x, .labels = c->labels},
                             &(eg_look){.logits = logits}));
    const float *drawn = eg_plan_input(c->plan, "af_fcl.drawn told");
    const float *weights = eg_plan_input(c->plan, "af_fcl.weights");
    const float *labels = eg_plan_input(c->plan, "af_fcl.labels");
    double want = 0;
    for (int i = 0; i < 8; i++) {
        const float *z = logits + i * 4, *h = drawn + i * 4;
        double all = 0, of_drawn = 0;
        assert_true(labels[i] < 2 && weights[i] > 0);
        for (int y = 0; y < 4; y++) {
            all += exp((double)z[y]);
            of_drawn += exp((double)h[y]);
        }
        want += log(all) - (double)z[(int)c->labels[i]];
        want += 0.7 * entropy(z, z, 2, 2) + 30 * 0.2 * entropy(h, h, 2, 2);
        want += 30 * (double)weights[i] * (log(of_drawn) - (double)h[(int)labels[i]]);
    }
    assert_near((double)*eg_plan_output(c->plan, "loss"), want / 8, 1e-4);
    eg_flow_close(&f);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_flow_draws_of_codes_is_what_they_are_of),
        cmocka_unit_test(test_densities_follow_from_how_codes_move),
        cmocka_unit_test(test_a_flow_learns_where_its_rows_are),
        cmocka_unit_test(test_the_loss_is_the_sum_of_its_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
