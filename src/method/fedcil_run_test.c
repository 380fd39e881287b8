/* fedcil_run_test.c - whole runs of FedCIL: every term matters, a consolidation that diverges
 * is undone, and what it cannot work with is said.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include "engine/generator/acgan.h"
#include "io/file.h"

/* The steps of a consolidation, which a test lets fail. */
static bool diverges;

eg_status __real_eg_acgan_learn(eg_generator *m, const eg_acgan_step *step, eg_rng *rng,
                                double losses[EG_MAX_LEARNERS]);
eg_status __wrap_eg_acgan_learn(eg_generator *m, const eg_acgan_step *step, eg_rng *rng,
                                double losses[EG_MAX_LEARNERS]);

eg_status __wrap_eg_acgan_learn(eg_generator *m, const eg_acgan_step *step, eg_rng *rng,
                                double losses[EG_MAX_LEARNERS])
{
    EG_TRY(__real_eg_acgan_learn(m, step, rng, losses));
    return diverges && eg_optimizer_steps(step->learner->optimizer) % 2 == 0
               ? eg_fail(EG_EINVAL, "the critic's loss is not finite")
               : EG_OK;
}

#define TEXT(data, scenario)                                                                   \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 80, test: 20, classes: 4, " data "}\n"                        \
    "model: {name: acgan, width: 4}\n"                                                         \
    "scenario: {" scenario "}\n"                                                               \
    "optimizer: {name: adam, lr: 0.001, beta1: 0.5}\n"                                         \
    "train: {steps: 3, batch: 8, optimizer_state: keep}\n"                                     \
    "fedcil: {width: 4, steps: 3, lr: 0.001}\n"                                                \
    "runs: [{label: a, method: fedcil}]\n"
#define DATA "size: 8, mean: 0.5, std: 0.5"
#define TASKS                                                                                  \
    "kind: class-incremental, clients: 4, tasks: 2, rounds: 2, "                               \
    "partition: {kind: parts, classes: 1}"

static void hash_of(const char *set, int workers, int64_t stop, char out[65])
{
    char path[512];
    assert_ok(fixture_run(TEXT(DATA, TASKS), set, workers, stop, path));
    runs_hash(path, out);
}

static void test_every_term_changes_the_result(void **state)
{
    (void)state;
    static const char *const sets[] = {NULL,
                                       "fedcil.consistency=0",
                                       "fedcil.steps=0",
                                       "fedcil.heads=mean",
                                       "fedcil.boundary=round",
                                       "fedcil.weight_decay=0.1",
                                       "fedcil.beta2=0.5",
                                       "server.bn=keep"};
    enum { N = sizeof sets / sizeof *sets };
    char hashes[N][65];
    for (int i = 0; i < N; i++) {
        hash_of(sets[i], 1, 0, hashes[i]);
        for (int k = 0; k < i; k++)
            if (strcmp(hashes[i], hashes[k]) == 0)
                fail_msg("%s comes to the same as %s", sets[i], sets[k] ? sets[k] : "nothing");
    }
}

static void test_a_stop_between_any_two_rounds_changes_no_bit(void **state)
{
    (void)state;
    char whole[65], stopped[65];
    hash_of(NULL, 1, 0, whole);
    for (int64_t stop = 1; stop < 4; stop++) {
        hash_of(NULL, stop == 2 ? -2 : 2, stop, stopped);
        assert_string_equal(whole, stopped);
    }
}

/* Undone, a consolidation leaves no trace: the run is the one without any. */
static void test_a_consolidation_that_diverges_is_undone_and_said(void **state)
{
    (void)state;
    char path[512], undone[65], without[65];
    hash_of("fedcil.steps=0", 1, 0, without);
    diverges = true;
    assert_ok(fixture_run(TEXT(DATA, TASKS), NULL, 1, 0, path));
    diverges = false;
    runs_hash(path, undone);
    assert_string_equal(undone, without);
    char file[600];
    size_t n;
    unsigned char *log;
    snprintf(file, sizeof file, "%s/metrics.jsonl", path);
    assert_ok(eg_file_read(file, 1 << 20, &log, &n));
    assert_non_null(strstr((char *)log, "consolidation undone"));
    free(log);
}

static void refused(const char *text, const char *set, const char *says)
{
    char path[512];
    eg_experiment *e;
    eg_status s = fixture_load(text, set, &e);
    if (s == EG_OK) {
        s = runs_run(e, fixture_folder, 1, 0, path);
        eg_experiment_free(e);
    }
    assert_true(s != EG_OK);
    if (!strstr(eg_error(), says))
        fail_msg("'%s' does not say '%s'", eg_error(), says);
}

static void test_what_it_cannot_work_with_is_said(void **state)
{
    (void)state;
    refused(TEXT("size: 8, std: 0.2", TASKS), NULL, "set data.mean and data.std to 0.5");
    refused(TEXT("size: 12, mean: 0.5, std: 0.5", TASKS), NULL,
            "squares of 8, 16 or 32 pixels");
    refused(TEXT(DATA, TASKS), "train.rotations=true", "train.rotations must be false");
    refused(TEXT(DATA, TASKS), "server.optimizer=adam",
            "fedcil: heads: seen puts means of its");
    refused(TEXT(DATA, TASKS), "server.mean=median", "set heads to mean");
    char path[512];
    assert_ok(fixture_run(TEXT(DATA, TASKS "}\nserver: {optimizer: adam"), "fedcil.heads=mean",
                          1, 0, path));
    refused(TEXT(DATA, "kind: realtime, clients: 2, samples: 5, rounds: 4"), NULL, "boundar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_term_changes_the_result),
        cmocka_unit_test(test_a_stop_between_any_two_rounds_changes_no_bit),
        cmocka_unit_test(test_a_consolidation_that_diverges_is_undone_and_said),
        cmocka_unit_test(test_what_it_cannot_work_with_is_said),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
