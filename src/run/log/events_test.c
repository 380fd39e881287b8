/* events_test.c - events read back, and the records they make.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sealed.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

#define RUN                                                                                    \
    "{\"event\":\"start\",\"name\":\"n\",\"label\":\"l\",\"seed\":1,\"method\":[\"er\"],"      \
    "\"rounds\":9,\"classes\":4,\"isa\":\"avx2\",\"config_sha256\":\"x\","                     \
    "\"version\":\"0.1\",\"commit\":\"\",\"labels_sum\":\"1\",\"pixels_sum\":\"2\","
#define START RUN "\"clients\":3,\"tasks\":2,\"learned\":[1,2]}\n"
#define END                                                                                    \
    "{\"event\":\"end\",\"seconds\":1,\"peak_rss_bytes\":8,\"train_seconds\":0.5,"             \
    "\"phase_seconds\":null,\"part_seconds\":{},\"server_seconds\":{},\"flops_clients\":3,"    \
    "\"flops_server\":4,\"version\":\"0.1\",\"commit\":\"\"}\n"
#define EVAL(round, who, end, full, acc, n)                                                    \
    "{\"event\":\"eval\",\"round\":" round ",\"who\":" who ",\"task_end\":" end                \
    ",\"full\":" full ",\"accuracy\":" acc ",\"accuracy_task_il\":null,\"n\":" n "}\n"
#define ROUND(round)                                                                           \
    "{\"event\":\"round\",\"round\":" round ",\"clients\":[2,0],\"samples\":7,\"loss\":null,"  \
    "\"bytes_up\":5,\"bytes_down\":6,\"seconds\":0.5}\n"

#define TELLS(round, more)                                                                     \
    "{\"event\":\"round\",\"round\":" round                                                    \
    ",\"clients\":[2,0],\"samples\":7,\"loss\":1," more                                        \
    ",\"bytes_up\":5,\"bytes_down\":6,\"seconds\":0.5}\n"

#define CELLS(round, cells)                                                                    \
    "{\"event\":\"confusion\",\"round\":" round ",\"cells\":" cells "}\n"

#define SHEET(round, who, classes)                                                             \
    "{\"event\":\"sheet\",\"round\":" round ",\"who\":" who ",\"classes\":" classes "}\n"

/* Reads a log, each line of which gets its checksum first. */
static eg_status parse(const char *text, bool whole, eg_events **out)
{
    size_t n;
    char *log = sealed(text, strlen(text), &n);
    eg_status s = eg_events_parse("log", log, n, whole, out);
    free(log);
    return s;
}

static eg_events *events(const char *text)
{
    eg_events *e;
    assert_ok(parse(text, false, &e));
    return e;
}

static void test_events_are_read_by_kind(void **state)
{
    (void)state;
    eg_events *e =
        events(START ROUND("1") "{\"event\":\"note\",\"round\":1,\"who\":\"server\","
                                "\"name\":\"drift\",\"value\":0.25,\"more\":1}\n"
                                "{\"event\":\"left_out\",\"round\":2,\"client\":2,"
                                "\"why\":\"late\"}\n" ROUND("2") END "{\"event\":\"half");
    assert_string_equal(e->start.method[0], "er");
    assert_string_equal(e->start.version, "0.1");
    assert_int_equal(e->start.learned[1], 2);
    assert_int_equal(e->n_round, 2);
    assert_int_equal(e->round[1].n_clients, 2);
    assert_int_equal(e->round[1].clients[0], 2);
    assert_true(isnan(e->round[1].loss));
    assert_int_equal(e->n_note, 1);
    assert_int_equal(e->note[0].who, -1);
    assert_string_equal(e->note[0].name, "drift");
    assert_near(e->note[0].value, 0.25, 0);
    assert_int_equal(e->n_loss, 1);
    assert_string_equal(e->loss[0].why, "late");
    assert_true(e->ended);
    assert_near(e->end.train_seconds, 0.5, 0);
    assert_true(isnan(e->end.phase_seconds));
    assert_int_equal(e->end.flops_clients, 3);
    eg_events_free(e);
}

