/* cluster_threaded_test.c - frames, orders and whole runs over ranks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ranks.h"

#include "run/transport/cluster_private.h"

#include <engram/method.h>

#include <time.h>

static char folder[FILES_PATH];

enum { FRAMES = 20 };

static unsigned char byte_of(int rank, size_t frame, size_t i)
{
    return (unsigned char)((size_t)rank * 31 + frame * 7 + i);
}

/* Frames of many sizes from each rank to rank 0, and from it to each, at the same time. */
static void life_frames(one *o)
{
    int n_expected = o->rank ? FRAMES : FRAMES * (ranks - 1);
    size_t seen[RANKS] = {0};
    for (size_t k = 0; k < FRAMES; k++)
        for (int to = o->rank ? 0 : 1; to < (o->rank ? 1 : ranks); to++) {
            size_t n = k * k * 37;
            unsigned char *bytes = malloc(n + 1);
            eg_parcel *p;
            for (size_t i = 0; i < n; i++)
                bytes[i] = byte_of(o->rank, k, i);
            assert_ok(eg_parcel_new(bytes, n, &p));
            assert_ok(eg_cluster_post(o->c, to, EG_CLUSTER_WORK, p));
            eg_parcel_drop(p);
        }
    while (n_expected > 0) {
        eg_cluster_frame f;
        assert_ok(eg_cluster_pump(o->c));
        while (eg_cluster_take(o->c, &f)) {
            size_t k = seen[f.from]++;
            assert_int_equal(f.n, k * k * 37);
            for (size_t i = 0; i < f.n; i++)
                assert_int_equal(f.bytes[i], byte_of(f.from, k, i));
            free(f.bytes);
            n_expected--;
        }
        eg_cluster_nap(o->c);
    }
}

static void test_frames_arrive_whole_and_in_order(void **state)
{
    (void)state;
    one all[RANKS] = {{.life = life_frames}, {.life = life_frames}, {.life = life_frames}};
    together(all, RANKS);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(all[r].code, 0);
}

/* Rank 0 gives three orders; the others follow until all is over. */
static void life_orders(one *o)
{
    int64_t order[EG_ORDER] = {0};
    for (double since = eg_seconds(); o->rank == 1 && eg_seconds() - since < 0.2;) {
        (void)eg_cluster_pump(o->c); /* all orders are here, and the end, before it follows */
        eg_cluster_nap(o->c);
    }
    for (int64_t k = 1; k <= 3 && o->rank == 0; k++)
        assert_ok(eg_cluster_order(o->c, (int64_t[EG_ORDER]){k, 2 * k, 3 * k, -k}));
    for (int64_t k = 1; k <= 4 && o->rank > 0; k++) {
        bool over = k < 4; /* what stood there before must not count */
        assert_ok(eg_cluster_next(o->c, order, &over));
        assert_int_equal(over, k == 4);
        if (!over)
            assert_true(order[0] == k && order[1] == 2 * k && order[3] == -k);
    }
}

static void test_orders_are_followed_until_the_end(void **state)
{
    (void)state;
    one all[RANKS] = {{.life = life_orders}, {.life = life_orders}, {.life = life_orders}};
    together(all, RANKS);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(all[r].code, 0);
}

static const char *const classes =
    "name: t\n"
    "data: {name: blobs, train: 400, test: 80, classes: 4, validation: 0.1}\n"
    "model: {name: mlp, depth: 1, width: 16}\n"
    "scenario: {kind: class-incremental, clients: 5, tasks: 2, rounds: 2, partition: iid}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1, momentum: 0.5}\n"
    "train: {epochs: 2, batch: 16}\n";

static const char *const stream =
    "name: t\n"
    "data: {name: blobs, train: 400, test: 80, classes: 4, spread: 1}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: realtime, clients: 3, classes: 2, samples: 10, rounds: 6, per_round: 2}\n"
    "memory: {kind: reservoir, size: 20}\n";

/* A part whose server has pieces of work done, and adds what they come to, in order. */
enum { PIECES = 9 };
static const eg_worker *workers[PIECES]; /* who did each piece last */

static eg_status sharing_give(void *context, int64_t i, eg_bundle *to)
{
    (void)context;
    return eg_bundle_scalar(to, "factor", (double)(i + 1));
}

static eg_status sharing_work(const void *options, const eg_piece *p, eg_bundle *to)
{
    double base, factor;
    (void)options;
    assert_true(eg_bundle_scalar_of(p->from, "base", &base));
    assert_true(eg_bundle_scalar_of(p->from, "factor", &factor));
    assert_near(factor, (double)(p->i + 1), 0);
    workers[p->i] = p->worker;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    eg_rng rng = eg_piece_stream(p, p->i, 3);
    return eg_bundle_scalar(to, "is", base * factor * eg_rng_normal(&rng));
}

