/* re_fed_test.c - what the cache holds when, by every policy, and what is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
/* size: checks nest within rounds, clients and rows. */
#include "hand_client.h"
#include "one_client.h"

#include <engram/fed.h>

#include "io/json.h"
#include "method/choice.h"
#include "method/lib/pim.h"

#include "own_folder.h"

extern const eg_method eg_method_re_fed;

/* Four tasks of two rounds; each of two clients has 100 samples in each. */
static const char base_text[] =
    "name: t\n"
    "data: {name: blobs, train: 800, test: 80, classes: 8, spread: 0.6}\n"
    "model: {name: mlp, depth: 1, width: 12}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 4, rounds: 2, "
    "partition: {kind: iid}}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 1, batch: 16}\n"
    "re_fed: {size: 150, epochs: 2}\n"
    "runs:\n"
    "- {label: re-fed, method: re-fed}\n"
    "- {label: fedavg+, method: [fedavg, re-fed]}\n"
    "- {label: fedprox+, method: [fedprox, re-fed]}\n"
    "- {label: fed-a-gem+, method: [re-fed, fed-a-gem]}\n"
    "- {label: er+, method: [er, re-fed]}\n";

enum { MOST = 1000 };

/* A client's round, and its cache after it. Returns how many are in it. */
static int64_t round_and_cache(one_client *k, int64_t id, eg_sample *cache)
{
    size_t n;
    assert_ok(one_client_turn(k, id));
    eg_cursor_next(k->cursor, NULL);
    const float *rows = eg_bundle_find(one_client_kept(k, "re_fed"), "re_fed.cache", &n);
    assert_true(n <= 2 * MOST && n % 2 == 0);
    for (size_t i = 0; i < n / 2; i++)
        cache[i] = (eg_sample){(int64_t)rows[2 * i], (int64_t)rows[2 * i + 1]};
    return (int64_t)n / 2;
}

static bool holds(const eg_sample *list, int64_t n, eg_sample s)
{
    for (int64_t i = 0; i < n; i++)
        if (list[i].task == s.task && list[i].id == s.id)
            return true;
    return false;
}

static void test_the_cache_has_the_room_that_new_samples_leave(void **state)
{
    (void)state;
    static const char *const policies[] = {"re-fed", "random", "reservoir", "herding", "loss"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        one_client k;
        eg_sample cache[MOST] = {{0}}, before[MOST] = {{0}};
        char set[64];
        int64_t n_before = 0;
        snprintf(set, sizeof set, "re-fed.policy=%s", policies[i]);
        one_client_open(&k, base_text, set);
        for (int64_t round = 0; round < 8; round++) {
            int64_t n = round_and_cache(&k, 1, cache), stage = round / 2;
            assert_int_equal(n, stage ? 50 : 0);
            assert_int_equal(k.c->n_samples, stage ? 150 : 100);
            for (int64_t j = 0; j < n; j++) { /* of the stage before, or cached before it */
                assert_true(cache[j].task == stage - 1 || holds(before, n_before, cache[j]));
                assert_false(holds(cache, j, cache[j]));
                assert_true(holds(k.c->samples + 100, 50, cache[j]));
            }
            if (round % 2 == 1)
                memcpy(before, cache, sizeof cache), n_before = n;
        }
        one_client_close(&k);
    }
}

/* What comes from the cache was offered to the memory when it was new. */
static void test_a_memory_is_offered_no_sample_of_the_cache(void **state)
{
    (void)state;
    static const char *const sets[] = {"memory.insert=always", "memory.insert=once"};
    for (int once = 0; once < 2; once++) {
        one_client k;
        eg_sample cache[MOST] = {{0}};
        one_client_open(&k, base_text, sets[once]);
        for (int64_t round = 0; round < 8; round++) {
            round_and_cache(&k, 1, cache);
            assert_int_equal(k.c->n_samples, round > 1 ? 150 : 100);
            assert_int_equal(eg_memory_get(k.c->memory).seen,
                             100 * (once ? round / 2 + 1 : round + 1));
        }
        one_client_close(&k);
    }
}

static void test_what_fits_is_all_kept(void **state)
{
    (void)state;
    one_client k;
    eg_sample cache[MOST] = {{0}};
    one_client_open(&k, base_text, "re-fed.size=400");
    for (int64_t round = 0; round < 8; round++) {
        assert_int_equal(round_and_cache(&k, 0, cache), round / 2 * 100);
        assert_int_equal(k.c->n_samples, round / 2 * 100 + 100);
    }
    one_client_close(&k);
}

