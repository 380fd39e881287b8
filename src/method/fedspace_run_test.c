/* fedspace_run_test.c - the server by hand, hostile prototypes, and what whole runs gain.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hand_client.h"
#include "one_client.h"
#include "small_run.h"

#include "io/file.h"

#include "own_folder.h"

extern const eg_method eg_method_fedspace;

static const eg_method *const method = &eg_method_fedspace;

enum { CLASSES = 4, D = 2 };

/* A network of two features, for the server's sake. */
static const char *const text =
    "name: t\n"
    "data: {name: blobs, train: 40, test: 8, classes: 4, dim: 2}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"
    "runs: [{label: a, method: fedspace}]\n";

typedef struct bench {
    one_client o;
    hand_server h;
} bench;

static void bench_open(bench *b, const char *const *options)
{
    one_client_open(&b->o, text, NULL);
    hand_server_open(&b->h, method, options, 0, NULL);
    b->h.s.scenario = b->o.feed.scenario;
    b->h.s.net = b->o.net;
    assert_ok(method->server.begin(b->h.self, &b->h.s));
}

static void bench_close(bench *b)
{
    hand_server_close(&b->h);
    one_client_close(&b->o);
}

/* What a client sends: classes a and b, whose prototypes are (va, 0) and (vb, 0). r < 0: none.
 */
typedef struct upload {
    double samples;
    int a, b;
    float va, vb;
    double r;
    int empty; /* of the release: a class of its task without samples, if it is not 0 */
} upload;

static eg_bundle *upload_new(const upload *u)
{
    const float classes[] = {(float)u->a, (float)u->b}, rows[] = {u->va, 0, u->vb, 0};
    eg_bundle *up;
    assert_ok(eg_bundle_new(&up));
    assert_ok(eg_bundle_scalar(up, "samples", u->samples));
    assert_ok(eg_bundle_add(up, "fedspace.classes", eg_dims(2), classes));
    assert_ok(eg_bundle_add(up, "fedspace.prototypes", eg_dims(2, D), rows));
    if (u->r >= 0)
        assert_ok(eg_bundle_scalar(up, "fedspace.radius", u->r));
    if (u->empty)
        assert_ok(eg_bundle_add(up, "fedspace.empty", eg_dims(1), (float[]){(float)u->empty}));
    return up;
}

/* One round of these; returns what the next one sends. */
static eg_bundle *bench_round(bench *b, const upload *list, int n)
{
    eg_bundle *down;
    assert_ok(eg_bundle_new(&down));
    assert_ok(method->server.send(b->h.self, &b->h.s, EG_TRAINING, down));
    for (int i = 0; i < n; i++) {
        eg_bundle *up = upload_new(&list[i]);
        assert_ok(method->server.accept(b->h.self, &b->h.s, EG_TRAINING, i, up));
        assert_ok(method->server.collect(b->h.self, &b->h.s, EG_TRAINING, i, up));
        eg_bundle_free(up);
    }
    assert_ok(method->server.finish(b->h.self, &b->h.s, EG_TRAINING));
    b->h.s.round++;
    eg_bundle_clear(down);
    assert_ok(method->server.send(b->h.self, &b->h.s, EG_TRAINING, down));
    return down;
}

/* The first value of each class's prototype; NaN: not known. */
static void check_known(eg_bundle *down, const double wanted[CLASSES], double radius)
{
    size_t n, at = 0;
    double r;
    const float *classes = eg_bundle_find(down, "fedspace.classes", &n);
    const float *rows = eg_bundle_find(down, "fedspace.prototypes", NULL);
    for (int k = 0; k < CLASSES; k++) {
        if (isnan(wanted[k]))
            continue;
        assert_true(at < n);
        assert_int_equal((int)classes[at], k);
        assert_near((double)rows[at * D], wanted[k], 1e-6);
        at++;
    }
    assert_int_equal(at, n);
    assert_int_equal(eg_bundle_scalar_of(down, "fedspace.radius", &r), radius >= 0);
    assert_near(radius >= 0 ? r : 0, radius >= 0 ? radius : 0, 1e-6);
    eg_bundle_free(down);
}

