/* report_paired_test.c - differences over seeds, and ours beside a paper's, in all forms.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/fixture.h"

#include "report/table/paired.h"

#include <math.h>

enum { SEEDS = 6, RUNS = 3 * SEEDS };

static char folder[FILES_PATH];
static char dir[RUNS][FILES_PATH + 16];
static const char *dirs[RUNS];

/* fedavg with seeds 0 to 5; er with 1 to 6, so that they share five; joint with 5 to 10: one.
 */
static int make_runs(void **state)
{
    (void)state;
    static const char *const labels[] = {"fedavg", "er", "joint"};
    static const int64_t first[] = {0, 1, 5};
    files_folder(folder);
    for (int i = 0; i < RUNS; i++) {
        int of = i / SEEDS;
        fixture s = {.name = "demo",
                     .label = labels[of],
                     .method = of == 2 ? "\"joint\"" : NULL,
                     .seed = first[of] + i % SEEDS,
                     .tasks = 2,
                     .rounds_per_task = 2,
                     .clients = 3,
                     .chosen = 3,
                     .keep = 0.4 + 0.02 * of * (i % 3 - 0.5)};
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

static eg_groups *load(void)
{
    eg_groups *g;
    assert_ok(eg_groups_load(dirs, RUNS, NULL, 0, &g));
    assert_int_equal(g->n, 3);
    return g;
}

static char *print(const eg_compare_how *how, const eg_published *paper, size_t n)
{
    char *text;
    assert_ok(eg_compare_print(dirs, RUNS, paper, n, how, &text));
    return text;
}

static void test_pairs_are_the_seeds_that_both_have(void **state)
{
    (void)state;
    eg_groups *g = load();
    double d[5];
    for (int i = 0; i < 5; i++)
        d[i] = g->group[1].run[i]->summary[EG_SUMMARY_acc_final] -
               g->group[0].run[i + 1]->summary[EG_SUMMARY_acc_final];
    eg_paired want = eg_paired_of(d, 5);
    eg_paired got = eg_group_paired(&g->group[1], &g->group[0], EG_SUMMARY_acc_final);
    assert_int_equal(got.n, 5);
    assert_near(got.mean, want.mean, 0);
    assert_near(got.sd, want.sd, 0);
    assert_near(got.p, want.p, 0);
    assert_true(got.p > 0 && got.p < 1);
    got = eg_group_paired(&g->group[0], &g->group[1], EG_SUMMARY_acc_final);
    assert_near(got.mean, -want.mean, 1e-15);
    got = eg_group_paired(&g->group[2], &g->group[0], EG_SUMMARY_acc_final);
    assert_int_equal(got.n, 1);
    assert_true(isnan(got.p));
    got = eg_group_paired(&g->group[1], &g->group[0], EG_SUMMARY_aa); /* there is none */
    assert_true(got.n == 0 && isnan(got.mean));
    eg_groups_free(g);
}

static void test_rows_are_held_against_the_first_or_a_label(void **state)
{
    (void)state;
    eg_groups *g = load();
    eg_against a;
    char difference[96], p[32], want[160];
    assert_ok(eg_groups_against(&g->arena, g, &(eg_compare_how){0}, &a));
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(eg_against_of(&a, g, &g->group[i]), &g->group[0]);
    assert_int_equal(a.which, EG_SUMMARY_acc_final);
    eg_paired d = eg_group_paired(&g->group[1], &g->group[0], a.which);
    eg_show_difference(difference, a.which, &d);
    eg_show_p(p, d.p);
    snprintf(want, sizeof want, " | %s | %s | ", difference, p);
    char *text = print(&(eg_compare_how){.form = EG_COMPARE_MARKDOWN}, NULL, 0);
    if (!strstr(text, want))
        fail_msg("%s lacks '%s'", text, want);
    assert_non_null(strstr(text, "- difference: in accuracy % to fedavg, seed by seed; p: of"));
    free(text);
    /* Neither the order of the rows nor the columns beside change what is compared. */
    text = print(&(eg_compare_how){.form = EG_COMPARE_MARKDOWN,
                                   .sort = "acc_final",
                                   .columns = "acc_seen,aa"},
                 NULL, 0);
    assert_non_null(strstr(text, "- difference: in accuracy % to fedavg, seed by seed; p: of"));
    assert_non_null(strstr(text, "| AA % |")); /* asked for, though no run has it */
    free(text);
    text = print(&(eg_compare_how){.form = EG_COMPARE_LATEX, .against = "joint"}, NULL, 0);
    assert_non_null(strstr(text, "% difference: in accuracy % to joint, seed by seed"));
    assert_non_null(strstr(text, " & difference & p & "));
    assert_non_null(strstr(text, "$\\pm$"));
    free(text);
    assert_fails(
        eg_compare_print(dirs, RUNS, NULL, 0, &(eg_compare_how){.against = "no"}, &text),
        EG_EINVAL, "there is no 'no' to hold the others against");
    eg_groups_free(g);
}

static void test_latex_takes_no_label_for_an_option(void **state)
{
    (void)state;
    static const char *const labels[] = {"[ours] er", "*er", "er [ours]"};
    char at[3][FILES_PATH + 32], *text;
    const char *list[] = {at[0], at[1], at[2]};
    for (int i = 0; i < 3; i++) {
        fixture s = {.name = "one",
                     .label = labels[i],
                     .tasks = 2,
                     .rounds_per_task = 2,
                     .clients = 3,
                     .chosen = 3};
        snprintf(at[i], sizeof at[i], "%s/option%d", folder, i);
        fixture_write(&s, at[i]);
    }
    assert_ok(
        eg_compare_print(list, 3, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_LATEX}, &text));
    assert_non_null(strstr(text, "\\midrule\n{}[ours] er & 1 & "));
    assert_non_null(strstr(text, "\\\\\n{}*er & 1 & "));
    assert_non_null(strstr(text, "\\\\\ner [ours] & 1 & "));
    free(text);
}

static void test_latex_tells_a_minus_from_a_hyphen(void **state)
{
    (void)state;
    char at[FILES_PATH + 16], *text;
    const char *list[] = {at};
    fixture s = {.name = "one",
                 .label = "er-20",
                 .tasks = 2,
                 .rounds_per_task = 2,
                 .clients = 3,
                 .chosen = 3,
                 .keep = 0.4};
    snprintf(at, sizeof at, "%s/hyphen", folder);
    fixture_write(&s, at);
    assert_ok(
        eg_compare_print(list, 1, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_LATEX}, &text));
    assert_non_null(strstr(text, "\ner-20 & 1 & "));
    assert_non_null(strstr(text, " & $-$")); /* backward transfer */
    free(text);
}