static void test_rounds_tell_losses_and_what_memories_hold(void **state)
{
    (void)state;
    eg_events *e = events(START TELLS("1", "\"losses\":[0.5,null]")
                              TELLS("2", "\"held\":[3,0,5],\"held_by\":2"));
    assert_near(e->round[0].losses[0], 0.5, 0);
    assert_true(isnan(e->round[0].losses[1]));
    assert_null(e->round[0].held);
    assert_null(e->round[1].losses);
    assert_int_equal(e->round[1].n_held, 3);
    assert_int_equal(e->round[1].held[2], 5);
    assert_int_equal(e->round[1].held_by, 2);
    eg_events_free(e);
    assert_fails(parse(START TELLS("1", "\"losses\":[1]"), false, &e), EG_EFORMAT,
                 "1 values, not 2");
    assert_fails(parse(START TELLS("1", "\"held\":[1]"), false, &e), EG_EFORMAT,
                 "by 0 clients");
    assert_fails(parse(START TELLS("1", "\"held\":[1,1,1,1,1],\"held_by\":1"), false, &e),
                 EG_EFORMAT, "5 classes of 4");
    assert_fails(parse(START TELLS("1", "\"held\":[-1],\"held_by\":1"), false, &e), EG_EFORMAT,
                 "outside");
}

static void test_sheets_say_whose_they_are(void **state)
{
    (void)state;
    eg_events *e = events(START SHEET("2", "\"server\"", "[0,3]") SHEET("4", "1", "[]"));
    assert_int_equal(e->n_sheet, 2);
    assert_int_equal(e->sheet[0].who, -1);
    assert_int_equal(e->sheet[0].classes[1], 3);
    assert_int_equal(e->sheet[1].who, 1);
    assert_int_equal(e->sheet[1].n_classes, 0);
    eg_events_free(e);
}

/* A curve of one class, all of it the number x. */
#define TEN(x)   x "," x "," x "," x "," x "," x "," x "," x "," x "," x
#define CURVE(x) x "," TEN(TEN(x))
#define BOXES(round, task, classes, shares, curve, boxes)                                      \
    "{\"event\":\"boxes\",\"round\":" round ",\"task\":" task ",\"classes\":" classes          \
    ",\"map_50\":" shares ",\"map\":" shares ",\"curve\":[" curve                              \
    "],\"images\":2,\"height\":8,\"width\":16,\"boxes\":" boxes "}\n"

static void test_boxes_say_what_was_found(void **state)
{
    (void)state;
    eg_events *e =
        events(START BOXES("2", "0", "[1]", "[5000]", CURVE("9"), "[1,2,3,0,10,20,10000,7]")
                   BOXES("2", "1", "[]", "[]", "", "[]") BOXES("3", "0", "[]", "[]", "", "[]"));
    assert_int_equal(e->n_boxes, 3);
    assert_int_equal(e->boxes[0].half[0], 5000);
    assert_int_equal(e->boxes[0].curve[EG_BOXES_CURVE - 1], 9);
    assert_int_equal(e->boxes[0].boxes[1], EG_BOXES_MISSED);
    assert_int_equal(e->boxes[0].width, 16);
    assert_int_equal(e->boxes[1].task, 1);
    eg_events_free(e);
}

static void test_boxes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {START BOXES("2", "2", "[]", "[]", "", "[]"), "task: 2 is outside [0, 1]"},
        {START BOXES("2", "0", "[4]", "[1]", CURVE("9"), "[]"), "classes: 4 is outside [0, 3]"},
        {START BOXES("2", "0", "[2,2]", "[1,1]", CURVE("9") "," CURVE("9"), "[]"),
         "classes: 2 cannot be number 2 of 4 classes"},
        {START BOXES("2", "0", "[2]", "[1,1]", CURVE("9"), "[]"), "map_50: 2 values, not 1"},
        {START BOXES("2", "0", "[2]", "[10001]", CURVE("9"), "[]"), "10001 is outside"},
        {START BOXES("2", "0", "[2]", "[1]", "9,9", "[]"), "curve: 2 numbers for 1 classes"},
        {START BOXES("2", "0", "[]", "[]", "", "[1,0,0]"), "3 numbers, which are no eights"},
        {START BOXES("2", "0", "[]", "[]", "", "[2,0,0,0,0,1,1,1]"),
         "boxes: number 1 is of no"},
        {START BOXES("2", "0", "[]", "[]", "", "[0,3,0,0,0,1,1,1]"),
         "boxes: number 1 is of no"},
        {START BOXES("2", "0", "[]", "[]", "", "[0,0,0,2,0,1,1,1]"),
         "boxes: number 1 is of no"},
        {START BOXES("2", "1", "[]", "[]", "", "[]") BOXES("2", "1", "[]", "[]", "", "[]"),
         "round 2 after round 2"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        eg_events *e;
        assert_fails(parse(bad[i][0], false, &e), EG_EFORMAT, bad[i][1]);
    }
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