/* Equation 6: weights are the samples of the whole task, not of the class. */
static void test_prototypes_follow_by_a_moving_average(void **state)
{
    (void)state;
    const upload first[] = {{10, 0, 1, 1, 2, 0.5, 0}, {30, 1, 2, 4, 8, -1, 0}};
    const upload second[] = {{10, 1, 3, 13.5, 5, -1, 0}};
    const upload third[] = {{1, 3, 2, 5, 8, 2, 0}, {3, 3, 2, 5, 8, 6, 0}};
    bench b;
    bench_open(&b, NULL);
    check_known(bench_round(&b, first, 2), (double[]){1, 3.5, 8, NAN}, 0.5);
    /* 0.1 x 13.5 + 0.9 x 3.5; the others stay, and so does the radius */
    check_known(bench_round(&b, second, 1), (double[]){1, 4.5, 8, 5}, 0.5);
    check_known(bench_round(&b, third, 2), (double[]){1, 4.5, 8, 5}, 5);
    /* a round that was skipped: sums without a finish */
    eg_bundle *up = upload_new(&first[1]);
    assert_ok(method->server.collect(b.h.self, &b.h.s, EG_TRAINING, 0, up));
    eg_bundle_free(up);
    assert_non_null(hand_server_save(&b.h, "fedspace"));
    bench on;
    one_client_open(&on.o, text, NULL);
    hand_server_open(&on.h, method, NULL, 0, NULL);
    on.h.s.scenario = on.o.feed.scenario, on.h.s.net = on.o.net, on.h.s.round = 3;
    assert_ok(hand_server_go_on(&on.h, &b.h)); /* and stopped here */
    check_known(bench_round(&on, second, 1), (double[]){1, 5.4, 8, 5}, 5);
    check_known(bench_round(&b, second, 1), (double[]){1, 5.4, 8, 5}, 5);
    bench_close(&on);
    bench_close(&b);
}

static void test_beta_is_how_fast_prototypes_follow(void **state)
{
    (void)state;
    const upload first[] = {{10, 0, 1, 1, 2, 0.5, 0}}, second[] = {{10, 0, 1, 5, 6, 0.5, 0}};
    const char *const sets[][3] = {{"beta", "0.25"}, {"beta", "1"}};
    const double wanted[][2] = {{2, 3}, {5, 6}};
    for (int i = 0; i < 2; i++) {
        bench b;
        bench_open(&b, sets[i]);
        check_known(bench_round(&b, first, 1), (double[]){1, 2, NAN, NAN}, 0.5);
        check_known(bench_round(&b, second, 1),
                    (double[]){wanted[i][0], wanted[i][1], NAN, NAN}, 0.5);
        bench_close(&b);
    }
}

static void test_the_release_forgets(void **state)
{
    (void)state;
    static const char *const release[] = {"variant", "release", NULL};
    const upload first[] = {{10, 0, 1, 1, 2, 0.5, 0}}, second[] = {{10, 1, 3, 12, 5, 1, 0}};
    bench b;
    bench_open(&b, release);
    check_known(bench_round(&b, first, 1), (double[]){NAN, NAN, NAN, NAN}, -1);
    check_known(bench_round(&b, first, 1), (double[]){1, 2, NAN, NAN}, 0.5);
    check_known(bench_round(&b, second, 1), (double[]){NAN, 3, NAN, 5}, 1);
    bench_close(&b);
}

/* A class in somebody's task of which nobody has a sample: 0.9 of what it was, if it was known.
 */
static void test_the_release_lets_empty_classes_shrink(void **state)
{
    (void)state;
    static const char *const release[] = {"variant", "release", NULL};
    const upload first[] = {{10, 0, 1, 1, 2, 0.5, 2}}, second[] = {{10, 0, 3, 1, 5, 1, 1}};
    const upload third[] = {{10, 0, 3, 1, 5, 1, 1}, {10, 1, 2, 11.62f, 3, 1, 3}};
    bench b;
    bench_open(&b, release);
    check_known(bench_round(&b, first, 1), (double[]){NAN, NAN, NAN, NAN}, -1);
    check_known(bench_round(&b, first, 1), (double[]){1, 2, NAN, NAN}, 0.5);
    check_known(bench_round(&b, second, 1), (double[]){1, 1.8, NAN, 5}, 1);
    check_known(bench_round(&b, second, 1), (double[]){1, 1.62, NAN, 5}, 1);
    /* not empty for all: 0.1 x 11.62 + 0.9 x 1.62 */
    check_known(bench_round(&b, third, 2), (double[]){1, 2.62, 3, 5}, 1);
    eg_bundle *up = upload_new(&(upload){10, 0, 3, 1, 5, 1, 4});
    assert_fails(method->server.accept(b.h.self, &b.h.s, EG_TRAINING, 0, up), EG_EINVAL,
                 "a prototype of class 4: not a whole number below 4");
    eg_bundle_free(up);
    bench_close(&b);
}

/* The prototypes that clients get: those of round 1 again in round 2, since a part makes the
 * model of round 1 one that is not finite. */
static float got[4 * 16];
static size_t n_got;

