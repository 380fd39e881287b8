/* replay_test.c - runs carried out again by what a log says of who answered when: the mean that
 * a late answer joins, worked out by hand; and what cannot be replayed, or wait for late ones.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runs.h"

#include "run/log/events.h"

#include <engram/safetensors.h>

#include "own_folder.h"

enum { MOST = 4096 };

static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 120, test: 40, classes: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 1, rounds: 2, partition: iid}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 1, batch: 10}\n"
    "runs:\n"
    "- {label: a, method: fedavg, overrides: {server: {late: buffer}}}\n"
    "- {label: plain, method: fedavg}\n"
    "- {label: scaffold, method: scaffold, overrides: {server: {late: buffer}}}\n"
    "- {label: local, method: local, overrides: {server: {late: buffer}}}\n"
    "- {label: cosine, method: [er, fed-a-gem],\n"
    "   overrides: {server: {late: buffer}, fed-a-gem: {aggregation: cosine}}}\n"
    "- {label: gem, method: [er, fed-a-gem], overrides: {server: {late: buffer}}}\n"
    "- {label: secure, method: fedavg, overrides: {server: {late: buffer}, secure: {kind: "
    "plain}}}\n"
    "- {label: median, method: fedavg, overrides: {server: {late: buffer, mean: median}}}\n"
    "- {label: rare, method: fedavg, overrides: {server: {late: buffer, interval: 2}}}\n";

static eg_status load(const char *label, eg_experiment **out)
{
    char path[FILES_PATH * 2];
    files_write(folder, "t.yaml", text, sizeof text - 1);
    snprintf(path, sizeof path, "%s/t.yaml", folder);
    return eg_experiment_load(path, label, 0, NULL, out);
}

/* What stands in a log, line by line without seals: the start and the end as they were, with
 * other events between. */
static void rewrite(const char *run, const char *const *events)
{
    char path[FILES_PATH * 3], line[1 << 14], *lines[64];
    size_t n = 0;
    eg_seal seal = {0};
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (n < 64 && fgets(line, sizeof line, f)) {
        char *end = strstr(line, ",\"sum\":");
        assert_non_null(end);
        memcpy(end, "}", 2);
        lines[n++] = strdup(line);
    }
    fclose(f);
    f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        bool ends = i == n - 1;
        for (; (i == 0 || ends) && (k == 0 || (i == 0 && events[k - 1])); k++) {
            const char *what = k == 0 ? lines[i] : events[k - 1];
            snprintf(line, sizeof line, "%s", what);
            size_t length = eg_seal_line(&seal, line, strlen(line));
            assert_int_equal(fwrite(line, 1, length, f), length);
            fputc('\n', f);
        }
        free(lines[i]);
    }
    fclose(f);
}

/* Replays run with these events in its log, and takes the model it ends with. */
static size_t replay(const eg_experiment *e, const char *run, const char *const *events,
                     float model[MOST], char path[512])
{
    static int number;
    char out[FILES_PATH * 2], file[FILES_PATH * 3];
    bool stopped;
    eg_tensors *tensors;
    size_t n = 0;
    rewrite(run, events);
    snprintf(out, sizeof out, "%s/replays%d", folder, number++);
    assert_fails(
        eg_experiment_run(e, &(eg_run_how){.seed = 3, .workers = 2, .out = out, .replay = run},
                          path, &stopped),
        EG_EINVAL, "the replay ends in other bits");
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    assert_ok(eg_safetensors_load(file, &tensors));
    for (size_t i = 0; i < eg_tensors_count(tensors); i++) {
        const eg_stored *t = eg_tensors_at(tensors, i);
        assert_true(n + t->n_bytes / sizeof *model <= MOST);
        memcpy(model + n, t->bytes, t->n_bytes);
        n += t->n_bytes / sizeof *model;
    }
    eg_tensors_free(tensors);
    return n;
}

#define LOST(round, client)                                                                    \
    "{\"event\":\"left_out\",\"round\":" #round ",\"client\":" #client ",\"why\":\"away\"}"
#define LATE(round, client, age)                                                               \
    "{\"event\":\"late\",\"round\":" #round ",\"client\":" #client ",\"age\":" #age            \
    ",\"stage\":0}"

static double samples_of(const char *run, size_t round)
{
    eg_events *log;
    assert_ok(eg_events_load(run, &log));
    assert_true(round < log->n_round);
    double n = (double)log->round[round].samples;
    eg_events_free(log);
    return n;
}