/* One seed per label shows no difference, unless it is asked for. */
static void test_single_seeds_are_not_compared(void **state)
{
    (void)state;
    const char *two[] = {dirs[1], dirs[SEEDS]}; /* seed 1 of both */
    char *text;
    assert_ok(eg_compare_print(two, 2, NULL, 0, &(eg_compare_how){0}, &text));
    assert_null(strstr(text, "difference"));
    free(text);
    assert_ok(eg_compare_print(two, 2, NULL, 0, &(eg_compare_how){.against = "er"}, &text));
    assert_non_null(strstr(text, "difference"));
    free(text);
}

/* The field of a row in CSV, by its heading. */
static double csv_field(const char *text, const char *row, const char *heading)
{
    char name[64];
    int column = 0;
    snprintf(name, sizeof name, ",%s,", heading);
    const char *at = strstr(text, name);
    assert_non_null(at);
    for (const char *c = text; c <= at; c++)
        column += *c == ',';
    at = strstr(text, row);
    assert_non_null(at);
    for (; column > 0; at++)
        column -= *at == ',';
    return strtod(at, NULL);
}

static void test_programs_get_every_difference(void **state)
{
    (void)state;
    eg_groups *g = load();
    eg_paired d = eg_group_paired(&g->group[1], &g->group[0], EG_SUMMARY_forgetting);
    char *text = print(&(eg_compare_how){.form = EG_COMPARE_CSV}, NULL, 0);
    assert_near(csv_field(text, "demo,er,", "forgetting_difference"), d.mean, 1e-12);
    assert_near(csv_field(text, "demo,er,", "forgetting_difference_sd"), d.sd, 1e-12);
    assert_near(csv_field(text, "demo,er,", "forgetting_p"), d.p, 1e-12);
    assert_near(csv_field(text, "demo,fedavg,", "forgetting_difference"), 0, 0); /* empty */
    assert_near(csv_field(text, "demo,fedavg,", "forgetting_p"), 0, 0);
    assert_null(strstr(text, "seconds_difference"));
    free(text);
    text = print(&(eg_compare_how){.form = EG_COMPARE_JSON}, NULL, 0);
    eg_json *v;
    double x;
    assert_ok(eg_json_parse(text, strlen(text), &v));
    const eg_json *er = eg_json_get(eg_json_at(v, 1), "forgetting");
    assert_ok(eg_json_real(eg_json_get(er, "difference"), &x));
    assert_near(x, d.mean, 1e-12);
    assert_ok(eg_json_real(eg_json_get(er, "p"), &x));
    assert_near(x, d.p, 1e-12);
    const eg_json *itself = eg_json_get(eg_json_at(v, 0), "forgetting");
    assert_int_equal(eg_json_kind_of(eg_json_get(itself, "difference")), EG_JSON_NULL);
    assert_int_equal(eg_json_kind_of(eg_json_get(itself, "p")), EG_JSON_NULL);
    eg_json_free(v);
    free(text);
    eg_groups_free(g);
}

