/* answers_test.c - what tests know beside the model: sent, saved, asked again from the file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <engram/method.h>
#include <engram/op.h>
#include <engram/saved.h>

#include "run/experiment/feed.h"

/* A network without hidden layers: the features are the pixels, whatever was learned. */
#define TEXT(method, more)                                                                     \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 400, test: 200, classes: 4, spread: 0.6, mean: 0.25, std: "    \
    "2}\n"                                                                                     \
    "model: {name: mlp, depth: 0}\n"                                                           \
    "scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 2,\n"                   \
    "           partition: {kind: dirichlet, alpha: 1}}\n"                                     \
    "optimizer: {lr: 0.05}\n"                                                                  \
    "train: {batch: 16}\n" more "runs: [{label: a, method: " method "}]\n"

enum { CLASSES = 4, SEED = 3 }; /* the seed that runs_run takes */

/* The accuracy of a run's model, from its file alone, over all test samples. */
static double saved_accuracy(const char *path)
{
    char file[1024];
    eg_saved *saved;
    eg_table t = {0};
    eg_confusion all;
    double accuracy;
    static const char *const set[][2] = {
        {"train", "400"}, {"test", "200"}, {"classes", "4"}, {"spread", "0.6"}};
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    assert_ok(eg_saved_open(file, &saved));
    const eg_dataset *blobs = eg_dataset_find("blobs");
    void *options;
    assert_ok(eg_component_new(&blobs->component, &options));
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_ok(eg_opts_set(blobs->component.opts, options, set[i][0], set[i][1]));
    assert_ok(eg_dataset_load(blobs, options, &(eg_origin){.seed = SEED}, EG_TEST, &t));
    assert_ok(eg_confusion_init(&all, CLASSES));
    assert_ok(eg_saved_test(saved, &t, NULL, 0, &all, NULL));
    assert_true(eg_confusion_accuracy(&all, &accuracy));
    eg_confusion_fini(&all);
    eg_table_fini(&t);
    free(options);
    eg_saved_free(saved);
    return accuracy;
}

/* The same accuracy worked out from the data: the means of all training samples by class, and
 * the share of test samples whose nearest mean is their own class's. */
static double accuracy_by_hand(const char *text)
{
    eg_experiment *e;
    eg_feed f;
    assert_ok(fixture_load(text, NULL, &e));
    assert_ok(eg_feed_open(e, SEED, NULL, &f));
    const size_t d = f.sample;
    double *mean = calloc(CLASSES * d, sizeof *mean), n[CLASSES] = {0};
    float *x = calloc(d, sizeof *x), label;
    assert_true(mean && x);
    for (int64_t i = 0; i < f.train[0].n; i++) {
        eg_feed_train(&f, &(eg_sample){0, i}, 1, NULL, x, &label);
        n[(int)label]++;
        for (size_t k = 0; k < d; k++)
            mean[(size_t)label * d + k] += (double)x[k];
    }
    int64_t right = 0;
    for (int64_t i = 0; i < f.test[0].n; i++) {
        int32_t truth;
        eg_feed_test(&f, 0, &i, 1, x, &truth);
        int best = -1;
        double least = INFINITY;
        for (int y = 0; y < CLASSES; y++) {
            double apart = 0;
            for (size_t k = 0; k < d; k++)
                apart += pow((double)x[k] - mean[(size_t)y * d + k] / n[y], 2);
            best = apart < least ? y : best;
            least = fmin(apart, least);
        }
        right += best == truth;
    }
    double accuracy = (double)right / (double)f.test[0].n;
    free(mean);
    free(x);
    eg_feed_close(&f);
    eg_experiment_free(e);
    return accuracy;
}

static void test_nearest_means_answer_in_a_run_and_from_its_file(void **state)
{
    (void)state;
    char path[512];
    assert_ok(fixture_run(TEXT("ncm", ""), NULL, 1, 0, path));
    double by_hand = accuracy_by_hand(TEXT("ncm", ""));
    assert_true(by_hand > 0.4 && by_hand < 0.99); /* some are wrong: means matter */
    assert_near(runs_value(path, "acc_final"), by_hand, 1e-9);
    assert_near(saved_accuracy(path), by_hand, 1e-9);
    assert_ok(fixture_run(TEXT("fedavg", ""), NULL, 1, 0, path));
    assert_true(fabs(runs_value(path, "acc_final") - by_hand) > 0.05);
}