/* Client 1 answers round 1 in round 2. Its change is found by runs in which it is alone. */
static void test_a_late_answer_joins_the_mean_by_its_age(void **state)
{
    static float none[MOST], other[MOST], first[MOST], second[MOST], late[MOST];
    char run[512], path[512];
    eg_experiment *e;
    (void)state;
    assert_ok(load("a", &e));
    assert_ok(runs_run(e, folder, 1, 0, run));
    size_t n = replay(
        e, run, (const char *const[]){LOST(1, 0), LOST(1, 1), LOST(2, 0), LOST(2, 1), NULL},
        none, path);
    replay(e, run, (const char *const[]){LOST(1, 0), LOST(2, 0), LOST(2, 1), NULL}, other,
           path);
    replay(e, run, (const char *const[]){LOST(1, 1), LOST(2, 0), LOST(2, 1), NULL}, first,
           path);
    replay(e, run, (const char *const[]){LOST(1, 1), LOST(2, 1), NULL}, second, path);
    replay(e, run, (const char *const[]){LOST(1, 1), LOST(2, 1), LATE(2, 1, 1), NULL}, late,
           path);
    double mine = samples_of(path, 0), both = samples_of(path, 1);
    double weight = (both - mine) / sqrt(2), moved = 0;
    assert_true(n >= 12 && both > mine);
    for (size_t i = 0; i < n; i++) {
        double its = (double)first[i] + ((double)other[i] - (double)none[i]);
        assert_near(late[i], (mine * (double)second[i] + weight * its) / (mine + weight), 1e-6);
        moved = fmax(moved, fabs((double)late[i] - (double)second[i]));
    }
    assert_true(moved > 1e-3);
    eg_experiment_free(e);
}

/* What the log says of an answer that did not count is followed, and a log that fits no run is
 * refused. */
static void test_a_late_answer_that_did_not_count_counts_in_no_replay(void **state)
{
    static float second[MOST], refused[MOST];
    char run[512], path[512];
    bool stopped;
    eg_experiment *e;
    (void)state;
    assert_ok(load("a", &e));
    assert_ok(runs_run(e, folder, 1, 0, run));
    size_t n =
        replay(e, run, (const char *const[]){LOST(1, 1), LOST(2, 1), NULL}, second, path);
    replay(e, run,
           (const char *const[]){LOST(1, 1), LOST(2, 1),
                                 "{\"event\":\"late\",\"round\":2,\"client\":1,\"age\":1,"
                                 "\"stage\":0,\"why\":\"NaN\"}",
                                 NULL},
           refused, path);
    assert_memory_equal(second, refused, n * sizeof *second);
    replay(e, run,
           (const char *const[]){"{\"event\":\"left_out\",\"round\":1,\"client\":1,"
                                 "\"why\":\"NaN\",\"answered\":true}",
                                 LOST(2, 1), NULL},
           refused, path);
    assert_memory_equal(second, refused, n * sizeof *second);
    rewrite(run, (const char *const[]){LATE(1, 1, 1), NULL});
    assert_fails(eg_experiment_run(
                     e, &(eg_run_how){.seed = 3, .workers = 1, .out = folder, .replay = run},
                     path, &stopped),
                 EG_EFORMAT, "age: 1 is outside");
    eg_experiment_free(e);
}

static void test_a_run_in_which_all_answered_replays_to_its_own_bits(void **state)
{
    char run[512], path[512], out[FILES_PATH * 2], one[65], two[65];
    bool stopped;
    eg_experiment *e;
    (void)state;
    assert_ok(load("gem", &e));
    assert_ok(runs_run(e, folder, 1, 0, run));
    snprintf(out, sizeof out, "%s/again", folder);
    assert_ok(eg_experiment_run(
        e, &(eg_run_how){.seed = 3, .workers = 1, .out = out, .replay = run}, path, &stopped));
    runs_hash(run, one);
    runs_hash(path, two);
    assert_string_equal(one, two);
    eg_experiment_free(e);
}

static void test_what_cannot_wait_says_so_before_the_first_round(void **state)
{
    static const struct {
        const char *label, *why;
    } cannot[] = {
        {"scaffold", "scaffold needs answers in the round they were asked for"},
        {"local", "local has models of clients"},
        {"cosine", "fed_a_gem needs answers in the round they were asked for"},
        {"secure", "weighs single answers by their age, which secure hides"},
        {"median", "needs server.mean mean"},
        {"rare", "needs server.interval 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++) {
        eg_experiment *e = NULL;
        print_message("%s\n", cannot[i].label);
        assert_int_not_equal(load(cannot[i].label, &e), EG_OK);
        assert_non_null(strstr(eg_error(), cannot[i].why));
        eg_experiment_free(e);
    }
}

static void test_what_cannot_be_replayed_says_so(void **state)
{
    char run[512], path[512], summary[FILES_PATH * 3];
    bool stopped;
    eg_experiment *e;
    (void)state;
    assert_ok(load("plain", &e));
    assert_ok(runs_run(e, folder, 1, 0, run));
    const eg_run_how how = {.seed = 3, .workers = 1, .out = folder, .replay = run};
    rewrite(run, (const char *const[]){NULL});
    snprintf(summary, sizeof summary, "%s/summary.json", run);
    assert_int_equal(remove(summary), 0);
    assert_fails(eg_experiment_run(e, &how, path, &stopped), EG_ENOENT, "no finished run");
    eg_experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_late_answer_joins_the_mean_by_its_age),
        cmocka_unit_test(test_a_late_answer_that_did_not_count_counts_in_no_replay),
        cmocka_unit_test(test_a_run_in_which_all_answered_replays_to_its_own_bits),
        cmocka_unit_test(test_what_cannot_wait_says_so_before_the_first_round),
        cmocka_unit_test(test_what_cannot_be_replayed_says_so),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
