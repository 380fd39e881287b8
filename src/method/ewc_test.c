/* ewc_test.c - the penalty by hand, and what is anchored when a task ends.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hand_client.h"
#include "one_client.h"

#include "method/lib/fisher.h"

extern const eg_method eg_method_ewc;

static const eg_method *const method = &eg_method_ewc;

/* One client, three tasks of two rounds. */
#define TEXT(method)                                                                           \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 90, test: 6, classes: 6, dim: 4}\n"                            \
    "model: {name: mlp, depth: 1, width: 5}\n"                                                 \
    "scenario: {kind: class-incremental, clients: 1, tasks: 3, rounds: 2}\n"                   \
    "optimizer: {lr: 0.2}\n"                                                                   \
    "train: {epochs: 1, batch: 8}\n"                                                           \
    "runs: [{label: a, method: " method "}]\n"

static eg_bundle *record_of(const float *fisher, const float *anchor, size_t n)
{
    eg_bundle *b;
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(b, "ewc.fisher", fisher, n));
    assert_ok(eg_bundle_add_flat(b, "ewc.anchor", anchor, n));
    return b;
}

static void begin_turn(hand_client *h)
{
    assert_ok(method->client.download(h->self, h->c, EG_TRAINING, NULL));
}

static void test_the_pull_worked_by_hand(void **state)
{
    (void)state;
    const float fisher[] = {0.5f, 2, 0}, anchor[] = {1, -1, 5};
    float param[] = {3, -2, 7}, grad[] = {1, 1, 1};
    hand_client h;
    hand_client_open(&h, method, (const char *const[]){"lambda", "10", NULL}, 3, param, grad);
    begin_turn(&h); /* no task has ended yet */
    assert_ok(method->client.grad(h.self, h.c));
    assert_near((double)grad[0], 1, 0);
    hand_client_keep(&h, "ewc", record_of(fisher, anchor, 3));
    begin_turn(&h);
    assert_ok(method->client.grad(h.self, h.c));
    assert_near((double)grad[0], 1 + 10 * 0.5 * 2, 1e-6);
    assert_near((double)grad[1], 1 + 10 * 2.0 * -1, 1e-6);
    assert_near((double)grad[2], 1, 0);
    hand_client_next(&h); /* it stays until the next task ends */
    const eg_bundle *again = hand_client_kept(&h, "ewc");
    assert_memory_equal(eg_bundle_find(again, "ewc.fisher", NULL), fisher, sizeof fisher);
    assert_memory_equal(eg_bundle_find(again, "ewc.anchor", NULL), anchor, sizeof anchor);
    h.c->n_params = 4;
    assert_fails(method->client.download(h.self, h.c, EG_TRAINING, NULL), EG_ESHAPE,
                 "3 values, not 4");
    hand_client_close(&h);
}

/* In a turn the part's name is before it. */
static void test_a_record_of_another_size_ends_the_turn(void **state)
{
    (void)state;
    const float three[3] = {1, 2, 3};
    one_client o;
    one_client_open(&o, TEXT("ewc"), NULL);
    one_client_keep(&o, 0, "ewc", record_of(three, three, 3));
    assert_fails(one_client_turn(&o, 0), EG_ESHAPE, "ewc: tensor 'ewc.fisher': 3 values, not");
    one_client_close(&o);
}

/* The Fisher of a stage's samples at the model as it stands. */
static void fisher_now(one_client *o, int64_t stage, float *out)
{
    int64_t n;
    const eg_span *spans = eg_scenario_spans(o->feed.scenario, 0, stage, &n);
    assert_ok(eg_fisher(o->c, spans, n, 0, out));
}

/* After each task: the anchor is the model received, the Fisher that of the task it left, with
 * gamma of what was there. */
static void test_a_task_that_ends_is_anchored(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT("ewc"), "ewc.gamma=0.25");
    size_t n = o.c->n_params;
    float *fisher, *sum, *anchor;
    assert_ok(eg_alloc(n, sizeof *fisher, &fisher));
    assert_ok(eg_alloc(n, sizeof *sum, &sum));
    assert_ok(eg_alloc(n, sizeof *anchor, &anchor));
    for (int round = 0; round < 6; round++) {
        if (round == 2 || round == 4) { /* the model that the next round receives */
            memcpy(anchor, o.c->param, n * sizeof *anchor);
            fisher_now(&o, round / 2 - 1, fisher);
            for (size_t i = 0; i < n; i++)
                sum[i] = fisher[i] + 0.25f * sum[i];
        }
        one_client_train(&o);
        const eg_bundle *kept = one_client_kept(&o, "ewc");
        if (round < 2) {
            assert_null(kept);
            continue;
        }
        assert_non_null(kept);
        assert_memory_equal(eg_bundle_find(kept, "ewc.fisher", NULL), sum, n * sizeof *sum);
        assert_memory_equal(eg_bundle_find(kept, "ewc.anchor", NULL), anchor, n * sizeof *sum);
        assert_memory_not_equal(o.c->param, anchor, n * sizeof *anchor);
    }
    free(fisher);
    free(sum);
    free(anchor);
    one_client_close(&o);
}

static void test_every_option_matters(void **state)
{
    (void)state;
    const char *plain = TEXT("fedavg"), *text = TEXT("ewc");
    assert_true(one_client_same(plain, NULL, text, "ewc.lambda=0", 6));
    assert_true(one_client_same(plain, NULL, text, NULL, 2)); /* in the first task */
    assert_false(one_client_same(plain, NULL, text, NULL, 3));
    assert_false(one_client_same(text, NULL, text, "ewc.lambda=1", 3));
    assert_false(one_client_same(text, NULL, text, "ewc.samples=5", 3));
    assert_true(one_client_same(text, NULL, text, "ewc.gamma=0.5", 4));
    assert_false(one_client_same(text, NULL, text, "ewc.gamma=0.5", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_pull_worked_by_hand),
        cmocka_unit_test(test_a_record_of_another_size_ends_the_turn),
        cmocka_unit_test(test_a_task_that_ends_is_anchored),
        cmocka_unit_test(test_every_option_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
