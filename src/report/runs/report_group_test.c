/* report_group_test.c - runs put together: seeds, settings that differ, who is best.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/five_runs.h"

#include "report/runs/group.h"

#include <engram/report.h>

static void test_spread_is_mean_and_sample_deviation(void **state)
{
    (void)state;
    const double x[] = {2, 4, 9, NAN};
    eg_spread s = eg_spread_of(x, 4);
    assert_int_equal(s.n, 3);
    assert_near(s.mean, 5, 1e-12);
    assert_near(s.sd, sqrt(13), 1e-12);
    assert_true(isnan(eg_spread_of(x, 1).sd));
    assert_true(isnan(eg_spread_of(x, 0).mean));
}

static void test_seeds_of_a_label_are_grouped_in_order(void **state)
{
    (void)state;
    eg_groups *g;
    assert_ok(eg_groups_load(dirs, RUNS, NULL, 0, &g));
    assert_int_equal(g->n, 2);
    assert_string_equal(g->group[0].title, "er");
    assert_int_equal(g->group[0].n, 3);
    assert_int_equal(g->group[1].n, 2);
    for (int64_t i = 0; i < 3; i++)
        assert_int_equal(g->group[0].run[i]->start->seed, i);
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += g->group[0].run[i]->summary[EG_SUMMARY_acc_final] / 3;
    assert_near(eg_group_summary(&g->group[0], EG_SUMMARY_acc_final).mean, sum, 1e-12);
    eg_groups_free(g);
}

/* Groups the first three runs, of one label, with these learning rates. */
static eg_groups *groups_of_rates(const char *const rate[3])
{
    eg_groups *g;
    for (int i = 0; i < 3; i++) {
        fixture s = {.name = "demo",
                     .label = "er",
                     .lr = rate[i],
                     .tasks = 2,
                     .rounds_per_task = 2,
                     .clients = 2,
                     .chosen = 2};
        fixture_write(&s, dirs[i]);
    }
    assert_ok(eg_groups_load(dirs, 3, NULL, 0, &g));
    return g;
}

static void test_other_settings_make_another_group(void **state)
{
    (void)state;
    eg_groups *g = groups_of_rates((const char *const[]){"0.1", "0.2", "0.3, batch2: 7"});
    assert_int_equal(g->n, 3);
    assert_string_equal(g->group[0].title, "er (train.lr=0.1)");
    assert_string_equal(g->group[1].title, "er (train.lr=0.2)");
    assert_string_equal(g->group[2].title, "er (train.lr=0.3, train.batch2=7)");
    assert_int_equal(g->group[0].n_differing, 1);
    assert_string_equal(g->group[0].differing[0].key, "train.lr");
    assert_string_equal(g->group[0].differing[0].value, "0.1");
    eg_groups_free(g);
}

static void test_many_other_settings_are_cut_short(void **state)
{
    (void)state;
    eg_groups *g = groups_of_rates((const char *const[]){
        "0.1, a: 1, b: 1", "0.2, a: 1, b: 2", "0.1, a: 2, b: ééééééééééééééééééééééééééééé"});
    assert_string_equal(g->group[0].title, "er (train.b=1, train.lr=0.1, …)"); /* b has three */
    assert_string_equal(g->group[1].title, "er (train.b=2, train.lr=0.2, …)");
    assert_string_equal(g->group[2].title, "er (train.b=éééééééééééééééé…, train.lr=0.1, …)");
    eg_groups_free(g);
}

