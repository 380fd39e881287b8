/* gpm_test.c - subspaces that hold their share and no more, and outputs that stay.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

/* One client, three tasks of two rounds of 10 samples with 40 inputs. */
#define TEXT(method)                                                                           \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 30, test: 6, classes: 6, dim: 40}\n"                           \
    "model: {name: mlp, depth: 1, width: 30}\n"                                                \
    "scenario: {kind: class-incremental, clients: 1, tasks: 3, rounds: 2}\n"                   \
    "train: {epochs: 3, batch: 5}\n"                                                           \
    "optimizer: {lr: 0.1}\n"                                                                   \
    "gpm: {threshold: 0.8, rise: 0.05, samples: 10}\n"                                         \
    "runs: [{label: a, method: " method "}]\n"

enum { STAGE = 10, DIM = 40, CLASSES = 6 };

/* The part of a stage's inputs that the first m columns of u [DIM, all] hold. */
static double held(one_client *o, int64_t stage, const float *u, int64_t all, int64_t m)
{
    eg_sample samples[STAGE];
    float x[STAGE * DIM], labels[STAGE];
    double inside = 0, energy = 0;
    one_client_samples(o, stage, STAGE, samples);
    eg_client_feed(o->c, samples, STAGE, x, labels);
    for (int i = 0; i < STAGE; i++) {
        for (int k = 0; k < DIM; k++)
            energy += (double)x[i * DIM + k] * (double)x[i * DIM + k];
        for (int64_t j = 0; j < m; j++) {
            double along = 0;
            for (int k = 0; k < DIM; k++)
                along += (double)u[k * all + j] * (double)x[i * DIM + k];
            inside += along * along;
        }
    }
    return inside / energy;
}

/* The columns kept for the first layer. */
static const float *kept(const one_client *o, int64_t *m)
{
    size_t n = 0;
    const char *tensor = eg_params_at(eg_net_params(o->net), 0)->name;
    char name[80];
    const eg_bundle *record = one_client_kept(o, "gpm");
    snprintf(name, sizeof name, "gpm.%s", tensor);
    const float *u = record ? eg_bundle_find(record, name, &n) : NULL;
    *m = (int64_t)n / DIM;
    return u;
}

static void test_a_subspace_holds_its_share_with_the_fewest_columns(void **state)
{
    (void)state;
    int64_t before = 0, m;
    one_client o;
    one_client_open(&o, TEXT("gpm"), NULL);
    for (int round = 0; round < 6; round++) {
        one_client_train(&o);
        const float *u = kept(&o, &m);
        assert_int_equal(u != NULL, round >= 2);
        if (round != 2 && round != 4)
            continue;
        int64_t left = round / 2 - 1;
        double share = 0.8 + 0.05 * (double)left;
        assert_true(m > before + 1);
        assert_true(held(&o, left, u, m, m) >= share - 1e-6);
        assert_true(held(&o, left, u, m, m - 1) < share);
        before = m;
    }
    one_client_close(&o);
}

/* With all that was ever fed in the subspaces, no weight moves that saw it: the outputs of the
 * past change by the head's biases alone. */
static void test_outputs_of_the_past_stay(void **state)
{
    (void)state;
    one_client o;
    eg_sample old[STAGE];
    float before[STAGE * CLASSES], after[STAGE * CLASSES];
    double most = 0;
    one_client_open(&o, TEXT("gpm"), "gpm.threshold=1");
    one_client_samples(&o, 0, STAGE, old);
    for (int round = 0; round < 6; round++) {
        if (round == 2)
            assert_ok(eg_client_look(o.c, NULL, &(eg_rows){.n = STAGE, .samples = old},
                                     &(eg_look){.logits = before}));
        one_client_train(&o);
    }
    assert_ok(eg_client_look(o.c, NULL, &(eg_rows){.n = STAGE, .samples = old},
                             &(eg_look){.logits = after}));
    for (int y = 0; y < CLASSES; y++) {
        double shift = (double)(after[y] - before[y]);
        most = fmax(most, fabs(shift));
        for (int i = 1; i < STAGE; i++)
            assert_near((double)(after[i * CLASSES + y] - before[i * CLASSES + y]), shift,
                        2e-5);
    }
    assert_true(most > 1e-3);
    one_client_close(&o);
}

static void test_every_option_matters(void **state)
{
    (void)state;
    static const char *const sets[] = {"gpm.threshold=0.9", "gpm.rise=0.1", "gpm.samples=5",
                                       "gpm.head=free", "gpm.variant=release"};
    const char *plain = TEXT("fedavg"), *text = TEXT("gpm");
    assert_true(one_client_same(plain, NULL, text, NULL, 2)); /* in the first task */
    assert_false(one_client_same(plain, NULL, text, NULL, 3));
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_false(one_client_same(text, NULL, text, sets[i], 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_subspace_holds_its_share_with_the_fewest_columns),
        cmocka_unit_test(test_outputs_of_the_past_stay),
        cmocka_unit_test(test_every_option_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
