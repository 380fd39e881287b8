/* report_table_test.c - runs compared: seeds put together, papers beside, in all forms.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/five_runs.h"

#include "io/file.h"
#include "report/runs/group.h"

#include <engram/report.h>

static const eg_published paper[] = {
    {"er", "acc_final", 0.68, 0.004, NULL},
    {"er", "forgetting", 0.123, -1, NULL},
    {"fedavg|x", "acc_final", 0.191, 0.002, NULL},
};

static void test_text_table_has_published_figures_beside_ours(void **state)
{
    (void)state;
    char *text;
    assert_ok(eg_compare_print(dirs, RUNS, paper, 3, &(eg_compare_how){.form = EG_COMPARE_TEXT},
                               &text));
    assert_non_null(strstr(text, "accuracy %   published"));
    assert_non_null(strstr(text, "68.0 ± 0.4"));
    assert_non_null(strstr(text, "12.3"));
    assert_non_null(strstr(text, "label     seeds"));
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 4 + !!strstr(text, "\ner: ") + !!strstr(text, "\nfedavg|x: "));
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
                     .rounds_per_task = 2,
                     .clients = i < 2 ? 5 : 1,
                     .chosen = 5,
                     .skipped = i < 2 ? 3 : 0};
        fixture_write(&s, dirs[i]);
    }
    char *text, line[96];
    size_t out = count_events("\"left_out\"");
    assert_true(out >= 10);
    snprintf(line, sizeof line, "\ne_r: %zu uploads left out, 2 rounds skipped\n", out);
    assert_ok(
        eg_compare_print(dirs, 3, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_TEXT}, &text));
    assert_non_null(strstr(text, line));
    assert_null(strstr(text, "\ner:"));
    free(text);
    snprintf(line, sizeof line, "|\n\n- e\\_r: %zu uploads left out, 2 rounds skipped\n", out);
    assert_ok(eg_compare_print(dirs, 3, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_MARKDOWN},
                               &text));
    assert_non_null(strstr(text, line));
    free(text);
    assert_ok(
        eg_compare_print(dirs, 3, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_JSON}, &text));
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
                 .rounds_per_task = 1,
                 .clients = 1,
                 .chosen = 1};
    char *text;
    fixture_write(&s, dirs[0]);
    assert_ok(
        eg_compare_print(dirs, 1, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_TEXT}, &text));
    assert_non_null(strstr(text, "\na label of more thän…, which is too long  "));
    assert_int_equal(strspn(text + strlen("label"), " "), 40 - 5 + 2);
    free(text);
    s.lr = "0.125";
    fixture_write(&s, dirs[1]);
    assert_ok(
        eg_compare_print(dirs, 2, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_TEXT}, &text));
    assert_non_null(strstr(text, "\na label of m…is too long (train.lr=0.05)  "));
    assert_non_null(strstr(text, "\na label of …is too long (train.lr=0.125)  "));
    free(text);
    assert_ok(eg_compare_print(dirs, 1, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_MARKDOWN},
                               &text));
    assert_non_null(strstr(text, label));
    free(text);
    assert_ok(
        eg_compare_print(dirs, 1, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_JSON}, &text));
    assert_non_null(strstr(text, "forty characters, which is too long"));
    free(text);
}

/* Whatever a run amounts to can be shown, once, by its name in the summary. */
static void test_every_value_can_be_a_column(void **state)
{
    (void)state;
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        const eg_column c = eg_column_of((eg_summary)i);
        char *text, heading[64];
        eg_compare_how how = {.form = EG_COMPARE_MARKDOWN,
                              .columns = eg_summary_name((eg_summary)i)};
        assert_int_equal(c.which, i);
        assert_ok(eg_compare_print(dirs, RUNS, NULL, 0, &how, &text));
        snprintf(heading, sizeof heading, "| %s |", c.heading);
        assert_int_equal(count(text, heading), 1);
        free(text);
    }
}

static void test_markdown_table_escapes_labels(void **state)
{
    (void)state;
    char *text;
    assert_ok(eg_compare_print(dirs, RUNS, NULL, 0,
                               &(eg_compare_how){.form = EG_COMPARE_MARKDOWN}, &text));
    assert_non_null(
        strstr(text, "| label | seeds | accuracy % | difference | p | task-IL % |"));
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
    assert_ok(eg_compare_print(dirs, RUNS, paper, 3, &(eg_compare_how){.form = EG_COMPARE_JSON},
                               &text));
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

static void test_rows_are_sorted_best_first(void **state)
{
    (void)state;
    char *text;
    const char *er, *fedavg;
    static const char *const sorts[] = {NULL,        "label",      "acc_final",
                                        "acc-final", "forgetting", "seeds"};
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) {
        const char *order[] = {dirs[1], dirs[3], dirs[0], dirs[2], dirs[4]};
        eg_compare_how how = {.form = EG_COMPARE_CSV, .sort = sorts[i]};
        assert_ok(eg_compare_print(order, RUNS, NULL, 0, &how, &text));
        er = strstr(text, "demo,er,"), fedavg = strstr(text, "demo,fedavg|x,");
        assert_true(er && fedavg);
        assert_int_equal(er < fedavg, sorts[i] != NULL);
        free(text);
    }
    assert_fails(
        eg_compare_print(dirs, RUNS, NULL, 0, &(eg_compare_how){.sort = "beauty"}, &text),
        EG_EINVAL, "there is no column 'beauty' to sort by");
    assert_fails(eg_compare_check(&(eg_compare_how){.sort = "beauty"}), EG_EINVAL, "beauty");
}

