/* report_html_test.c - pages about runs: all charts, nothing from elsewhere, all text escaped.
 * SPDX-License-Identifier: Apache-2.0
 *
 * `report_html_test DIR` only writes example pages into DIR, for report_page_test.sh.
 */
#include "report/runs/fixture.h"

#include "base/base.h"
#include "io/file.h"

#include <engram/report.h>

#include "own_folder.h"

static const fixture plain = {.name = "glyphs-demo",
                              .label = "er",
                              .tasks = 5,
                              .rounds_per_task = 10,
                              .clients = 10,
                              .chosen = 6,
                              .keep = 0.75};

static const eg_published paper[] = {
    {"er", "acc_final", 0.742, 0.011, NULL},
    {"fedavg", "acc_final", 0.195, 0.004, NULL},
    {"er", "forgetting", 0.201, -1, NULL},
};

/* Writes the page of n runs into the folder. */
static void page_write(const fixture *runs, size_t n, const char *name)
{
    char out[FILES_PATH + 64];
    const char *dirs[32];
    eg_arena arena = {0};
    assert_true(n <= 32);
    for (size_t i = 0; i < n; i++) {
        dirs[i] = eg_arena_text(&arena, "%s/run%zu", folder, i);
        assert_non_null(dirs[i]);
        fixture_write(&runs[i], dirs[i]);
    }
    snprintf(out, sizeof out, "%s/%s", folder, name);
    assert_ok(eg_report_write(dirs, n, n > 1 ? paper : NULL, n > 1 ? 3 : 0, NULL, out));
    for (size_t i = 0; i < n; i++)
        files_remove(dirs[i]);
    eg_arena_fini(&arena);
}

static char *page_of(const fixture *runs, size_t n)
{
    char out[FILES_PATH + 64];
    unsigned char *text;
    size_t bytes;
    page_write(runs, n, "page.html");
    snprintf(out, sizeof out, "%s/page.html", folder);
    assert_ok(eg_file_read(out, 1 << 30, &text, &bytes));
    assert_int_equal(strlen((char *)text), bytes);
    return (char *)text;
}

/* Every element is closed in order, all attributes are quoted; fails with the place if not. */
static void assert_nested(const char *text)
{
    char open[64][16];
    int depth = 0;
    for (const char *c = text; (c = strchr(c, '<')); c++) {
        if (strncmp(c, "<style>", 7) == 0 || strncmp(c, "<script>", 8) == 0) {
            c = strstr(c, c[2] == 't' ? "</style>" : "</script>");
            continue;
        }
        const char *end = c;
        bool quoted = false;
        while (*++end && (quoted || *end != '>'))
            quoted = *end == '"' ? !quoted : quoted;
        if (!*end || strncmp(c, "<!", 2) == 0 || strncmp(c, "<meta", 5) == 0 || end[-1] == '/')
            continue;
        char name[16] = "";
        sscanf(c + 1 + (c[1] == '/'), "%15[a-z0-9]", name);
        if (c[1] != '/') {
            assert_true(depth < 64);
            memcpy(open[depth++], name, sizeof name);
        } else if (depth == 0 || strcmp(open[--depth], name) != 0) {
            fail_msg("%.60s closes %s", c, depth >= 0 ? open[depth] : "nothing");
        }
    }
    assert_int_equal(depth, 0);
}

static void assert_alone(const char *page)
{
    static const char *const never[] = {"http:", "https:", "src=",  "@import", "<link",  "nan",
                                        "inf\"", "-nan",   "fetch", "import(", "XMLHttp"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(page, never[i]))
            fail_msg("the page holds '%s': %.80s", never[i], strstr(page, never[i]));
    assert_int_equal(text_count(page, "url("),
                     text_count(page, "url(#"));      /* of the page itself */
    assert_int_equal(text_count(page, "<script"), 1); /* its own */
}

