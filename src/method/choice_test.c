/* choice_test.c - ranks, reservoirs by their frequencies, herding against every possibility.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "method/choice.h"

#include <stdbool.h>

static void test_the_highest_come_first_and_equals_keep_their_order(void **state)
{
    (void)state;
    const double scores[] = {1, 3, 2, 3, -1};
    const int64_t want[] = {1, 3, 2, 0, 4};
    int64_t order[5];
    assert_ok(eg_choose_highest(scores, 5, order));
    assert_memory_equal(order, want, sizeof want);
}

/* Offers 6 samples, then 6 and 8 more; each of the 20 is kept 5/20 of the time. */
static void test_a_reservoir_keeps_all_samples_alike(void **state)
{
    (void)state;
    enum { TURNS = 20000, ALL = 20, ROOM = 5 };
    static const int64_t offers[] = {6, 6, 8};
    int64_t counts[ALL] = {0}, firsts[ALL] = {0};
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        int64_t held[ALL], n_held = 0, seen = 0, next = 0;
        eg_rng rng = eg_rng_at(5, turn, 0, EG_FOR_TEST);
        for (int k = 0; k < 3; k++) {
            int64_t names[ALL], order[ALL], n = n_held + offers[k];
            for (int64_t i = 0; i < n; i++)
                names[i] = i < n_held ? held[i] : next++;
            n_held = eg_choose_reservoir(&rng, n_held, seen, n, ROOM, order);
            seen += offers[k];
            assert_int_equal(n_held, ROOM);
            for (int64_t i = 0; i < n_held; i++)
                held[i] = names[order[i]];
        }
        for (int64_t i = 0; i < n_held; i++)
            counts[held[i]]++;
        firsts[held[0]]++;
    }
    for (int i = 0; i < ALL; i++) { /* five standard deviations */
        assert_near((double)counts[i] / TURNS, 0.25, 5 * sqrt(0.25 * 0.75 / TURNS));
        assert_near((double)firsts[i] / TURNS, 0.05, 5 * sqrt(0.05 * 0.95 / TURNS));
    }
}

static void test_a_reservoir_follows_its_room(void **state)
{
    (void)state;
    int64_t order[10];
    eg_rng rng = eg_rng_at(6, 0, 0, EG_FOR_TEST);
    assert_int_equal(eg_choose_reservoir(&rng, 0, 0, 4, 10, order), 4); /* all fit */
    assert_int_equal(eg_choose_reservoir(&rng, 4, 4, 10, 2, order), 2); /* it shrinks */
    assert_int_equal(eg_choose_reservoir(&rng, 2, 9, 5, 0, order), 0);
    assert_int_equal(eg_choose_reservoir(&rng, 2, 100, 6, 5, order), 5); /* and is filled */
}

/* Three samples in a plane, unit length at 0, 90 and 180 degrees: the mean is (0, 1/3). First
 * the one at 90 degrees, then either of the others (equally near: the first), then the last. */
static void test_herding_worked_by_hand(void **state)
{
    (void)state;
    float features[] = {2, 0, /**/ 0, 3, /**/ -5, 0};
    const float labels[] = {7, 7, 7};
    const int64_t want[] = {1, 0, 2};
    int64_t order[3];
    assert_ok(eg_choose_herding(features, labels, 3, 2, 3, order));
    assert_memory_equal(order, want, sizeof want);
    assert_near((double)features[4], -1, 1e-6); /* of length 1 now */
}

enum { ROWS = 30, DIM = 6 };

/* The distance from a class's mean to the mean of those chosen and one more. */
static double miss(float features[ROWS][DIM], const float *labels, const bool *chosen, int one)
{
    double sum = 0;
    for (int d = 0; d < DIM; d++) {
        double mean = 0, part = 0;
        int n = 0, k = 0;
        for (int i = 0; i < ROWS; i++) {
            if (labels[i] != labels[one])
                continue;
            mean += (double)features[i][d], n++;
            if (chosen[i] || i == one)
                part += (double)features[i][d], k++;
        }
        sum += (mean / n - part / k) * (mean / n - part / k);
    }
    return sum;
}

static void test_herding_takes_the_nearest_mean_each_time(void **state)
{
    (void)state;
    float features[ROWS][DIM], labels[ROWS];
    int64_t order[ROWS];
    bool chosen[ROWS] = {false};
    eg_rng rng = eg_rng_at(8, 0, 0, EG_FOR_TEST);
    for (int i = 0; i < ROWS; i++) {
        labels[i] = i < 4 ? 2 : (float)(i % 2 * 9); /* four of class 2, the rest of 0 and 9 */
        for (int d = 0; d < DIM; d++)
            features[i][d] = (float)eg_rng_normal(&rng);
    }
    assert_ok(eg_choose_herding(features[0], labels, ROWS, DIM, 20, order));
    for (int k = 0; k < 20; k++) {
        int taken = (int)order[k];
        /* Turns: 0, 2, 9 until class 2 is used up, then 0 and 9. */
        float turn = k < 12 ? (float[]){0, 2, 9}[k % 3] : (float[]){0, 9}[k % 2];
        assert_true(labels[taken] == turn && !chosen[taken]);
        for (int i = 0; i < ROWS; i++)
            if (!chosen[i] && labels[i] == turn)
                assert_true(miss(features, labels, chosen, taken) <=
                            miss(features, labels, chosen, i) + 1e-6);
        chosen[taken] = true;
    }
}

static void test_nothing_to_choose_from_is_fine(void **state)
{
    (void)state;
    assert_ok(eg_choose_highest(NULL, 0, NULL));
    assert_ok(eg_choose_herding(NULL, NULL, 0, 4, 3, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_highest_come_first_and_equals_keep_their_order),
        cmocka_unit_test(test_a_reservoir_keeps_all_samples_alike),
        cmocka_unit_test(test_a_reservoir_follows_its_room),
        cmocka_unit_test(test_herding_worked_by_hand),
        cmocka_unit_test(test_herding_takes_the_nearest_mean_each_time),
        cmocka_unit_test(test_nothing_to_choose_from_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
