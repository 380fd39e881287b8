/* sheets_test.c - pictures of what methods draw: when, of what, the same ones however the run
 * is carried out, and no bit of a run depends on them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method_runs.h"

#include <engram/gallery.h>
#include <engram/log.h>

#include "engine/generator/gallery.h"
#include "io/file.h"
#include "io/image.h"
#include "run/log/events.h"

enum { ROUNDS = 4, SIDE = 8, COLUMNS = 8, GAP = 2 };

/* How a run is carried out. */
typedef struct carried {
    int workers; /* below 0: processes */
    int64_t stop, sheets;
} carried;

/* Runs the method of the experiment file, with its own way of drawing; path: where. */
static void run(carried how, char path[512])
{
    static int number;
    char file[FILES_PATH * 2], out[FILES_PATH * 2];
    bool stopped;
    eg_experiment *e;
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    snprintf(out, sizeof out, "%s/out%d", folder, number++);
    assert_ok(eg_experiment_load(file, "one", 0, NULL, &e));
    eg_run_how run = {.seed = 3,
                      .workers = abs(how.workers),
                      .transport = how.workers < 0 ? "processes" : NULL,
                      .out = out,
                      .sheets = how.sheets};
    if (how.stop) {
        run.progress = runs_goes_on, run.context = &how.stop;
        assert_ok(eg_experiment_run(e, &run, path, &stopped));
        run.progress = NULL, run.resume = true;
    }
    assert_ok(eg_experiment_run(e, &run, path, &stopped));
    eg_experiment_free(e);
}

static void write_method(const char *method)
{
    char runs[128];
    snprintf(runs, sizeof runs, "- {label: one, method: %s}\n", method);
    method_runs_write(method_runs_images, runs);
}

/* The bytes of a sheet; NULL: there is none. */
static unsigned char *sheet_of(const char *path, int64_t round, size_t *n)
{
    char file[EG_RUN_PATH];
    unsigned char *bytes = NULL;
    assert_ok(eg_run_sheet(path, round, file));
    eg_status s = eg_file_read(file, 1 << 20, &bytes, n);
    assert_true(s == EG_OK || s == EG_ENOENT);
    return bytes;
}

static void assert_same_sheets(const char *a, const char *b)
{
    for (int64_t round = 1; round <= ROUNDS; round++) {
        size_t n = 0, m = 0;
        unsigned char *x = sheet_of(a, round, &n), *y = sheet_of(b, round, &m);
        assert_true((x == NULL) == (y == NULL));
        assert_int_equal(n, m);
        if (x)
            assert_memory_equal(x, y, n);
        free(x);
        free(y);
    }
}

/* Which rounds have a picture and its event: as bits. */
static unsigned rounds_of(const char *path)
{
    unsigned files = 0, logged = 0;
    eg_events *e;
    for (int64_t round = 1; round <= ROUNDS; round++) {
        size_t n;
        unsigned char *bytes = sheet_of(path, round, &n);
        files |= (unsigned)(bytes != NULL) << round;
        free(bytes);
    }
    assert_ok(eg_events_load(path, &e));
    for (size_t i = 0; i < e->n_sheet; i++)
        logged |= 1U << e->sheet[i].round;
    eg_events_free(e);
    assert_int_equal(files, logged);
    return files;
}

/* What the last sheet of a run must show. */
typedef struct shown {
    const char *method;
    int64_t who;
    size_t n_classes, n_rows;
} shown;

static void assert_shown(const char *path, const shown *want)
{
    char file[EG_RUN_PATH];
    eg_events *e;
    eg_image im;
    assert_ok(eg_events_load(path, &e));
    const eg_sheet_event *last = &e->sheet[e->n_sheet - 1];
    assert_int_equal(last->round, ROUNDS);
    assert_int_equal(last->who, want->who);
    assert_int_equal(last->n_classes, want->n_classes);
    for (size_t i = 0; i < last->n_classes; i++)
        assert_int_equal(last->classes[i], i);
    if (want->n_classes == 4) /* after the first task two classes have been met */
        assert_int_equal(e->sheet[0].n_classes, 2);
    eg_events_free(e);
    assert_ok(eg_run_sheet(path, ROUNDS, file));
    assert_ok(eg_image_load(file, &im));
    assert_int_equal(im.width, COLUMNS * (SIDE + GAP) + GAP);
    assert_int_equal(im.height, (int64_t)want->n_rows * (SIDE + GAP) + GAP);
    int least = 255, most = 0;
    for (int64_t i = 0; i < im.height * im.width; i++) {
        least = im.pixels[3 * i] < least ? im.pixels[3 * i] : least;
        most = im.pixels[3 * i] > most ? im.pixels[3 * i] : most;
    }
    assert_true(most > least + 20); /* not blank */
    eg_image_fini(&im);
}

