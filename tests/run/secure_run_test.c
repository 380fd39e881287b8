/* secure_run_test.c - whole runs of whose answers the server learns sums alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "small_run.h"

#include <engram/log.h>
#include <engram/safetensors.h>

#include <math.h>
#include <stdio.h>

#include "own_folder.h"

/* The largest difference of the weights that two runs came to. */
static double difference(const char *method, const char *secure, const char *more)
{
    static float param[2][20000];
    size_t n[2] = {0};
    for (int k = 0; k < 2; k++) {
        char path[512], file[FILES_PATH * 2];
        eg_tensors *t;
        small_run r = {.method = method, .set = {k ? secure : "secure=none", more}};
        eg_experiment *e = small_run_open(folder, &r);
        assert_ok(runs_run(e, folder, 1, 0, path));
        eg_experiment_free(e);
        snprintf(file, sizeof file, "%s/" EG_RUN_MODEL, path);
        assert_ok(eg_safetensors_load(file, &t));
        for (size_t i = 0; i < eg_tensors_count(t); i++) {
            const eg_stored *s = eg_tensors_at(t, i);
            if (s->type != EG_STORED_F32)
                continue;
            memcpy(param[k] + n[k], s->bytes, s->n_bytes);
            n[k] += s->n_bytes / sizeof(float);
        }
        eg_tensors_free(t);
    }
    assert_int_equal(n[0], n[1]);
    double most = 0;
    for (size_t i = 0; i < n[0]; i++)
        most = fmax(most, fabs((double)param[0][i] - (double)param[1][i]));
    return most;
}

/* Four rounds, each off by half a step per client over the sum of weights, which training then
 * stretches; floats alone are further apart. */
static void test_sums_give_what_open_answers_give(void **state)
{
    (void)state;
    static const char *const methods[] = {"fedavg",  "[der, fed-a-gem]", "re-fed",   "scaffold",
                                          "fedprox", "[er, fedprox]",    "fedspace", "fedcurv"};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        const char *plain_sgd =
            strcmp(methods[k], "scaffold") == 0 ? "optimizer.momentum=0" : NULL;
        double apart = difference(methods[k], "secure=plain", plain_sgd);
        if (!(apart > 0 && apart < 1e-4))
            fail_msg("%s: %g apart", methods[k], apart);
    }
    assert_true(difference("fedavg", "secure=plain", "server.weights=samples") < 1e-5);
}

/* One round: half a step of each of four clients, over weights that are all alike, and what
 * floats round the mean to. */
static void test_first_round_is_off_by_half_a_step_at_most(void **state)
{
    (void)state;
    double step = 8.0 / (1 << 29); /* secure.range over 31 - 2 bits */
    double apart = difference("fedavg", "secure.kind=plain", "scenario.rounds=1");
    assert_true(apart < step / 2 + 3e-7);
}

static void test_masks_change_no_bit_wherever_clients_are(void **state)
{
    (void)state;
    static const char *const methods[] = {"fedavg", "[der, fed-a-gem]", "fedspace"};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        const char *m = methods[k];
        small_outcome plain =
            small_run_all(folder, (small_run){.method = m, .set = {"secure=plain"}});
        small_outcome masked =
            small_run_all(folder, (small_run){.method = m, .set = {"secure=masked"}});
        small_outcome threads = small_run_all(
            folder, (small_run){.method = m, .set = {"secure=masked"}, .workers = 3});
        small_outcome resumed = small_run_all(
            folder, (small_run){.method = m, .set = {"secure=masked"}, .stop = 3});
        assert_string_equal(plain.hash, masked.hash);
        assert_string_equal(plain.hash, threads.hash);
        assert_string_equal(plain.hash, resumed.hash);
    }
}

static void assert_refused(const char *method, const char *a, const char *b, const char *c,
                           const char *sentence)
{
    small_run r = {.method = method, .set = {a, b, c}};
    char text[4096], file[FILES_PATH * 2], path[512];
    size_t n_set = 0;
    eg_experiment *e = NULL;
    int n =
        snprintf(text, sizeof text, "%s- {label: a, method: %s}\n", small_run_text, r.method);
    files_write(folder, "t.yaml", text, (size_t)n);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    while (n_set < 3 && r.set[n_set])
        n_set++;
    eg_status s = eg_experiment_load(file, "a", n_set, r.set, &e);
    if (s == EG_OK)
        s = runs_run(e, folder, 1, 0, path);
    assert_true(s != EG_OK);
    if (!strstr(eg_error(), sentence))
        fail_msg("'%s' is not in '%s'", sentence, eg_error());
    eg_experiment_free(e);
}

