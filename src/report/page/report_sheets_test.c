/* report_sheets_test.c - the drawings of a run on its page.
 * SPDX-License-Identifier: Apache-2.0
 *
 * `report_sheets_test DIR` only writes an example page into DIR, for report_page_test.sh.
 */
#include "test.h"

#include "io/file.h"
#include "io/image.h"
#include "run/log/run_folder.h"

#include <engram/report.h>

#include "own_folder.h"

enum { TASKS = 2, CLASSES = 10, CELL = 18 };

static void write_start(eg_run_folder *f, int64_t rounds)
{
    static const char *const method[] = {"fedcil"};
    assert_ok(
        eg_run_write_start(f, &(eg_start_event){.name = "drawings",
                                                .label = "fedcil",
                                                .method = method,
                                                .n_method = 1,
                                                .clients = 4,
                                                .tasks = TASKS,
                                                .rounds = rounds,
                                                .classes = CLASSES,
                                                .isa = "avx2",
                                                .config_sha256 = "x",
                                                .labels = "1",
                                                .pixels = "2",
                                                .learned = (const int64_t[TASKS]){1, 2}}));
}

/* The server's test after a task. */
static void write_task(eg_run_folder *f, int64_t round)
{
    const int64_t n[TASKS] = {10, 10}, right[TASKS] = {9, 5};
    assert_ok(eg_run_write_eval(f, &(eg_eval_event){.round = round,
                                                    .who = -1,
                                                    .task_end = true,
                                                    .full = true,
                                                    .n_tasks = TASKS,
                                                    .n = n,
                                                    .correct = right,
                                                    .met = -1}));
}

/* Rows of rings, one more per class, which become clearer round by round. */
static void write_picture(const char *run, int64_t round, int64_t rounds, int64_t rows)
{
    char path[EG_RUN_PATH];
    eg_image im = {.height = rows * CELL + 2, .width = 8 * CELL + 2, .channels = 3};
    im.pixels = calloc((size_t)(im.height * im.width), 3);
    assert_non_null(im.pixels);
    for (int64_t y = 0; y < im.height; y++)
        for (int64_t x = 0; x < im.width; x++) {
            double dx = (double)((x - 2) % CELL) - 7.5, dy = (double)((y - 2) % CELL) - 7.5;
            int64_t row = y / CELL;
            double wave = sin(sqrt(dx * dx + dy * dy) * (double)(1 + row) / 3);
            double noise = (double)((x * 7919 + y * 104729) % 101) / 101;
            double clear = (double)round / (double)rounds;
            bool frame = x % CELL < 2 || y % CELL < 2;
            for (int k = 0; k < 3; k++)
                im.pixels[3 * (y * im.width + x) + k] =
                    frame ? 96 : (uint8_t)(127 + 120 * (clear * wave + (1 - clear) * noise));
        }
    assert_ok(eg_run_sheet(run, round, path));
    assert_ok(eg_png_save(path, &im));
    eg_image_fini(&im);
}

/* A run with a sheet after each of its rounds, of which there are an even number. */
static void write_run(const char *run, int64_t rounds, int64_t who, size_t n_classes)
{
    static const int64_t classes[CLASSES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    char sheets[FILES_PATH * 2];
    eg_run_folder *f;
    assert_ok(eg_run_folder_new(run, "name: drawings\n", &f));
    snprintf(sheets, sizeof sheets, "%s/" EG_RUN_SHEETS, run);
    assert_int_equal(mkdir(sheets, 0777), 0);
    write_start(f, rounds);
    for (int64_t r = 1; r <= rounds; r++) {
        size_t met = r <= rounds / 2 ? n_classes / 2 : n_classes;
        if (r % (rounds / 2) == 0)
            write_task(f, r);
        assert_ok(eg_run_write_sheet(
            f,
            &(eg_sheet_event){.round = r, .who = who, .classes = classes, .n_classes = met}));
        write_picture(run, r, rounds, met ? (int64_t)met : 4);
    }
    eg_run_folder_free(f);
}

static char *page_of(const char *run)
{
    char out[FILES_PATH * 2];
    unsigned char *text;
    size_t n;
    snprintf(out, sizeof out, "%s/page.html", folder);
    assert_ok(eg_report_write(&run, 1, NULL, 0, NULL, out));
    assert_ok(eg_file_read(out, 1 << 28, &text, &n));
    return (char *)text;
}

static void test_sheets_are_on_the_page(void **state)
{
    (void)state;
    char run[FILES_PATH * 2];
    snprintf(run, sizeof run, "%s/few", folder);
    write_run(run, 4, -1, 4);
    char *page = page_of(run);
    assert_int_equal(text_count(page, "data-chart=\"sheet\""), 4);
    assert_int_equal(text_count(page, "href=\"data:image/png;base64,iVBORw0KGgo"), 4);
    assert_non_null(strstr(page, "<h3>Drawings after round 1</h3>"));
    assert_non_null(strstr(page, "<h3>Drawings after task 1</h3><p>Round 2: what the "
                                 "server draws,"));
    assert_non_null(strstr(page, "<h3>Drawings after task 2</h3>"));
    assert_non_null(strstr(page, ">3</text><image")); /* the last row's class */
    assert_null(strstr(page, " src="));
    free(page);
}

static void test_many_sheets_are_thinned_out_evenly(void **state)
{
    (void)state;
    char run[FILES_PATH * 2];
    snprintf(run, sizeof run, "%s/many", folder);
    write_run(run, 30, 2, 0);
    char *page = page_of(run);
    assert_int_equal(text_count(page, "data-chart=\"sheet\""), 12);
    assert_non_null(strstr(page, "Drawings after task 2")); /* the last */
    assert_null(strstr(page, "Drawings after round 1<"));
    assert_non_null(strstr(page, "what client 2 draws,"));
    assert_non_null(strstr(page, "all classes together."));
    free(page);
}

static void test_pictures_that_are_none_are_left_out(void **state)
{
    (void)state;
    char run[FILES_PATH * 2], picture[EG_RUN_PATH];
    snprintf(run, sizeof run, "%s/broken", folder);
    write_run(run, 4, -1, 4);
    assert_ok(eg_run_sheet(run, 1, picture));
    assert_int_equal(remove(picture), 0);
    files_write(run, EG_RUN_SHEETS "/round-000002.png", "<script>", 8);
    char *page = page_of(run);
    assert_int_equal(text_count(page, "data-chart=\"sheet\""), 2);
    assert_null(strstr(page, "Drawings after round 1<"));
    assert_null(strstr(page, "Drawings after task 1"));
    free(page);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        char run[FILES_PATH * 2], out[FILES_PATH * 2];
        snprintf(run, sizeof run, "%s/run", argv[1]);
        snprintf(out, sizeof out, "%s/sheets.html", argv[1]);
        write_run(run, 6, -1, CLASSES);
        const char *const runs[] = {run};
        assert_ok(eg_report_write(runs, 1, NULL, 0, NULL, out));
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sheets_are_on_the_page),
        cmocka_unit_test(test_many_sheets_are_thinned_out_evenly),
        cmocka_unit_test(test_pictures_that_are_none_are_left_out),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
