/* metric_test.c - every metric on matrices worked by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

#include "test.h"

enum { SERVER = -1 };

/* A record of the server, one row per task and one before, accuracies in percent; -1: not
 * measured. */
static eg_record *record_of(int64_t n_tasks, int64_t n_rows, const int *percent)
{
    eg_record *r;
    assert_ok(eg_record_new(0, n_tasks, &r));
    for (int64_t i = 0; i < n_rows; i++) {
        assert_ok(eg_record_add(r, i * 20, i, i > 0));
        for (int64_t t = 0; t < n_tasks; t++)
            if (percent[i * n_tasks + t] >= 0)
                eg_record_enter(r, SERVER, t, percent[i * n_tasks + t], 100);
    }
    return r;
}

static double value(const char *name, const eg_record *r, int64_t who)
{
    double v;
    const eg_metric *m = eg_metric_find(name);
    assert_non_null(m);
    assert_true(m->value(r, NULL, who, &v));
    return v;
}

static void test_three_tasks_by_hand(void **state)
{
    (void)state;
    const int percent[] = {10, 12, 8,  /* untrained */
                           90, 85, 10, /* the second task is good before it is learned */
                           60, 80, 30, //
                           50, 70, 90};
    eg_record *r = record_of(3, 4, percent);
    assert_near(value("acc_final", r, SERVER), (0.5 + 0.7 + 0.9) / 3, 1e-12);
    assert_near(value("aia", r, SERVER), (0.9 + (0.6 + 0.8) / 2 + (0.5 + 0.7 + 0.9) / 3) / 3,
                1e-12);
    assert_near(value("forgetting", r, SERVER), ((0.9 - 0.5) + (0.8 - 0.7)) / 2, 1e-12);
    assert_near(value("forgetting_from_first", r, SERVER), ((0.9 - 0.5) + (0.85 - 0.7)) / 2,
                1e-12);
    assert_near(value("bwt", r, SERVER), ((0.5 - 0.9) + (0.7 - 0.8)) / 2, 1e-12);
    assert_near(value("fwt", r, SERVER), ((0.85 - 0.12) + (0.3 - 0.08)) / 2, 1e-12);
    eg_record_free(r);
}

static void test_forgetting_is_negative_when_a_task_improves(void **state)
{
    (void)state;
    const int percent[] = {0, 0, 40, 0, 60, 50};
    eg_record *r = record_of(2, 3, percent);
    assert_near(value("forgetting", r, SERVER), -0.2, 1e-12);
    assert_near(value("forgetting_from_first", r, SERVER), -0.2, 1e-12);
    assert_near(value("bwt", r, SERVER), 0.2, 1e-12);
    eg_record_free(r);
}

static void test_one_task_has_nothing_to_forget_or_transfer(void **state)
{
    (void)state;
    const int percent[] = {10, 75};
    eg_record *r = record_of(1, 2, percent);
    assert_near(value("acc_final", r, SERVER), 0.75, 1e-12);
    assert_near(value("aia", r, SERVER), 0.75, 1e-12);
    const char *const zero[] = {"forgetting", "forgetting_from_first", "bwt", "fwt"};
    for (int i = 0; i < 4; i++)
        assert_near(value(zero[i], r, SERVER), 0, 0);
    eg_record_free(r);
}

static void test_tasks_that_end_together_were_not_measured_in_between(void **state)
{
    (void)state;
    const char *const unknown[] = {"forgetting", "forgetting_from_first", "bwt"};
    eg_record *r;
    double v;
    assert_ok(eg_record_new(0, 2, &r));
    assert_ok(eg_record_add(r, 0, 0, false));
    assert_ok(eg_record_add(r, 9, 1, true));
    for (int t = 0; t < 2; t++) {
        eg_record_learned(r, t, 1);
        eg_record_enter(r, SERVER, t, 60, 100);
    }
    for (int i = 0; i < 3; i++)
        assert_false(eg_metric_find(unknown[i])->value(r, NULL, SERVER, &v));
    assert_near(value("acc_final", r, SERVER), 0.6, 1e-12);
    eg_record_free(r);
}

static void test_unseen_tasks_do_not_count(void **state)
{
    (void)state;
    const int percent[] = {10, 10, 10, 10, 80, 20, 15, -1, 70, 90, 25, -1};
    eg_record *r = record_of(4, 3, percent); /* stopped after two of four tasks */
    assert_near(value("acc_final", r, SERVER), 0.8, 1e-12);
    assert_near(value("aia", r, SERVER), 0.8, 1e-12);
    assert_near(value("forgetting", r, SERVER), 0.1, 1e-12);
    assert_near(value("bwt", r, SERVER), -0.1, 1e-12);
    assert_near(value("fwt", r, SERVER), 0.1, 1e-12);
    eg_record_free(r);
}

