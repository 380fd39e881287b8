/* events_test.c - events read back, and the records they make.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "log/events.h"

#include <stdio.h>

#define START "{\"event\":\"start\",\"clients\":3,\"tasks\":2}\n"
#define EVAL(round, who, end, full, acc, n)                                                    \
    "{\"event\":\"eval\",\"round\":" round ",\"who\":" who ",\"task_end\":" end                \
    ",\"full\":" full ",\"accuracy\":" acc ",\"accuracy_task_il\":null,\"n\":" n "}\n"

static eg_events *events(const char *text)
{
    eg_events *e;
    assert_ok(eg_events_parse(text, strlen(text), &e));
    return e;
}

static void test_events_are_walked_by_kind(void **state)
{
    (void)state;
    eg_events *e =
        events(START "{\"event\":\"round\",\"round\":1}\n{\"event\":\"round\",\"round\":2}\n"
                     "{\"event\":\"end\"}\n{\"event\":\"half");
    size_t at = 0;
    int64_t round;
    assert_int_equal(eg_events_n(e), 4);
    assert_non_null(eg_events_next(e, "round", &at));
    const eg_json *second = eg_events_next(e, "round", &at);
    assert_ok(eg_json_int(eg_json_get(second, "round"), &round));
    assert_int_equal(round, 2);
    assert_null(eg_events_next(e, "round", &at));
    eg_events_free(e);
    static const char broken[] = START "{\"event\":\n" START, nameless[] = START "{\"a\":1}\n";
    assert_fails(eg_events_parse(broken, sizeof broken - 1, &e), EG_EFORMAT, "line 2: ");
    assert_fails(eg_events_parse(nameless, sizeof nameless - 1, &e), EG_EFORMAT, "line 2: ");
}

static void test_record_has_a_row_a_round(void **state)
{
    (void)state;
    eg_events *e = events(START EVAL("1", "\"server\"", "false", "false", "[0.5,null]",
                                     "[2,0]") /* no untrained model */
                          EVAL("2", "\"server\"", "false", "false", "[0.25,null]", "[4,0]")
                              EVAL("2", "\"server\"", "true", "true", "[0.3,0.7]", "[10,10]")
                                  EVAL("3", "\"server\"", "false", "false", "[1,0]", "[3,3]"));
    eg_record *r;
    double a;
    assert_ok(eg_run_record(e, false, &r));
    assert_int_equal(eg_record_n_rows(r), 4);
    assert_int_equal(eg_record_n_clients(r), 0); /* none was evaluated */
    assert_int_equal(eg_record_n_periods(r), 1);
    assert_false(eg_record_at(r, 0, -1, 0, &a));
    assert_true(eg_record_at(r, 1, -1, 0, &a));
    assert_near(a, 0.5, 0);
    assert_false(eg_record_at(r, 1, -1, 1, &a));
    assert_true(eg_record_at(r, 2, -1, 0, &a)); /* the full evaluation counts */
    assert_near(a, 0.3, 0);
    assert_int_equal(eg_record_task_row(r, 1), 2);
    assert_int_equal(eg_record_period(r, 3), 2);
    eg_record_free(r);
    assert_fails(eg_run_record(e, true, &r), EG_ENOENT, "no task-IL accuracy");
    eg_events_free(e);
}

static void test_every_count_comes_back(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 200; n += 7)
        for (int64_t correct = 0; correct <= n; correct++) {
            char text[400];
            double a;
            eg_record *r;
            snprintf(text, sizeof text,
                     START EVAL("0", "2", "false", "true", "[%.17g,null]", "[%lld,0]"),
                     (double)correct / (double)n, (long long)n);
            eg_events *e = events(text);
            assert_ok(eg_run_record(e, false, &r));
            assert_int_equal(eg_record_n_clients(r), 3);
            assert_true(eg_record_pooled(r, 0, 2, &a));
            assert_true(a == (double)correct / (double)n);
            eg_record_free(r);
            eg_events_free(e);
        }
}

static void test_contradictions_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"event\":\"end\"}\n",
        "{\"event\":\"start\",\"clients\":3,\"tasks\":0}\n",
        START EVAL("1", "3", "true", "true", "[0,0]", "[1,1]"),
        START EVAL("1", "\"me\"", "true", "true", "[0,0]", "[1,1]"),
        START EVAL("1", "0", "true", "true", "[0]", "[1,1]"),
        START EVAL("1", "0", "true", "true", "[0,2]", "[1,1]"),
        START EVAL("1", "0", "true", "true", "[0,0]", "[1,0]"),
        START EVAL("1", "0", "true", "true", "[0,\"x\"]", "[1,1]"),
        START EVAL("-1", "0", "true", "true", "[0,0]", "[1,1]"),
        START EVAL("2", "0", "true", "true", "[0,0]", "[1,1]")
            EVAL("1", "0", "true", "true", "[0,0]", "[1,1]"),
        "{\"event\":\"start\",\"clients\":3,\"tasks\":2,\"learned\":[1,0]}\n",
        START "{\"event\":\"eval\",\"round\":1}\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        eg_events *e = events(bad[i]);
        eg_record *r;
        assert_int_equal(eg_run_record(e, false, &r), EG_EFORMAT);
        assert_null(r);
        eg_events_free(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_are_walked_by_kind),
        cmocka_unit_test(test_record_has_a_row_a_round),
        cmocka_unit_test(test_every_count_comes_back),
        cmocka_unit_test(test_contradictions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