/* Class 0: one right, two taken for 3; class 2: four right. Which of a round's events comes
 * first does not matter, and a round without one has no value. */
static void test_what_was_taken_for_what_goes_into_the_record(void **state)
{
    (void)state;
    double v;
    eg_record *r;
    eg_events *e = events(START EVAL("1", "\"server\"", "true", "true", "[1,null]", "[4,0]")
                              EVAL("2", "\"server\"", "true", "true", "[1,1]", "[4,4]")
                                  CELLS("2", "[0,0,1,0,3,2,2,2,4]"));
    assert_int_equal(e->n_confusion, 1);
    assert_int_equal(e->confusion[0].n_cells, 9);
    assert_ok(eg_run_record(e, EG_RECORD_CLASS_IL, &r));
    assert_false(eg_record_seen(r, 1, &v));
    assert_true(eg_record_seen(r, 2, &v));
    assert_near(v, 5.0 / 7, 1e-15);
    assert_true(eg_metric_find("acc_seen")->value(r, NULL, -1, &v));
    assert_near(v, 5.0 / 7, 1e-15);
    assert_false(eg_metric_find("acc_seen")->value(r, NULL, 0, &v));
    eg_record_free(r);
    eg_events_free(e);
}

#define AT   "{\"event\":\"eval\",\"round\":1,\"who\":"
#define FULL ",\"task_end\":true,\"full\":true"

/* What follows the start, and what is said of it. */
static const struct {
    const char *lines, *says;
} wrong[] = {
    {"{\"event\"", "log:2: line 1, column"},
    {"{\"more\":1}", "log:2: 'event' is missing"},
    {"{\"event\":\"dance\"}", "log:2: there is no event 'dance'"},
    {"{\"event\":\"start\"}", "log:2: start: a second start event"},
    {END ROUND("1"), "log:3: a round event after the end"},
    {"{\"event\":\"end\",\"seconds\":1}", "log:2: end: 'peak_rss_bytes' is missing"},
    {"{\"event\":\"round\",\"round\":1}", "round: 'clients' is missing"},
    {"{\"event\":\"round\",\"round\":1,\"clients\":[3]}", "clients: 3 is outside [0, 2]"},
    {"{\"event\":\"round\",\"round\":1,\"clients\":[1],\"samples\":1,\"loss\":\"x\"}",
     "loss: "},
    {"{\"event\":\"round\",\"round\":0}", "round: 0 is outside [1, 9]"},
    {ROUND("2") ROUND("1"), "log:3: round: round 1 after round 2"},
    {ROUND("2") ROUND("2"), "log:3: round: round 2 after round 2"},
    {AT "3}", "who: 3 is outside [0, 2]"},
    {AT "\"me\"}", "who: 'me' is neither 'server' nor a client's number"},
    {EVAL("10", "0", "true", "true", "[0,0]", "[1,1]"), "round: 10 is outside [0, 9]"},
    {EVAL("-1", "0", "true", "true", "[0,0]", "[1,1]"), "round: -1 is outside [0, 9]"},
    {EVAL("1", "0", "true", "true", "[0]", "[1,1]"), "accuracy: 1 values, not 2"},
    {EVAL("1", "0", "true", "true", "[0,0]", "[1]"), "n: 1 values, not 2"},
    {EVAL("1", "0", "true", "true", "[0,2]", "[1,1]"), "accuracy: 2 is no fraction"},
    {EVAL("1", "0", "true", "true", "[0,0]", "[1,0]"), "accuracy: 0 is no share of 0 samples"},
    {EVAL("1", "0", "true", "true", "[0,0.75]", "[1,10]"), "0.75 is no share of 10 samples"},
    {EVAL("1", "0", "true", "true", "[0,null]", "[1,10]"), "accuracy: null for 10 samples"},
    {EVAL("1", "0", "true", "true", "[0,\"x\"]", "[1,1]"), "accuracy: "},
    {EVAL("1", "0", "true", "true", "null", "[1,1]"), "accuracy: wants an array, not null"},
    {AT "0" FULL ",\"n\":[1,1]}", "'accuracy' is missing"},
    {EVAL("2", "0", "true", "true", "[0,0]", "[1,1]")
         EVAL("1", "0", "true", "true", "[0,0]", "[1,1]"),
     "log:3: eval: round 1 after round 2"},
    {"{\"event\":\"left_out\",\"round\":1,\"client\":7,\"why\":\"\"}", "client: 7 is outside"},
    {"{\"event\":\"skipped\",\"round\":1}", "skipped: 'why' is missing"},
    {"{\"event\":\"note\",\"round\":1,\"who\":0,\"name\":7}", "note: name: "},
    {CELLS("1", "[0,0]"), "cells: 2 numbers, which are no threes"},
    {CELLS("1", "[0,4,1]"), "cells: 0, 4, 1 cannot be number 1 of 4 classes"},
    {CELLS("1", "[4,0,1]"), "cells: 4, 0, 1 cannot be number 1 of 4 classes"},
    {CELLS("1", "[0,0,0]"), "cells: 0, 0, 0 cannot be number 1 of 4 classes"},
    {CELLS("1", "[0,-1,1]"), "cells: -1 is outside [0, "},
    {CELLS("1", "[0,1,1,0,1,1]"), "cells: 0, 1, 1 cannot be number 2 of 4 classes"},
    {CELLS("1", "[1,0,1,0,1,1]"), "cells: 0, 1, 1 cannot be number 2 of 4 classes"},
    {CELLS("1", "[0,0,1]") CELLS("1", "[0,0,1]"), "confusion: round 1 after round 1"},
    {SHEET("2", "0", "[4]"), "sheet: classes: 4 is outside [0, 3]"},
    {SHEET("0", "0", "[]"), "sheet: round: 0 is outside [1, 9]"},
    {SHEET("2", "0", "[]") SHEET("2", "0", "[]"), "sheet: round 2 after round 2"},
};

