/* scale_test.c - a smaller experiment keeps shares of classes, rows and rounds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"
#include "test.h"

#include "run/experiment/feed.h"

#include "own_folder.h"

static const char *const top = "name: t\n"
                               "data: {name: blobs, train: 400, test: 80, classes: 4}\n"
                               "model: {name: mlp, depth: 0}\n"
                               "runs: [{label: a, method: fedavg}]\n";

static eg_status load(const char *scenario, size_t n, const char *const *sets,
                      eg_experiment **out)
{
    char text[2048], file[FILES_PATH * 2];
    int length = snprintf(text, sizeof text, "%sscenario: %s\n", top, scenario);
    files_write(folder, "t.yaml", text, (size_t)length);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    return eg_experiment_load(file, "a", n, sets, out);
}

static eg_experiment *load_scaled(const char *scenario, const char *set)
{
    eg_experiment *e;
    assert_ok(load(scenario, set ? 1 : 0, &set, &e));
    return e;
}

/* A table of bytes whose rows say where they stood. */
static void fill_table(eg_table *t, int64_t n, int64_t classes, bool cyclic)
{
    assert_ok(eg_table_alloc_u8(t, n, 1, 1, 2, classes));
    for (int64_t i = 0; i < n; i++) {
        t->y[i] = (int32_t)(cyclic ? i % classes : i * classes / n);
        t->u8[2 * i] = (uint8_t)i;
        t->u8[2 * i + 1] = (uint8_t)t->y[i];
    }
}

static void test_sorted_and_cyclic_tables_stay_balanced(void **state)
{
    (void)state;
    for (int cyclic = 0; cyclic < 2; cyclic++) {
        eg_table t;
        fill_table(&t, 200, 5, cyclic); /* 40 rows per class: a tenth is 4 */
        assert_ok(eg_scale_table(&t, 0.1));
        int64_t counts[5];
        eg_table_count(&t, counts);
        assert_int_equal(t.n, 20);
        for (int k = 0; k < 5; k++)
            assert_int_equal(counts[k], 4);
        for (int64_t i = 0; i < t.n; i++) {
            /* The rows 0, 10, 20, 30 of the class, with their own values. */
            int64_t in_class = cyclic ? i / 5 : i % 4, class = cyclic ? i % 5 : i / 4;
            int64_t row = cyclic ? in_class * 50 + class : class * 40 + in_class * 10;
            assert_int_equal(t.u8[2 * i], row);
            assert_int_equal(t.u8[2 * i + 1], t.y[i]);
            assert_int_equal(t.y[i], class);
        }
        eg_table_fini(&t);
    }
}

static void test_a_class_never_vanishes_and_one_is_all(void **state)
{
    (void)state;
    eg_table t;
    fill_table(&t, 7, 7, true);
    assert_ok(eg_scale_table(&t, 0.01));
    assert_int_equal(t.n, 7);
    eg_table_fini(&t);
    fill_table(&t, 33, 2, true);
    char before[65], after[65];
    eg_table_digest(&t, before);
    assert_ok(eg_scale_table(&t, 1));
    eg_table_digest(&t, after);
    assert_string_equal(before, after);
    eg_table_fini(&t);
}

static void open_feed(const char *scenario, const char *set, eg_feed *f)
{
    eg_experiment *e = load_scaled(scenario, set);
    assert_ok(eg_feed_open(e, 1, NULL, f));
    eg_experiment_free(e);
}

