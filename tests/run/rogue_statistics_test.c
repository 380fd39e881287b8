/* rogue_statistics_test.c - what no batch can have made of running statistics is left out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include "run/experiment/experiment.h"

/* A network with batch norm: its state is four means and four variances. */
static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 400, test: 80, classes: 4}\n"
    "model: {name: layers, layers: [conv 4 k1, batch-norm, relu, flatten]}\n"
    "scenario: {kind: class-incremental, clients: 3, tasks: 1, rounds: 3, partition: iid}\n"
    "optimizer: {lr: 0.05}\n"
    "train: {batch: 16}\n"
    "runs: [{label: a, method: fedavg}]\n";

enum { ROGUE = 1 }; /* the client that uploads what it did not measure */

static struct {
    const char *tensor; /* that it changes, "": none */
    float value;
} plan;

/* The same upload with one value of a tensor changed. */
static eg_status rogue_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    (void)self, (void)exchange;
    const eg_params *p = eg_net_params(c->net);
    size_t i = 0;
    if (c->id != ROGUE || !*plan.tensor)
        return EG_OK;
    while (i < eg_params_n(p) && !strstr(eg_params_at(p, i)->name, plan.tensor))
        i++;
    assert_true(i < eg_params_n(p));
    c->state[eg_params_at(p, i)->offset + 2] = plan.value;
    eg_bundle_clear(to);
    EG_TRY(eg_bundle_scalar(to, "samples", (double)c->view.n));
    EG_TRY(eg_bundle_scalar(to, "loss", 1));
    EG_TRY(eg_bundle_add_flat(to, "param", c->param, c->n_params));
    return eg_bundle_add_flat(to, "state", c->state, c->n_state);
}

static const eg_method rogue = {
    .component = {"rogue", "", 0, NULL},
    .client = {.answer = rogue_answer},
};

static eg_events *run(const char *set)
{
    char path[512];
    eg_experiment *e;
    assert_ok(fixture_load(text, set, &e));
    e->parts.at[0].method = &rogue;
    assert_ok(runs_run(e, fixture_folder, 1, 0, path));
    eg_experiment_free(e);
    return fixture_events(path);
}

static void test_statistics_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *tensor;
        float value;
        const char *set, *why; /* why: NULL: it counts */
    } cases[] = {
        {"", 0, NULL, NULL},
        {"running_var", -1e-3f, NULL, "element 2 is -0.001, and no variance is negative"},
        {"running_var", -1, "server.max_change=0", "no variance is negative"},
        {"running_var", 1e30f, NULL, "a round brings statistics no further than 1e+06"},
        {"running_mean", -1e20f, NULL, "a round brings statistics no further than 1e+06"},
        {"running_mean", -1e3f, NULL, NULL}, /* far, but images may be dark */
        {"running_var", 1e5f, NULL, NULL},
        {"running_var", 1e30f, "server.max_change=0", NULL}, /* anything goes, if it can be */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan.tensor = cases[i].tensor, plan.value = cases[i].value;
        eg_events *log = run(cases[i].set);
        assert_int_equal(log->n_loss, cases[i].why ? 3 : 0); /* in every round */
        for (size_t k = 0; k < log->n_loss; k++) {
            assert_int_equal(log->loss[k].client, ROGUE);
            const char *why = cases[i].why ? cases[i].why : "nothing";
            assert_non_null(strstr(log->loss[k].why, why));
        }
        eg_events_free(log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statistics_that_cannot_be_are_left_out),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
