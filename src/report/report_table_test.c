/* report_table_test.c - runs compared: seeds put together, papers beside, in three forms.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/fixture.h"

#include "io/file.h"
#include "report/group.h"

#include <engram/report.h>

enum { RUNS = 5 };

static char folder[FILES_PATH];
static char dir[RUNS][FILES_PATH + 16];
static const char *dirs[RUNS];

/* er with seeds 2, 0 and 1, fedavg with seeds 0 and 1, mixed. */
static int make_runs(void **state)
{
    (void)state;
    static const struct {
        const char *label;
        int64_t seed;
    } made[RUNS] = {{"er", 2}, {"fedavg|x", 0}, {"er", 0}, {"fedavg|x", 1}, {"er", 1}};
    files_folder(folder);
    for (int i = 0; i < RUNS; i++) {
        fixture s = {.name = "demo",
                     .label = made[i].label,
                     .seed = made[i].seed,
                     .tasks = 3,
                     .rounds_a_task = 4,
                     .clients = 4,
                     .chosen = 4,
                     .keep = made[i].label[0] == 'e' ? 0.8 : 0.1};
        snprintf(dir[i], sizeof dir[i], "%s/%d", folder, i);
        dirs[i] = dir[i];
        fixture_write(&s, dir[i]);
    }
    return 0;
}

static int remove_runs(void **state)
{
    (void)state;
    files_remove(folder);
    return 0;
}

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
                     .rounds_a_task = 2,
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
    assert_ok(eg_compare_print(dirs, 3, NULL, 0, EG_COMPARE_JSON, &text));
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

static const eg_published paper[] = {
    {"er", "acc_final", 0.68, 0.004},
    {"er", "forgetting", 0.123, -1},
    {"fedavg|x", "acc_final", 0.191, 0.002},
};

static void test_text_table_has_published_figures_beside_ours(void **state)
{
    (void)state;
    char *text;
    assert_ok(eg_compare_print(dirs, RUNS, paper, 3, EG_COMPARE_TEXT, &text));
    assert_non_null(strstr(text, "accuracy %   published"));
    assert_non_null(strstr(text, "68.0 ± 0.4"));
    assert_non_null(strstr(text, "12.3"));
    assert_non_null(strstr(text, "label     seeds"));
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 3 + !!strstr(text, "\ner: ") + !!strstr(text, "\nfedavg|x: "));
    free(text);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* How often the runs' events say this. */
static size_t count_events(const char *what)
{
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        char path[FILES_PATH + 32];
        unsigned char *text;
        size_t bytes;
        snprintf(path, sizeof path, "%s/metrics.jsonl", dirs[i]);
        assert_ok(eg_file_read(path, 1 << 20, &text, &bytes));
        n += count((const char *)text, what);
        free(text);
    }
    return n;
}

static void test_what_was_lost_is_said(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        fixture s = {.name = "demo",
                     .label = i < 2 ? "e_r" : "er",
                     .seed = i,
                     .tasks = 2,
                     .rounds_a_task = 2,
                     .clients = i < 2 ? 5 : 1,
                     .chosen = 5,
                     .skipped = i < 2 ? 3 : 0};
        fixture_write(&s, dirs[i]);
    }
    char *text, line[96];
    size_t out = count_events("\"left_out\"");
    assert_true(out >= 10);
    snprintf(line, sizeof line, "\ne_r: %zu uploads left out, 2 rounds skipped\n", out);
    assert_ok(eg_compare_print(dirs, 3, NULL, 0, EG_COMPARE_TEXT, &text));
    assert_non_null(strstr(text, line));
    assert_null(strstr(text, "\ner:"));
    free(text);
    snprintf(line, sizeof line, "|\n\n- e\\_r: %zu uploads left out, 2 rounds skipped\n", out);
    assert_ok(eg_compare_print(dirs, 3, NULL, 0, EG_COMPARE_MARKDOWN, &text));
    assert_non_null(strstr(text, line));
    free(text);
    assert_ok(eg_compare_print(dirs, 3, NULL, 0, EG_COMPARE_JSON, &text));
    snprintf(line, sizeof line, "\"uploads_left_out\": %zu,", out);
    assert_int_equal(count(text, line), 1);
    assert_int_equal(count(text, "\"rounds_skipped\": 2,"), 1);
    assert_int_equal(count(text, "\"rounds_skipped\": 0,"), 1);
    free(text);
    eg_show_losses(line, &(eg_losses){.left_out = 1, .skipped = 0});
    assert_string_equal(line, "1 upload left out");
    eg_show_losses(line, &(eg_losses){.left_out = 0, .skipped = 1});
    assert_string_equal(line, "1 round skipped");
}

