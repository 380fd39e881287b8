/* interval_test.c - from which model a client begins when not every round brings the server's.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include "own_folder.h"

/* The round each client trained in last, -1: none; and how often it began from which model. */
static struct {
    int64_t last[4], n_own, n_sent;
} seen;

static eg_status look_at_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    (void)self, (void)exchange;
    size_t n;
    const float *sent = eg_bundle_find(from, "param", &n);
    bool has_sent = memcmp(c->param, sent, n * sizeof *sent) == 0;
    /* Rounds 0, 2, 4 ... bring the server's model; a client that missed one takes it later. */
    bool goes_on = c->round % 2 == 1 && seen.last[c->id] == c->round - 1;
    assert_int_equal(has_sent, !goes_on);
    seen.n_own += goes_on;
    seen.n_sent += c->round % 2 == 1 && !goes_on;
    return EG_OK;
}

static eg_status note_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    (void)self, (void)exchange, (void)to;
    seen.last[c->id] = c->round;
    return EG_OK;
}

static void test_a_client_that_missed_the_model_takes_it_later(void **state)
{
    (void)state;
    static const eg_method look = {
        .component = {"look", "sees where clients begin", 0, NULL},
        .client = {.download = look_at_download, .answer = note_answer},
    };
    for (int i = 0; i < 4; i++)
        seen.last[i] = -1;
    small_run_all(folder, (small_run){.method = "fedavg",
                                      .set = {"server.interval=2", "scenario.rounds=8",
                                              "scenario.participation=0.5"},
                                      .after = &look});
    assert_true(seen.n_own > 0 && seen.n_sent > 0);
}

/* Resolves a method's run with an interval and one more setting. */
static eg_status resolve(const char *method, const char *set, const char *interval)
{
    const char *sets[] = {set, interval};
    char text[2048];
    eg_experiment_file *file;
    eg_experiment *e = NULL;
    snprintf(text, sizeof text, "%s- {label: a, method: %s}\n", small_run_text, method);
    assert_ok(eg_experiment_parse("t", text, &file));
    eg_status s = eg_experiment_file_resolve(file, "a", 2, sets, &e);
    eg_experiment_free(e);
    eg_experiment_file_free(file);
    return s;
}

/* Between two downloads uploads serve the tests alone: nothing may step along them. */
static void test_what_steps_every_round_needs_an_interval_of_1(void **state)
{
    (void)state;
    static const char two[] = "server.interval=2", one[] = "server.interval=1";
    assert_ok(resolve("fedavg", "server.optimizer=momentum", one));
    assert_fails(resolve("fedavg", "server.optimizer=momentum", two), EG_EINVAL,
                 "server.optimizer steps from a model that all");
    assert_ok(resolve("fedavg", "server.optimizer=none", two));
    assert_ok(resolve("fedavg", "server.mean=norm-clip", one));
    assert_fails(resolve("fedavg", "server.mean=norm-clip", two), EG_EINVAL,
                 "server.mean norm-clip measures changes of a model that all clients began");
    assert_ok(resolve("fedavg", "server.mean=median", two));
    assert_ok(resolve("scaffold", "optimizer.momentum=0", one));
    assert_fails(resolve("scaffold", "optimizer.momentum=0", two), EG_ENOTSUP,
                 "scaffold: its controls are of rounds that begin");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_that_missed_the_model_takes_it_later),
        cmocka_unit_test(test_what_steps_every_round_needs_an_interval_of_1),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