static eg_status spoil_refine(void *self, eg_server *s, float *param, float *state)
{
    (void)self, (void)state;
    if (s->round == 1)
        param[0] = NAN;
    return EG_OK;
}

static eg_status spoil_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    size_t n;
    const float *rows = eg_bundle_find(from, "fedspace.prototypes", &n);
    (void)self, (void)exchange;
    assert_true(n <= sizeof got / sizeof *got);
    if (c->round == 1)
        memcpy(got, rows, n * sizeof *rows), n_got = n;
    if (c->round == 2) {
        assert_int_equal(n, n_got);
        assert_memory_equal(got, rows, n * sizeof *rows);
    }
    return EG_OK;
}

static void test_a_model_that_is_not_finite_renews_no_prototype(void **state)
{
    (void)state;
    static const eg_method spoil = {.component = {"spoil", "", 0, NULL},
                                    .client = {.download = spoil_download},
                                    .server = {.refine = spoil_refine}};
    small_run r = {.method = "fedspace", .after = &spoil};
    n_got = 0;
    small_run_all(folder, r);
    assert_int_equal(n_got, 2 * 16); /* of the first task's classes */
}

/* Equation 10. */
static void test_the_model_goes_a_part_of_the_way(void **state)
{
    (void)state;
    static const char *const parts[][3] = {{"rho", "0.25", NULL}, {"rho", "1", NULL}};
    const float last[] = {4, 8}, last_state[] = {1};
    for (int i = 0; i < 2; i++) {
        hand_server h;
        float param[] = {8, 0}, means[] = {3};
        hand_server_open(&h, method, parts[i], 2, last);
        h.s.state = last_state, h.s.n_state = 1;
        assert_ok(method->server.refine(h.self, &h.s, param, means));
        assert_near((double)param[0], i ? 8 : 5, 1e-6);
        assert_near((double)param[1], i ? 0 : 6, 1e-6);
        assert_near((double)means[0], i ? 3 : 1.5, 1e-6);
        hand_server_close(&h);
    }
}

enum { WIDTH_OFF, TWICE, OUT_OF_RANGE, BELOW_0, FRACTION, BAD_RADIUS, MISSING, BAD_MODEL };

/* What is wrong with the upload of client 1. */
static int mischief;

/* An upload's prototypes as they were, but for the mischief. */
static eg_status rogue_put(eg_bundle *to, const float *classes, const float *rows, int64_t n,
                           int64_t d)
{
    float changed[2];
    changed[0] = classes[0], changed[1] = classes[1];
    changed[1] = mischief == TWICE          ? changed[0]
                 : mischief == OUT_OF_RANGE ? 4
                 : mischief == BELOW_0      ? -1
                 : mischief == FRACTION     ? 1.5f
                                            : changed[1];
    if (mischief == MISSING)
        return EG_OK;
    EG_TRY(eg_bundle_add(to, "fedspace.classes", eg_dims(n), changed));
    EG_TRY(eg_bundle_scalar(to, "fedspace.radius", mischief == BAD_RADIUS ? -0.5 : 1));
    return eg_bundle_add(to, "fedspace.prototypes", eg_dims(n, d - (mischief == WIDTH_OFF)),
                         rows);
}

static eg_status rogue_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    float rows[2 * 16], classes[2];
    size_t n, n_rows;
    (void)self, (void)exchange;
    if (c->id != 1)
        return EG_OK;
    if (mischief == BAD_MODEL) {
        float *param = eg_bundle_values(to, "param");
        param[0] = NAN;
        return EG_OK;
    }
    const float *sent = eg_bundle_find(to, "fedspace.classes", &n);
    assert_int_equal(n, 2);
    memcpy(classes, sent, sizeof classes);
    sent = eg_bundle_find(to, "fedspace.prototypes", &n_rows);
    assert_int_equal(n_rows, 2 * 16);
    memcpy(rows, sent, sizeof rows);
    eg_bundle_clear(to);
    EG_TRY(eg_bundle_scalar(to, "samples", (double)c->view.n));
    EG_TRY(eg_bundle_scalar(to, "loss", 1));
    EG_TRY(eg_bundle_add_flat(to, "param", c->param, c->n_params));
    return rogue_put(to, classes, rows, 2, 16);
}

static const eg_method rogue = {.component = {"rogue", "", 0, NULL},
                                .client = {.answer = rogue_answer}};

/* How often words are in the events of a run. */
static int count_events(const char *path, const char *words)
{
    char file[1024], *events;
    size_t n;
    int found = 0;
    snprintf(file, sizeof file, "%s/metrics.jsonl", path);
    assert_ok(eg_file_read(file, 1 << 24, (unsigned char **)&events, &n));
    for (const char *p = events; (p = strstr(p, words)); p++)
        found++;
    free(events);
    return found;
}