/* A text that stands between two places of the page. */
static void assert_between(const char *from, const char *to, const char *text)
{
    const char *at = strstr(from, text);
    if (!at || at > to)
        fail_msg("not there: %s", text);
}

static const char *const one_run[] = {"accuracy",       "matrix",        "forgetting",  "loss",
                                      "time",           "clients",       "bytes-total", "bytes",
                                      "bytes-accuracy", "time-accuracy", "client-loss"};

static void test_page_of_one_run_has_every_chart(void **state)
{
    (void)state;
    char *page = page_of(&plain, 1), what[64];
    for (size_t i = 0; i < sizeof one_run / sizeof *one_run; i++) {
        snprintf(what, sizeof what, "data-chart=\"%s\"", one_run[i]);
        assert_int_equal(text_count(page, what), 1);
    }
    assert_int_equal(text_count(page, "<svg"), 11);
    assert_int_equal(text_count(page, "class=\"heat"), 25);
    assert_int_equal(text_count(page, "class=\"heat ownheat"), 5);
    assert_int_equal(text_count(page, "class=\"mark\""), 8); /* task ends in two charts */
    assert_int_equal(text_count(page, "class=\"tile\""), 6);
    assert_non_null(strstr(page, "<strong>1.25 TFLOP<span></span></strong>"
                                 "<p>the method on the server: 48.0 MFLOP, 1.50 s</p>"));
    assert_int_equal(text_count(page, "class=\"lost\""), 4);
    assert_true(text_count(page, "left out of round") > 0);
    assert_non_null(strstr(page, "prefers-color-scheme:dark"));
    assert_int_equal(text_count(page, "<desc"), 11);
    assert_nested(page);
    assert_alone(page);
    free(page);
}

