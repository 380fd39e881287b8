/* icarl_test.c - targets and loss by hand, and what becomes of a client's exemplars.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include <math.h>

/* A linear network, so that its logits can be worked out here. */
static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 120, test: 40, classes: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1, partition: iid}\n"
    "memory: {kind: reservoir, size: 9}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 1, batch: 23}\n"
    "runs: [{label: a, method: icarl}]\n";

/* The logit of class y for a row: w [classes, d] and b [classes] stand in param as the table
 * says. */
static double logit(const one_client *o, const float *param, const float *x, int64_t y)
{
    const eg_param_info *w = eg_params_at(eg_net_params(o->net), 0);
    const eg_param_info *b = eg_params_at(eg_net_params(o->net), 1);
    int64_t d = w->shape.dim[1];
    double sum = (double)param[b->offset + (size_t)y];
    for (int64_t k = 0; k < d; k++)
        sum += (double)param[w->offset + (size_t)(y * d + k)] * (double)x[k];
    return sum;
}

/* The last batch of the first task, then of the second: targets are 1 at the label, and in the
 * second task sigmoids of the received model for the classes of the first; the loss is the mean
 * BCE of the logits before the step. */
static void check_batch(one_client *o, const uint8_t *old, const float *teacher)
{
    const eg_client *c = o->c;
    const float *t = eg_plan_input(c->plan, "icarl.targets");
    double loss = 0;
    assert_non_null(t);
    for (int64_t i = 0; i < c->batch; i++)
        for (int64_t y = 0; y < 4; y++, t++) {
            const float *x = c->x + (size_t)i * o->feed.sample;
            double wanted = (double)((int64_t)c->labels[i] == y);
            if (old[y])
                wanted = 1 / (1 + exp(-logit(o, teacher, x, y)));
            assert_near((double)*t, wanted, 1e-5);
            double z = (double)c->logits[i * 4 + y];
            loss += log1p(exp(z)) - wanted * z;
        }
    assert_near((double)*eg_plan_output(c->plan, "loss"), loss / (double)(4 * c->batch), 1e-5);
}

static void test_targets_loss_and_exemplars_by_hand(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, text, NULL);
    uint8_t old[4] = {0};
    assert_ok(one_client_turn(&o, 0));
    check_batch(&o, old, NULL);
    assert_int_equal(eg_memory_filled(o.c->memory), 0); /* the core offers it nothing */
    one_client_train(&o);
    const eg_view view = o.c->view;
    for (int64_t k = 0; k < view.n_spans; k++) {
        const int32_t *classes;
        int64_t n = eg_scenario_classes(o.feed.scenario, 0, view.spans[k].task, &classes);
        for (int64_t i = 0; i < n; i++)
            old[classes[i]] = 1;
    }
    float teacher[4096];
    size_t n;
    const float *received = eg_bundle_find(o.down, "param", &n);
    assert_true(n <= 4096);
    memcpy(teacher, received, n * sizeof *teacher);
    assert_ok(one_client_turn(&o, 0));
    check_batch(&o, old, teacher);
    /* Two classes, floor(9 / 2) each, trained on beside the new samples. */
    const eg_memory_rows kept = eg_memory_get(o.c->memory);
    assert_int_equal(kept.n, 8);
    for (int64_t i = 0; i < 8; i++) {
        assert_true(old[(int)kept.labels[i]]);
        assert_near((double)kept.labels[i], (double)kept.labels[i / 4 * 4], 0);
    }
    assert_int_equal(o.c->n_samples, o.c->view.n + 8);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets_loss_and_exemplars_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
