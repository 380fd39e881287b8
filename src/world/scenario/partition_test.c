/* partition_test.c - splits are disjoint and complete over many seeds, and follow their laws.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"
#include "world/scenario/fixture.h"
#include "world/scenario/scenario.h"

enum { SEEDS = 20 };

static void assert_proven(const char *words, const eg_labels *l, bool disjoint, bool complete)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        eg_scenario *s;
        eg_proof p;
        assert_ok(fixture_new(words, seed, l, &s));
        assert_ok(eg_scenario_prove(s, &p));
        assert_int_equal(p.strays, 0);
        assert_int_equal(p.twice, 0);
        assert_int_equal(p.mislabelled, 0);
        assert_int_equal(p.samples, l->n_train);
        assert_int_equal(p.held + p.lost + p.outside, p.samples);
        if (disjoint)
            assert_int_equal(p.shared, 0);
        if (complete)
            assert_int_equal(p.held, l->n_train);
        eg_scenario_free(s);
    }
}

static void test_splits_are_disjoint_and_complete(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 203, 7);
    const char *const splits[] = {"iid", "shards", "dirichlet", "power_law"};
    const char *const kinds[] = {
        "kind=class_incremental tasks=5 clients=8 partition=",
        "kind=class_incremental tasks=5 clients=8 class_order=shuffled order=own partition=",
        "kind=domain_rotation tasks=3 clients=8 partition=",
        "kind=domain_permutation tasks=3 clients=8 resplit=true partition=",
        "kind=async_count tasks=5 clients=8 take=70 partition=",
        "kind=async_schedule tasks=5 clients=8 rounds=100 partition="};
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            char words[256];
            strcpy(words, kinds[k]);
            strcat(words, splits[i]);
            assert_proven(words, &l, !strstr(words, "resplit"), true);
        }
    assert_proven("kind=class_incremental tasks=5 clients=7 partition=group", &l, true, true);
    assert_proven("kind=class_incremental tasks=5 clients=4 partition=group", &l, true, false);
    assert_proven("kind=class_incremental tasks=5 clients=6 partition=parts", &l, true, true);
    assert_proven("kind=class_incremental tasks=3 clients=6 partition=parts", &l, true, false);
    assert_proven("kind=realtime clients=6 samples=10 path=gradual", &l, false, true);
    assert_proven("kind=class_incremental tasks=5 clients=3 join=2 partition=iid", &l, true,
                  true);
    eg_labels_free(&l);
}

/* With one class there is no balancing: shares of n clients are Dirichlet(a, ..., a), each of
 * mean 1/n and variance (1/n)(1 - 1/n)/(n a + 1). */
static double mean_square_share(const char *words, const eg_labels *l, uint64_t draws)
{
    double squares = 0;
    for (uint64_t seed = 0; seed < draws; seed++) {
        eg_scenario *s;
        assert_ok(fixture_new(words, seed, l, &s));
        for (int64_t c = 0; c < 10; c++) {
            double gap = (double)eg_build_part(s, c, 0)->n / (double)l->n_train - 0.1;
            squares += gap * gap / (10 * (double)draws);
        }
        eg_scenario_free(s);
    }
    return squares;
}

static void test_dirichlet_shares_have_their_moments(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(1, 4000, 1);
    const char *const alphas[] = {"0.3", "3", "30"};
    for (int k = 0; k < 3; k++) {
        char words[256] =
            "kind=class_incremental tasks=1 clients=10 partition.min=0 partition.alpha=";
        strcat(words, alphas[k]);
        double variance = 0.1 * 0.9 / (10 * strtod(alphas[k], NULL) + 1);
        assert_near(mean_square_share(words, &l, 500), variance, 0.1 * variance);
    }
    eg_labels_free(&l);
}

