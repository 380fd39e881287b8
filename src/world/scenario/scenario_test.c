/* scenario_test.c - digests of published scenarios, offers, test sets, warps, bad settings.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"
#include "world/scenario/fixture.h"
#include "world/scenario/scenario.h"

#include <stdio.h>

static void assert_pins(const char *folder, int step)
{
    char path[256], name[128], want[65], got[65];
    snprintf(path, sizeof path, "%s/digests.txt", folder);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int i = 0; fscanf(f, "%64s %127s", want, name) == 2; i++) {
        eg_labels l[8];
        size_t n;
        if (i % step != 0)
            continue;
        eg_scenario *s = fixture_file(folder, name, 0, l, &n);
        assert_ok(eg_scenario_digest(s, got));
        if (strcmp(got, want) != 0)
            fail_msg("%s: %s, pinned is %s", name, got, want);
        eg_scenario_free(s);
        fixture_free_labels(l, n);
    }
    fclose(f);
}

static void test_files_have_their_pinned_digests(void **state)
{
    (void)state;
    assert_pins("tests/scenarios", 1);
    assert_pins("experiments/scenarios", 7); /* a slow test looks at every one */
}

static void digest_of(const char *words, uint64_t seed, const eg_labels *l, char out[65])
{
    eg_scenario *s;
    assert_ok(fixture_new(words, seed, l, &s));
    assert_ok(eg_scenario_digest(s, out));
    eg_scenario_free(s);
}

static void test_streams_repeat_for_a_seed_and_differ_for_another(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(20, 100, 5);
    char words[64], first[65], again[65], other[65];
    for (const eg_kind *const *k = eg_kinds; *k; k++) {
        snprintf(words, sizeof words, "kind=%s clients=5%s", (*k)->component.name,
                 strcmp((*k)->component.name, "realtime") == 0 ? " samples=10"
                 : strcmp((*k)->component.name, "stream") == 0
                     ? " partition=iid" /* else none */
                     : "");
        digest_of(words, 0, &l, first);
        digest_of(words, 0, &l, again);
        digest_of(words, 1, &l, other);
        assert_string_equal(first, again);
        assert_string_not_equal(first, other);
    }
    eg_labels_free(&l);
}

static void set_row(void *to, const char *name, const char *value)
{
    assert_ok(eg_spec_set(to, name, value));
}

static void add_row(void *to, const char *name, const char *value)
{
    char *text = to;
    snprintf(text + strlen(text), 2048 - strlen(text), "%s=%s ", name, value);
}

static void test_a_description_can_be_written_out_and_set_again(void **state)
{
    (void)state;
    eg_spec *a, *b;
    char first[2048] = "", second[2048] = "";
    assert_ok(eg_spec_new(&a));
    assert_ok(eg_spec_new(&b));
    assert_ok(eg_spec_set(a, "kind", "class-incremental"));
    assert_ok(eg_spec_set(a, "order", "own"));
    assert_ok(eg_spec_set(a, "participation", "0.1"));
    assert_ok(eg_spec_set(a, "partition", "power-law"));
    assert_ok(eg_spec_set(a, "partition.alpha", "0.3"));
    eg_spec_each(a, set_row, b);
    eg_spec_each(a, add_row, first);
    eg_spec_each(b, add_row, second);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "kind=class_incremental "));
    assert_non_null(strstr(first, " order=own "));
    assert_non_null(strstr(first, " partition.alpha=0.3 "));
    eg_spec_free(a);
    eg_spec_free(b);
}

static void test_no_option_of_a_kind_is_called_like_one_of_all(void **state)
{
    (void)state;
    const eg_component *c;
    for (size_t i = 0; (c = eg_family_at(&eg_kind_family, i)); i++)
        for (const eg_opt *o = c->opts; o && o->name; o++)
            assert_null(eg_opts_find(eg_scenario_opts(), o->name));
}

