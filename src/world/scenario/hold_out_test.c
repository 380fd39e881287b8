/* hold_out_test.c - samples held out of training: nobody trains on them, every class has its
 * share, and the rest is as it was.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"
#include "world/scenario/fixture.h"

enum { CLASSES = 10, EACH = 100 };

static const char *const words[] = {
    "kind=class_incremental tasks=5 clients=6 partition=dirichlet partition.alpha=0.5",
    "kind=class_incremental tasks=2 clients=4 partition=iid",
    "kind=domain_rotation tasks=3 clients=5",
    "kind=domain_permutation tasks=3 clients=5 resplit=true",
    "kind=domain_rotation tasks=3 clients=5 resplit=true partition=power_law",
    "kind=async_count tasks=5 clients=4 take=20",
    "kind=async_schedule tasks=5 clients=4 rounds=20",
    "kind=class_incremental tasks=5 clients=4 partition=parts",
    "kind=class_incremental tasks=2 clients=3 partition=group partition.min=1",
};
enum { N_WORDS = sizeof words / sizeof *words };

/* The scenario with a share held out. */
static eg_status make(const char *text, double share, uint64_t seed, const eg_labels *labels,
                      eg_scenario **out)
{
    eg_spec *spec;
    *out = NULL;
    assert_ok(fixture_spec(text, &spec));
    assert_ok(eg_spec_hold_out(spec, share));
    eg_status s = eg_scenario_new(spec, seed, labels, 1, out);
    eg_spec_free(spec);
    return s;
}

static void test_nobody_trains_on_what_is_held_out(void **state)
{
    (void)state;
    eg_labels labels = fixture_labels(CLASSES, EACH, 3);
    for (size_t i = 0; i < N_WORDS; i++) {
        eg_scenario *whole, *s;
        eg_proof before, after;
        assert_ok(make(words[i], 0, 7, &labels, &whole));
        assert_ok(make(words[i], 0.2, 7, &labels, &s));
        assert_ok(eg_scenario_prove(whole, &before));
        assert_ok(eg_scenario_prove(s, &after));
        assert_int_equal(before.validation, 0);
        assert_int_equal(after.leaked, 0);
        assert_int_equal(after.lost, before.lost);
        assert_int_equal(after.held + after.validation, before.held);
        assert_near((double)after.validation, 0.2 * (double)before.held,
                    (double)eg_scenario_n_clients(s));
        eg_scenario_free(whole);
        eg_scenario_free(s);
    }
    eg_labels_free(&labels);
}

/* The samples of a client by fate: 1 trained on, 2 held out; [n_train]. */
static void mark(const eg_scenario *s, int64_t client, uint8_t *fate)
{
    const int64_t *ids;
    memset(fate, 0, (size_t)CLASSES * EACH);
    for (int64_t i = 0; i < eg_scenario_n_stages(s, client); i++) {
        int64_t n;
        const eg_span *spans = eg_scenario_spans(s, client, i, &n);
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < spans[k].n; j++)
                fate[spans[k].ids[j]] |= 1;
    }
    for (int64_t t = 0; t < eg_scenario_n_tasks(s); t++)
        for (int64_t i = 0, n = eg_scenario_validation(s, client, t, &ids); i < n; i++)
            fate[ids[i]] |= 2;
}

/* Of a client's samples in `all` a quarter is held out in s, class by class. */
static void check_client(const eg_scenario *all, const eg_scenario *s, int64_t c,
                         const eg_labels *labels)
{
    uint8_t whole[CLASSES * EACH], fate[CLASSES * EACH];
    int64_t n[CLASSES] = {0}, held[CLASSES] = {0};
    mark(all, c, whole);
    mark(s, c, fate);
    for (int64_t id = 0; id < CLASSES * EACH; id++) {
        assert_int_equal(fate[id] != 0, whole[id] != 0); /* nothing is lost or new */
        assert_int_not_equal(fate[id], 3);
        n[labels->train[id]] += fate[id] != 0;
        held[labels->train[id]] += fate[id] == 2;
    }
    for (int k = 0; k < CLASSES; k++)
        assert_near((double)held[k], 0.25 * (double)n[k], 1);
}

