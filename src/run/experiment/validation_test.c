/* validation_test.c - data.validation: what is held out of a run's training, and its rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include "run/experiment/feed.h"

static const char text[] = "name: t\n"
                           "data: {name: glyphs, train: 400, test: 40, classes: 4, mean: 0.5,\n"
                           "       std: 0.25, crop: 4, flip: true, validation: 0.25}\n"
                           "model: {name: mlp, depth: 0}\n"
                           "scenario: {kind: class-incremental, clients: 4, tasks: 2,\n"
                           "           rounds: 1, partition: iid}\n"
                           "runs: [{label: a, method: fedavg}]\n";

/* A row is the image as it is, normalised. */
static void check_row(const eg_feed *f, int64_t task, int64_t id)
{
    float x[28 * 28];
    int32_t label;
    eg_feed_validation(f, task, &id, 1, x, &label);
    assert_int_equal(label, f->train[0].y[id]);
    for (size_t k = 0; k < f->sample; k++) {
        double byte = f->train[0].u8[(size_t)id * f->sample + k];
        assert_near(x[k], (byte / 255 - 0.5) / 0.25, 1e-5);
    }
}

static void test_rows_held_out_are_training_rows_without_chance(void **state)
{
    (void)state;
    eg_experiment *e;
    eg_feed f;
    const int64_t *ids;
    assert_ok(fixture_load(text, NULL, &e));
    assert_non_null(strstr(eg_experiment_text(e), "\n  validation: 0.25\n"));
    assert_ok(eg_feed_open(e, 3, NULL, &f));
    for (int64_t c = 0; c < 4; c++)
        for (int64_t t = 0; t < 2; t++) {
            int64_t n = eg_scenario_validation(f.scenario, c, t, &ids);
            assert_in_range(n, 12, 13); /* a quarter of fifty */
            for (int64_t i = 0; i < n; i++)
                check_row(&f, t, ids[i]);
        }
    eg_feed_close(&f);
    eg_experiment_free(e);
}

/* The samples trained on in all rounds of a run. */
static int64_t trained(const char *set)
{
    char path[512];
    int64_t n = 0;
    assert_ok(fixture_run(text, set, 1, 0, path));
    eg_events *events = fixture_events(path);
    for (size_t i = 0; i < events->n_round; i++)
        n += events->round[i].samples;
    eg_events_free(events);
    return n;
}

static void test_a_run_trains_on_the_rest(void **state)
{
    (void)state;
    assert_int_equal(trained("data.validation=0"), 400);
    assert_int_equal(trained(NULL), 300);
    assert_int_equal(trained("scale=0.5"), 151); /* of 50 rows per client 12 or 13 */
}

static void test_shares_out_of_range_are_refused(void **state)
{
    (void)state;
    eg_experiment *e;
    assert_fails(fixture_load(text, "data.validation=0.95", &e), EG_EINVAL,
                 "validation: 0.95 is outside [0, 0.9]");
    assert_fails(fixture_load(text, "data.validation=-1", &e), EG_EINVAL, "outside");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_held_out_are_training_rows_without_chance),
        cmocka_unit_test(test_a_run_trains_on_the_rest),
        cmocka_unit_test(test_shares_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
