/* server_optimizer_test.c - the state of server.optimizer moves with the model or not at all.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include "run/log/events.h"

#include "own_folder.h"

enum { ROGUE = 1, IN_ROUND = 1 }; /* who uploads something else, and when */

static float uploads; /* in every place; NAN: all clients do, and are left out */

static eg_status rogue_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    (void)self, (void)exchange;
    if (c->round != IN_ROUND || (c->id != ROGUE && !isnan(uploads)))
        return EG_OK;
    for (size_t i = 0; i < c->n_params; i++)
        c->param[i] = uploads;
    eg_bundle_clear(to);
    EG_TRY(eg_bundle_scalar(to, "samples", (double)c->view.n));
    EG_TRY(eg_bundle_scalar(to, "loss", 1));
    return eg_bundle_add_flat(to, "param", c->param, c->n_params);
}

static const eg_method rogue = {
    .component = {"rogue", "", 0, NULL},
    .client = {.answer = rogue_answer},
};

/* Runs it, and sees that one round alone was skipped, with these words. */
static void run(float value, const char *optimizer, const char *lr, const char *why,
                char hash[65])
{
    char path[512];
    int n = 0;
    eg_events *log;
    eg_experiment *e =
        small_run_open(folder, &(small_run){.method = "fedavg",
                                            .set = {optimizer, lr, "server.max_change=0"},
                                            .after = &rogue});
    uploads = value;
    assert_ok(runs_run(e, folder, 1, 0, path));
    eg_experiment_free(e);
    runs_hash(path, hash);
    assert_ok(eg_events_load(path, &log));
    for (size_t i = 0; i < log->n_loss; i++) {
        if (log->loss[i].client >= 0)
            continue;
        assert_int_equal(log->loss[i].round, IN_ROUND + 1);
        assert_non_null(strstr(log->loss[i].why, why));
        n++;
    }
    assert_int_equal(n, 1);
    eg_events_free(log);
}

/* The later rounds are those of a run in which nobody's upload counted in the skipped one. */
static void test_a_skipped_round_leaves_the_optimiser_as_it_was(void **state)
{
    (void)state;
    static const struct {
        const char *optimizer, *lr;
        float uploads;
        const char *why;
    } cases[] = {
        {"server.optimizer=momentum", "server.lr=10", 3e38f, "the new model is not finite"},
        {"server.optimizer=adam", "server.lr=0.1", 1e25f, "the state of server.optimizer"},
        {"server.optimizer=adagrad", "server.lr=0.1", 1e25f, "the state of server.optimizer"},
        {"server.optimizer=yogi", "server.lr=0.1", 1e25f, "the state of server.optimizer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char skipped[65], alone[65];
        run(cases[i].uploads, cases[i].optimizer, cases[i].lr, cases[i].why, skipped);
        run(NAN, cases[i].optimizer, cases[i].lr, "too few uploads are good", alone);
        assert_string_equal(skipped, alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_skipped_round_leaves_the_optimiser_as_it_was),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