static void test_hash_tells_groups_apart_where_settings_do_not(void **state)
{
    (void)state;
    eg_groups *g = groups_of_rates((const char *const[]){"0.1", "0.2", "0.2 "});
    assert_int_equal(g->n, 3); /* the third's spelling, so its hash, is another */
    assert_string_equal(g->group[0].title, "er (train.lr=0.1)");
    assert_string_equal(g->group[1].title, "er (cd340.2)");
    assert_string_equal(g->group[2].title, "er (cd340.2 )");
    eg_groups_free(g);
    for (int i = 0; i < 3; i++) {
        char path[FILES_PATH + 32];
        snprintf(path, sizeof path, "%s/config.yaml", dirs[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_ok(eg_groups_load(dirs, 3, NULL, 0, &g));
    assert_string_equal(g->group[0].title, "er (cd340.1)");
    eg_groups_free(g);
}

static void test_json_names_the_settings_that_differ(void **state)
{
    (void)state;
    char *text;
    eg_json *v;
    const char *value, *label;
    eg_groups_free(groups_of_rates((const char *const[]){"0.1", "0.2", "0.3"}));
    assert_ok(
        eg_compare_print(dirs, 3, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_JSON}, &text));
    assert_ok(eg_json_parse(text, strlen(text), &v));
    const eg_json *row = eg_json_at(v, 1), *differing = eg_json_get(row, "differing_settings");
    assert_ok(eg_json_text(eg_json_get(row, "label"), &label));
    assert_string_equal(label, "er");
    assert_int_equal(eg_json_count(differing), 1);
    assert_ok(eg_json_text(eg_json_get(differing, "train.lr"), &value));
    assert_string_equal(value, "0.2");
    eg_json_free(v);
    free(text);
}

static void test_values_are_shown_in_their_units(void **state)
{
    (void)state;
    char text[32];
    static const struct {
        void (*show)(char out[32], double);
        double value;
        const char *text;
    } cases[] = {
        {eg_show_percent, 0.68349, "68.3"},
        {eg_show_percent, -0.0001, "0.0"},
        {eg_show_percent, NAN, "–"},
        {eg_show_bytes, 0, "0 B"},
        {eg_show_bytes, 999, "999 B"},
        {eg_show_bytes, 999600, "1.00 MB"},
        {eg_show_bytes, 12345678, "12.3 MB"},
        {eg_show_seconds, 3.456, "3.46 s"},
        {eg_show_seconds, 99.96, "1 min 40 s"},
        {eg_show_seconds, 185.2, "3 min 05 s"},
        {eg_show_seconds, 3599.9, "1 h 00 min"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cases[i].show(text, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
}

/* Four labels with two seeds each, whose final accuracies are these. */
static eg_groups *groups_of_accuracies(const double accuracy[4][2], const char *const method[4])
{
    static const char *const label[] = {"a", "b", "c", "d"};
    static char at[8][FILES_PATH + 16];
    static const char *all[8];
    eg_groups *g;
    for (int i = 0; i < 8; i++) {
        fixture s = {.name = "demo",
                     .label = label[i / 2],
                     .method = method[i / 2],
                     .seed = i % 2,
                     .tasks = 2,
                     .rounds_per_task = 1,
                     .clients = 1,
                     .chosen = 1};
        snprintf(at[i], sizeof at[i], "%s/b%d", folder, i);
        all[i] = at[i];
        fixture_write(&s, at[i]);
    }
    assert_ok(eg_groups_load(all, 8, NULL, 0, &g));
    for (int i = 0; i < 8; i++)
        g->group[i / 2].run[i % 2]->summary[EG_SUMMARY_acc_final] = accuracy[i / 2][i % 2];
    return g;
}

static void assert_best(const double accuracy[4][2], const char *const method[4], int best)
{
    eg_groups *g = groups_of_accuracies(accuracy, method);
    const eg_column c = eg_column_of(EG_SUMMARY_acc_final);
    for (int i = 0; i < 4; i++)
        assert_int_equal(eg_group_is_best(g, &g->group[i], &c), i == best);
    eg_groups_free(g);
}

static void test_best_is_who_leads_by_more_than_a_deviation(void **state)
{
    (void)state;
    static const char *const bound[] = {"\"er\"", "\"joint\"", "\"er\"", "\"fixed\""};
    static const char *const none[] = {"\"er\"", "\"er\"", "\"er\"", "\"er\""};
    const double clear[4][2] = {{0.6, 0.62}, {0.9, 0.91}, {0.5, 0.52}, {0.1, 0.1}};
    const double close[4][2] = {{0.6, 0.62}, {0.9, 0.91}, {0.5, 0.7}, {0.1, 0.1}};
    const double tie[4][2] = {{0.6, 0.6}, {0.9, 0.91}, {0.6, 0.6}, {0.1, 0.1}};
    const double once[4][2] = {{0.8, 0.81}, {0.9, 0.91}, {0.5, NAN}, {0.1, 0.1}};
    const double alone[4][2] = {{0.8, 0.81}, {0.9, 0.91}, {NAN, NAN}, {0.1, 0.1}};
    assert_best(clear, bound, 0); /* a bound competes with none */
    assert_best(clear, none, 1);
    assert_best(close, bound, -1);
    assert_best(tie, bound, -1);
    assert_best(once, bound, -1); /* one seed says nothing */
    assert_best(alone, bound, -1);
}

/* Streams of clients that are judged by what they have met, with two seeds each. */
static void write_streams(const char *last_label)
{
    static const char *const label[] = {"centralized", "er", "er", "centralized"};
    for (int i = 0; i < 4; i++) {
        fixture s = {.name = "demo",
                     .label = i < 3 ? label[i] : last_label,
                     .seed = i % 2,
                     .tasks = 3,
                     .rounds_per_task = 4,
                     .clients = 3,
                     .chosen = 3,
                     .local = true,
                     .keep = label[i][0] == 'c' ? 1 : 0.2};
        fixture_write(&s, dirs[i]);
    }
}

static void test_regret_is_held_against_the_centralized_run_of_the_seed(void **state)
{
    (void)state;
    const eg_published figures[] = {{"er", "ar", 0.2, -1, NULL},
                                    {"er", "client_mean", 0.4, 0.01, NULL}};
    double regret, rounds = 12;
    eg_record *mine, *other;
    eg_groups *g;
    char *text;
    write_streams("centralized"); /* dirs: centralized 0, er 1, er 0, centralized 1 */
    assert_ok(eg_groups_load(dirs, 4, NULL, 0, &g));
    const eg_run *er = g->group[1].run[0], *reference = g->group[0].run[0];
    assert_string_equal(er->start->label, "er");
    assert_ok(eg_run_record(er->log, false, &mine));
    assert_ok(eg_run_record(reference->log, false, &other));
    assert_true(eg_metric_find("ar")->value(mine, other, -1, &regret));
    assert_near(er->summary[EG_SUMMARY_ar], regret, 0);
    assert_near(regret, reference->summary[EG_SUMMARY_aa] - er->summary[EG_SUMMARY_aa],
                1e-9 * rounds); /* both have a value in every round */
    assert_true(regret > 0.05);
    assert_near(reference->summary[EG_SUMMARY_ar], 0, 0);
    eg_record_free(mine);
    eg_record_free(other);
    eg_groups_free(g);
    assert_ok(eg_compare_print(dirs, 4, figures, 2, &(eg_compare_how){.form = EG_COMPARE_TEXT},
                               &text));
    assert_non_null(strstr(text, "AA %"));
    assert_non_null(strstr(text, "AR  published"));
    assert_non_null(strstr(text, "clients %   published"));
    free(text);
    assert_ok(eg_compare_print(dirs + 1, 2, figures, 2,
                               &(eg_compare_how){.form = EG_COMPARE_MARKDOWN}, &text));
    assert_non_null(strstr(text, "| AR | published |"));
    assert_non_null(strstr(text, "| – | 20.0 |")); /* without a centralized run */
    free(text);
}

/* Runs of one file may each have a bound of their own. */
static void test_regret_is_held_against_the_run_that_bound_names(void **state)
{
    (void)state;
    static const char *const label[] = {"er shared-0", "best shared-0", "er shared-2",
                                        "best shared-2"};
    double aa[4];
    eg_groups *g;
    for (int i = 0; i < 4; i++) {
        fixture s = {.name = "demo",
                     .label = label[i],
                     .tasks = 3,
                     .rounds_per_task = 4,
                     .clients = 3,
                     .chosen = 3,
                     .local = true,
                     .bound = label[i < 2 ? 1 : 3],
                     .keep = 0.2 + 0.2 * i};
        fixture_write(&s, dirs[i]);
    }
    assert_ok(eg_groups_load(dirs, 4, NULL, 0, &g));
    for (int i = 0; i < 4; i++)
        aa[i] = g->group[i].run[0]->summary[EG_SUMMARY_aa];
    assert_true(aa[0] < aa[1] && aa[2] < aa[3] && aa[1] < aa[3]);
    for (int i = 0; i < 4; i++)
        assert_near(g->group[i].run[0]->summary[EG_SUMMARY_ar], aa[i < 2 ? 1 : 3] - aa[i],
                    1e-9);
    eg_groups_free(g);
}

/* Runs with these labels, seed 0, in the order of dirs. */
static eg_groups *labelled(const char *const *labels, size_t n)
{
    eg_groups *g;
    for (size_t i = 0; i < n; i++) {
        fixture s = {.name = "demo",
                     .label = labels[i],
                     .tasks = 1,
                     .rounds_per_task = 1,
                     .clients = 1,
                     .chosen = 1};
        fixture_write(&s, dirs[i]);
    }
    assert_ok(eg_groups_load(dirs, n, NULL, 0, &g));
    assert_int_equal(g->n, n);
    return g;
}

static void test_values_of_a_sweep_may_have_blanks(void **state)
{
    (void)state;
    static const char *const labels[] = {"er model.layers=linear 8, relu train.lr=0.1",
                                         "er model.layers=linear 16, relu train.lr=0.1",
                                         "own p.settings=width=4 lr=0.1",
                                         "own p.settings=width=8"};
    eg_groups *g = labelled(labels, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(g->group[i].n_swept, i < 2 ? 2 : 1);
        assert_string_equal(g->group[i].base, i < 2 ? "er" : "own");
    }
    assert_string_equal(eg_group_swept(&g->group[1], "model.layers"), "linear 16, relu");
    assert_string_equal(eg_group_swept(&g->group[1], "train.lr"), "0.1");
    assert_string_equal(eg_group_swept(&g->group[2], "p.settings"), "width=4 lr=0.1");
    eg_groups_free(g);
}

static void test_labels_of_a_sweep_tell_its_values(void **state)
{
    (void)state;
    static const char *const labels[] = {"er lr 1 train.lr=0.1 re-fed.size=5",
                                         "er lr 1 train.lr=0.2 re-fed.size=5",
                                         "own train.lr=0.1", "x=1", "er a = b"};
    eg_groups *g = labelled(labels, RUNS);
    const char **keys;
    size_t n;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(g->group[i].n_swept, 2);
        assert_string_equal(g->group[i].base, "er lr 1");
        assert_string_equal(eg_group_swept(&g->group[i], "train.lr"), i ? "0.2" : "0.1");
        assert_string_equal(eg_group_swept(&g->group[i], "re-fed.size"), "5");
        assert_null(eg_group_swept(&g->group[i], "train"));
        assert_false(eg_group_is_chosen(g, &g->group[i])); /* nothing was validated */
    }
    for (int i = 2; i < RUNS; i++) { /* alone, or no setting: just labels */
        assert_int_equal(g->group[i].n_swept, 0);
        assert_string_equal(g->group[i].base, labels[i]);
    }
    assert_ok(eg_groups_swept_keys(&g->arena, g, &keys, &n));
    assert_int_equal(n, 2);
    assert_string_equal(keys[0], "train.lr");
    assert_string_equal(keys[1], "re-fed.size");
    eg_groups_free(g);
}

/* Loads a sweep of two rates, the first with seed 0 and the second with seeds 0 and 1; it is
 * the seed 1 that is harder. */
static eg_groups *validated(bool unfinished)
{
    static const double accuracy[] = {0.9, 0.95, 0.5};
    eg_groups *g;
    for (int i = 0; i < 3; i++) {
        fixture s = {.name = "demo",
                     .label = i ? "er train.lr=0.2" : "er train.lr=0.1",
                     .seed = i == 2,
                     .tasks = 1,
                     .rounds_per_task = 2,
                     .clients = 1,
                     .chosen = 1,
                     .validation = accuracy[i],
                     .unfinished = unfinished && i == 0};
        files_remove(dirs[i]);
        fixture_write(&s, dirs[i]);
    }
    assert_ok(eg_groups_load(dirs, 3, NULL, 0, &g));
    assert_int_equal(g->n, 2);
    return g;
}

static void test_a_sweep_is_judged_by_the_seeds_that_all_of_it_have(void **state)
{
    (void)state;
    const char *notes[4];
    size_t n = 0;
    eg_groups *g = validated(false);
    assert_false(eg_group_is_chosen(g, &g->group[0]));
    assert_true(eg_group_is_chosen(g, &g->group[1]));
    assert_ok(eg_groups_sweep_notes(&g->arena, g, notes, &n));
    assert_int_equal(n, 1);
    assert_string_equal(notes[0], "best by validation: er with train.lr=0.2, 95.0 % over the 1 "
                                  "of 2 seeds that all of its sweep have");
    eg_groups_free(g);
    n = 0;
    g = validated(true);
    for (int i = 0; i < 2; i++)
        assert_false(eg_group_is_chosen(g, &g->group[i]));
    assert_ok(eg_groups_sweep_notes(&g->arena, g, notes, &n));
    assert_int_equal(n, 1);
    assert_string_equal(notes[0], "no run of er is called the best by validation: there is no "
                                  "seed that all of its sweep have finished");
    eg_groups_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_spread_is_mean_and_sample_deviation),
        TEST(test_seeds_of_a_label_are_grouped_in_order),
        TEST(test_other_settings_make_another_group),
        TEST(test_many_other_settings_are_cut_short),
        TEST(test_hash_tells_groups_apart_where_settings_do_not),
        TEST(test_json_names_the_settings_that_differ),
        TEST(test_labels_of_a_sweep_tell_its_values),
        TEST(test_values_of_a_sweep_may_have_blanks),
        TEST(test_a_sweep_is_judged_by_the_seeds_that_all_of_it_have),
        TEST(test_values_are_shown_in_their_units),
        TEST(test_best_is_who_leads_by_more_than_a_deviation),
        TEST(test_regret_is_held_against_the_centralized_run_of_the_seed),
        TEST(test_regret_is_held_against_the_run_that_bound_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