static void test_every_client_and_class_has_its_share(void **state)
{
    (void)state;
    eg_labels labels = fixture_labels(CLASSES, EACH, 3);
    for (size_t i = 0; i < N_WORDS; i++) {
        eg_scenario *all, *s;
        assert_ok(make(words[i], 0, 7, &labels, &all));
        assert_ok(make(words[i], 0.25, 7, &labels, &s));
        for (int64_t c = 0; c < eg_scenario_n_clients(s); c++)
            check_client(all, s, c, &labels);
        eg_scenario_free(all);
        eg_scenario_free(s);
    }
    eg_labels_free(&labels);
}

static void test_every_class_is_validated_where_clients_hold_few(void **state)
{
    (void)state;
    eg_labels labels = fixture_labels(CLASSES, EACH, 3);
    int64_t held[CLASSES] = {0}, all = 0;
    eg_scenario *s;
    assert_ok(make("kind=class_incremental tasks=1 clients=100 partition=parts "
                   "partition.classes=10",
                   0.1, 7, &labels, &s)); /* one sample of each class */
    for (int64_t c = 0; c < eg_scenario_n_clients(s); c++) {
        const int64_t *ids;
        for (int64_t i = 0, n = eg_scenario_validation(s, c, 0, &ids); i < n; i++, all++)
            held[labels.train[ids[i]]]++;
    }
    assert_near((double)all, 0.1 * CLASSES * EACH, 10);
    for (int k = 0; k < CLASSES; k++)
        assert_in_range(held[k], 1, 2 * EACH / 10 + 5);
    eg_scenario_free(s);
    eg_labels_free(&labels);
}

static void test_the_choice_follows_from_the_seed(void **state)
{
    (void)state;
    eg_labels labels = fixture_labels(CLASSES, EACH, 3);
    eg_scenario *a, *b, *c;
    char one[65], two[65], other[65];
    const int64_t *x, *y;
    assert_ok(make(words[2], 0.1, 7, &labels, &a));
    assert_ok(make(words[2], 0.1, 7, &labels, &b));
    assert_ok(make(words[2], 0.2, 7, &labels, &c));
    assert_ok(eg_scenario_digest(a, one));
    assert_ok(eg_scenario_digest(b, two));
    assert_ok(eg_scenario_digest(c, other));
    assert_string_equal(one, two);
    assert_string_not_equal(one, other);
    assert_int_equal(eg_scenario_validation(a, 4, 0, &x), eg_scenario_validation(a, 4, 2, &y));
    assert_ptr_equal(x, y); /* all tasks of this kind share one split */
    eg_scenario_free(a);
    eg_scenario_free(b);
    eg_scenario_free(c);
    eg_labels_free(&labels);
}

static void test_shares_that_cannot_be_are_refused(void **state)
{
    (void)state;
    eg_labels labels = fixture_labels(CLASSES, EACH, 3);
    eg_scenario *s;
    eg_spec *spec;
    assert_fails(make("kind=realtime classes=2 samples=2", 0.1, 7, &labels, &s), EG_ENOTSUP,
                 "validation: partition 'types'");
    assert_ok(eg_spec_new(&spec));
    assert_fails(eg_spec_hold_out(spec, 0.91), EG_EINVAL, "outside [0, 0.9]");
    assert_fails(eg_spec_hold_out(spec, -0.1), EG_EINVAL, "outside");
    assert_fails(eg_spec_hold_out(spec, NAN), EG_EINVAL, "outside");
    eg_spec_free(spec);
    eg_labels_free(&labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_trains_on_what_is_held_out),
        cmocka_unit_test(test_every_client_and_class_has_its_share),
        cmocka_unit_test(test_every_class_is_validated_where_clients_hold_few),
        cmocka_unit_test(test_the_choice_follows_from_the_seed),
        cmocka_unit_test(test_shares_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