/* WCAG 2's relative luminance of "#rrggbb". */
static double luminance(const char *hex)
{
    unsigned r, g, b;
    assert_int_equal(sscanf(hex, "#%2x%2x%2x", &r, &g, &b), 3);
    const double part[] = {r / 255.0, g / 255.0, b / 255.0},
                 weight[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += weight[i] *
               (part[i] > 0.04045 ? pow((part[i] + 0.055) / 1.055, 2.4) : part[i] / 12.92);
    return sum;
}

static double contrast(const char *a, const char *b)
{
    double x = luminance(a), y = luminance(b);
    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

static void test_numbers_of_the_matrix_can_be_read(void **state)
{
    (void)state;
    fixture s = plain;
    s.tasks = 15;
    s.rounds_per_task = 4;
    s.keep = 0;
    char *page = page_of(&s, 1);
    size_t n = 0;
    for (const char *c = page; (c = strstr(c, "class=\"heat")); c++, n++) {
        const char *fill = c, *ink = strstr(c, "--l:#") + 4;
        while (strncmp(fill, "--l:#", 5) != 0)
            fill--;
        fill += 4;
        assert_true(contrast(fill, ink) >= 4.5);
        assert_true(contrast(fill + 12, ink + 12) >= 4.5); /* past "#rrggbb;--d:" */
    }
    assert_int_equal(n, 15 * 15);
    free(page);
}

/* A loss is above 0 everywhere, a gain below. */
static void test_forgetting_has_one_sign(void **state)
{
    (void)state;
    fixture s = plain;
    s.tasks = 2;
    for (int gain = 0; gain < 2; gain++) {
        s.keep = gain ? 1.3 : 0.5;
        char *page = page_of(&s, 1);
        const char *tile = strstr(page, "<p>Forgetting</p><strong>");
        const char *bar =
            strstr(page, gain ? "points above its best" : "points below its best");
        assert_non_null(tile);
        assert_non_null(bar);
        const char *number = strstr(bar, "class=\"small\"");
        assert_non_null(number);
        assert_true(tile[strlen("<p>Forgetting</p><strong>")] != '-'); /* the word tells */
        const char *unit = strstr(tile, "points "), *back = strstr(tile, "backward transfer: ");
        assert_int_equal(strncmp(unit, gain ? "points gained" : "points lost", 11), 0);
        assert_true(back[strlen("backward transfer: ")] != '-');
        assert_int_equal(strncmp(strstr(back, "points "), unit, 11), 0);
        assert_int_equal(strchr(number, '>')[1] == '-', gain);
        assert_null(strstr(page, gain ? "points below its best" : "points above its best"));
        free(page);
    }
}

/* Of the table of clients: who took part in how many rounds, and was left out of how many. */
static void test_clients_left_out_did_not_take_part(void **state)
{
    (void)state;
    fixture s = plain;
    s.tasks = s.rounds_per_task = 2;
    s.clients = 3;
    s.chosen = 3;
    s.skipped = 2;
    char *page = page_of(&s, 1), what[64];
    assert_int_equal(text_count(page, "data-warn=\"losses\""), 1);
    assert_non_null(strstr(page, "The first: client 0 in round 2, upload &#39;w&#39; holds"));
    const char *table = strstr(page, "rounds by client");
    assert_non_null(table);
    for (int64_t c = 0; c < 3; c++) {
        int out = 0;
        for (int64_t round = 1; round <= 4; round++)
            out += fixture_left_out(&s, round, c);
        assert_true(out >= 1);
        snprintf(what, sizeof what, "<th>%d</th><td>%d</td><td>%d</td>", (int)c, 4 - out, out);
        assert_non_null(strstr(table, what));
    }
    free(page);
}

static void test_notes_are_drawn_by_name(void **state)
{
    (void)state;
    fixture s = plain;
    s.notes = true;
    char *page = page_of(&s, 1);
    assert_int_equal(text_count(page, "data-chart=\"note\""), 2);
    assert_int_equal(text_count(page, "<h3>drift</h3>"), 1);
    assert_int_equal(text_count(page, "<h3>server step</h3>"), 1);
    const char *drift = strstr(page, "<h3>drift</h3>");
    const char *step = strstr(page, "<h3>server step</h3>");
    const char *band = strstr(drift, "class=\"band\"");
    assert_true(band && (step < drift || band < step)); /* the range of several clients */
    assert_non_null(
        strstr(step, "<th>50</th><td>0.02</td><td>0.02</td><td>0.02</td><td>1</td>"));
    assert_non_null(strstr(drift, "data-name=\"drift\""));
    assert_nested(page);
    assert_alone(page);
    free(page);
}

/* The matrix of many tasks is a picture, and their numbers are left to the run's tables. */
static void test_pages_do_not_grow_with_the_square_of_the_tasks(void **state)
{
    (void)state;
    fixture s = plain;
    s.tasks = 300;
    s.rounds_per_task = 1;
    char *page = page_of(&s, 1);
    assert_int_equal(text_count(page, "class=\"heat"), 0);
    assert_int_equal(text_count(page, "data:image/png;base64,"), 1);
    assert_int_equal(text_count(page, "<mask"), 1);
    assert_int_equal(text_count(page, "in the run&#39;s accuracy.csv"), 3);
    assert_true(strlen(page) < 1000000);
    assert_nested(page);
    assert_alone(page);
    free(page);
}

static void test_clients_that_were_tested_have_lines(void **state)
{
    (void)state;
    fixture s = plain;
    s.local = true;
    char *page = page_of(&s, 1);
    assert_int_equal(text_count(page, "data-chart=\"client-accuracy\""), 1);
    assert_int_equal(text_count(page, "data-name=\"client 9\""), 2); /* accuracy and loss */
    free(page);
    s.clients = 40;
    page = page_of(&s, 1);
    assert_int_equal(text_count(page, "data-chart=\"client-accuracy\""), 1);
    assert_int_equal(text_count(page, "data-name=\"client 9\""), 0);
    const char *chart = strstr(page, "data-chart=\"client-accuracy\"");
    const char *mean = strstr(chart, "data-name=\"mean\"");
    assert_true(mean && strstr(mean, " data-low=") < strchr(mean, '>'));
    assert_alone(page);
    free(page);
}

/* Tasks of two classes each: after the first, memories of two clients hold 20 + 0 rows of class
 * 0 and 20 + 1 of class 1. Of many classes neighbours stand together. */
static void test_what_memories_hold_is_shown_by_class(void **state)
{
    (void)state;
    fixture s = plain;
    s.clients = 2;
    s.classes = 10;
    char *page = page_of(&s, 1);
    const char *chart = strstr(page, "data-chart=\"held\""), *end = strstr(chart, "</figure>");
    assert_non_null(chart);
    assert_between(chart, end, "class 0 after round 10, 10.0 rows per client: 48.8 %");
    assert_between(chart, end, "class 1 after round 10, 10.5 rows per client: 51.2 %");
    const char *empty = strstr(chart, "class 9 after round 10, ");
    assert_true(!empty || empty > end);
    assert_between(chart, end, "<th>1</th><td>10.5</td>");
    free(page);
    s.classes = 300;
    page = page_of(&s, 1);
    chart = strstr(page, "data-chart=\"held\"");
    assert_non_null(strstr(chart, "class 0 to 5 after round 10, "));
    assert_true(text_count(chart, "rows per client: ") <= 50 * 5);
    assert_alone(page);
    free(page);
}

static void test_axes_fit_what_they_show(void **state)
{
    (void)state;
    fixture s = plain;
    s.tasks = 1;
    s.rounds_per_task = 40;
    s.every_task = true; /* only the untrained model and the end: 0 to 1 */
    char *page = page_of(&s, 1);
    const char *loss = strstr(page, "data-chart=\"loss\""), *end = strstr(loss, "</svg>");
    const char *top = strstr(loss, ">1.2</text>"); /* losses are drawn from [0.2, 1.2] */
    assert_true(top && top < end);
    free(page);
}

static void test_scaled_runs_are_marked(void **state)
{
    (void)state;
    fixture runs[2] = {plain, plain};
    runs[0].scale = runs[1].scale = 0.05;
    runs[1].label = "joint";
    runs[1].method = "\"joint\"";
    char *page = page_of(runs, 2);
    assert_int_equal(text_count(page, "data-warn=\"scale\""), 1);
    assert_non_null(strstr(page, "Run with scale 0.05"));
    assert_int_equal(text_count(page, "<small class=\"far\">published* "), 2);
    assert_int_equal(text_count(page, "<small>a bound</small>"), 1);
    assert_int_equal(text_count(page, "class=\"best\""), 0); /* one seed each */
    free(page);
}

static size_t seeds(fixture *out)
{
    static const struct {
        const char *label;
        double keep;
    } made[] = {{"fedavg", 0}, {"er", 0.75}, {"er + fed-a-gem", 0.88}, {"joint", 1}};
    for (int i = 0; i < 12; i++) {
        out[i] = plain;
        out[i].label = made[i / 3].label;
        out[i].method = i / 3 == 3 ? "\"joint\"" : NULL;
        out[i].keep = made[i / 3].keep + 0.05 * (i % 3 - 1);
        out[i].seed = i % 3;
    }
    return 12;
}

static void test_page_of_many_runs_compares_labels(void **state)
{
    (void)state;
    fixture runs[12];
    char *page = page_of(runs, seeds(runs));
    assert_int_equal(text_count(page, "data-chart=\"compare\""), 1);
    assert_int_equal(text_count(page, "data-chart=\"final\""), 1);
    assert_int_equal(text_count(page, "data-chart=\"accuracy\""), 4);
    assert_int_equal(text_count(page, "data-table=\"compare\""), 1);
    assert_true(text_count(page, "class=\"band\"") >= 8);
    assert_int_equal(text_count(page, "<small>published "), 3);
    assert_non_null(strstr(page, "<small>published 74.2 ± 1.1</small>"));
    assert_non_null(strstr(page, "<small>published 20.1</small>"));
    assert_nested(page);
    assert_alone(page);
    free(page);
}

static void test_labels_of_one_colour_differ_in_dashes(void **state)
{
    (void)state;
    char label[26][64];
    fixture runs[26];
    for (int i = 0; i < 26; i++) {
        snprintf(label[i], sizeof label[i],
                 i < 25 ? "%c" : "%c, a name that is too long to stand beside a line", 'a' + i);
        runs[i] = plain;
        runs[i].tasks = 2;
        runs[i].label = label[i];
    }
    char *page = page_of(runs, 26);
    assert_int_equal(text_count(page, "\"chip dash0\""), 3 * 8); /* links, table, headings */
    assert_int_equal(text_count(page, "\"chip dash2\""), 3 * 8);
    assert_int_equal(text_count(page, "\"chip dash3\""), 3 * 2);
    assert_int_equal(text_count(page, "\"line strong dash3\""),
                     5 * 2 * 2); /* lines and names */
    /* Beside the three lines of the last, which lose their middle. */
    assert_int_equal(text_count(page, " beside a line</text>"), 3);
    assert_int_equal(text_count(page, "…"), 3);
    assert_non_null(
        strstr(page, "data-chart=\"compare\" role=\"img\" viewBox=\"0 0 960 476\""));
    assert_nested(page);
    free(page);
}

/* A page of twenty runs stays under a megabyte, whether they are seeds or not. */
static void test_a_page_of_twenty_runs_is_small(void **state)
{
    (void)state;
    char label[20][32];
    fixture runs[20];
    for (int n_labels = 4; n_labels <= 20; n_labels += 16) {
        for (int i = 0; i < 20; i++) {
            snprintf(label[i], sizeof label[i], "label-%d", i % n_labels);
            runs[i] = plain;
            runs[i].label = label[i];
            runs[i].seed = i / n_labels;
            runs[i].classes = 10;
        }
        char *page = page_of(runs, 20);
        assert_true(strlen(page) < 1000000);
        assert_int_equal(text_count(page, "data-chart=\"accuracy\""), n_labels);
        assert_nested(page);
        assert_alone(page);
        free(page);
    }
}

/* Each seed has a line of its own, which the script shows on demand. */
static void test_lines_have_their_seeds(void **state)
{
    (void)state;
    fixture runs[12];
    char *page = page_of(runs, seeds(runs));
    const char *chart = strstr(page, "data-chart=\"compare\""), *end = strstr(chart, "</svg>");
    size_t n = 0;
    for (const char *at = chart; (at = strstr(at, "class=\"seed\"")) && at < end; at++)
        n++;
    assert_int_equal(n, 12);
    assert_non_null(strstr(chart, "data-seed=\"2\""));
    free(page);
}

/* Charts leave the room that the longest name needs, to the last bit. */
static void test_names_that_just_fit_are_whole(void **state)
{
    (void)state;
    fixture runs[] = {plain, plain};
    runs[0].label = "a-gem+fed-a-gem-5120";
    runs[1].label = "er";
    char *page = page_of(runs, 2);
    assert_non_null(strstr(page, "  a-gem+fed-a-gem-5120</text>"));
    assert_null(strstr(page, "…"));
    free(page);
}

static void test_all_text_is_escaped(void **state)
{
    (void)state;
    fixture runs[2] = {plain, plain};
    runs[0].name = runs[1].name = "<b>&\"'";
    runs[0].label = "<i>&\"'\x01";
    runs[1].label = "</title><script>alert(1)</script>";
    char *page = page_of(runs, 2);
    assert_null(strstr(page, "<b>&"));
    assert_null(strstr(page, "<i>"));
    assert_int_equal(text_count(page, "<script"), 1); /* the page's own */
    assert_null(strchr(page, '\x01'));
    assert_non_null(strstr(page, "&lt;b&gt;&amp;&quot;&#39;"));
    assert_non_null(strstr(page, "&lt;script&gt;alert(&#39;no &amp; never&#39;)"));
    assert_nested(page);
    free(page);
}

static void test_odd_runs_still_make_a_page(void **state)
{
    (void)state;
    fixture odd[5] = {plain, plain, plain, plain, plain};
    odd[0].unfinished = true;
    odd[1].tasks = 1;
    odd[1].rounds_per_task = 1;
    odd[1].clients = 1;
    odd[2].tasks = 40;
    odd[2].rounds_per_task = 8;
    odd[2].clients = 300;
    odd[2].chosen = 30;
    odd[3].local = true;
    odd[4].every_task = true;
    for (size_t i = 0; i < 5; i++) {
        char *page = page_of(&odd[i], 1);
        assert_true(text_count(page, "<svg") >= 6);
        assert_true(strlen(page) < 4000000);
        assert_int_equal(text_count(page, "is not finished: 25 of 50 rounds"), i == 0);
        assert_nested(page);
        assert_alone(page);
        free(page);
    }
}

static void test_failure_leaves_no_page(void **state)
{
    (void)state;
    const char *none = "/none";
    char out[FILES_PATH + 64];
    snprintf(out, sizeof out, "%s/page.html", folder);
    assert_fails(eg_report_write(&none, 1, NULL, 0, NULL, out), EG_ENOENT,
                 "/none/metrics.jsonl");
    assert_int_not_equal(access(out, F_OK), 0);
    assert_fails(eg_report_write(&none, 0, NULL, 0, NULL, out), EG_EINVAL, "no run");
}

/* Example pages, to be looked at. */
static int write_pages(const char *where)
{
    fixture runs[12], many = plain, part = plain;
    snprintf(folder, sizeof folder, "%s", where);
    size_t n = seeds(runs);
    for (size_t i = 0; i < n; i++)
        runs[i].classes = 10;
    part.classes = 120;
    page_write(runs, 1, "run.html");
    page_write(runs, n, "compare.html");
    page_write(runs + 3, 3, "seeds.html");
    many.tasks = 20;
    many.clients = 200;
    many.chosen = 20;
    many.rounds_per_task = 15;
    page_write(&many, 1, "many.html");
    part.unfinished = true;
    part.label = "<b>&\"</b> a label that is far too long to fit beside the chart";
    page_write(&part, 1, "unfinished.html");
    part.unfinished = false;
    part.every_task = true;
    page_write(&part, 1, "by_task.html");
    fixture more = plain;
    more.tasks = 120;
    more.rounds_per_task = 2;
    page_write(&more, 1, "tasks.html");
    more = plain;
    more.local = more.notes = true;
    page_write(&more, 1, "personal.html");
    for (int i = 0; i < 12; i++)
        runs[i].scale = 0.1;
    page_write(runs, 12, "scaled.html");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return write_pages(argv[1]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_page_of_one_run_has_every_chart),
        TEST(test_numbers_of_the_matrix_can_be_read),
        TEST(test_forgetting_has_one_sign),
        TEST(test_clients_left_out_did_not_take_part),
        TEST(test_notes_are_drawn_by_name),
        TEST(test_pages_do_not_grow_with_the_square_of_the_tasks),
        TEST(test_clients_that_were_tested_have_lines),
        TEST(test_what_memories_hold_is_shown_by_class),
        TEST(test_axes_fit_what_they_show),
        TEST(test_scaled_runs_are_marked),
        TEST(test_page_of_many_runs_compares_labels),
        TEST(test_labels_of_one_colour_differ_in_dashes),
        TEST(test_a_page_of_twenty_runs_is_small),
        TEST(test_lines_have_their_seeds),
        TEST(test_names_that_just_fit_are_whole),
        TEST(test_all_text_is_escaped),
        TEST(test_odd_runs_still_make_a_page),
        TEST(test_failure_leaves_no_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