static void test_how_chance_is_shown(void **state)
{
    (void)state;
    static const struct {
        double p;
        const char *text;
    } rows[] = {{1, "1.00"},       {0.625, "0.62"},    {0.1, "0.10"}, {0.0495, "0.050"},
                {0.0129, "0.013"}, {0.0004, "<0.001"}, {0, "<0.001"}, {NAN, "–"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[32];
        eg_show_p(text, rows[i].p);
        assert_string_equal(text, rows[i].text);
    }
    char text[96];
    eg_show_difference(text, EG_SUMMARY_acc_final, &(eg_paired){.mean = 0.0123, .sd = 0.004});
    assert_string_equal(text, "+1.2 ± 0.4");
    eg_show_difference(text, EG_SUMMARY_acc_final, &(eg_paired){.mean = -0.5, .sd = NAN});
    assert_string_equal(text, "-50.0");
}

/* Ours is so many of the paper's deviations away. */
static void test_papers_figures_stand_beside_ours(void **state)
{
    (void)state;
    eg_groups *g = load();
    double er = eg_group_summary(&g->group[1], EG_SUMMARY_acc_final).mean;
    double avg = eg_group_summary(&g->group[0], EG_SUMMARY_forgetting).mean;
    const eg_published paper[] = {{"er", "acc_final", er - 0.03, 0.02, NULL},
                                  {"fedavg", "forgetting", avg + 0.05, 0.02, NULL},
                                  {"fedavg", "acc_final", 0.5, -1, NULL}};
    char *text =
        print(&(eg_compare_how){.form = EG_COMPARE_MARKDOWN, .published = true}, paper, 3);
    assert_non_null(strstr(text, "| label | value | seeds | ours | published | difference | "
                                 "deviations | within two |"));
    assert_non_null(strstr(text, " | +3.0 | +1.5 | yes |"));
    assert_non_null(strstr(text, " | -5.0 | -2.5 | no |"));
    assert_non_null(strstr(text, " | – | – |")); /* without a deviation */
    assert_null(strstr(text, "joint"));
    free(text);
    text = print(&(eg_compare_how){.form = EG_COMPARE_CSV, .published = true}, paper, 3);
    assert_near(csv_field(text, "demo,er,acc_final,", "difference"), 0.03, 1e-12);
    free(text);
    text = print(&(eg_compare_how){.form = EG_COMPARE_JSON, .published = true}, paper, 3);
    eg_json *v;
    double x;
    assert_ok(eg_json_parse(text, strlen(text), &v));
    assert_int_equal(eg_json_count(v), 3);
    assert_ok(eg_json_real(eg_json_get(eg_json_at(v, 2), "deviations"), &x));
    assert_near(x, 1.5, 1e-9);
    eg_json_free(v);
    free(text);
    assert_fails(
        eg_compare_print(dirs, RUNS, NULL, 0, &(eg_compare_how){.published = true}, &text),
        EG_ENOENT, "no published figures");
    eg_groups_free(g);
}

/* Two experiments, each with er alone and with fed-a-gem in three seeds. */
enum { PAIRS = 12 };

static void make_pairs(char at[PAIRS][FILES_PATH + 16], const char *list[PAIRS])
{
    for (int i = 0; i < PAIRS; i++) {
        int of = i / 3;
        bool with = of % 2;
        fixture s = {.name = i < 6 ? "one" : "two",
                     .label = with ? "both" : "alone",
                     .method = with ? "\"er\",\"fed_a_gem\"" : "\"er\"",
                     .seed = i % 3,
                     .tasks = 2,
                     .rounds_per_task = 2,
                     .clients = 3,
                     .chosen = 3,
                     .keep = 0.1 * of};
        snprintf(at[i], sizeof at[i], "%s/pair%d", folder, i);
        list[i] = at[i];
        fixture_write(&s, at[i]);
    }
}

static void test_a_part_is_held_against_what_lacks_it(void **state)
{
    (void)state;
    char at[PAIRS][FILES_PATH + 16], *text;
    const char *list[PAIRS];
    eg_groups *g;
    eg_against a;
    make_pairs(at, list);
    assert_ok(eg_groups_load(list, PAIRS, NULL, 0, &g));
    assert_int_equal(g->n, 4);
    const eg_group *one = &g->group[0], *two = &g->group[2];
    assert_ok(eg_groups_against(&g->arena, g, &(eg_compare_how){.without = "fed_a_gem"}, &a));
    assert_null(eg_against_of(&a, g, one));
    assert_null(eg_against_of(&a, g, two));
    assert_ptr_equal(eg_against_of(&a, g, one + 1), one);
    assert_ptr_equal(eg_against_of(&a, g, two + 1), two);
    assert_string_equal(a.words, "to the row without fed_a_gem");
    assert_fails(eg_groups_against(&g->arena, g, &(eg_compare_how){.without = "der"}, &a),
                 EG_EINVAL, "no row with the part 'der'");

    /* Without it, each experiment has a first row and labels of its own. */
    assert_ok(eg_groups_against(&g->arena, g, &(eg_compare_how){0}, &a));
    assert_ptr_equal(eg_against_of(&a, g, two), two);
    assert_ptr_equal(eg_against_of(&a, g, two + 1), two);
    assert_string_equal(a.words, "to the first run of its experiment");
    assert_ok(eg_groups_against(&g->arena, g, &(eg_compare_how){.against = "both"}, &a));
    assert_ptr_equal(eg_against_of(&a, g, two), two + 1);
    assert_ok(eg_groups_against(&g->arena, g, &(eg_compare_how){.against = "one / both"}, &a));
    assert_ptr_equal(eg_against_of(&a, g, two), one + 1);

    eg_paired d = eg_group_paired(two + 1, two, EG_SUMMARY_acc_final);
    assert_ok(eg_compare_print(
        list, PAIRS, NULL, 0, &(eg_compare_how){.form = EG_COMPARE_CSV, .without = "fed_a_gem"},
        &text));
    assert_near(csv_field(text, "two,both,", "acc_final_difference"), d.mean, 1e-12);
    assert_near(csv_field(text, "two,both,", "acc_final_p"), d.p, 1e-12);
    assert_near(csv_field(text, "two,alone,", "acc_final_difference"), 0, 0); /* empty */
    free(text);
    assert_ok(eg_compare_print(
        list, PAIRS, NULL, 0,
        &(eg_compare_how){.form = EG_COMPARE_MARKDOWN, .without = "fed_a_gem"}, &text));
    assert_non_null(strstr(text, "in accuracy % to the row without fed\\_a\\_gem, seed"));
    free(text);
    eg_groups_free(g);
}

/* The page of a call has the differences of its table, with the same words. */
static void test_the_page_makes_the_same_comparison(void **state)
{
    (void)state;
    static const eg_compare_how hows[] = {{.without = "fed_a_gem"},
                                          {.against = "two / both"},
                                          {.sort = "acc_final", .columns = "flops_clients"}};
    char at[PAIRS][FILES_PATH + 16], path[FILES_PATH + 16], cell[128];
    const char *list[PAIRS];
    make_pairs(at, list);
    snprintf(path, sizeof path, "%s/page.html", folder);
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        char *text, *page;
        size_t n;
        assert_ok(eg_compare_print(list, PAIRS, NULL, 0, &hows[i], &text));
        assert_ok(eg_report_write(list, PAIRS, NULL, 0, &hows[i], path));
        assert_ok(eg_file_read(path, (size_t)1 << 30, (unsigned char **)&page, &n));
        char *note = strstr(text, "difference: in accuracy");
        assert_non_null(note);
        note[strcspn(note, "\n")] = 0;
        assert_non_null(strstr(page, note));
        for (const char *line = strchr(text, '\n') + 1; line < note;
             line = strchr(line, '\n') + 1) {
            const char *plus = strpbrk(line, "+");
            if (!plus || plus > strchr(line, '\n'))
                continue;
            snprintf(cell, sizeof cell, "<td>%.*s</td>", (int)(strstr(plus, "  ") - plus),
                     plus);
            assert_non_null(strstr(page, cell)); /* "+4.0 ± 1.2" */
        }
        assert_int_equal(strstr(page, "clients' work") != NULL, i == 2);
        free(text);
        free(page);
    }
}