static void test_what_a_scenario_does_not_offer_is_refused_in_words(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 50, 1);
    eg_scenario *s;
    assert_ok(fixture_new("kind=realtime clients=2 samples=5", 0, &l, &s));
    assert_fails(eg_scenario_require(s, "icarl", EG_OFFERS_BOUNDARIES), EG_ENOTSUP,
                 "icarl needs task boundaries; scenario 'realtime' does not announce them");
    eg_scenario_free(s);
    assert_ok(fixture_new("kind=class_incremental tasks=5 clients=2", 0, &l, &s));
    assert_ok(eg_scenario_require(s, "icarl", EG_OFFERS_BOUNDARIES | EG_OFFERS_TASK_IDS));
    assert_fails(eg_scenario_require(s, "x", EG_OFFERS_TEST_TASKS), EG_ENOTSUP, "at test time");
    eg_scenario_free(s);
    assert_ok(
        fixture_new("kind=class_incremental tasks=5 clients=2 announce=false", 0, &l, &s));
    assert_fails(eg_scenario_require(s, "x", EG_OFFERS_TASK_IDS), EG_ENOTSUP, "task ids");
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_test_sets_hold_the_classes_of_their_task(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 50, 1);
    eg_scenario *s;
    int64_t ids[100], seen[100] = {0};
    assert_ok(fixture_new("kind=class_incremental tasks=5 clients=2", 0, &l, &s));
    for (int64_t t = 0; t < 5; t++) {
        assert_int_equal(eg_scenario_test(s, EG_SERVER, t, ids), 20);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(l.test[ids[i]] / 2, t);
            assert_int_equal(seen[ids[i]]++, 0);
        }
    }
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_seeds_may_share_their_angles(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 50, 1);
    eg_scenario *own, *shared;
    assert_ok(fixture_new("kind=domain_rotation tasks=4 clients=2", 5, &l, &own));
    assert_ok(fixture_new("kind=domain_rotation tasks=4 clients=2 angles=5", 1, &l, &shared));
    for (int64_t t = 0; t < 4; t++)
        assert_near(eg_scenario_task(shared, t)->angle, eg_scenario_task(own, t)->angle, 0);
    eg_scenario_free(own);
    eg_scenario_free(shared);
    eg_labels_free(&l);
}

static void test_angles_may_be_given_for_every_seed(void **state)
{
    (void)state;
    const double want[2][3] = {{35.5, 0, 90}, {-171, 1e1, 360}};
    eg_labels l = fixture_labels(10, 50, 1);
    eg_scenario *s;
    for (uint64_t seed = 0; seed < 5; seed++) {
        assert_ok(fixture_new("kind=domain_rotation tasks=3 turns=35.5,0,90;-171,1e1,360", seed,
                              &l, &s));
        for (int64_t t = 0; t < 3; t++)
            assert_near(eg_scenario_task(s, t)->angle, want[seed % 2][t], 0);
        eg_scenario_free(s);
    }
    assert_fails(fixture_new("kind=domain_rotation tasks=3 turns=1,2,3;1,2", 1, &l, &s),
                 EG_EINVAL, "turns: 2 angles for seed 1, but 3 tasks");
    assert_fails(fixture_new("kind=domain_rotation tasks=2 turns=1,2,3", 0, &l, &s), EG_EINVAL,
                 "turns: 3 angles for seed 0, but 2 tasks");
    assert_fails(fixture_new("kind=domain_rotation tasks=2 turns=1,2;", 1, &l, &s), EG_EINVAL,
                 "turns: 0 angles for seed 1, but 2 tasks");
    assert_fails(fixture_new("kind=domain_rotation tasks=2 turns=1,left", 0, &l, &s), EG_EINVAL,
                 "turns: 'left' is no angle from -360 to 360");
    assert_fails(fixture_new("kind=domain_rotation tasks=2 turns=nan,361", 0, &l, &s),
                 EG_EINVAL, "turns: 'nan' is no angle from -360 to 360");
    eg_labels_free(&l);
}

/* Whether two scenarios give client c the same samples in its stage. */
static bool same_stage(const eg_scenario *a, const eg_scenario *b, int64_t c, int64_t stage)
{
    int64_t n, m;
    const eg_span *x = eg_scenario_spans(a, c, stage, &n);
    const eg_span *y = eg_scenario_spans(b, c, stage, &m);
    bool same = n == m;
    for (int64_t k = 0; k < n && same; k++)
        same = x[k].task == y[k].task && x[k].n == y[k].n &&
               memcmp(x[k].ids, y[k].ids, (size_t)x[k].n * sizeof *x[k].ids) == 0;
    return same;
}

/* How many of the first rounds choose the same clients. */
static int64_t same_rounds(const eg_scenario *a, const eg_scenario *b, int64_t rounds)
{
    eg_cursor *x, *y;
    int64_t same = 0, n, m;
    assert_ok(eg_cursor_new(a, &x));
    assert_ok(eg_cursor_new(b, &y));
    for (int64_t r = 0; r < rounds; r++, eg_cursor_next(x, NULL), eg_cursor_next(y, NULL)) {
        const int32_t *chosen = eg_cursor_selected(x, &n), *others = eg_cursor_selected(y, &m);
        same += n == m && memcmp(chosen, others, (size_t)n * sizeof *chosen) == 0;
    }
    eg_cursor_free(x);
    eg_cursor_free(y);
    return same;
}