static void test_rounds_and_rows_are_multiplied(void **state)
{
    (void)state;
    static const struct {
        const char *scenario;
        int64_t whole, tenth;
    } of[] = {
        /* Two tasks of 20 rounds; of 2. */
        {"{kind: class-incremental, clients: 2, tasks: 2, rounds: 20, partition: iid}", 40, 4},
        {"{kind: class-incremental, clients: 2, tasks: 2, rounds: 5, partition: iid}", 10, 2},
        {"{kind: async-schedule, clients: 2, tasks: 2, rounds: 40, partition: iid}", 40, 4},
        /* 200 samples per client in takes of 50, 20 rounds each; of 5, 2 rounds each. */
        {"{kind: async-count, clients: 2, tasks: 2, take: 50, rounds: 20, partition: iid}", 80,
         8},
        /* 100 samples per class; a task takes 10 of each of 2 classes: 5 * 4 rounds. */
        {"{kind: realtime, clients: 2, classes: 2, samples: 10}", 20, 2},
        {"{kind: realtime, clients: 2, classes: 2, samples: 10, rounds: 12}", 12, 1},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        eg_feed f;
        open_feed(of[i].scenario, NULL, &f);
        assert_int_equal(eg_scenario_n_rounds(f.scenario), of[i].whole);
        assert_int_equal(f.train[0].n, 400);
        eg_feed_close(&f);
        open_feed(of[i].scenario, "scale=0.1", &f);
        assert_int_equal(eg_scenario_n_rounds(f.scenario), of[i].tenth);
        assert_int_equal(f.train[0].n, 40);
        assert_int_equal(f.test[0].n, 8);
        eg_feed_close(&f);
    }
}

static void test_the_least_a_client_must_have_shrinks_too(void **state)
{
    (void)state;
    /* 20 rows per task for two clients of at least 20 each, without scaling that number. */
    eg_feed f;
    open_feed("{kind: class-incremental, clients: 2, tasks: 2, partition: {kind: dirichlet, "
              "alpha: 10, min: 20}}",
              "scale=0.1", &f);
    eg_feed_close(&f);
}

static void test_a_share_of_the_data_leaves_the_rounds_alone(void **state)
{
    (void)state;
    static const char s[] = "{kind: class-incremental, clients: 2, tasks: 2, rounds: 20, "
                            "partition: iid}";
    eg_feed f;
    open_feed(s, "data.share=0.1", &f);
    assert_int_equal(eg_scenario_n_rounds(f.scenario), 40);
    assert_int_equal(f.train[0].n, 40);
    assert_int_equal(f.test[0].n, 8);
    eg_feed_close(&f);
}

static void test_scale_is_in_the_text_and_the_hash(void **state)
{
    (void)state;
    static const char s[] = "{kind: class-incremental, clients: 2, tasks: 2, partition: iid}";
    eg_experiment *a = load_scaled(s, NULL), *b = load_scaled(s, "scale=0.25");
    assert_non_null(strstr(eg_experiment_text(a), "\nscale: 1\n"));
    assert_non_null(strstr(eg_experiment_text(b), "\nscale: 0.25\n"));
    assert_string_not_equal(eg_experiment_sha256(a), eg_experiment_sha256(b));
    eg_experiment_free(a);
    eg_experiment_free(b);
    eg_experiment *e;
    const char *none = "scale=0", *much = "scale=1.5";
    assert_fails(load(s, 1, &none, &e), EG_EINVAL, "outside");
    assert_fails(load(s, 1, &much, &e), EG_EINVAL, "outside");
}

static void test_a_split_that_becomes_impossible_says_so(void **state)
{
    (void)state;
    static const char s[] = "{kind: class-incremental, clients: 10, tasks: 2, partition: "
                            "{kind: shards, shards: 2}}";
    eg_experiment *e = load_scaled(s, "scale=0.01"); /* one row per class for ten clients */
    eg_feed f;
    assert_fails(eg_feed_open(e, 1, NULL, &f), EG_EINVAL, "scale 0.01: scenario");
    eg_experiment_free(e);
    e = load_scaled("{kind: async-schedule, clients: 2, tasks: 2, rounds: 10, partition: iid}",
                    "scale=0.1");
    assert_fails(eg_feed_open(e, 1, NULL, &f), EG_EINVAL, "1 rounds are fewer than 2 tasks");
    eg_experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted_and_cyclic_tables_stay_balanced),
        cmocka_unit_test(test_a_class_never_vanishes_and_one_is_all),
        cmocka_unit_test(test_rounds_and_rows_are_multiplied),
        cmocka_unit_test(test_the_least_a_client_must_have_shrinks_too),
        cmocka_unit_test(test_a_share_of_the_data_leaves_the_rounds_alone),
        cmocka_unit_test(test_scale_is_in_the_text_and_the_hash),
        cmocka_unit_test(test_a_split_that_becomes_impossible_says_so),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