static void test_more_new_samples_than_room_leave_no_cache_and_are_cut(void **state)
{
    (void)state;
    one_client k;
    eg_sample cache[MOST] = {{0}}, first[80] = {{0}}, all[100] = {{0}};
    int64_t same = 0;
    one_client_open(&k, base_text, "re-fed.size=80");
    for (int64_t round = 0; round < 4; round++) {
        assert_int_equal(round_and_cache(&k, 0, cache), 0);
        assert_int_equal(k.c->n_samples, 80);
        one_client_samples(&k, round / 2, 100, all);
        for (int64_t i = 0; i < 80; i++) {
            assert_true(holds(all, 100, k.c->samples[i]));
            assert_false(holds(k.c->samples, i, k.c->samples[i]));
            same += k.c->samples[i].id == all[i].id;
        }
        if (round % 2 == 1) /* the same ones in every round of a task */
            assert_memory_equal(first, k.c->samples, sizeof first);
        memcpy(first, k.c->samples, sizeof first);
    }
    assert_true(same < 4 * 40); /* drawn, not the first ones */
    one_client_close(&k);
}

/* Uneven parts: what was cut away cannot be cached later. */
static void test_the_cache_comes_from_what_was_not_cut(void **state)
{
    (void)state;
    one_client k;
    eg_sample cache[MOST] = {{0}};
    static const char scenario[] = "scenario.partition=dirichlet";
    one_client_open(&k, base_text, scenario);
    int64_t id = -1, sizes[2];
    for (int64_t c = 0; c < 2 && id < 0; c++) {
        for (int64_t s = 0; s < 2; s++) {
            int64_t n;
            const eg_span *span = eg_scenario_spans(k.feed.scenario, c, s, &n);
            sizes[s] = span->n;
        }
        id = sizes[0] > 65 && sizes[1] < sizes[0] - 10 ? c : -1;
    }
    assert_true(id >= 0); /* seed 3 has one */
    one_client_close(&k);
    char text[sizeof base_text + 64];
    snprintf(text, sizeof text, "%s", base_text);
    char *at = strstr(text, "size: 150");
    assert_non_null(at);
    int64_t size = sizes[0] - 5;
    assert_true(size >= 60 && size <= 999);
    snprintf(at, 10, "size: %03d", (int)size);
    at[9] = ',';
    one_client_open(&k, text, scenario);
    assert_int_equal(round_and_cache(&k, id, cache), 0);
    assert_int_equal(k.c->n_samples, size);
    eg_sample *was = calloc((size_t)size, sizeof *was);
    assert_non_null(was);
    memcpy(was, k.c->samples, (size_t)size * sizeof *was);
    eg_cursor_seek(k.cursor, 2);
    int64_t n = round_and_cache(&k, id, cache);
    assert_int_equal(n, size - sizes[1]);
    for (int64_t i = 0; i < n; i++)
        assert_true(holds(was, size, cache[i]));
    free(was);
    one_client_close(&k);
}

/* The order of stage 0's samples when stage 1 begins, and the scores [100] that make it, worked
 * out with the parts' tools at the model of this seed. */
static void expected_at(one_client *k, uint64_t seed, const char *policy, int emphasis,
                        const eg_sample *all, int64_t *order, double *scores)
{
    float losses[100];
    eg_params_init(eg_net_params(k->net), seed, k->c->param, k->c->state);
    if (strcmp(policy, "loss") == 0) {
        assert_ok(eg_client_look(k->c, NULL, &(eg_rows){.n = 100, .samples = all},
                                 &(eg_look){.losses = losses}));
        for (int i = 0; i < 100; i++)
            scores[i] = (double)losses[i];
    } else {
        eg_pim how = {2, 0.1, eg_pim_pull(0.5), (eg_emphasis)emphasis, NULL};
        eg_rng rng = eg_part_stream(&(eg_part_draw){
            .part = "re_fed", .seed = ONE_CLIENT_SEED, .when = k->c->round, .draw = 2});
        assert_ok(eg_pim_score(k->c, &how, &(eg_weights){0}, &(eg_pim_samples){all, 100, &rng},
                               scores));
        for (int i = 0; i < 100 && emphasis == EG_EMPHASIS_LATE; i++)
            scores[i] = -scores[i];
    }
    assert_ok(eg_choose_highest(scores, 100, order));
}