typedef struct sharing_sum {
    eg_server *s;
    double is;
    int64_t n;
} sharing_sum;

static eg_status sharing_take(void *context, int64_t i, const eg_bundle *from)
{
    sharing_sum *sum = context;
    double is;
    eg_rng rng = eg_server_stream(sum->s, i, 3);
    assert_int_equal(sum->n++, i); /* in order */
    assert_true(eg_bundle_scalar_of(from, "is", &is));
    assert_near(is, 0.001 * (double)(i + 1) * eg_rng_normal(&rng), 1e-12);
    sum->is += is;
    return EG_OK;
}

static eg_status sharing_refine(void *self, eg_server *s, float *param, float *state)
{
    sharing_sum sum = {.s = s};
    eg_bundle *all;
    (void)self, (void)state;
    assert_ok(eg_bundle_new(&all));
    assert_ok(eg_bundle_scalar(all, "base", 0.001));
    eg_status status = eg_server_share(s, &(eg_work){.n = PIECES,
                                                     .all = all,
                                                     .give = sharing_give,
                                                     .take = sharing_take,
                                                     .context = &sum});
    eg_bundle_free(all);
    param[0] += (float)sum.is;
    return status;
}

static const eg_method sharing = {.component = {.name = "sharing", .help = "shares its work"},
                                  .server = {.refine = sharing_refine, .work = sharing_work}};

static const one *failing; /* rank 0, if all fails at once */

/* A part whose server has nothing to say to one client, which ends the run. */
static eg_status mute_send_one(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    (void)self, (void)s, (void)to;
    if (client == 1 && failing)
        eg_cluster_note(failing->c, "rank 7 is gone"); /* another rank has failed since */
    return client == 1 ? eg_fail(EG_EINVAL, "no word for client %d", 1) : EG_OK;
}

static const eg_method mute = {.component = {.name = "mute", .help = "is silent at times"},
                               .server = {.send_one = mute_send_one}};

static eg_experiment *load(const char *base, const char *method, const char *set)
{
    char text[2048], file[FILES_PATH * 2];
    eg_experiment *e;
    int n = snprintf(text, sizeof text, "%sruns: [{label: a, method: %s}]\n", base, method);
    files_write(folder, "t.yaml", text, (size_t)n);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, "a", set ? 1 : 0, &set, &e));
    return e;
}

static void life_run(one *o)
{
    bool stopped;
    o->how.cluster = o->c;
    o->status = eg_experiment_run(o->e, &o->how, o->path, &stopped);
}

/* Carries out e on n ranks, of which the last has two workers. */
static void run_together(one *all, int n, const eg_experiment *e)
{
    static char out[FILES_PATH * 2];
    static int number;
    snprintf(out, sizeof out, "%s/ranks%d", folder, number++);
    for (int r = 0; r < n; r++)
        all[r] = (one){.life = life_run,
                       .e = e,
                       .how = {.seed = 3, .out = out, .workers = r == n - 1 ? 2 : 1}};
}

static void test_the_bits_are_the_same_on_any_number_of_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *const *base;
        const char *method;
    } cases[] = {
        {&classes, "fedavg"},   {&classes, "[er, fed-a-gem]"},   {&classes, "[local, er]"},
        {&classes, "fedspace"}, {&classes, "[fedavg, sharing]"}, {&stream, "er"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512], want[65], got[65];
        eg_experiment *e = load(*cases[i].base, cases[i].method, NULL);
        assert_ok(runs_run(e, folder, 1, 0, path));
        runs_hash(path, want);
        for (int n = 1; n <= RANKS; n++) {
            one all[RANKS];
            run_together(all, n, e);
            together(all, n);
            for (int r = 0; r < n; r++)
                assert_string_equal(all[r].why, "");
            runs_hash(all[0].path, got);
            assert_string_equal(want, got);
        }
        eg_experiment_free(e);
    }
}

/* The work of `sharing` takes 45 ms: every rank has some of it. */
static void test_the_servers_work_goes_to_all_ranks(void **state)
{
    (void)state;
    eg_experiment *e = load(classes, "[fedavg, sharing]", NULL);
    one all[RANKS];
    int n_workers = 0;
    run_together(all, RANKS, e);
    together(all, RANKS);
    for (int i = 0; i < PIECES; i++) {
        bool first = true;
        for (int k = 0; k < i; k++)
            first &= workers[k] != workers[i];
        n_workers += first;
    }
    assert_true(n_workers >= RANKS);
    eg_experiment_free(e);
}

