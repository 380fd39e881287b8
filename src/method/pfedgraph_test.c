/* pfedgraph_test.c - pFedGraph's weights, models and pull, found again in double from what
 * other parts of the run see.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <engram/method.h>

enum { CLIENTS = 4, ROUNDS = 4, MOST = 4096 };

#define TEXT_OF(scenario)                                                                      \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 300, test: 60, classes: 4, dim: 8}\n"                          \
    "model: {name: layers, layers: '[flatten, linear 6, batch-norm, relu]'}\n"                 \
    "scenario: {kind: class-incremental, clients: 4, tasks: 1, rounds: 4, "                    \
    "partition: {kind: dirichlet, alpha: 0.5, min: 10}" scenario "}\n"                         \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "train: {epochs: 2, batch: 16}\n"                                                          \
    "runs: [{label: a, method: [before, pfedgraph, after]}]\n"
#define TEXT TEXT_OF("")

/* What the parts around it saw. */
static struct {
    size_t n, n_state;
    double start[MOST]; /* the first model */
    double param[CLIENTS][MOST], state[CLIENTS][MOST], samples[CLIENTS];
    int64_t round[CLIENTS];         /* of the last upload */
    double personal[CLIENTS][MOST]; /* as it ought to be */
    double own_state[CLIENTS][MOST], pull[CLIENTS][MOST];
    bool has[CLIENTS];
    double grad[MOST];
    double worst_model, worst_grad;
    int64_t n_models, n_grads;
    double lambda; /* with its sign */
} seen;

static double product(const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < seen.n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Cosine of two uploads' ways from the start. */
static double likeness(int i, int j)
{
    double dot = 0, a = 0, b = 0;
    for (size_t k = 0; k < seen.n; k++) {
        double x = seen.param[i][k] - seen.start[k], y = seen.param[j][k] - seen.start[k];
        dot += x * y, a += x * x, b += y * y;
    }
    return dot / sqrt(a * b);
}

/* Minimises 0.8 |x|^2 + (d - 1.6 p).x on the simplex by many small steps: another way than the
 * part's. */
static void solve(int i, const bool *in, double *x)
{
    double all = 0, n = 0, cosines[CLIENTS];
    for (int j = 0; j < CLIENTS; j++)
        all += in[j] ? seen.samples[j] : 0, n += in[j];
    for (int j = 0; j < CLIENTS; j++) {
        cosines[j] = in[j] ? likeness(i, j) : 0;
        x[j] = in[j] ? 1 / n : 0;
    }
    for (int step = 0; step < 5000; step++) {
        double sum = 0;
        for (int j = 0; j < CLIENTS; j++) {
            double alike = cosines[j] > 0.9 ? 1 : cosines[j];
            double slope = 1.6 * x[j] - alike - 1.6 * seen.samples[j] / all;
            x[j] *= exp(-0.05 * slope);
            sum += x[j];
        }
        for (int j = 0; j < CLIENTS; j++)
            x[j] /= sum;
    }
}

static void expect_models(int64_t round)
{
    bool in[CLIENTS];
    for (int j = 0; j < CLIENTS; j++)
        in[j] = seen.round[j] == round;
    for (int i = 0; i < CLIENTS; i++) {
        double x[CLIENTS];
        if (!in[i])
            continue;
        solve(i, in, x);
        seen.has[i] = true;
        memset(seen.personal[i], 0, sizeof seen.personal[i]);
        memset(seen.own_state[i], 0, sizeof seen.own_state[i]);
        memset(seen.pull[i], 0, sizeof seen.pull[i]);
        for (int j = 0; j < CLIENTS; j++) {
            double length = sqrt(product(seen.param[j], seen.param[j]));
            for (size_t k = 0; k < seen.n && in[j]; k++) {
                seen.personal[i][k] += x[j] * seen.param[j][k];
                seen.pull[i][k] += x[j] * seen.param[j][k] / length;
            }
            for (size_t k = 0; k < seen.n_state && in[j]; k++)
                seen.own_state[i][k] += x[j] * seen.state[j][k];
        }
    }
}

static eg_status before_begin(void *self, eg_server *s)
{
    (void)self;
    assert_true(s->n_params <= MOST && s->n_state <= MOST);
    seen.n = s->n_params, seen.n_state = s->n_state;
    for (size_t k = 0; k < seen.n; k++)
        seen.start[k] = (double)s->param[k];
    for (int i = 0; i < CLIENTS; i++)
        seen.round[i] = -1;
    return EG_OK;
}

static eg_status before_collect(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from)
{
    (void)self, (void)exchange;
    const float *param = eg_bundle_find(from, "param", NULL);
    const float *state = eg_bundle_find(from, "state", NULL);
    for (size_t k = 0; k < seen.n; k++)
        seen.param[client][k] = (double)param[k];
    for (size_t k = 0; k < seen.n_state; k++)
        seen.state[client][k] = (double)state[k];
    eg_bundle_scalar_of(from, "samples", &seen.samples[client]);
    seen.round[client] = s->round;
    return EG_OK;
}

static eg_status before_finish(void *self, eg_server *s, int exchange)
{
    (void)self, (void)exchange;
    expect_models(s->round);
    return EG_OK;
}

static void compare(const float *got, const double *wanted, size_t n)
{
    for (size_t k = 0; k < n; k++)
        seen.worst_model = fmax(seen.worst_model, fabs((double)got[k] - wanted[k]));
}

static eg_status before_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    (void)self, (void)exchange;
    const float *pull = eg_bundle_find(from, "pfedgraph.pull", NULL);
    if (!seen.has[c->id])
        return pull ? eg_fail(EG_EINVAL, "nobody can pull yet") : EG_OK;
    compare(c->param, seen.personal[c->id], seen.n);
    compare(c->state, seen.own_state[c->id], seen.n_state);
    compare(pull, seen.pull[c->id], seen.n);
    seen.n_models++;
    return EG_OK;
}

