/* memory_test.c - what each kind of memory keeps of many streams, and what draws give back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include <engram/memory.h>

#include "base/base.h"

enum { SIZE = 10, STREAM = 50, STREAMS = 20000 };

/* Offers rows 0 .. n-1 (x = {i, -i}, label = i) to an empty memory, `batch` at a time. */
static void offer(eg_memory *m, int64_t n, int64_t batch, eg_rng *rng)
{
    float x[2 * STREAM], labels[STREAM];
    for (int64_t i = 0; i < n; i++)
        x[2 * i] = labels[i] = (float)i, x[2 * i + 1] = -(float)i;
    for (int64_t at = 0; at < n; at += batch)
        eg_memory_push(m,
                       &(eg_memory_rows){.n = n - at < batch ? n - at : batch,
                                         .x = x + 2 * at,
                                         .labels = labels + at},
                       rng);
}

static eg_memory *memory_of(eg_memory_kind kind)
{
    eg_memory *m;
    assert_ok(eg_memory_new(kind, SIZE, (eg_memory_row){2, 1, 0}, &m));
    return m;
}

/* Counts rows by their labels; x must have stayed with its label. */
static void count_rows(const eg_memory_rows *rows, int64_t *count)
{
    for (int64_t i = 0; i < rows->n; i++) {
        count[(int64_t)rows->labels[i]]++;
        assert_true(rows->x[2 * i] == rows->labels[i]);
        assert_true(rows->x[2 * i + 1] == -rows->labels[i]);
    }
}

/* How often each of STREAM rows is kept, and is in each place, over many streams. */
static void count_kept(eg_memory_kind kind, int64_t kept[STREAM], int64_t first_place[STREAM])
{
    eg_memory *m = memory_of(kind);
    for (uint32_t s = 0; s < STREAMS; s++) {
        eg_rng rng = eg_rng_at(11, s, 0, EG_FOR_TEST);
        assert_ok(eg_memory_set(m, &(eg_memory_rows){.n = 0}));
        offer(m, STREAM, 7, &rng);
        eg_memory_rows rows = eg_memory_get(m);
        assert_int_equal(rows.n, SIZE);
        assert_int_equal(rows.seen, STREAM);
        count_rows(&rows, kept);
        first_place[(int64_t)rows.labels[0]]++;
    }
    eg_memory_free(m);
}

/* Chi-square of counts against expected ones; each kept row is 0 or 1 in a stream, so the
 * variance of a count is that of STREAMS coins, and the sum over all is fixed. */
static double chi_square(const int64_t kept[STREAM], const double p[STREAM])
{
    double sum = 0;
    for (int i = 0; i < STREAM; i++) {
        double gap = (double)kept[i] - STREAMS * p[i];
        sum += gap * gap / (STREAMS * p[i] * (1 - p[i]));
    }
    return sum;
}

/* 99.9 % of chi-square with 49 degrees of freedom is 85.4. The counts of one stream depend on
 * each other a little (their sum is SIZE), which for equal p makes the statistic STREAM /
 * (STREAM - 1) times a chi-square. */
static void test_a_reservoir_keeps_every_row_alike(void **state)
{
    (void)state;
    int64_t kept[STREAM] = {0}, first[STREAM] = {0};
    double p[STREAM], one[STREAM];
    count_kept(EG_MEMORY_RESERVOIR, kept, first);
    for (int i = 0; i < STREAM; i++)
        p[i] = (double)SIZE / STREAM;
    assert_true(chi_square(kept, p) < 85.4 * STREAM / (STREAM - 1));
    assert_true(chi_square(kept, p) > 20); /* drawn, not dealt: 99.99 % are above */
    /* Row 0 begins in place 0, and rows 1 to 9 never come there. A later row i takes it with
     * chance 1/(i+1), and each row j after that spares it with chance j/(j+1). */
    for (int i = 0; i < STREAM; i++)
        one[i] = i == 0 ? (double)SIZE / STREAM : i < SIZE ? 0 : 1.0 / STREAM;
    for (int i = 0; i < STREAM; i++)
        assert_near((double)first[i] / STREAMS, one[i],
                    5 * sqrt(one[i] * (1 - one[i]) / STREAMS));
}