static void test_a_rank_with_something_else_is_refused_by_name(void **state)
{
    (void)state;
    eg_experiment *e = load(classes, "fedavg", NULL);
    eg_experiment *other = load(classes, "fedavg", "optimizer.lr=0.2");
    one all[RANKS];
    run_together(all, 2, e);
    all[1].e = other;
    together(all, 2);
    assert_non_null(
        strstr(all[0].why, "rank 1 on host1 has another configuration than rank 0"));
    assert_int_equal(all[0].code, 1);
    assert_int_equal(all[1].code, 1);
    run_together(all, RANKS, e);
    all[2].how.data_dir = "/nowhere";
    all[2].how.out = "/nowhere/else";
    together(all, RANKS);
    assert_non_null(strstr(all[0].why, "rank 2 on host2: the folder '/nowhere/else' is not"));
    eg_experiment_free(e);
    eg_experiment_free(other);
}

static void life_fail(one *o)
{
    o->status = eg_fail(EG_ENOMEM, "no memory for %d", 7);
}

static void test_what_fails_on_a_rank_is_said_by_rank_0(void **state)
{
    (void)state;
    eg_experiment *e = load(classes, "fedavg", NULL);
    one all[RANKS];
    run_together(all, RANKS, e);
    all[1].life = life_fail;
    together(all, RANKS);
    assert_string_equal(all[0].why, "rank 1 on host1: no memory for 7");
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(all[r].code, 1);
    eg_experiment_free(e);
}

/* The turn that could not be told was given to nobody, so that nobody waits for its answer. */
static void test_a_turn_that_cannot_be_told_ends_the_run(void **state)
{
    (void)state;
    eg_experiment *e = load(classes, "[fedavg, mute]", NULL);
    for (int n = 1; n <= RANKS; n++) {
        one all[RANKS];
        run_together(all, n, e);
        together(all, n);
        assert_string_equal(all[0].why, "mute: no word for client 1");
        for (int r = 0; r < n; r++)
            assert_int_equal(all[r].code, 1);
    }
    eg_experiment_free(e);
}

/* What the run failed of is said, whatever fails while it is closed. */
static void test_the_first_failure_is_the_one_that_is_said(void **state)
{
    (void)state;
    eg_experiment *e = load(classes, "[fedavg, mute]", NULL);
    one all[RANKS];
    run_together(all, 2, e);
    failing = &all[0];
    together(all, 2);
    failing = NULL;
    assert_string_equal(all[0].why, "mute: no word for client 1");
    eg_experiment_free(e);
}

static void life_listen(one *o)
{
    double since = eg_seconds();
    while (o->status == EG_OK && eg_seconds() - since < 30) {
        o->status = eg_cluster_pump(o->c);
        if (o->status == EG_OK)
            o->status = eg_cluster_check(o->c);
        eg_cluster_nap(o->c);
    }
}

static void test_a_rank_that_falls_silent_is_missed(void **state)
{
    (void)state;
    ranks = 2;
    one first = {.life = life_listen};
    setenv("ENGRAM_RANK_SECONDS", "0.2", 1);
    eg_cluster *silent = join(1);
    assert_ok(eg_cluster_pump(silent));
    assert_ok(eg_cluster_pump(silent));
    assert_ok(eg_cluster_pump(silent)); /* its name has gone, and it never listens again */
    one_thread(&first);
    assert_non_null(strstr(first.why, "rank 1 on host1 has not been heard of for"));
    int code = 0;
    unsetenv("ENGRAM_RANK_SECONDS");
    unsigned char end[16] = {'e', 'g', 'r', '\n', EG_CLUSTER_END};
    free(fake_send(&numbers[0], 1, end, sizeof end)); /* so that it can be closed */
    assert_ok(eg_cluster_close(silent, &code));
    assert_int_equal(code, 1);
    for (packet *p = queues[0], *next; p; p = next) { /* its goodbye, to one that is gone */
        next = p->next;
        free(p);
        queues[0] = NULL;
    }
}

static int open_folder(void **state)
{
    (void)state;
    files_folder(folder);
    assert_ok(eg_method_add(&sharing));
    assert_ok(eg_method_add(&mute));
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
        cmocka_unit_test(test_frames_arrive_whole_and_in_order),
        cmocka_unit_test(test_orders_are_followed_until_the_end),
        cmocka_unit_test(test_the_bits_are_the_same_on_any_number_of_ranks),
        cmocka_unit_test(test_the_servers_work_goes_to_all_ranks),
        cmocka_unit_test(test_a_rank_with_something_else_is_refused_by_name),
        cmocka_unit_test(test_what_fails_on_a_rank_is_said_by_rank_0),
        cmocka_unit_test(test_a_turn_that_cannot_be_told_ends_the_run),
        cmocka_unit_test(test_the_first_failure_is_the_one_that_is_said),
        cmocka_unit_test(test_a_rank_that_falls_silent_is_missed),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
