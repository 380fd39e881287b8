/* team_threaded_test.c - members divide everything once, meet, and fail as one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/team.h"

#include <stdio.h>
#include <string.h>

enum { CELLS = 1000, JOBS = 300, MEETINGS = 5 };

/* Each round of meetings reads what all have written in the one before. */
typedef struct ring {
    int64_t cell[2][CELLS];
    int fails_at; /* the member that fails, and all behind it; -1: none */
} ring;

static eg_status ring_work(void *context, const eg_team_part *part)
{
    ring *r = context;
    eg_range own = eg_team_range(part, CELLS, 7);
    for (int k = 0; k < MEETINGS; k++) {
        const int64_t *from = r->cell[k % 2];
        int64_t *to = r->cell[(k + 1) % 2];
        for (int64_t i = own.from; i < own.to; i++)
            to[i] = from[(i + CELLS / 2) % CELLS] + 1;
        eg_team_meet(part);
    }
    return r->fails_at >= 0 && part->i >= r->fails_at
               ? eg_fail(EG_EIO, "member %d is broken", part->i)
               : EG_OK;
}

/* Many jobs on a team of n. */
static void check_meetings(int n)
{
    eg_team *t;
    static ring r;
    r = (ring){.fails_at = -1};
    assert_ok(eg_team_new(n, &t));
    assert_int_equal(eg_team_size(t), n);
    for (int j = 0; j < JOBS; j++) {
        int64_t wrong = 0;
        assert_ok(eg_team_run(t, ring_work, &r));
        for (int i = 0; i < CELLS; i++)
            wrong += r.cell[MEETINGS % 2][i] != MEETINGS;
        assert_int_equal(wrong, 0);
        memset(r.cell, 0, sizeof r.cell);
    }
    eg_team_free(t);
}

static void test_members_see_what_the_others_have_made(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 4, 8};
    for (int k = 0; k < 5; k++)
        check_meetings(sizes[k]);
}

/* The parts of so many units, in order, as equal as the grain allows. */
static void check_parts(int n, int64_t count, int64_t grain)
{
    int64_t at = 0, most = 0, least = count, wrong = 0;
    for (int i = 0; i < n; i++) {
        eg_range r = eg_team_range(&(eg_team_part){.i = i, .n = n}, count, grain);
        wrong += r.from != at || r.to < r.from || (r.to % grain && r.to != count);
        at = r.to;
        most = r.to - r.from > most ? r.to - r.from : most;
        least = r.to - r.from < least ? r.to - r.from : least;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(at, count);
    assert_true(most - least < 2 * grain);
}

static void test_parts_are_all_of_it_once(void **state)
{
    (void)state;
    for (int n = 1; n <= 9; n++)
        for (int64_t count = 0; count < 70; count++)
            for (int64_t grain = 1; grain < 20; grain += 6)
                check_parts(n, count, grain);
}

static void test_the_first_failure_is_the_callers(void **state)
{
    (void)state;
    eg_team *t;
    static ring r;
    assert_ok(eg_team_new(4, &t));
    for (int i = 0; i < 4; i++) {
        char want[32];
        r.fails_at = i;
        snprintf(want, sizeof want, "member %d is broken", i);
        assert_fails(eg_team_run(t, ring_work, &r), EG_EIO, want);
        r.fails_at = -1;
        assert_ok(eg_team_run(t, ring_work, &r));
    }
    eg_team_free(t);
}

static void test_a_thread_has_the_team_it_entered(void **state)
{
    (void)state;
    eg_team *t;
    assert_null(eg_team_here());
    assert_int_equal(eg_team_size(NULL), 1);
    assert_ok(eg_team_new(3, &t));
    eg_team_enter(t);
    assert_ptr_equal(eg_team_here(), t);
    eg_team_free(t); /* and nobody has it any more */
    assert_null(eg_team_here());
    eg_team_free(NULL);
    assert_true(eg_cores() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_see_what_the_others_have_made),
        cmocka_unit_test(test_parts_are_all_of_it_once),
        cmocka_unit_test(test_the_first_failure_is_the_callers),
        cmocka_unit_test(test_a_thread_has_the_team_it_entered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