static void test_what_cannot_be_is_refused_in_one_sentence(void **state)
{
    (void)state;
    const char *drawn = "scenario.selection=poisson", *masked = "secure=masked";
    assert_refused("[der, fed-a-gem]", masked, "fed-a-gem.aggregation=cosine", NULL,
                   "fed_a_gem looks at single answers");
    assert_refused("local", masked, NULL, NULL, "local has models of clients");
    assert_refused("fedcbdr", masked, NULL, NULL, "looks at single answers");
    assert_refused("fedavg", masked, "server.mean=median", NULL, "server.mean looks at");
    assert_refused("fedavg", masked, "scenario.clients=2", NULL,
                   "2 clients cannot hide in a sum");
    assert_refused("fedavg", masked, "server.interval=2", NULL, "set server.interval to 1");
    assert_refused("fedspace", masked, "fedspace.variant=release", NULL, "to paper");
    assert_refused("fedavg", "dp.sigma=1", "dp.clip=0", drawn, "dp.clip is 0");
    assert_refused("fedavg", "dp.sigma=1", "dp.clip=1", "dp.delta=1", "dp.delta must lie");
    assert_refused("fedavg", "dp.sigma=1", "dp.clip=1", "server.weights=samples",
                   "server.weights is samples: set it to uniform");
    assert_refused("fedavg", "dp.sigma=1", "dp.clip=1", NULL,
                   "set scenario.selection to poisson");
    assert_refused("fedavg", drawn, "scenario.participation=1.5", NULL, "outside [0, 1]");
    assert_refused("fedavg", drawn, "scenario.per_round=2", NULL, "set per_round to 0");
    assert_refused("fedavg", "dp.clip=1", NULL, NULL, "dp.sigma is 0");
}

/* The notes of a name in a run's log, in order. */
static size_t notes_of(const char *path, const char *name, double *values, size_t most)
{
    char file[FILES_PATH * 2], line[4096], wanted[64];
    size_t n = 0;
    snprintf(file, sizeof file, "%s/" EG_RUN_METRICS, path);
    snprintf(wanted, sizeof wanted, "\"name\":\"%s\",\"value\":", name);
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) && n < most) {
        const char *at = strstr(line, wanted);
        if (at)
            values[n++] = strtod(at + strlen(wanted), NULL);
    }
    fclose(f);
    return n;
}

static size_t private_run(int64_t stop, const char *more, double *epsilon, char hash[65])
{
    char path[512];
    small_run r = {.method = "fedavg",
                   .set = {"dp.sigma=2", "dp.clip=0.3", "scenario.selection=poisson",
                           "scenario.participation=0.5", more}};
    eg_experiment *e = small_run_open(folder, &r);
    assert_ok(runs_run(e, folder, 1, stop, path));
    eg_experiment_free(e);
    runs_hash(path, hash);
    bool seeded = more && strstr(more, "seeded");
    return notes_of(path, seeded ? "no privacy: noise of the seed, epsilon" : "epsilon",
                    epsilon, 16);
}

/* Noise is never of the seed, unless a test asks for it; epsilon grows with each release. */
static void test_noise_repeats_only_where_a_test_asks_for_it(void **state)
{
    (void)state;
    char a[65], b[65], c[65], d[65];
    double epsilon[16];
    assert_int_equal(private_run(0, NULL, epsilon, a), 4);
    for (int i = 1; i < 4; i++)
        assert_true(epsilon[i] > epsilon[i - 1]);
    private_run(0, NULL, epsilon, b);
    assert_string_not_equal(a, b);
    private_run(0, "dp.noise=seeded", epsilon, c);
    private_run(0, "dp.noise=seeded", epsilon, d);
    assert_string_equal(c, d);
    private_run(2, "dp.noise=seeded", epsilon, d);
    assert_string_equal(c, d);
}

/* What another round would spend too much for is not released, and the run is over. */
static void test_run_ends_before_epsilon_is_spent(void **state)
{
    (void)state;
    double all[16], some[16];
    char hash[65], more[64];
    assert_int_equal(private_run(0, NULL, all, hash), 4);
    snprintf(more, sizeof more, "dp.epsilon=%.9f", (all[1] + all[2]) / 2);
    assert_int_equal(private_run(0, more, some, hash), 2);
    assert_near(some[1], all[1], 1e-12);
}

static void test_adaptive_clip_moves_and_trees_count_once(void **state)
{
    (void)state;
    double clips[16], epsilon[16];
    char path[512], hash[65];
    small_run r = {.method = "fedavg",
                   .set = {"dp.sigma=0.1", "dp.clip=50", "scenario.selection=poisson",
                           "scenario.participation=1", "dp.adaptive=true"}};
    eg_experiment *e = small_run_open(folder, &r);
    assert_ok(runs_run(e, folder, 1, 0, path));
    eg_experiment_free(e);
    assert_int_equal(notes_of(path, "dp.clip", clips, 16), 4);
    for (int i = 0; i < 4; i++) /* all are far shorter than 50 */
        assert_true(clips[i] < (i ? clips[i - 1] : 50));
    r = (small_run){.method = "fedavg", .set = {"dp.sigma=2", "dp.clip=1", "dp.kind=ftrl"}};
    e = small_run_open(folder, &r);
    assert_ok(runs_run(e, folder, 1, 0, path));
    eg_experiment_free(e);
    runs_hash(path, hash);
    assert_int_equal(notes_of(path, "epsilon", epsilon, 16), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_give_what_open_answers_give),
        cmocka_unit_test(test_first_round_is_off_by_half_a_step_at_most),
        cmocka_unit_test(test_masks_change_no_bit_wherever_clients_are),
        cmocka_unit_test(test_what_cannot_be_is_refused_in_one_sentence),
        cmocka_unit_test(test_noise_repeats_only_where_a_test_asks_for_it),
        cmocka_unit_test(test_run_ends_before_epsilon_is_spent),
        cmocka_unit_test(test_adaptive_clip_moves_and_trees_count_once),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