static void assert_refused(const char *text, const char *says)
{
    eg_events *e;
    assert_int_equal(parse(text, false, &e), EG_EFORMAT);
    assert_null(e);
    if (!strstr(eg_error(), says))
        fail_msg("'%s' does not say '%s'", eg_error(), says);
    assert_null(strchr(eg_error(), '\n'));
}

static void test_malformed_events_are_one_clear_sentence(void **state)
{
    (void)state;
    char text[2048];
    eg_events *e;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, START "%s\n", wrong[i].lines);
        assert_refused(text, wrong[i].says);
    }
    assert_refused("", "log:1: there is no start event");
    assert_refused(END, "log:1: a end event before the start event");
    assert_refused(RUN "\"clients\":3,\"tasks\":0}\n", "tasks: 0 is outside [1, 1000000]");
    assert_refused(RUN "\"clients\":3,\"tasks\":2,\"learned\":[1,0]}\n",
                   "learned: 0 is outside [1, ");
    static const char half[] = START "{\"event\":\"rou";
    assert_fails(eg_events_parse("log", START, sizeof START - 1, true, &e), EG_EFORMAT,
                 "log:1: the line has no checksum");
    assert_fails(parse(half, true, &e), EG_EFORMAT, "log:2: the line has no end");
}

static void test_classes_have_names_all_or_none(void **state)
{
    (void)state;
    eg_events *e = events(RUN "\"clients\":3,\"tasks\":2,\"learned\":[1,2],"
                              "\"class_names\":[\"a\",\"b\",\"c\",\"d\"]}\n");
    assert_string_equal(e->start.names[3], "d");
    eg_events_free(e);
    e = events(START);
    assert_null(e->start.names);
    eg_events_free(e);
    assert_fails(parse(RUN "\"clients\":3,\"tasks\":2,\"learned\":[1,2],"
                           "\"class_names\":[\"a\"]}\n",
                       false, &e),
                 EG_EFORMAT, "class_names: 1 of 4 classes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_are_read_by_kind),
        cmocka_unit_test(test_classes_have_names_all_or_none),
        cmocka_unit_test(test_rounds_tell_losses_and_what_memories_hold),
        cmocka_unit_test(test_sheets_say_whose_they_are),
        cmocka_unit_test(test_boxes_say_what_was_found),
        cmocka_unit_test(test_boxes_that_cannot_be_are_refused),
        cmocka_unit_test(test_record_has_a_row_a_round),
        cmocka_unit_test(test_every_count_comes_back),
        cmocka_unit_test(test_what_was_taken_for_what_goes_into_the_record),
        cmocka_unit_test(test_malformed_events_are_one_clear_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