static void test_long_labels_are_shortened_on_the_terminal_only(void **state)
{
    (void)state;
    static const char label[] = "a label of more thän forty characters, which is too long";
    fixture s = {.name = "demo",
                 .label = label,
                 .tasks = 1,
                 .rounds_a_task = 1,
                 .clients = 1,
                 .chosen = 1};
    char *text;
    fixture_write(&s, dirs[0]);
    assert_ok(eg_compare_print(dirs, 1, NULL, 0, EG_COMPARE_TEXT, &text));
    assert_non_null(strstr(text, "\na label of more thän…, which is too long  "));
    assert_int_equal(strspn(text + strlen("label"), " "), 40 - 5 + 2);
    free(text);
    s.lr = "0.125";
    fixture_write(&s, dirs[1]);
    assert_ok(eg_compare_print(dirs, 2, NULL, 0, EG_COMPARE_TEXT, &text));
    assert_non_null(strstr(text, "\na label of m…is too long (train.lr=0.05)  "));
    assert_non_null(strstr(text, "\na label of …is too long (train.lr=0.125)  "));
    free(text);
    assert_ok(eg_compare_print(dirs, 1, NULL, 0, EG_COMPARE_MARKDOWN, &text));
    assert_non_null(strstr(text, label));
    free(text);
    assert_ok(eg_compare_print(dirs, 1, NULL, 0, EG_COMPARE_JSON, &text));
    assert_non_null(strstr(text, "forty characters, which is too long"));
    free(text);
}

static void test_markdown_table_escapes_labels(void **state)
{
    (void)state;
    char *text;
    assert_ok(eg_compare_print(dirs, RUNS, NULL, 0, EG_COMPARE_MARKDOWN, &text));
    assert_non_null(strstr(text, "| label | seeds | accuracy % | task-IL % |"));
    assert_non_null(strstr(text, "\n| --- | ---: |"));
    assert_non_null(strstr(text, "| fedavg\\|x | 2 | "));
    assert_null(strstr(text, "published"));
    free(text);
}

