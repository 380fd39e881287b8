/* last_task_test.c - who is sent the model that the last task left, and which one that is.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A part of the test's own behind Re-Fed writes down the server's model as each task begins,
 * and looks at what every client is sent. Three tasks of three rounds; two of four clients a
 * round.
 */
#include "small_run.h"

#include "own_folder.h"

enum { CLIENTS = 4, MOST = 1 << 14, PERIODS = 3 };

static struct {
    float began[PERIODS + 1][MOST]; /* the server's model as each period began, */
    float state[PERIODS + 1][MOST]; /* and its statistics */
    size_t n_params, n_state;
    int64_t period, turned[CLIENTS]; /* now; the period of each client's last turn */
    int64_t n_sent, n_first, n_late; /* models; turns that begin a task, late ones of these */
} spied;

static eg_status spy_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    (void)self, (void)exchange, (void)to;
    int64_t period = eg_scenario_period(s->scenario, s->round);
    assert_in_range(period, 1, PERIODS);
    assert_in_range(s->n_params, 1, MOST);
    if (period != spied.period)
        memcpy(spied.began[period], s->param, s->n_params * sizeof *s->param);
    if (period != spied.period && s->n_state)
        memcpy(spied.state[period], s->state, s->n_state * sizeof *s->state);
    spied.period = period, spied.n_params = s->n_params, spied.n_state = s->n_state;
    return EG_OK;
}

static eg_status spy_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    (void)self, (void)exchange;
    const size_t bytes = spied.n_params * sizeof(float);
    const float *left = eg_bundle_find(from, "re_fed.param", NULL);
    const float *began = spied.began[spied.period];
    bool first = spied.turned[c->id] != spied.period;
    bool moved = memcmp(c->global, began, bytes) != 0;
    spied.turned[c->id] = spied.period;
    spied.n_first += first;
    spied.n_late += first && moved && spied.period > 1;
    spied.n_sent += left != NULL;
    if ((left != NULL) != (first && moved && spied.period > 1))
        return eg_fail(EG_EINVAL, "client %d: %s", (int)c->id, left ? "sent" : "not sent");
    const float *state = eg_bundle_find(from, "re_fed.state", NULL);
    if (left && memcmp(left, began, bytes) != 0)
        return eg_fail(EG_EINVAL, "another model than the last task left");
    if ((state != NULL) != (left && spied.n_state > 0))
        return eg_fail(EG_EINVAL, "statistics without a model, or the other way round");
    return !state ||
                   memcmp(state, spied.state[spied.period], spied.n_state * sizeof(float)) == 0
               ? EG_OK
               : eg_fail(EG_EINVAL, "other statistics than the last task left");
}

static const eg_method spy = {.component = {"spy", "sees what clients are sent", 0, NULL},
                              .client = {.download = spy_download},
                              .server = {.send = spy_send}};

static small_outcome spied_run(bool norm, int workers, int64_t stop)
{
    memset(&spied, 0, sizeof spied);
    small_run r = {.method = "re-fed",
                   .set = {"re-fed.size=60", "scenario.tasks=3", "scenario.rounds=3",
                           "data.classes=6", "scenario.participation=0.5",
                           norm ? "model=layers" : NULL,
                           "model.layers=[conv 4 k3 p2, batch-norm, relu, flatten]"},
                   .after = &spy,
                   .workers = workers,
                   .stop = stop};
    return small_run_all(folder, r);
}

static void test_who_comes_late_is_sent_the_model_of_the_tasks_beginning(void **state)
{
    (void)state;
    for (int norm = 0; norm < 2; norm++) {
        spied_run(norm, 1, 0);
        assert_true(spied.n_late > 0);
        assert_true(spied.n_first > spied.n_late);
        assert_int_equal(spied.n_sent, spied.n_late);
        assert_int_equal(spied.n_state > 0, norm);
    }
}

/* Stopped in the second round of the second task. */
static void test_it_is_known_after_a_stop(void **state)
{
    (void)state;
    for (int norm = 0; norm < 2; norm++) {
        small_outcome whole = spied_run(norm, 1, 0);
        int64_t n_sent = spied.n_sent;
        small_outcome stopped = spied_run(norm, 1, 4);
        assert_int_equal(spied.n_sent, n_sent);
        assert_string_equal(whole.hash, stopped.hash);
        assert_int_equal(whole.bytes_down, stopped.bytes_down);
    }
}

/* Nobody is sent it who does not rank by a model. */
static void test_who_does_not_rank_is_sent_nothing_more(void **state)
{
    (void)state;
    small_run r = {.method = "re-fed",
                   .set = {"scenario.tasks=3", "scenario.rounds=3", "data.classes=6",
                           "scenario.participation=0.5", "re-fed.policy=random"}};
    int64_t random = small_run_all(folder, r).bytes_down;
    r.method = "fedavg", r.set[4] = NULL;
    assert_int_equal(random, small_run_all(folder, r).bytes_down);
    r.method = "re-fed";
    assert_true(small_run_all(folder, r).bytes_down > random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_comes_late_is_sent_the_model_of_the_tasks_beginning),
        cmocka_unit_test(test_it_is_known_after_a_stop),
        cmocka_unit_test(test_who_does_not_rank_is_sent_nothing_more),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