static void test_shuffled_order_moves_the_diagonal(void **state)
{
    (void)state;
    eg_record *r = record_of(2, 3, (const int[]){10, 10, 10, 90, 60, 50});
    eg_record_learned(r, 0, 2); /* task 1 came first */
    eg_record_learned(r, 1, 1);
    assert_near(value("aia", r, SERVER), (0.9 + 0.55) / 2, 1e-12);
    assert_near(value("forgetting", r, SERVER), 0.4, 1e-12);
    assert_near(value("bwt", r, SERVER), -0.4, 1e-12);
    assert_near(value("fwt", r, SERVER), 0, 1e-12);
    eg_record_free(r);
}

static void test_an_untrained_record_has_no_metrics(void **state)
{
    (void)state;
    eg_record *r = record_of(2, 1, (const int[]){10, 10}), *empty;
    assert_ok(eg_record_new(2, 2, &empty));
    for (const eg_metric *const *m = eg_metrics; *m; m++) {
        double v;
        assert_false((*m)->value(r, empty, SERVER, &v));
        assert_false((*m)->value(empty, empty, SERVER, &v));
    }
    eg_record_free(r);
    eg_record_free(empty);
}

/* Two clients, cumulative test sets: who met more weighs more. Evaluated after two rounds. */
static eg_record *real_time_of(const int correct[2][2], const int64_t round[2])
{
    eg_record *r;
    assert_ok(eg_record_new(2, 1, &r));
    assert_ok(eg_record_add(r, 0, 0, false));
    for (int row = 0; row < 2; row++) {
        assert_ok(eg_record_add(r, round[row], 1, row == 1));
        for (int c = 0; c < 2; c++) {
            eg_record_enter(r, c, 0, correct[row][c], 10 * (row + 1));
            eg_record_met(r, c, c == 0 ? 100 * (row + 1) : 300);
        }
    }
    return r;
}

static eg_record *real_time(const int correct[2][2])
{
    return real_time_of(correct, (const int64_t[2]){1, 2});
}

static void test_regret_is_of_the_same_rounds(void **state)
{
    (void)state;
    eg_record *r = real_time_of((const int[2][2]){{5, 9}, {12, 16}}, (const int64_t[2]){2, 4});
    eg_record *central =
        real_time_of((const int[2][2]){{6, 10}, {18, 18}}, (const int64_t[2]){1, 2});
    eg_record *later =
        real_time_of((const int[2][2]){{6, 10}, {18, 18}}, (const int64_t[2]){1, 3});
    double v, mine = (100 * 0.5 + 300 * 0.9) / 400;
    assert_true(eg_metric_find("ar")->value(r, central, SERVER, &v));
    assert_near(v, 0.9 - mine, 1e-12); /* round 2 is the one that both have */
    assert_false(eg_metric_find("ar")->value(r, later, SERVER, &v));
    eg_record_free(r);
    eg_record_free(central);
    eg_record_free(later);
}

static void test_accuracy_and_regret_in_real_time(void **state)
{
    (void)state;
    eg_record *r = real_time((const int[2][2]){{5, 9}, {12, 16}});
    eg_record *central = real_time((const int[2][2]){{6, 10}, {18, 18}});
    double first = (100 * 0.5 + 300 * 0.9) / 400, second = (200 * 0.6 + 300 * 0.8) / 500;
    double best = ((100 * 0.6 + 300 * 1.0) / 400 + 0.9) / 2, v;
    assert_near(value("acc_t", r, SERVER), second, 1e-12);
    assert_near(value("aa", r, SERVER), (first + second) / 2, 1e-12);
    assert_true(eg_metric_find("ar")->value(r, central, SERVER, &v));
    assert_near(v, best - (first + second) / 2, 1e-12);
    assert_false(eg_run_value(eg_metric_find("ar"), r, NULL, &v));
    assert_near(value("client_mean", r, SERVER), 0.7, 1e-12);
    assert_near(value("client_sd", r, SERVER), 0.1, 1e-12);
    assert_near(value("client_worst", r, SERVER), 0.6, 1e-12);
    assert_near(value("acc_final", r, 1), 0.8, 1e-12);
    eg_record_free(r);
    eg_record_free(central);
}

static void test_rounds_to_best_add_up_over_tasks(void **state)
{
    (void)state;
    eg_record *r;
    assert_ok(eg_record_new(0, 2, &r));
    assert_ok(eg_record_add(r, 0, 0, false));
    static const int first[] = {30, 80, 80, 70}, second[] = {40, 50, 60, 90};
    for (int i = 0; i < 4; i++) {
        assert_ok(eg_record_add(r, i + 1, 1, i == 3));
        eg_record_enter(r, SERVER, 0, first[i], 100);
    }
    for (int i = 0; i < 4; i++) {
        assert_ok(eg_record_add(r, i + 5, 2, i == 3));
        eg_record_enter(r, SERVER, 0, 50, 100);
        eg_record_enter(r, SERVER, 1, second[i], 100);
    }
    assert_near(value("rounds_to_best", r, SERVER), 2 + 4, 1e-12);
    assert_near(value("acc_last_ten", r, SERVER), 0.7, 1e-12); /* of four rounds the last */
    assert_int_equal(eg_record_n_periods(r), 2);
    assert_int_equal(eg_record_task_row(r, 1), 4);
    eg_record_free(r);
}