static void test_the_highest_scores_are_cached(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *set;
        int emphasis;
    } cases[] = {
        {"re-fed", "re-fed.emphasis=early", EG_EMPHASIS_EARLY},
        {"re-fed", "re-fed.emphasis=average", EG_EMPHASIS_AVERAGE},
        {"re-fed", "re-fed.emphasis=late", EG_EMPHASIS_LATE},
        {"re-fed", "re-fed.emphasis=late-weight", EG_EMPHASIS_LATE_WEIGHT},
        {"loss", "re-fed.policy=loss", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one_client k;
        eg_sample cache[MOST] = {{0}}, all[100] = {{0}};
        int64_t order[100];
        double scores[100] = {0}, cached = 0, offered = 0;
        one_client_open(&k, base_text, cases[i].set);
        one_client_samples(&k, 0, 100, all);
        eg_cursor_seek(k.cursor, 2);
        assert_int_equal(round_and_cache(&k, 0, cache), 50);
        expected_at(&k, ONE_CLIENT_SEED, cases[i].policy, cases[i].emphasis, all, order,
                    scores);
        for (int j = 0; j < 50; j++)
            assert_int_equal(cache[j].id, all[order[j]].id);
        for (int j = 0; j < 100; j++) {
            offered += fabs(scores[order[j]]) / 100;
            cached += j < 50 ? fabs(scores[order[j]]) / 50 : 0;
        }
        assert_near(one_client_noted(&k, "re_fed.score offered"), offered, 1e-9 * offered);
        assert_near(one_client_noted(&k, "re_fed.score cached"), cached, 1e-9 * cached);
        one_client_close(&k);
    }
}

/* A client that comes late in a task is sent the model that the last task left, beside the one
 * it trains on. */
static void test_a_client_ranks_at_the_model_that_the_last_task_left(void **state)
{
    (void)state;
    static const char *const policies[] = {"re-fed", "loss", "herding"};
    enum { LEFT_SEED = 77 };
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        one_client k;
        eg_sample cache[MOST] = {{0}}, plain[MOST] = {{0}}, all[100] = {{0}};
        int64_t order[100];
        double scores[100] = {0};
        char set[64];
        snprintf(set, sizeof set, "re-fed.policy=%s", policies[i]);
        for (int sent = 0; sent < 2; sent++) {
            float *left;
            one_client_open(&k, base_text, set);
            assert_ok(eg_params_alloc(eg_net_params(k.net), &left));
            eg_params_init(eg_net_params(k.net), LEFT_SEED, left, NULL);
            if (sent)
                assert_ok(eg_bundle_add_flat(k.down, "re_fed.param", left, k.c->n_params));
            one_client_samples(&k, 0, 100, all);
            eg_cursor_seek(k.cursor, 2);
            assert_int_equal(round_and_cache(&k, 0, sent ? cache : plain), 50);
            if (sent && i < 2) {
                expected_at(&k, LEFT_SEED, policies[i], EG_EMPHASIS_EARLY, all, order, scores);
                for (int j = 0; j < 50; j++)
                    assert_int_equal(cache[j].id, all[order[j]].id);
            }
            free(left);
            one_client_close(&k);
        }
        assert_memory_not_equal(cache, plain, sizeof cache);
    }
}

/* With three tasks behind it the cache is of six classes, sample i of class i mod 8. */
static void test_it_is_noted_which_classes_crowd_the_cache(void **state)
{
    (void)state;
    one_client k;
    eg_sample cache[MOST] = {{0}};
    double shares[8] = {0}, product = 1;
    one_client_open(&k, base_text, "re-fed.policy=loss");
    assert_int_equal(round_and_cache(&k, 0, cache), 0);
    assert_true(isnan(one_client_noted(&k, "re_fed.classes cached"))); /* nothing is ranked */
    eg_cursor_seek(k.cursor, 6);
    assert_int_equal(round_and_cache(&k, 0, cache), 50);
    for (int i = 0; i < 50; i++)
        shares[cache[i].id % 8] += 1.0 / 50;
    for (int i = 0; i < 8; i++) {
        char name[64];
        snprintf(name, sizeof name, "re_fed.share of class %d", i);
        assert_near(one_client_noted(&k, name), shares[i], 1e-12);
        product *= pow(shares[i] > 0 ? shares[i] : 1, -shares[i]);
    }
    assert_near(one_client_noted(&k, "re_fed.classes cached"), product, 1e-9);
    assert_near(one_client_noted(&k, "re_fed.classes offered"), 6, 0.1);
    assert_true(product < 5.9);
    one_client_close(&k);
}