static void test_a_window_keeps_the_newest(void **state)
{
    (void)state;
    eg_memory *m = memory_of(EG_MEMORY_WINDOW);
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    bool there[STREAM] = {false};
    offer(m, 37, 7, &rng);
    eg_memory_rows rows = eg_memory_get(m);
    for (int64_t i = 0; i < rows.n; i++)
        there[(int64_t)rows.labels[i]] = true;
    for (int i = 0; i < STREAM; i++)
        assert_int_equal(there[i], i >= 27 && i < 37);
    eg_memory_free(m);
}

/* Every row after the first SIZE comes in; one that is in is spared by each later one with
 * chance 1 - 1/SIZE. */
static void test_random_replacement_forgets_by_halves(void **state)
{
    (void)state;
    int64_t kept[STREAM] = {0}, first[STREAM] = {0};
    count_kept(EG_MEMORY_RANDOM, kept, first);
    assert_int_equal(kept[STREAM - 1], STREAMS);
    for (int i = 0; i < STREAM - 1; i++) {
        double p = pow(1 - 1.0 / SIZE, STREAM - (i < SIZE ? SIZE : i + 1));
        assert_near((double)kept[i] / STREAMS, p, 5 * sqrt(p * (1 - p) / STREAMS));
    }
}

static void test_draws_give_different_rows_all_alike(void **state)
{
    (void)state;
    eg_memory *m = memory_of(EG_MEMORY_WINDOW);
    eg_rng rng = eg_rng_at(2, 0, 0, EG_FOR_TEST);
    int64_t count[SIZE] = {0};
    offer(m, SIZE, 3, &rng);
    for (int s = 0; s < STREAMS; s++) {
        float x[8], labels[4];
        int64_t twice[SIZE] = {0};
        const eg_memory_rows to = {.n = 4, .x = x, .labels = labels};
        assert_int_equal(eg_memory_draw(m, &rng, &to), 4);
        count_rows(&to, count);
        count_rows(&to, twice);
        for (int i = 0; i < SIZE; i++)
            assert_true(twice[i] < 2);
    }
    for (int i = 0; i < SIZE; i++)
        assert_near((double)count[i] / STREAMS, 0.4, 5 * sqrt(0.24 / STREAMS));
    eg_memory_free(m);
}

static void test_a_draw_of_more_than_there_is_gives_all(void **state)
{
    (void)state;
    eg_memory *m = memory_of(EG_MEMORY_RESERVOIR);
    eg_rng rng = eg_rng_at(3, 0, 0, EG_FOR_TEST);
    float x[2 * STREAM], labels[STREAM], sum = 0;
    const eg_memory_rows to = {.n = STREAM, .x = x, .labels = labels};
    assert_int_equal(eg_memory_draw(m, &rng, &to), 0);
    offer(m, 6, 6, &rng);
    assert_int_equal(eg_memory_filled(m), 6);
    assert_int_equal(eg_memory_draw(m, &rng, &to), 6);
    for (int i = 0; i < 6; i++)
        sum += labels[i];
    assert_near((double)sum, 15, 0);
    eg_memory_free(m);
}

/* A memory kept and put back goes on as if nothing had been. */
static void test_a_memory_put_back_goes_on(void **state)
{
    (void)state;
    eg_memory *a = memory_of(EG_MEMORY_RESERVOIR), *b = memory_of(EG_MEMORY_RESERVOIR);
    eg_rng rng = eg_rng_at(4, 0, 0, EG_FOR_TEST), again;
    offer(a, 30, 7, &rng);
    eg_memory_rows rows = eg_memory_get(a);
    assert_ok(eg_memory_set(b, &rows));
    again = rng;
    offer(a, STREAM, 7, &rng);
    offer(b, STREAM, 7, &again);
    assert_int_equal(eg_memory_get(b).seen, 30 + STREAM);
    assert_memory_equal(eg_memory_get(a).labels, eg_memory_get(b).labels, SIZE * sizeof(float));
    assert_fails(eg_memory_set(b, &(eg_memory_rows){.n = SIZE + 1, .seen = SIZE + 1}),
                 EG_ESHAPE, "do not fit");
    eg_memory_free(a);
    eg_memory_free(b);
}