/* Tasks of 20 rounds, then one of so many; in round i of it i of 1000 are right. */
static double last_ten_of(int rounds)
{
    eg_record *r;
    double out;
    assert_ok(eg_record_new(0, 2, &r));
    assert_ok(eg_record_add(r, 0, 0, false));
    assert_ok(eg_record_add(r, 20, 1, true));
    eg_record_enter(r, SERVER, 0, 999, 1000);
    for (int i = 1; i <= rounds; i++) {
        assert_ok(eg_record_add(r, 20 + i, 2, i == rounds));
        eg_record_enter(r, SERVER, 0, i, 1000);
        eg_record_enter(r, SERVER, 1, i, 1000);
    }
    out = value("acc_last_ten", r, SERVER);
    eg_record_free(r);
    return out;
}

/* Ten rounds of 150; of fewer as large a part; never more than ten. */
static void test_the_last_ten_rounds_are_a_fifteenth_of_a_task(void **state)
{
    (void)state;
    assert_near(last_ten_of(150), 145.5e-3, 1e-12);
    assert_near(last_ten_of(400), 395.5e-3, 1e-12);
    assert_near(last_ten_of(30), 29.5e-3, 1e-12);
    assert_near(last_ten_of(10), 10e-3, 1e-12);
    assert_near(last_ten_of(2), 2e-3, 1e-12);
}

/* Six rounds of two tasks, in which the model changes in the second round alone. way: it is
 * tested after every round, at the ends of tasks alone, or after every round on parts of the
 * test set. */
static void enter_rounds(eg_record *r, int way)
{
    for (int i = 0; i <= 6; i++) {
        bool ends = i == 3 || i == 6, whole = way != 2 || ends || i == 0;
        if (way == 1 && !ends && i > 0)
            continue;
        assert_ok(eg_record_add(r, i, i == 0 ? 0 : i <= 3 ? 1 : 2, ends));
        eg_record_enter(r, SERVER, 0, i < 2 ? 10 : 80 + !whole, 100);
        eg_record_enter(r, SERVER, 1, i < 2 ? 12 : 20 + !whole, 100);
        if (whole)
            eg_record_set_whole(r);
    }
}

static void test_a_model_that_stays_needs_no_rounds(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        eg_record *r;
        assert_ok(eg_record_new(0, 2, &r));
        enter_rounds(r, way);
        assert_near(value("rounds_to_best", r, SERVER), way == 1 ? 3 : 2, 1e-12);
        /* A single change, of any task, is one. */
        assert_ok(eg_record_add(r, 7, 3, true));
        eg_record_enter(r, SERVER, 0, 80, 100);
        eg_record_enter(r, SERVER, 1, 19, 100);
        eg_record_set_whole(r);
        assert_near(value("rounds_to_best", r, SERVER), way == 1 ? 4 : 3, 1e-12);
        eg_record_free(r);
    }
}

/* Three points on parts of the test set, and a full test that happens to be better; of 60
 * rounds the last four are the last ten of 150. */
static void test_points_of_two_test_sets_are_not_mixed(void **state)
{
    (void)state;
    static const int points[] = {30, 60, 50};
    eg_record *r;
    assert_ok(eg_record_new(0, 1, &r));
    assert_ok(eg_record_add(r, 0, 0, false));
    eg_record_set_whole(r);
    for (int i = 0; i < 3; i++) {
        assert_ok(eg_record_add(r, i + 57, 1, false));
        eg_record_enter(r, SERVER, 0, points[i], 100);
    }
    assert_ok(eg_record_add(r, 60, 1, true));
    eg_record_enter(r, SERVER, 0, 700, 1000);
    assert_near(value("acc_last_ten", r, SERVER), (0.3 + 0.6 + 0.5 + 0.7) / 4, 1e-12);
    assert_near(value("rounds_to_best", r, SERVER), 60, 1e-12);
    assert_false(eg_record_is_whole(r, 4));
    eg_record_set_whole(r);
    assert_true(eg_record_is_whole(r, 4) && !eg_record_is_whole(r, 3));
    assert_near(value("acc_last_ten", r, SERVER), (0.3 + 0.6 + 0.5) / 3, 1e-12);
    assert_near(value("rounds_to_best", r, SERVER), 58, 1e-12);
    assert_near(value("acc_final", r, SERVER), 0.7, 1e-12);
    /* Ten rounds later only full tests are left. */
    assert_ok(eg_record_add(r, 70, 1, true));
    eg_record_enter(r, SERVER, 0, 800, 1000);
    eg_record_set_whole(r);
    assert_near(value("acc_last_ten", r, SERVER), 0.8, 1e-12);
    eg_record_free(r);
}