/* Stops a run after a number of rounds. */
static bool stop_after(void *context, const eg_progress *p)
{
    return p->round < *(const int64_t *)context;
}

/* The hash of the model that a run ends with, stopped and taken up after `stop` rounds. */
static void run_hash(const char *label, const char *set, int workers, int64_t stop,
                     char hash[65])
{
    static int number;
    char file[FILES_PATH * 2], out[FILES_PATH * 2], path[512];
    files_write(folder, "t.yaml", base_text, sizeof base_text - 1);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    snprintf(out, sizeof out, "%s/runs%d", folder, number++);
    eg_experiment *e;
    eg_json *summary;
    const char *text;
    bool stopped;
    assert_ok(eg_experiment_load(file, label, set ? 1 : 0, &set, &e));
    eg_run_how how = {.seed = 3, .workers = workers, .out = out};
    if (stop) {
        how.progress = stop_after, how.context = &stop;
        assert_ok(eg_experiment_run(e, &how, path, &stopped));
        assert_true(stopped);
        how.progress = NULL, how.resume = true;
    }
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    snprintf(file, sizeof file, "%s/summary.json", path);
    assert_ok(eg_json_load(file, &summary));
    assert_ok(eg_json_text(eg_json_get(summary, "params_sha256"), &text));
    snprintf(hash, 65, "%s", text);
    eg_json_free(summary);
    eg_experiment_free(e);
}

static void test_policies_and_pairs_repeat_share_work_and_resume(void **state)
{
    (void)state;
    static const struct {
        const char *label, *set;
    } runs[] = {{"re-fed", NULL},
                {"re-fed", "re-fed.policy=random"},
                {"re-fed", "re-fed.policy=reservoir"},
                {"re-fed", "re-fed.policy=herding"},
                {"re-fed", "re-fed.policy=loss"},
                {"re-fed", "re-fed.every=120"},
                {"re-fed", "re-fed.size=80"},
                {"fedavg+", NULL},
                {"fedprox+", NULL},
                {"fed-a-gem+", NULL},
                {"er+", NULL}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char one[65], two[65], resumed[65];
        run_hash(runs[i].label, runs[i].set, 1, 0, one);
        run_hash(runs[i].label, runs[i].set, 2, 0, two);
        run_hash(runs[i].label, runs[i].set, 1, 3, resumed);
        assert_string_equal(one, two);
        assert_string_equal(one, resumed);
    }
}

static void test_every_option_changes_a_result(void **state)
{
    (void)state;
    static const char *const sets[] = {"re-fed.size=120",       "re-fed.epochs=9",
                                       "re-fed.every=250",      "re-fed.lambda=0.05",
                                       "re-fed.lr=1",           "re-fed.emphasis=average",
                                       "re-fed.emphasis=late",  "re-fed.emphasis=late-weight",
                                       "re-fed.policy=random",  "re-fed.policy=reservoir",
                                       "re-fed.policy=herding", "re-fed.policy=loss"};
    char base[65], other[65];
    run_hash("re-fed", NULL, 1, 0, base);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        run_hash("re-fed", sets[i], 2, 0, other);
        if (strcmp(base, other) == 0)
            fail_msg("%s changes nothing", sets[i]);
    }
}

/* Stages of 20 samples that nobody announces. */
static const char stream_text[] =
    "name: t\n"
    "data: {name: blobs, train: 400, test: 40, classes: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: async-count, clients: 2, tasks: 2, take: 20, rounds: 1}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {batch: 16}\n"
    "re_fed: {size: 60, epochs: 1}\n"
    "runs: [{label: a, method: re-fed}]\n";

/* In round 2, when the cache is first ranked, the schedule has taken lr from 0.1 to 0.0125. */
static void test_the_personalised_model_follows_the_schedule(void **state)
{
    (void)state;
    char text[sizeof base_text + 64];
    snprintf(text, sizeof text, "%sschedule: {kind: step, every: 2, factor: 0.125}\n",
             base_text);
    assert_true(one_client_same(text, NULL, text, "re-fed.lr=0.0125", 3));
    assert_false(one_client_same(text, NULL, text, "re-fed.lr=0.1", 3));
}