static void test_seeds_may_share_their_split_but_not_who_takes_part(void **state)
{
    (void)state;
    static const char words[] = "kind=class_incremental tasks=2 clients=8 rounds=20 "
                                "class_order=shuffled partition=dirichlet per_round=3";
    char with[256];
    eg_labels l = fixture_labels(10, 50, 1);
    eg_scenario *own, *other, *shared;
    snprintf(with, sizeof with, "%s seed=5", words);
    assert_ok(fixture_new(words, 5, &l, &own));
    assert_ok(fixture_new(words, 1, &l, &other));
    assert_ok(fixture_new(with, 1, &l, &shared));
    for (int64_t c = 0; c < 8; c++)
        for (int64_t stage = 0; stage < 2; stage++) {
            assert_true(same_stage(own, shared, c, stage));
            assert_false(same_stage(other, shared, c, stage));
        }
    assert_int_equal(same_rounds(other, shared, 40), 40);
    assert_true(same_rounds(own, shared, 40) < 10);
    eg_scenario_free(own);
    eg_scenario_free(other);
    eg_scenario_free(shared);
    eg_labels_free(&l);
}

static void test_warps_are_drawn_for_each_task(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 50, 1);
    eg_scenario *s;
    assert_ok(fixture_new("kind=domain_rotation tasks=4 clients=2", 0, &l, &s));
    for (int64_t t = 0; t < 4; t++) {
        const eg_task *task = eg_scenario_task(s, t);
        assert_true(task->warp == EG_WARP_ROTATE && task->angle >= 0 && task->angle < 180);
        assert_true(t == 0 || task->angle != task[-1].angle);
        assert_int_equal(task->n_classes, 10);
    }
    eg_scenario_free(s);
    assert_ok(
        fixture_new("kind=domain_permutation tasks=4 clients=2 first_plain=true", 0, &l, &s));
    assert_int_equal(eg_scenario_task(s, 0)->warp, EG_WARP_NONE);
    int64_t order[784], seen[784] = {0}, moved = 0;
    eg_task_permutation(eg_scenario_task(s, 1), 784, order);
    for (int i = 0; i < 784; i++) {
        assert_int_equal(seen[order[i]]++, 0);
        moved += order[i] != i;
    }
    assert_true(moved > 700);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_bad_settings_and_labels_are_one_sentence(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 50, 1), bad = l, none = {.classes = 3};
    int32_t wild[] = {0, 10};
    bad.n_train = 2;
    bad.train = wild;
    eg_scenario *s;
    assert_fails(fixture_new("kind=nothing", 0, &l, &s), EG_ENOENT, "no scenario 'nothing'");
    assert_fails(fixture_new("clients=3", 0, &l, &s), EG_EINVAL, "kind: it must be set before");
    assert_fails(fixture_new("kind=realtime tasks=3", 0, &l, &s), EG_ENOENT,
                 "scenario 'realtime' has no option 'tasks'");
    assert_fails(fixture_new("kind=realtime partition=x", 0, &l, &s), EG_ENOENT,
                 "partitioner 'x'");
    assert_fails(fixture_new("kind=realtime clients=0", 0, &l, &s), EG_EINVAL, "outside [1, ");
    assert_fails(fixture_new("kind=realtime", 0, &bad, &s), EG_EINVAL, "label 10 of training");
    assert_fails(fixture_new("kind=realtime", 0, &none, &s), EG_EINVAL, "no training samples");
    eg_labels_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_have_their_pinned_digests),
        cmocka_unit_test(test_streams_repeat_for_a_seed_and_differ_for_another),
        cmocka_unit_test(test_a_description_can_be_written_out_and_set_again),
        cmocka_unit_test(test_no_option_of_a_kind_is_called_like_one_of_all),
        cmocka_unit_test(test_what_a_scenario_does_not_offer_is_refused_in_words),
        cmocka_unit_test(test_test_sets_hold_the_classes_of_their_task),
        cmocka_unit_test(test_warps_are_drawn_for_each_task),
        cmocka_unit_test(test_seeds_may_share_their_angles),
        cmocka_unit_test(test_angles_may_be_given_for_every_seed),
        cmocka_unit_test(test_seeds_may_share_their_split_but_not_who_takes_part),
        cmocka_unit_test(test_bad_settings_and_labels_are_one_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