static eg_status before_grad(void *self, eg_client *c)
{
    (void)self;
    for (size_t k = 0; k < seen.n; k++)
        seen.grad[k] = (double)c->grad[k];
    return EG_OK;
}

/* <c, theta> / |theta| with theta moved in place k. */
static double pulled(const eg_client *c, size_t k, double by)
{
    double dot = 0, square = 0;
    for (size_t i = 0; i < seen.n; i++) {
        double w = (double)c->param[i] + (i == k ? by : 0);
        dot += seen.pull[c->id][i] * w, square += w * w;
    }
    return dot / sqrt(square);
}

static eg_status after_grad(void *self, eg_client *c)
{
    (void)self;
    for (size_t k = 0; k < seen.n && seen.has[c->id] && c->step == 0; k += 7, seen.n_grads++) {
        double slope = (pulled(c, k, 1e-5) - pulled(c, k, -1e-5)) / 2e-5;
        seen.worst_grad = fmax(seen.worst_grad,
                               fabs((double)c->grad[k] - seen.grad[k] - seen.lambda * slope));
    }
    return EG_OK;
}

static const eg_method before = {
    .component = {"before", "sees what pfedgraph sees", 0, NULL},
    .client = {.download = before_download, .grad = before_grad},
    .server = {.begin = before_begin, .collect = before_collect, .finish = before_finish},
};
static const eg_method after = {.component = {"after", "sees what pfedgraph did", 0, NULL},
                                .client = {.grad = after_grad}};

static void check(const char *text, const char *set, double lambda)
{
    char path[512];
    memset(&seen, 0, sizeof seen);
    seen.lambda = lambda;
    assert_ok(fixture_run(text, set, 1, 0, path));
    assert_true(seen.n_models > 0 && seen.n_grads > 0);
    if (seen.worst_model > 1e-4 || seen.worst_grad > 2e-6)
        fail_msg("off by %g and %g", seen.worst_model, seen.worst_grad);
}

static void test_models_and_pulls_are_those_of_the_paper(void **state)
{
    (void)state;
    check(TEXT, NULL, -0.01);
    check(TEXT, "pfedgraph.sign=plus", 0.01);
    check(TEXT, "pfedgraph.lambda=0.3", -0.3);
}

static void test_who_is_away_keeps_its_model(void **state)
{
    (void)state;
    check(TEXT_OF(", per_round: 2"), NULL, -0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_and_pulls_are_those_of_the_paper),
        cmocka_unit_test(test_who_is_away_keeps_its_model),
    };
    if (eg_method_add(&before) != EG_OK || eg_method_add(&after) != EG_OK)
        return 1;
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