/* U^(1/3) has mean 3/4 and second moment 3/5: squared coefficient of variation 1/15. */
static void test_power_law_sizes_have_their_spread(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(100, 2000, 1);
    double sum = 0, squares = 0;
    eg_scenario *s;
    assert_ok(fixture_new("kind=async_schedule clients=1000 tasks=10", 3, &l, &s));
    for (int64_t c = 0; c < 1000; c++) {
        double n = 0;
        for (int64_t t = 0; t < 10; t++)
            n += (double)eg_build_part(s, c, t)->n;
        sum += n / 1000;
        squares += n * n / 1000;
    }
    assert_near(sum, 200, 1e-9);
    assert_near(squares / (sum * sum) - 1, 1.0 / 15, 0.01);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_shards_hold_few_classes_of_equal_size(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 600, 1);
    eg_scenario *s;
    assert_ok(fixture_new("kind=domain_rotation clients=10", 5, &l, &s));
    for (int64_t c = 0; s && c < 10; c++) {
        int seen[10] = {0}, n = 0;
        const eg_holding *p = eg_build_part(s, c, 0);
        assert_int_equal(p->n, 600);
        for (int64_t i = 0; i < p->n; i++)
            n += seen[l.train[s->ids[p->first + i]]]++ == 0;
        assert_true(n <= 2); /* shards of 300 fit into classes of 600 */
        for (int64_t t = 0; t < 10; t++)
            assert_ptr_equal(eg_build_part(s, c, t), p); /* the same samples in each task */
    }
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_parts_give_every_client_new_classes_each_task(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(26, 100, 1);
    eg_scenario *s;
    assert_ok(
        fixture_new("kind=class_incremental clients=5 tasks=5 partition=parts", 1, &l, &s));
    for (int64_t c = 0; c < 5; c++) {
        int seen[26] = {0};
        for (int64_t t = 0; t < 5; t++) {
            const int32_t *classes;
            assert_int_equal(eg_scenario_classes(s, c, t, &classes), 2);
            assert_int_equal(eg_build_part(s, c, t)->n, 40);
            for (int k = 0; k < 2; k++)
                assert_int_equal(seen[classes[k]]++, 0);
        }
    }
    eg_scenario_free(s);
    eg_labels_free(&l);
}

/* Ten thousand draws of ten thousand clients would take a minute. */
static void test_a_hopeless_draw_is_given_up_at_once(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 20000, 7);
    eg_scenario *s;
    double start = eg_seconds();
    assert_fails(
        fixture_new("kind=class_incremental tasks=1 clients=10000 partition.min=10", 0, &l, &s),
        EG_EINVAL, "of the 10000 clients of task 0 have fewer than 10 samples in every");
    assert_true(eg_seconds() - start < 20);
    eg_labels_free(&l);
}

static void test_a_split_that_cannot_be_met_names_the_setting(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 20, 7), nobody = l;
    nobody.group = NULL;
    eg_scenario *s;
    const char *ci = "kind=class_incremental tasks=5 clients=8 ";
    char words[256];
#define REFUSED(labels, rest, text)                                                            \
    do {                                                                                       \
        strcpy(words, ci);                                                                     \
        strcat(words, rest);                                                                   \
        assert_fails(fixture_new(words, 0, labels, &s), EG_EINVAL, text);                      \
        assert_null(s);                                                                        \
    } while (0)
    REFUSED(&l, "partition.min=6", "partition.min: task 0 has 40 samples, 8 clients");
    REFUSED(&l, "partition.min=5 partition.tries=3",
            "partition.min: in 3 draws with alpha 0.3");
    REFUSED(&l, "partition=shards partition.shards=9", "partition.shards: 8 clients");
    REFUSED(&l, "partition=parts partition.classes=3", "partition.classes: 5 tasks of 3");
    REFUSED(&l, "partition=parts partition.parts=2", "partition.parts: class");
    REFUSED(&l, "partition=types", "partition 'types' belongs to scenario 'realtime'");
    REFUSED(&l, "partition=group", "clients: the data has 7 owners");
    REFUSED(&nobody, "partition=group", "does not say who owns");
    REFUSED(&l, "partition=power_law join=1", "join: partition 'power_law'");
    REFUSED(&l, "tasks=3", "tasks: 10 classes do not divide into 3 tasks");
    REFUSED(&l, "per_round=9", "per_round: 9 of 8 clients");
    ci = "kind=realtime clients=2 ";
    REFUSED(&l, "samples=11", "samples: the smallest class has 20");
    REFUSED(&l, "samples=10 rounds=100", "samples: class");
    REFUSED(&l, "samples=2 join=1", "join: scenario 'realtime' has no common task boundaries");
#undef REFUSED
    eg_labels_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_splits_are_disjoint_and_complete),
        cmocka_unit_test(test_dirichlet_shares_have_their_moments),
        cmocka_unit_test(test_power_law_sizes_have_their_spread),
        cmocka_unit_test(test_shards_hold_few_classes_of_equal_size),
        cmocka_unit_test(test_parts_give_every_client_new_classes_each_task),
        cmocka_unit_test(test_a_hopeless_draw_is_given_up_at_once),
        cmocka_unit_test(test_a_split_that_cannot_be_met_names_the_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
