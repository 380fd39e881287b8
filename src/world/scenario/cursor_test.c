/* cursor_test.c - the walk over rounds: selection, boundaries, absence, growth, real time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"
#include "world/scenario/fixture.h"
#include "world/scenario/scenario.h"

static eg_cursor *start(const char *words, uint64_t seed, const eg_labels *l, eg_scenario **s)
{
    eg_cursor *c;
    assert_ok(fixture_new(words, seed, l, s));
    assert_ok(eg_cursor_new(*s, &c));
    return c;
}

static void test_selection_is_uniform_distinct_and_ascending(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 200, 1);
    eg_scenario *s;
    eg_cursor *c = start("kind=class_incremental tasks=5 rounds=400 clients=20 "
                         "participation=0.25 partition=iid",
                         1, &l, &s);
    double count[20] = {0}, chi2 = 0;
    for (int64_t r = 0, n; r < 2000; r++, eg_cursor_next(c, NULL)) {
        const int32_t *who = eg_cursor_selected(c, &n);
        assert_int_equal(n, 5);
        for (int64_t i = 0; i < n; i++) {
            count[who[i]]++;
            assert_true(i == 0 || who[i] > who[i - 1]);
        }
    }
    for (int i = 0; i < 20; i++)
        chi2 += (count[i] - 500) * (count[i] - 500) / 500;
    assert_true(chi2 < 43.8); /* 19 degrees of freedom, p = 0.001 */
    eg_cursor_free(c);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_common_tasks_begin_and_end_for_all_together(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 200, 1);
    eg_scenario *s;
    eg_cursor *c = start(
        "kind=class_incremental tasks=5 rounds=3 clients=4 partition=iid pad=64", 1, &l, &s);
    for (int64_t r = 0; r < 15; r++, eg_cursor_next(c, NULL))
        for (int64_t k = 0; k < 4; k++) {
            eg_view v;
            assert_true(eg_cursor_view(c, k, &v));
            assert_int_equal(v.task, r / 3);
            assert_int_equal(v.first, r % 3 == 0);
            assert_int_equal(v.last, r % 3 == 2);
            assert_int_equal(eg_scenario_task_ends(s, r), r % 3 == 2);
            assert_int_equal(eg_scenario_period(s, r), r / 3 + 1);
            assert_int_equal(eg_scenario_learned(s, v.task), r / 3 + 1);
            assert_int_equal(v.left, (r - 1) < 0 ? -1 : (r - 1) / 3);
            assert_int_equal(v.n, 100);
            assert_int_equal(v.n_padded, 128);
            assert_int_equal(eg_cursor_seen(c, k, v.task), !v.first);
        }
    eg_view v;
    assert_false(eg_cursor_view(c, 0, &v)); /* past the last round */
    assert_int_equal(eg_cursor_samples(c, 0), 500);
    eg_cursor_free(c);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_scheduled_clients_move_only_when_sampled_and_one_task_at_a_time(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(20, 100, 1);
    eg_scenario *s;
    eg_cursor *c =
        start("kind=async_schedule tasks=10 rounds=500 clients=40 per_round=2", 2, &l, &s);
    int64_t stage[40], moves = 0;
    for (int k = 0; k < 40; k++)
        stage[k] = -1;
    for (int64_t r = 0, n; r < 500; r++, eg_cursor_next(c, NULL)) {
        const int32_t *who = eg_cursor_selected(c, &n);
        for (int64_t i = 0; i < n; i++) {
            eg_view v;
            int64_t begin, end, old = stage[who[i]];
            assert_true(eg_cursor_view(c, who[i], &v));
            assert_true(v.n > 0);
            assert_int_equal(v.left, old);
            assert_true(v.stage == old || v.stage > old);
            for (int64_t k = (old < 0 ? 0 : old) + 1; k < v.stage;
                 k++) { /* passed unseen: empty */
                int64_t n_spans;
                assert_int_equal(eg_scenario_spans(s, who[i], k, &n_spans)->n, 0);
            }
            if (old >= 0 && v.stage > old) {
                eg_scenario_rounds(s, who[i], old, &begin, &end);
                assert_true(r >= end);
                moves++;
            }
            stage[who[i]] = v.stage;
        }
    }
    assert_true(moves > 100);
    eg_cursor_free(c);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_schedule_adds_up_to_all_rounds(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(100, 100, 1);
    eg_scenario *s;
    assert_ok(fixture_new("kind=async_schedule clients=50", 1, &l, &s));
    for (int64_t c = 0; c < 50; c++) {
        int64_t seen[10] = {0}, begin, end = 0, odd = 0;
        for (int64_t i = 0; i < 10; i++) {
            int64_t old = end, n;
            eg_scenario_rounds(s, c, i, &begin, &end);
            assert_int_equal(begin, old);
            odd += end - begin < 350 || end - begin > 650;
            assert_int_equal(seen[eg_scenario_spans(s, c, i, &n)->task]++, 0);
        }
        assert_int_equal(end, 5000);
        assert_true(odd <= 1); /* the one that takes the rest */
    }
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_counted_streams_take_the_same_amount_whatever_the_task(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 500, 1);
    eg_scenario *s;
    eg_cursor *c = start("kind=async_count tasks=5 clients=4 take=130 rounds=2", 4, &l, &s);
    assert_int_equal(eg_scenario_offers(s), EG_OFFERS_TASK_CLASSES);
    for (int64_t k = 0; k < 4; k++) {
        int64_t n = eg_scenario_n_stages(s, k), total = 0, last_task = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t n_spans, sum = 0;
            const eg_span *spans = eg_scenario_spans(s, k, i, &n_spans);
            for (int64_t j = 0; j < n_spans; j++) {
                assert_true(spans[j].task >= last_task && spans[j].n > 0);
                last_task = spans[j].task;
                sum += spans[j].n;
            }
            assert_true(sum == 130 || i == n - 1);
            total += sum;
        }
        eg_cursor_seek(c, 2 * n - 1);
        eg_view v;
        assert_true(eg_cursor_view(c, k, &v) && v.stage == n - 1 && v.last);
        eg_cursor_seek(c, 2 * n);
        assert_false(eg_cursor_view(c, k, &v)); /* its stream has ended */
        assert_int_equal(eg_cursor_samples(c, k), total);
    }
    eg_cursor_free(c);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

/* A client whose stream is over is idle: it would take part, and has what it had last. Where
 * clients are drawn nobody is: who is not there was not drawn. */
static void test_who_has_no_data_any_more_is_idle_unless_clients_are_drawn(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 500, 1);
    static const char *const words[] = {
        "kind=async_count tasks=5 clients=4 take=130 rounds=2",
        "kind=async_count tasks=5 clients=4 take=130 rounds=2 per_round=2"};
    for (int drawn = 0; drawn < 2; drawn++) {
        eg_scenario *s;
        eg_cursor *c = start(words[drawn], 4, &l, &s);
        int64_t n_idle = 0, n_over = 0;
        for (; eg_cursor_round(c) < eg_scenario_n_rounds(s); eg_cursor_next(c, NULL))
            for (int64_t k = 0; k < 4; k++) {
                eg_view now, then;
                bool has = eg_cursor_view(c, k, &now), idle = eg_cursor_idle(c, k, &then);
                assert_int_equal(idle, !has && !drawn);
                n_over += !has, n_idle += idle;
                if (idle)
                    assert_true(then.stage == eg_scenario_n_stages(s, k) - 1 && then.n > 0 &&
                                then.left == then.stage && !then.first);
            }
        assert_true(n_over > 0 && n_idle == (drawn ? 0 : n_over));
        eg_view v;
        assert_false(eg_cursor_idle(c, 0, &v)); /* the run is over */
        eg_cursor_free(c);
        eg_scenario_free(s);
    }
    eg_labels_free(&l);
}