/* What a run measured of its data goes with its model. */
static void test_a_normalised_run_has_its_accuracy_from_its_file(void **state)
{
    (void)state;
    static const char text[] =
        "name: t\n"
        "data: {name: blobs, train: 400, test: 200, classes: 4, spread: 0.6, normalize: true}\n"
        "model: {name: mlp, depth: 0}\n"
        "scenario: {kind: class-incremental, clients: 3, tasks: 1, rounds: 3, partition: iid}\n"
        "optimizer: {lr: 0.5}\n"
        "runs: [{label: a, method: fedavg}]\n";
    char path[512];
    assert_ok(fixture_run(text, NULL, 1, 0, path));
    double accuracy = runs_value(path, "acc_final");
    assert_true(accuracy > 0.4 && accuracy < 0.999);
    assert_near(saved_accuracy(path), accuracy, 1e-9);
}

static void test_exemplars_answer_from_the_file_too(void **state)
{
    (void)state;
    char path[512], again[512], hash[65], other[65];
    static const char memory[] =
        TEXT("[icarl, fed-a-gem]", "memory: {kind: reservoir, size: 40}\n");
    assert_ok(fixture_run(memory, NULL, 1, 0, path));
    assert_near(saved_accuracy(path), runs_value(path, "acc_final"), 1e-9);
    assert_ok(fixture_run(memory, NULL, -2, 3, again)); /* processes, stopped and resumed */
    assert_near(runs_value(again, "acc_final"), runs_value(path, "acc_final"), 0);
    runs_hash(path, hash);
    runs_hash(again, other);
    assert_string_equal(hash, other); /* what tests know is in it */
}

/* With models of their own clients know their own means: each class of two tasks. */
static void test_personal_models_know_their_own_means(void **state)
{
    (void)state;
    char path[512], again[512];
    assert_ok(fixture_run(TEXT("[local, ncm]", ""), NULL, 1, 0, path));
    assert_true(runs_value(path, "acc_final") > 0.4);
    assert_ok(fixture_run(TEXT("[local, ncm]", ""), NULL, -2, 3, again));
    assert_near(runs_value(again, "acc_final"), runs_value(path, "acc_final"), 0);
}

static eg_status knows_too_much(const void *options, const eg_net *net, eg_bundle *out)
{
    (void)options, (void)net;
    return eg_bundle_scalar(out, "number", 1);
}

static eg_status knows_shape(const void *options, const eg_net *net, eg_bundle *out)
{
    (void)options, (void)net;
    return eg_bundle_add_flat(out, "shift", (float[]){0, 0, 0, 5}, CLASSES);
}

static eg_status knows_other_shape(void *self, eg_server *s, eg_bundle *to)
{
    (void)self, (void)s;
    return eg_bundle_add_flat(to, "shift", (float[]){1}, 1);
}

static eg_node *shifted(const void *options, const eg_net *net, eg_graph *g, const eg_asked *in)
{
    (void)options, (void)net;
    eg_node *all = eg_affine(g, in->outputs, 0, 0);
    return eg_add(g, all, eg_reshape(g, in->known[0], eg_dims(1, CLASSES)));
}

static const eg_method scalar_knower = {
    .component = {"scalar_knower", "declares a scalar", 0, NULL},
    .know = knows_too_much,
    .answers = shifted,
};
static const eg_method wrong_knower = {
    .component = {"wrong_knower", "declares one shape and adds another", 0, NULL},
    .know = knows_shape,
    .answers = shifted,
    .server = {.know = knows_other_shape},
};
static const eg_method fourth = {
    .component = {"fourth", "answers class 3, as it declares", 0, NULL},
    .know = knows_shape,
    .answers = shifted,
};

static void test_what_is_declared_counts_until_more_is_known(void **state)
{
    (void)state;
    char path[512];
    assert_ok(eg_method_add(&fourth));
    assert_ok(fixture_run(TEXT("fourth", ""), NULL, 1, 0, path));
    assert_near(runs_value(path, "acc_final"), 0.25, 0.1);
    assert_near(saved_accuracy(path), 0.25, 0.1);
}

static void test_what_does_not_fit_its_declaration_is_refused(void **state)
{
    (void)state;
    char path[512];
    assert_ok(eg_method_add(&scalar_knower));
    assert_ok(eg_method_add(&wrong_knower));
    assert_fails(fixture_run(TEXT("scalar_knower", ""), NULL, 1, 0, path), EG_EINVAL,
                 "answers know up to 4 tensors and no scalar");
    assert_fails(fixture_run(TEXT("wrong_knower", ""), NULL, 1, 0, path), EG_ESHAPE,
                 "what answers know");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_means_answer_in_a_run_and_from_its_file),
        cmocka_unit_test(test_a_normalised_run_has_its_accuracy_from_its_file),
        cmocka_unit_test(test_exemplars_answer_from_the_file_too),
        cmocka_unit_test(test_personal_models_know_their_own_means),
        cmocka_unit_test(test_what_is_declared_counts_until_more_is_known),
        cmocka_unit_test(test_what_does_not_fit_its_declaration_is_refused),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