/* Two papers have figures for one label. */
static void test_figures_are_of_an_experiment(void **state)
{
    (void)state;
    char at[PAIRS][FILES_PATH + 16];
    const char *list[PAIRS];
    const eg_published paper[] = {{"both", "acc_final", 0.5, 0.01, "one"},
                                  {"both", "acc_final", 0.7, 0.02, "two"},
                                  {"alone", "acc_final", 0.3, -1, NULL}};
    eg_groups *g;
    make_pairs(at, list);
    assert_ok(eg_groups_load(list, PAIRS, paper, 3, &g));
    static const int want[] = {2, 0, 2, 1};
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(eg_groups_published(g, &g->group[i], EG_SUMMARY_acc_final),
                         &paper[want[i]]);
    eg_groups_free(g);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_runs, remove_runs)
    const struct CMUnitTest tests[] = {
        TEST(test_pairs_are_the_seeds_that_both_have),
        TEST(test_rows_are_held_against_the_first_or_a_label),
        TEST(test_latex_tells_a_minus_from_a_hyphen),
        TEST(test_latex_takes_no_label_for_an_option),
        TEST(test_single_seeds_are_not_compared),
        TEST(test_programs_get_every_difference),
        TEST(test_how_chance_is_shown),
        TEST(test_papers_figures_stand_beside_ours),
        TEST(test_a_part_is_held_against_what_lacks_it),
        TEST(test_figures_are_of_an_experiment),
        TEST(test_the_page_makes_the_same_comparison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