static void test_task_il_predicts_within_the_task(void **state)
{
    (void)state;
    const float outputs[] = {0.1f, 0.9f, 0.3f, 0.3f};
    assert_int_equal(eg_predict(outputs, 4, NULL, 0), 1);
    assert_int_equal(eg_predict(outputs, 4, (const int32_t[]){2, 3}, 2), 2);
    assert_int_equal(eg_predict(outputs, 4, (const int32_t[]){0}, 1), 0);
}

/* Outputs with equals: in order 1, 4, 2, 3, 0 (equals as they are listed). */
static void test_a_class_may_be_among_the_likeliest(void **state)
{
    (void)state;
    const float outputs[] = {0.1f, 0.9f, 0.3f, 0.3f, 0.4f};
    static const int32_t order[] = {1, 4, 2, 3, 0}, some[] = {3, 0, 2};
    static const int32_t of_some[] = {3, 2, 0};
    for (int64_t top = 1; top <= 6; top++)
        for (int64_t at = 0; at < 5; at++) {
            bool held = eg_predict_holds(outputs, 5, &(eg_allowed){0}, top, order[at]);
            assert_int_equal(held, at < top);
        }
    const eg_allowed few = {some, 3};
    for (int64_t top = 1; top <= 3; top++) {
        for (int64_t at = 0; at < 3; at++)
            assert_int_equal(eg_predict_holds(outputs, 5, &few, top, of_some[at]), at < top);
        assert_false(eg_predict_holds(outputs, 5, &few, top, 1)); /* may not be answered */
    }
}

static void test_confusion_counts_what_was_taken_for_what(void **state)
{
    (void)state;
    eg_confusion c;
    double v;
    assert_ok(eg_confusion_init(&c, 3));
    assert_false(eg_confusion_accuracy(&c, &v));
    eg_confusion_add(&c, 0, 0);
    eg_confusion_add(&c, 0, 1);
    eg_confusion_add(&c, 1, 1);
    eg_confusion_add(&c, 1, 1);
    assert_true(eg_confusion_accuracy(&c, &v));
    assert_near(v, 0.75, 0);
    assert_true(eg_confusion_recall(&c, 0, &v));
    assert_near(v, 0.5, 0);
    assert_false(eg_confusion_recall(&c, 2, &v));
    assert_int_equal(c.count[1], 1);
    eg_confusion_fini(&c);
}

static void test_every_metric_is_named_and_explained(void **state)
{
    (void)state;
    for (const eg_metric *const *m = eg_metrics; *m; m++) {
        assert_ptr_equal(eg_metric_find((*m)->component.name), *m);
        assert_true(strlen((*m)->component.help) > 0 && strlen((*m)->formula) > 0);
        assert_true((*m)->heading && (*m)->better != 0 && (*m)->weight > 0);
        for (const eg_metric *const *other = eg_metrics; other < m; other++) {
            assert_true((*other)->place != (*m)->place);
            assert_string_not_equal((*other)->heading, (*m)->heading);
        }
    }
    assert_null(eg_metric_find("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_tasks_by_hand),
        cmocka_unit_test(test_forgetting_is_negative_when_a_task_improves),
        cmocka_unit_test(test_one_task_has_nothing_to_forget_or_transfer),
        cmocka_unit_test(test_tasks_that_end_together_were_not_measured_in_between),
        cmocka_unit_test(test_unseen_tasks_do_not_count),
        cmocka_unit_test(test_shuffled_order_moves_the_diagonal),
        cmocka_unit_test(test_an_untrained_record_has_no_metrics),
        cmocka_unit_test(test_accuracy_and_regret_in_real_time),
        cmocka_unit_test(test_regret_is_of_the_same_rounds),
        cmocka_unit_test(test_rounds_to_best_add_up_over_tasks),
        cmocka_unit_test(test_the_last_ten_rounds_are_a_fifteenth_of_a_task),
        cmocka_unit_test(test_a_model_that_stays_needs_no_rounds),
        cmocka_unit_test(test_points_of_two_test_sets_are_not_mixed),
        cmocka_unit_test(test_task_il_predicts_within_the_task),
        cmocka_unit_test(test_a_class_may_be_among_the_likeliest),
        cmocka_unit_test(test_confusion_counts_what_was_taken_for_what),
        cmocka_unit_test(test_every_metric_is_named_and_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