static void test_json_table_reads_back(void **state)
{
    (void)state;
    char *text;
    eg_json *v;
    double mean;
    assert_ok(eg_compare_print(dirs, RUNS, paper, 3, EG_COMPARE_JSON, &text));
    assert_ok(eg_json_parse(text, strlen(text), &v));
    assert_int_equal(eg_json_count(v), 2);
    const eg_json *er = eg_json_at(v, 0), *acc = eg_json_get(er, "acc_final");
    assert_int_equal(eg_json_count(eg_json_get(er, "seeds")), 3);
    assert_ok(eg_json_real(eg_json_get(acc, "published_mean"), &mean));
    assert_near(mean, 0.68, 0);
    assert_ok(eg_json_real(eg_json_get(acc, "mean"), &mean));
    assert_true(mean > 0.5 && mean < 1);
    assert_int_equal(eg_json_kind_of(eg_json_get(eg_json_get(er, "ar"), "mean")), EG_JSON_NULL);
    eg_json_free(v);
    free(text);
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
                     .rounds_a_task = 4,
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
    const eg_published figures[] = {{"er", "ar", 0.2, -1}, {"er", "client_mean", 0.4, 0.01}};
    double regret, rounds = 12;
    eg_record *mine, *other;
    eg_groups *g;
    char *text;
    write_streams("centralized"); /* dirs: centralized 0, er 1, er 0, centralized 1 */
    assert_ok(eg_groups_load(dirs, 4, NULL, 0, &g));
    const eg_runlog *er = g->group[1].run[0], *reference = g->group[0].run[0];
    assert_string_equal(er->start->label, "er");
    assert_ok(eg_run_record(er->log, false, &mine));
    assert_ok(eg_run_record(reference->log, false, &other));
    assert_ok(eg_metric_value(eg_metric_find("ar"), mine, other, -1, &regret));
    assert_near(er->summary[EG_SUMMARY_ar], regret, 0);
    assert_near(regret, reference->summary[EG_SUMMARY_aa] - er->summary[EG_SUMMARY_aa],
                1e-9 * rounds); /* both have a value in every round */
    assert_true(regret > 0.05);
    assert_near(reference->summary[EG_SUMMARY_ar], 0, 0);
    eg_record_free(mine);
    eg_record_free(other);
    eg_groups_free(g);
    assert_ok(eg_compare_print(dirs, 4, figures, 2, EG_COMPARE_TEXT, &text));
    assert_non_null(strstr(text, "AA %"));
    assert_non_null(strstr(text, "AR  published"));
    assert_non_null(strstr(text, "clients %   published"));
    free(text);
    assert_ok(eg_compare_print(dirs + 1, 2, figures, 2, EG_COMPARE_MARKDOWN, &text));
    assert_non_null(strstr(text, "| AR | published |"));
    assert_non_null(strstr(text, "| – | 20.0 |")); /* without a centralized run */
    free(text);
}

static void test_what_cannot_be_compared_is_said(void **state)
{
    (void)state;
    char *text;
    const char *twice[] = {dirs[0], dirs[1], dirs[0]};
    const eg_published odd = {"er", "beauty", 1, 0};
    assert_fails(eg_compare_print(twice, 3, NULL, 0, EG_COMPARE_TEXT, &text), EG_EINVAL,
                 "are both seed 2 of 'er'");
    assert_fails(eg_compare_print(dirs, 1, &odd, 1, EG_COMPARE_TEXT, &text), EG_EINVAL,
                 "the table has no column for 'beauty'");
    assert_fails(eg_compare_print(dirs, 0, NULL, 0, EG_COMPARE_TEXT, &text), EG_EINVAL,
                 "there is no run");
    char path[FILES_PATH + 32];
    snprintf(path, sizeof path, "%s/summary.json", dirs[1]);
    assert_int_equal(remove(path), 0);
    assert_fails(eg_compare_print(dirs, RUNS, NULL, 0, EG_COMPARE_TEXT, &text), EG_ENOENT,
                 "/1 has no summary.json: the run is not finished");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_runs, remove_runs)
    const struct CMUnitTest tests[] = {
        TEST(test_spread_is_mean_and_sample_deviation),
        TEST(test_seeds_of_a_label_are_grouped_in_order),
        TEST(test_other_settings_make_another_group),
        TEST(test_many_other_settings_are_cut_short),
        TEST(test_hash_tells_groups_apart_where_settings_do_not),
        TEST(test_json_names_the_settings_that_differ),
        TEST(test_values_are_shown_in_their_units),
        TEST(test_text_table_has_published_figures_beside_ours),
        TEST(test_what_was_lost_is_said),
        TEST(test_long_labels_are_shortened_on_the_terminal_only),
        TEST(test_markdown_table_escapes_labels),
        TEST(test_json_table_reads_back),
        TEST(test_regret_is_held_against_the_centralized_run_of_the_seed),
        TEST(test_what_cannot_be_compared_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