static void test_without_boundaries_it_ranks_by_count(void **state)
{
    (void)state;
    one_client k;
    eg_sample cache[MOST] = {{0}};
    double ranked;
    one_client_open(&k, stream_text, "re-fed.every=50");
    /* 60 samples wait when stages 3, 6 and 9 begin; 20 new ones leave room for 40. */
    static const int64_t stages[] = {0, 0, 0, 3, 3, 3, 6, 6, 6, 9};
    for (int64_t round = 0; round < 10; round++) {
        int64_t n = round_and_cache(&k, 0, cache);
        assert_true(
            eg_bundle_scalar_of(one_client_kept(&k, "re_fed"), "re_fed.ranked", &ranked));
        assert_int_equal((int64_t)ranked, stages[round]);
        assert_int_equal(n, stages[round] ? 40 : 0);
        assert_int_equal(k.c->n_samples, n + 20);
        for (int64_t i = 0; i < n; i++) /* nothing of now or of those that still wait */
            for (int64_t s = stages[round]; s <= round; s++) {
                eg_sample all[20] = {{0}};
                one_client_samples(&k, s, 20, all);
                assert_false(holds(all, 20, cache[i]));
            }
    }
    one_client_close(&k);
}

/* Loads an experiment, and runs it if that can be done. */
static eg_status load_and_run(const char *text, const char *set, bool *loaded)
{
    char file[FILES_PATH * 2], path[512];
    eg_experiment *e;
    bool stopped;
    files_write(folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    eg_status s = eg_experiment_load(file, NULL, set ? 1 : 0, &set, &e);
    *loaded = s == EG_OK;
    if (!*loaded)
        return s;
    s = eg_experiment_run(e, &(eg_run_how){.out = folder}, path, &stopped);
    eg_experiment_free(e);
    return s;
}

static void test_what_cannot_work_is_refused_before_the_first_round(void **state)
{
    (void)state;
    bool loaded;
    assert_fails(load_and_run(stream_text, NULL, &loaded), EG_ENOTSUP,
                 "scenario 'async_count' does not announce that; set every: N");
    assert_true(loaded); /* the scenario is there only when it runs */
    /* 0.1 (1 - lambda) / (2 lambda) is 2 at lambda = 1/41. */
    assert_fails(load_and_run(base_text, "re-fed.lambda=0.0243", &loaded), EG_EINVAL,
                 "raise lambda above 0.0243902");
    assert_false(loaded);
    assert_fails(load_and_run(base_text, "re-fed.lr=4", &loaded), EG_EINVAL,
                 "lr 4 times q(lambda) = 0.5 is not below 2");
    assert_false(loaded);
    char hash[65];
    run_hash("re-fed", "re-fed.lambda=0.0245", 1, 0, hash);
}

static void test_numbers_beyond_what_floats_count_are_refused(void **state)
{
    (void)state;
    const eg_client_half *half = &eg_method_re_fed.client;
    const float beyond[] = {1, 16777216};
    hand_client h;
    eg_bundle *record, *down;
    hand_client_open(&h, &eg_method_re_fed, NULL, 0, NULL, NULL);
    assert_ok(eg_bundle_new(&record));
    assert_ok(eg_bundle_scalar(record, "re_fed.ranked", 0));
    assert_ok(eg_bundle_scalar(record, "re_fed.seen", 2));
    assert_ok(eg_bundle_add_flat(record, "re_fed.cache", beyond, 2));
    hand_client_keep(&h, "re_fed", record);
    assert_ok(eg_bundle_new(&down));
    assert_fails(half->download(h.self, h.c, EG_TRAINING, down), EG_EINVAL,
                 "not a whole number from 0 to 16777215");
    eg_bundle_free(down);
    hand_client_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_cache_has_the_room_that_new_samples_leave),
        cmocka_unit_test(test_a_memory_is_offered_no_sample_of_the_cache),
        cmocka_unit_test(test_what_fits_is_all_kept),
        cmocka_unit_test(test_more_new_samples_than_room_leave_no_cache_and_are_cut),
        cmocka_unit_test(test_the_cache_comes_from_what_was_not_cut),
        cmocka_unit_test(test_the_highest_scores_are_cached),
        cmocka_unit_test(test_a_client_ranks_at_the_model_that_the_last_task_left),
        cmocka_unit_test(test_it_is_noted_which_classes_crowd_the_cache),
        cmocka_unit_test(test_policies_and_pairs_repeat_share_work_and_resume),
        cmocka_unit_test(test_every_option_changes_a_result),
        cmocka_unit_test(test_the_personalised_model_follows_the_schedule),
        cmocka_unit_test(test_without_boundaries_it_ranks_by_count),
        cmocka_unit_test(test_what_cannot_work_is_refused_before_the_first_round),
        cmocka_unit_test(test_numbers_beyond_what_floats_count_are_refused),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