/* Targets of three numbers, each 10 times its row's and more, stay with their rows. */
static void test_wide_targets_stay_with_their_rows(void **state)
{
    (void)state;
    eg_memory *m, *again;
    float x[5], targets[15], drawn_x[3], drawn[9];
    for (int i = 0; i < 15; i++) {
        int row = i / 3;
        x[row] = (float)row, targets[i] = (float)(10 * row + i % 3);
    }
    eg_rng rng = eg_rng_at(5, 0, 0, EG_FOR_TEST);
    assert_ok(eg_memory_new(EG_MEMORY_RESERVOIR, 4, (eg_memory_row){1, 3, 0}, &m));
    assert_ok(eg_memory_new(EG_MEMORY_WINDOW, 4, (eg_memory_row){1, 3, 0}, &again));
    eg_memory_push(m, &(eg_memory_rows){.n = 5, .x = x, .labels = targets}, &rng);
    eg_memory_rows rows = eg_memory_get(m);
    assert_ok(eg_memory_set(again, &rows));
    int64_t n =
        eg_memory_draw(again, &rng, &(eg_memory_rows){.n = 3, .x = drawn_x, .labels = drawn});
    assert_int_equal(n, 3);
    for (int i = 0; i < 9; i++)
        assert_near((double)drawn[i], 10 * (double)drawn_x[i / 3] + i % 3, 0);
    eg_memory_free(m);
    eg_memory_free(again);
}

/* Of 0, 1 and 5 the mean is 2. Nearest to it is 1; of (1 + 0) / 2 and (1 + 5) / 2 the second; 0
 * is left. Of two rows that are as good the first. */
static void test_herding_keeps_the_mean_by_hand(void **state)
{
    (void)state;
    const float line[] = {0, 1, 5}, same[] = {3, 4, 3, 4};
    int64_t picked[3];
    assert_ok(eg_herd(line, 3, 1, 3, picked));
    assert_int_equal(picked[0], 1);
    assert_int_equal(picked[1], 2);
    assert_int_equal(picked[2], 0);
    assert_ok(eg_herd(same, 2, 2, 1, picked));
    assert_int_equal(picked[0], 0);
}

/* Two classes of one stage, five rows each; then another stage, whose class 1 is a group of its
 * own behind that of the first. Features are the rows' first values. */
static void test_a_memory_of_exemplars_makes_room_for_new_groups(void **state)
{
    (void)state;
    eg_memory *m = memory_of(EG_MEMORY_RESERVOIR);
    float x[2 * 10], labels[10], features[10];
    for (int i = 0; i < 10; i++) {
        x[2 * i] = features[i] = (float)(i < 8 ? i : 4 * i);
        x[2 * i + 1] = -x[2 * i];
        labels[i] = (float)(i % 2);
    }
    eg_memory_rows rows = {.n = 10, .sample = 2, .x = x, .labels = labels};
    assert_ok(eg_memory_herd(m, &rows, features, 1));
    /* Of 0 2 4 6 32 the mean is 8.8. Nearest is 6, then (6 + 4) / 2 = 5, then (10 + 2) / 3 = 4
     * before (10 + 32) / 3 = 14, then (12 + 32) / 4 = 11. */
    const double first[] = {6, 4, 2, 32, 0};
    for (int i = 0; i < 5; i++) {
        assert_near((double)eg_memory_get(m).x[2 * i], first[i], 0);
        assert_near((double)eg_memory_get(m).labels[i], 0, 0);
        assert_near((double)eg_memory_get(m).labels[5 + i], 1, 0);
    }
    rows.n = 3, rows.x = x + 2, rows.labels = (float[]){1, 1, 1};
    assert_ok(eg_memory_herd(m, &rows, features + 1, 1)); /* three groups of three */
    const eg_memory_rows now = eg_memory_get(m);
    assert_int_equal(now.n, 9);
    assert_int_equal(now.seen, 13);
    for (int i = 0; i < 9; i++)
        assert_near((double)now.labels[i], i < 3 ? 0 : 1, 0);
    for (int i = 0; i < 3; i++)
        assert_near((double)now.x[2 * i], first[i], 0);
    assert_near((double)now.x[2 * 6], 2, 0); /* of 1, 2 and 3 */
    eg_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reservoir_keeps_every_row_alike),
        cmocka_unit_test(test_a_window_keeps_the_newest),
        cmocka_unit_test(test_random_replacement_forgets_by_halves),
        cmocka_unit_test(test_draws_give_different_rows_all_alike),
        cmocka_unit_test(test_a_draw_of_more_than_there_is_gives_all),
        cmocka_unit_test(test_a_memory_put_back_goes_on),
        cmocka_unit_test(test_wide_targets_stay_with_their_rows),
        cmocka_unit_test(test_herding_keeps_the_mean_by_hand),
        cmocka_unit_test(test_a_memory_of_exemplars_makes_room_for_new_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
