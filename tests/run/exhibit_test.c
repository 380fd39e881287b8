/* exhibit_test.c - what parts draw with at the end of a run: a file, and part of its digest.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include <engram/gallery.h>
#include <engram/log.h>

static char folder[FILES_PATH];

static const eg_generator_spec spec = {.kind = "wgan-gp",
                                       .options = "width=8",
                                       .channels = 1,
                                       .height = 8,
                                       .width = 8,
                                       .classes = 4};
static uint64_t painted; /* the seed of what is shown */

/* A machine whose weights follow from `painted` and the run's seed. */
static eg_status paint(const eg_server *s, eg_generator **out)
{
    EG_TRY(eg_generator_new(&spec, out));
    eg_generator_init(*out, painted + s->seed);
    return EG_OK;
}

static eg_status painter_exhibit(void *self, eg_server *s, eg_gallery *to)
{
    eg_generator *m;
    (void)self;
    EG_TRY(paint(s, &m));
    eg_status status = eg_gallery_add(to, m, (eg_drawer){.client = 2, .label = 1});
    if (status == EG_OK)
        status = eg_gallery_add(to, m, (eg_drawer){.client = -1, .label = 3});
    eg_generator_free(m);
    return status;
}

static eg_status painter_refuse(void *self, eg_server *s, eg_gallery *to)
{
    (void)self, (void)s, (void)to;
    return eg_fail(EG_EINVAL, "the brush is lost");
}

static const eg_method painter = {.component = {.name = "painter", .help = "shows pictures"},
                                  .server = {.exhibit = painter_exhibit}};
static const eg_method clumsy = {.component = {.name = "clumsy", .help = "shows nothing"},
                                 .server = {.exhibit = painter_refuse}};

/* Runs it; path: where. Returns what it came to. */
static eg_status run(const eg_method *part, int workers, int64_t stop, char path[512])
{
    eg_experiment *e = small_run_open(folder, &(small_run){.method = "fedavg", .after = part});
    eg_status s = runs_run(e, folder, workers, stop, path);
    eg_experiment_free(e);
    return s;
}

static void test_a_run_leaves_its_generators(void **state)
{
    (void)state;
    char path[512], file[EG_RUN_PATH];
    eg_exhibits *x;
    eg_generator *shown, *made;
    painted = 5;
    assert_ok(run(&painter, 1, 0, path));
    assert_ok(eg_run_file(path, EG_RUN_GENERATORS, file));
    assert_ok(eg_exhibits_open(file, &x));
    assert_int_equal(eg_exhibits_n(x), 2);
    assert_int_equal(eg_exhibits_at(x, 0).client, 2);
    assert_int_equal(eg_exhibits_at(x, 1).label, 3);
    assert_string_equal(eg_exhibits_note(x, "data"), "blobs");
    assert_string_equal(eg_exhibits_note(x, "seed"), "3");
    assert_ok(eg_exhibits_show(x, 1, &shown));
    assert_ok(paint(&(eg_server){.seed = 3}, &made));
    assert_memory_equal(shown->learners[0]->param, made->learners[0]->param,
                        made->learners[0]->n_params * sizeof(float));
    eg_generator_free(made);
    eg_exhibits_free(x);
}

static void test_generators_count_in_the_digest(void **state)
{
    (void)state;
    char path[512], file[EG_RUN_PATH], hash[5][65];
    painted = 5;
    assert_ok(run(NULL, 1, 0, path));
    runs_hash(path, hash[0]);
    assert_ok(eg_run_file(path, EG_RUN_GENERATORS, file));
    assert_int_not_equal(access(file, F_OK), 0); /* there is nothing to show */
    assert_ok(run(&painter, 1, 0, path));
    runs_hash(path, hash[1]);
    assert_ok(run(&painter, 2, 2, path));
    runs_hash(path, hash[2]);
    assert_ok(run(&painter, -2, 0, path));
    runs_hash(path, hash[3]);
    painted = 6;
    assert_ok(run(&painter, 1, 0, path));
    runs_hash(path, hash[4]);
    assert_string_not_equal(hash[0], hash[1]);
    assert_string_equal(hash[1], hash[2]); /* two workers, stopped and resumed */
    assert_string_equal(hash[1], hash[3]); /* processes */
    assert_string_not_equal(hash[1], hash[4]);
}

static void test_a_part_that_fails_to_show_is_named(void **state)
{
    (void)state;
    char path[512];
    assert_fails(run(&clumsy, 1, 0, path), EG_EINVAL, "clumsy: the brush is lost");
    assert_false(eg_run_is_finished(path));
}

static int open_folder(void **state)
{
    (void)state;
    files_folder(folder);
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    files_remove(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_leaves_its_generators),
        cmocka_unit_test(test_generators_count_in_the_digest),
        cmocka_unit_test(test_a_part_that_fails_to_show_is_named),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