static void test_narrow_terminals_show_what_matters_most(void **state)
{
    (void)state;
    char *text, line[64];
    static const char first[] = "label     accuracy %   published   difference     p\n";
    eg_compare_how how = {.width = 60};
    assert_ok(eg_compare_print(dirs, RUNS, paper, 3, &how, &text));
    assert_memory_equal(text, first, sizeof first - 1);
    assert_non_null(strstr(text, "no room for: seeds, task-IL %, average %, forgetting, "
                                 "backward, sent up, sent down, time ("));
    free(text);
    how.width = 10;
    assert_ok(eg_compare_print(dirs, RUNS, NULL, 0, &how, &text));
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    assert_string_equal(line, "label     accuracy %");
    free(text);
    how = (eg_compare_how){.width = 10, .published = true};
    assert_ok(eg_compare_print(dirs, RUNS, paper, 3, &how, &text));
    static const char both[] = "label          value        ours   published  deviations\n";
    assert_memory_equal(text, both, sizeof both - 1);
    assert_non_null(strstr(text, "no room for: seeds, difference, within two ("));
    free(text);
    how = (eg_compare_how){.colour = true};
    assert_ok(eg_compare_print(dirs, RUNS, paper, 3, &how, &text));
    assert_non_null(strstr(text, "\033[1mlabel\033[0m"));
    assert_non_null(strstr(text, "\033[2m68.0 ± 0.4\033[0m"));
    assert_non_null(strstr(text, "\033[1;32m")); /* er, by far */
    free(text);
}

static void test_scaled_runs_say_so_beside_a_paper(void **state)
{
    (void)state;
    char *text;
    eg_compare_how how = {.form = EG_COMPARE_TEXT};
    for (int i = 0; i < 2; i++) {
        fixture s = {.name = "demo",
                     .label = i ? "fedavg" : "er",
                     .scale = i ? 1 : 0.05,
                     .tasks = 2,
                     .rounds_per_task = 2,
                     .clients = 1,
                     .chosen = 1};
        fixture_write(&s, dirs[i]);
    }
    assert_ok(eg_compare_print(dirs, 2, paper, 1, &how, &text));
    assert_non_null(strstr(text, "published*"));
    assert_non_null(strstr(text, "\n* scales 0.05 to 1: less data and fewer rounds than the "
                                 "experiment has; published figures are of all of it\n"));
    free(text);
    assert_ok(eg_compare_print(dirs, 1, NULL, 0, &how, &text));
    assert_non_null(strstr(text, "\nscale 0.05: less data"));
    assert_null(strstr(text, "published"));
    free(text);
    assert_ok(eg_compare_print(dirs + 1, 1, paper, 1, &how, &text));
    assert_null(strstr(text, "scale"));
    free(text);
}

static void test_what_cannot_be_compared_is_said(void **state)
{
    (void)state;
    char *text;
    const char *twice[] = {dirs[0], dirs[1], dirs[0]};
    const eg_published odd = {"er", "beauty", 1, 0, NULL};
    assert_fails(
        eg_compare_print(twice, 3, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_TEXT}, &text),
        EG_EINVAL, "are both seed 2 of 'er'");
    assert_fails(
        eg_compare_print(dirs, 1, &odd, 1, &(eg_compare_how){.form = EG_COMPARE_TEXT}, &text),
        EG_EINVAL, "the table has no column for 'beauty'");
    assert_fails(
        eg_compare_print(dirs, 0, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_TEXT}, &text),
        EG_EINVAL, "there is no run");
    char path[FILES_PATH + 32];
    snprintf(path, sizeof path, "%s/summary.json", dirs[1]);
    assert_int_equal(remove(path), 0);
    assert_fails(eg_compare_print(dirs, RUNS, NULL, 0,
                                  &(eg_compare_how){.form = EG_COMPARE_TEXT}, &text),
                 EG_ENOENT, "/1 has no summary.json: the run is not finished");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_text_table_has_published_figures_beside_ours),
        TEST(test_what_was_lost_is_said),
        TEST(test_long_labels_are_shortened_on_the_terminal_only),
        TEST(test_every_value_can_be_a_column),
        TEST(test_markdown_table_escapes_labels),
        TEST(test_json_table_reads_back),
        TEST(test_rows_are_sorted_best_first),
        TEST(test_narrow_terminals_show_what_matters_most),
        TEST(test_scaled_runs_say_so_beside_a_paper),
        TEST(test_what_cannot_be_compared_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