static void run_rogue(int what, const char *words, char hash[65])
{
    char path[512];
    small_run r = {.method = "fedspace", .after = &rogue};
    mischief = what;
    eg_experiment *e = small_run_open(folder, &r);
    assert_ok(runs_run(e, folder, 2, 0, path));
    eg_experiment_free(e);
    if (count_events(path, words) != 4) /* once per round */
        fail_msg("'%s' is said %d times", words, count_events(path, words));
    runs_hash(path, hash);
}

/* The others' result is what it is when that client's upload is left out for another reason. */
static void test_hostile_prototypes_are_left_out_with_a_line(void **state)
{
    (void)state;
    static const char *const words[] = {
        [WIDTH_OFF] = "fedspace: 30 values of prototypes for 2 classes, not 16 each",
        [TWICE] = "fedspace: two prototypes of class ",
        [OUT_OF_RANGE] = "fedspace: a prototype of class 4: not a whole number below 4",
        [BELOW_0] = "fedspace: a prototype of class -1: not a whole number below 4",
        [FRACTION] = "fedspace: a prototype of class 1.5: not a whole number below 4",
        [BAD_RADIUS] = "fedspace: a radius of -0.5: not a length",
        [MISSING] = "fedspace: prototypes are missing",
        [BAD_MODEL] = "is NaN"};
    char hash[65], other[65];
    run_rogue(BAD_MODEL, words[BAD_MODEL], hash);
    for (int i = 0; i < BAD_MODEL; i++) {
        run_rogue(i, words[i], other);
        assert_string_equal(hash, other);
    }
}

static void test_without_strength_it_is_averaging(void **state)
{
    (void)state;
    small_run avg = {.method = "fedavg"};
    small_run space = {.method = "fedspace",
                       .set = {"fedspace.lambda_p=0", "fedspace.lambda_r=0", "fedspace.rho=1"}};
    char hash[65];
    snprintf(hash, sizeof hash, "%s", small_run_all(folder, avg).hash);
    assert_string_equal(hash, small_run_all(folder, space).hash);
    for (int i = 0; i < 3; i++) {
        small_run one = space;
        one.set[i] = i == 0 ? "fedspace.lambda_p=1" : i == 1 ? "fedspace.lambda_r=1" : NULL;
        assert_string_not_equal(hash, small_run_all(folder, one).hash);
    }
    avg.method = "pass", avg.set[0] = "pass.lambda=0";
    assert_string_equal(hash, small_run_all(folder, avg).hash);
}

/* Ten classes, one at a time, and a head alone, which a mean that all classes share lets
 * forget: nothing but prototypes can keep the others. */
static double one_class_at_a_time(const char *part, const char *set)
{
    char all[1024], file[FILES_PATH * 2], path[512];
    eg_experiment *e;
    int n = snprintf(all, sizeof all,
                     "name: t\n"
                     "data: {name: blobs, train: 1000, test: 500, spread: 0.1, mean: -1}\n"
                     "model: {name: mlp, depth: 0}\n"
                     "scenario: {kind: class-incremental, clients: 2, tasks: 10, rounds: 5}\n"
                     "optimizer: {lr: 0.1}\n"
                     "train: {epochs: 4, batch: 10}\n"
                     "fedspace: {lambda_r: 0, rho: 1}\n"
                     "runs: [{label: a, method: %s}]\n",
                     part);
    files_write(folder, "t.yaml", all, (size_t)n);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, "a", 1, &set, &e));
    assert_ok(runs_run(e, folder, 2, 0, path));
    eg_experiment_free(e);
    return runs_value(path, "acc_final");
}

static void test_prototypes_hold_what_is_gone(void **state)
{
    (void)state;
    assert_true(one_class_at_a_time("fedspace", "fedspace.lambda_p=0") < 0.2);
    assert_true(one_class_at_a_time("fedspace", "fedspace.lambda_p=1") > 0.9);
    assert_true(one_class_at_a_time("pass", "pass.lambda=1") > 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prototypes_follow_by_a_moving_average),
        cmocka_unit_test(test_beta_is_how_fast_prototypes_follow),
        cmocka_unit_test(test_the_release_forgets),
        cmocka_unit_test(test_the_release_lets_empty_classes_shrink),
        cmocka_unit_test(test_a_model_that_is_not_finite_renews_no_prototype),
        cmocka_unit_test(test_the_model_goes_a_part_of_the_way),
        cmocka_unit_test(test_hostile_prototypes_are_left_out_with_a_line),
        cmocka_unit_test(test_without_strength_it_is_averaging),
        cmocka_unit_test(test_prototypes_hold_what_is_gone),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