static void test_every_method_that_draws_leaves_sheets(void **state)
{
    (void)state;
    static const shown all[] = {
        {"fedcil", -1, 4, 4},
        {"pfedgrp", 0, 4, 4},
        {"class-replay", 0, 4, 4},
        /* One generator of all classes, in some rows, which takes a batch to be trained. */
        {"dgr, overrides: {data: {train: 160}}", 0, 0, 4},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        static const carried others[] = {{2, 0, 1}, {-2, 3, 1}, {1, 1, 1}};
        char one[512], other[512], hash[2][65];
        print_message("%s\n", all[i].method);
        write_method(all[i].method);
        run((carried){1, 0, -1}, one);
        assert_int_equal(rounds_of(one), 0);
        runs_hash(one, hash[0]);
        run((carried){1, 0, 0}, one);
        assert_int_equal(rounds_of(one), 1 << 2 | 1 << 4); /* the ends of both tasks */
        assert_shown(one, &all[i]);
        runs_hash(one, hash[1]);
        assert_string_equal(hash[0], hash[1]); /* to look on changes nothing */
        run((carried){1, 0, 1}, one);
        assert_int_equal(rounds_of(one), 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            run(others[k], other);
            assert_same_sheets(one, other);
            runs_hash(other, hash[1]);
            assert_string_equal(hash[0], hash[1]);
        }
    }
}

static void test_a_method_that_draws_nothing_leaves_none(void **state)
{
    (void)state;
    char path[512], sheets[EG_RUN_PATH];
    write_method("fedavg");
    run((carried){1, 0, 1}, path);
    assert_int_equal(rounds_of(path), 0);
    assert_ok(eg_run_file(path, EG_RUN_SHEETS, sheets));
    assert_int_not_equal(access(sheets, F_OK), 0);
}

static void test_two_methods_that_draw_show_the_first_ones(void **state)
{
    (void)state;
    char path[512];
    write_method("[dgr, class-replay]");
    run((carried){2, 0, 0}, path);
    assert_shown(path, &(shown){"", 0, 0, 4});
    write_method("[class-replay, dgr]");
    run((carried){2, 0, 0}, path);
    assert_shown(path, &(shown){"", 0, 4, 4});
}

/* A gallery for a sheet keeps what comes first, and shows it again. */
static void test_a_sheet_is_of_one_drawer(void **state)
{
    (void)state;
    const eg_generator_spec spec = {.kind = "wgan-gp",
                                    .options = "width=4",
                                    .channels = 1,
                                    .height = SIDE,
                                    .width = SIDE,
                                    .classes = 2};
    eg_generator *m, *again;
    eg_gallery *g;
    assert_ok(eg_generator_new(&spec, &m));
    char path[FILES_PATH * 2];
    snprintf(path, sizeof path, "%s/shown", folder);
    assert_ok(eg_gallery_new(path, &g));
    eg_gallery_want_one(g);
    assert_true(eg_gallery_wants(g, 7));
    for (int64_t client = 2; client < 4; client++)
        for (int64_t k = 0; k < 2; k++) {
            eg_generator_init(m, (uint64_t)(10 * client + k));
            assert_ok(eg_gallery_add(g, m, (eg_drawer){client, k}));
        }
    assert_int_equal(eg_gallery_n(g), 2);
    assert_true(eg_gallery_wants(g, 2));
    assert_false(eg_gallery_wants(g, 3));
    assert_int_equal(eg_gallery_at(g, 1).label, 1);
    assert_ok(eg_gallery_machine(g, &again));
    assert_ok(eg_gallery_show(g, 1, again));
    eg_generator_init(m, 21);
    assert_memory_equal(again->learners[0]->param, m->learners[0]->param,
                        m->learners[0]->n_params * sizeof(float));
    eg_gallery_free(g);
    eg_generator_free(again);
    eg_generator_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_method_that_draws_leaves_sheets),
        cmocka_unit_test(test_a_method_that_draws_nothing_leaves_none),
        cmocka_unit_test(test_two_methods_that_draw_show_the_first_ones),
        cmocka_unit_test(test_a_sheet_is_of_one_drawer),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
