/* flops_test.c - what a run computes, counted by hand: clients' work, and the server's.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include <engram/graph.h>
#include <engram/op.h>

#include "own_folder.h"

/* The run of small_run.h: 4 rounds, 4 clients of 50 samples, 2 epochs, 16 inputs, 16 hidden
 * units, 4 classes. A sample costs two operations per weight forwards and two for its gradient,
 * and two more to reach the units before, which the first layer has no need of. */
enum { SAMPLES = 4 * 4 * 2 * 50, BY_CLIENTS = SAMPLES * (4 * 16 * 16 + 6 * 16 * 4) };

enum { SIDE = 8, PIECES = 5, PRODUCT = 2 * SIDE * SIDE * SIDE };

/* Runs a product of two matrices. */
static eg_status multiply(void)
{
    eg_graph *g;
    eg_plan *p = NULL;
    EG_TRY(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(SIDE, SIDE));
    eg_output(g, "y", eg_matmul(g, x, x));
    eg_status s = eg_compile(g, &p);
    if (s == EG_OK)
        s = eg_plan_run(p);
    eg_plan_free(p);
    eg_graph_free(g);
    return s;
}

static eg_status busy_work(const void *options, const eg_piece *p, eg_bundle *to)
{
    (void)options, (void)p, (void)to;
    return multiply();
}

/* On the server's own thread, and shared out. */
static eg_status busy_refine(void *self, eg_server *s, float *param, float *state)
{
    (void)self, (void)param, (void)state;
    EG_TRY(multiply());
    return eg_server_share(s, &(eg_work){.n = PIECES});
}

/* Not counted: a run that goes on begins again. */
static eg_status busy_begin(void *self, eg_server *s)
{
    (void)self, (void)s;
    return multiply();
}

static const eg_method busy = {
    .component = {.name = "busy", .help = "has the server multiply"},
    .server = {.begin = busy_begin, .refine = busy_refine, .work = busy_work}};

/* The run's work, and the server's time. */
static void check(const eg_method *part, int workers, int64_t stop, double server)
{
    char path[512];
    eg_experiment *e = small_run_open(folder, &(small_run){.method = "fedavg", .after = part});
    assert_ok(runs_run(e, folder, workers, stop, path));
    eg_experiment_free(e);
    assert_near(runs_value(path, "flops_clients"), BY_CLIENTS, 0);
    assert_near(runs_value(path, "flops_server"), server, 0);
    double seconds = runs_value(path, "server_seconds");
    assert_true(part ? seconds > 0 && seconds < runs_value(path, "seconds") : seconds == 0);
}

static void test_what_clients_compute_is_counted(void **state)
{
    (void)state;
    check(NULL, 1, 0, 0); /* the tests of the model are not counted */
    check(NULL, 2, 0, 0);
    check(NULL, -2, 3, 0);
}

static void test_what_the_server_computes_is_counted_apart(void **state)
{
    (void)state;
    const double server = 4 * (1 + PIECES) * PRODUCT;
    check(&busy, 1, 0, server);
    check(&busy, 2, 0, server);
    check(&busy, 2, 1, server);
    check(&busy, -2, 3, server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_clients_compute_is_counted),
        cmocka_unit_test(test_what_the_server_computes_is_counted_apart),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
