/* moment_test.c - where a round stands while it goes on: clients, the server, tests, in order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include "own_folder.h"

enum { SEEN = 8192 };

/* All moments of a run as one text: "1 training 0/4;" and so on. */
static void see(void *context, const eg_moment *m)
{
    static const char *const who[] = {"clients", "server", "tests"};
    char *seen = context;
    size_t n = strlen(seen);
    assert_true(n + 100 < SEEN);
    assert_int_equal(m->n_rounds, 4);
    assert_true(m->seconds >= 0);
    snprintf(seen + n, SEEN - n, "%lld %s %s %lld/%lld;", (long long)m->round, who[m->at],
             m->what, (long long)m->done, (long long)m->of);
}

static eg_status idle_work(const void *options, const eg_piece *p, eg_bundle *to)
{
    (void)options, (void)p, (void)to;
    return EG_OK;
}

static eg_status painter_refine(void *self, eg_server *s, float *param, float *state)
{
    (void)self, (void)param, (void)state;
    eg_server_moment(s, 2, 7);
    return eg_server_share(s, &(eg_work){.n = 2});
}

static const eg_method painter = {.component = {.name = "painter", .help = "takes its time"},
                                  .server = {.refine = painter_refine, .work = idle_work}};

static void run(const char *method, const eg_method *after, int workers, const char *transport,
                char seen[SEEN])
{
    static int number;
    char out[FILES_PATH * 2], path[512];
    bool stopped;
    small_run r = {.method = method, .after = after, .set = {"fed_a_gem.samples=4"}};
    eg_experiment *e = small_run_open(folder, &r);
    snprintf(out, sizeof out, "%s/out%d", folder, number++);
    *seen = 0;
    assert_ok(eg_experiment_run(e,
                                &(eg_run_how){.workers = workers,
                                              .transport = transport,
                                              .out = out,
                                              .moment = see,
                                              .context = seen},
                                path, &stopped));
    eg_experiment_free(e);
}

static void test_a_round_is_told_client_by_client(void **state)
{
    (void)state;
    char seen[SEEN], other[SEEN];
    run("fedavg", NULL, 1, NULL, seen);
    /* The untrained model is tested on both tasks, then there are rounds. */
    static const char begin[] =
        "1 tests  0/2;1 tests  1/2;"
        "1 clients training 0/4;1 clients training 1/4;1 clients training 2/4;"
        "1 clients training 3/4;1 server  0/0;2 clients training 0/4;";
    static const char end[] = "4 clients training 3/4;4 server  0/0;4 tests  0/2;4 tests  1/2;";
    assert_memory_equal(seen, begin, sizeof begin - 1);
    assert_string_equal(seen + strlen(seen) - (sizeof end - 1), end);
    run("fedavg", NULL, 2, NULL, other);
    assert_string_equal(seen, other);
    run("fedavg", NULL, 2, "processes", other);
    assert_string_equal(seen, other);
}

static void test_a_part_tells_what_it_does_on_the_server(void **state)
{
    (void)state;
    char seen[SEEN];
    run("fedavg", &painter, 2, NULL, seen);
    assert_non_null(strstr(seen, "3 clients training 3/4;3 server  0/0;3 server painter 2/7;"
                                 "3 server painter 0/2;3 server painter 1/2;4 clients"));
}

static void test_further_exchanges_have_their_names(void **state)
{
    (void)state;
    char seen[SEEN];
    run("[er, fed-a-gem]", NULL, 1, NULL, seen);
    assert_non_null(strstr(seen, "clients reference 3/4;"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_round_is_told_client_by_client),
        cmocka_unit_test(test_a_part_tells_what_it_does_on_the_server),
        cmocka_unit_test(test_further_exchanges_have_their_names),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