static void test_population_grows_with_each_task(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 500, 1);
    eg_scenario *s;
    eg_cursor *c = start(
        "kind=class_incremental tasks=5 rounds=4 clients=6 join=2 partition=iid", 1, &l, &s);
    assert_int_equal(eg_scenario_n_clients(s), 14);
    for (int64_t r = 0, n; r < 20; r++, eg_cursor_next(c, NULL)) {
        const int32_t *who = eg_cursor_selected(c, &n);
        assert_int_equal(n, 6 + 2 * (r / 4));
        assert_int_equal(who[n - 1], n - 1);
    }
    eg_cursor_free(c);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_absent_clients_leave_and_come_back(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 500, 1);
    eg_scenario *s;
    eg_cursor *c = start("kind=class_incremental tasks=5 rounds=200 clients=40 away=0.3 "
                         "away_rounds=10 partition=iid",
                         1, &l, &s);
    double away = 0, changes = 0;
    bool was[40] = {0};
    for (int64_t r = 0; r < 1000; r++, eg_cursor_next(c, NULL))
        for (int64_t k = 0; k < 40; k++) {
            bool here = eg_cursor_present(c, k);
            away += !here;
            changes += r > 0 && here != was[k];
            was[k] = here;
        }
    assert_near(away / 40000, 0.3, 0.03);
    assert_near(changes / 4000, 2 * 0.3 * 0.7, 0.05); /* in each ten rounds */
    eg_cursor_free(c);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_real_time_data_is_seen_once_and_tests_add_up(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 60, 1); /* 12 test samples per class */
    eg_scenario *s;
    eg_cursor *c =
        start("kind=realtime clients=3 classes=2 samples=10 path=gradual", 1, &l, &s);
    assert_int_equal(eg_scenario_n_rounds(s), 30); /* floor(60 / 20) * 10 */
    static const int64_t types[] = {0, 1, 0, 1, 0, 1, 1, 2, 1, 2, 1, 2}; /* then 2, 3, ... */
    int64_t ids[120], met[3][600] = {{0}};
    for (int64_t r = 0; r < 30; r++, eg_cursor_next(c, NULL))
        for (int64_t k = 0; k < 3; k++) {
            eg_view v;
            assert_int_equal(eg_cursor_test(c, k, ids), r * 2 * 2); /* 12 / 6 of two classes */
            assert_true(eg_cursor_view(c, k, &v) && v.n == 20 && v.first && v.last);
            assert_true(r >= 12 || v.task == types[r]);
            for (int64_t i = 0; i < v.n; i++)
                assert_int_equal(met[k][v.spans[0].ids[i]]++, 0);
        }
    int64_t n = eg_cursor_test(c, 0, ids), seen[120] = {0};
    assert_int_equal(n, 120);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(seen[ids[i]]++, 0);
    eg_cursor_free(c);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_real_time_types_may_share_classes_but_not_data(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(10, 80, 1); /* 16 test samples per class */
    eg_scenario *s;
    eg_cursor *c =
        start("kind=realtime clients=2 classes=2 shared=2 samples=10 path=gradual", 1, &l, &s);
    assert_int_equal(eg_scenario_n_rounds(s), 20); /* floor(80 / 40) * 10 */
    int64_t ids[160], met[2][800] = {{0}}, seen[160] = {0};
    for (int64_t r = 0; r < 20; r++, eg_cursor_next(c, NULL))
        for (int64_t k = 0; k < 2; k++) {
            eg_view v;
            assert_true(eg_cursor_view(c, k, &v) && v.n == 40);
            for (int64_t i = 0; i < v.n; i++)
                assert_int_equal(met[k][v.spans[0].ids[i]]++, 0);
        }
    for (int64_t t = 0; t < 5; t++) { /* neighbours have two classes in common */
        const int32_t *a, *b;
        int64_t same = 0, n = eg_scenario_classes(s, 0, t, &a);
        assert_int_equal(eg_scenario_classes(s, 0, (t + 1) % 5, &b), n);
        for (int64_t i = 0; i < n * n; i++)
            same += a[i / n] == b[i % n];
        assert_int_equal(same, 2);
    }
    int64_t n = eg_cursor_test(c, 0, ids);
    assert_int_equal(n, 160);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(seen[ids[i]]++, 0);
    eg_cursor_free(c);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_seek_equals_walking(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(20, 100, 1);
    eg_scenario *s;
    eg_cursor *a = start(
                  "kind=async_schedule tasks=10 rounds=300 clients=30 per_round=3 away=0.2", 9,
                  &l, &s),
              *b;
    assert_ok(eg_cursor_new(s, &b));
    for (int64_t r = 0, n, m; r < 300; r += 7) {
        eg_cursor_seek(a, r);
        eg_cursor_seek(b, 299);
        eg_cursor_seek(b, r);
        const int32_t *x = eg_cursor_selected(a, &n), *y = eg_cursor_selected(b, &m);
        assert_int_equal(n, m);
        for (int64_t i = 0; i < n; i++) {
            eg_view u = {0}, v = {0};
            assert_int_equal(x[i], y[i]);
            assert_true(eg_cursor_view(a, x[i], &u) && eg_cursor_view(b, x[i], &v));
            assert_true(u.stage == v.stage && u.first == v.first && u.left == v.left);
        }
    }
    eg_cursor_free(a);
    eg_cursor_free(b);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

static void test_many_clients_and_rounds_are_cheap(void **state)
{
    (void)state;
    eg_labels l = fixture_labels(100, 1000, 1);
    eg_scenario *s;
    eg_cursor *c =
        start("kind=async_schedule tasks=10 rounds=5000 clients=10000 per_round=10", 9, &l, &s);
    eg_cursor_seek(c, 5000);
    assert_int_equal(eg_cursor_round(c), 5000);
    eg_cursor_free(c);
    eg_scenario_free(s);
    eg_labels_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selection_is_uniform_distinct_and_ascending),
        cmocka_unit_test(test_common_tasks_begin_and_end_for_all_together),
        cmocka_unit_test(test_scheduled_clients_move_only_when_sampled_and_one_task_at_a_time),
        cmocka_unit_test(test_schedule_adds_up_to_all_rounds),
        cmocka_unit_test(test_counted_streams_take_the_same_amount_whatever_the_task),
        cmocka_unit_test(test_who_has_no_data_any_more_is_idle_unless_clients_are_drawn),
        cmocka_unit_test(test_population_grows_with_each_task),
        cmocka_unit_test(test_absent_clients_leave_and_come_back),
        cmocka_unit_test(test_real_time_data_is_seen_once_and_tests_add_up),
        cmocka_unit_test(test_real_time_types_may_share_classes_but_not_data),
        cmocka_unit_test(test_seek_equals_walking),
        cmocka_unit_test(test_many_clients_and_rounds_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
