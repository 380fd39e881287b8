/* regression_test.c - targets of several numbers: their loss, what is judged, and whole runs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include <engram/metric.h>
#include <engram/op.h>
#include <engram/program.h>
#include <engram/rng.h>
#include <engram/target.h>

#include <math.h>

/* Two numbers that follow from three: t = (x0 - 2 x1 + 1, x2 / 2). */
static void plane_target(const float *x, float *t)
{
    t[0] = x[0] - 2 * x[1] + 1;
    t[1] = x[2] / 2;
}

static eg_status plane_load(const void *self, const eg_origin *from, eg_split split,
                            eg_table *out)
{
    int64_t n = split == EG_TRAIN ? 96 : 32;
    (void)self;
    EG_TRY(eg_table_alloc_f32(out, n, 3, 1, 1, 2));
    EG_TRY(eg_table_alloc_targets(out, 2));
    for (int64_t i = 0; i < n; i++) {
        eg_rng r = eg_rng_at(from->seed, (uint32_t)split, (uint32_t)i, EG_FOR_DATA);
        for (int64_t k = 0; k < 3; k++)
            out->f32[3 * i + k] = (float)eg_rng_normal(&r);
        plane_target(out->f32 + 3 * i, out->target + 2 * i);
        out->y[i] = (int32_t)(i % 2);
    }
    return EG_OK;
}

static const eg_dataset plane = {.component = {.name = "plane", .help = "numbers of numbers"},
                                 .generated = true,
                                 .target = "regression",
                                 .load = plane_load};

/* Outputs (1, 2) and (0, 4), targets (0, 2) and (2, 1): squares 1, 0, 4, 9. */
static const float outputs[] = {1, 2, 0, 4}, targets[] = {0, 2, 2, 1};

static void test_the_loss_is_the_mean_square(void **state)
{
    (void)state;
    const eg_aim aim = {.kind = eg_target_find("regression"), .width = 2, .outputs = 2};
    eg_graph *g;
    eg_plan *p;
    eg_node *grad;
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(2, 2)), *t = eg_input(g, "t", eg_dims(2, 2));
    eg_node *loss = aim.kind->loss(&aim, g, x, t);
    eg_gradients(g, loss, 1, &x, &grad);
    eg_output(g, "loss", loss);
    eg_output(g, "each", aim.kind->losses(&aim, g, x, t));
    eg_output(g, "grad", grad);
    assert_ok(eg_compile(g, &p));
    memcpy(eg_plan_input(p, "x"), outputs, sizeof outputs);
    memcpy(eg_plan_input(p, "t"), targets, sizeof targets);
    assert_ok(eg_plan_run(p));
    static const double each[] = {0.5, 6.5}, slope[] = {0.5, 0, -1, 1.5};
    assert_near((double)*eg_plan_output(p, "loss"), 3.5, 1e-6);
    for (int i = 0; i < 2; i++)
        assert_near((double)eg_plan_output(p, "each")[i], each[i], 1e-6);
    for (int i = 0; i < 4; i++)
        assert_near((double)eg_plan_output(p, "grad")[i], slope[i], 1e-6);
    eg_plan_free(p);
    eg_graph_free(g);
}

/* Targets have means 1 and 1.5, so squares around them of 2 and 0.5: outputs are worse than
 * the means, which counts as 0. With outputs a tenth of these errors away the share is
 * 1 - 0.14 / 2.5. */
static void test_what_is_judged_is_the_share_of_variance(void **state)
{
    (void)state;
    const eg_aim aim = {.kind = eg_target_find("regression"), .width = 2, .outputs = 2};
    for (int near = 0; near < 2; near++) {
        void *judge;
        eg_bundle *to;
        const float *rates;
        float said[4];
        for (int i = 0; i < 4; i++)
            said[i] = near ? targets[i] + 0.1F * (outputs[i] - targets[i]) : outputs[i];
        assert_ok(aim.kind->judge_new(&aim, 2, false, &judge));
        assert_ok(aim.kind->judge_add(judge, 1, said, targets));
        assert_ok(aim.kind->judge_add(judge, 1, said + 2, targets + 2));
        assert_ok(eg_bundle_new(&to));
        assert_ok(aim.kind->judge_end(judge, to));
        assert_ok(eg_bundle_need(to, "rates", 3, &rates));
        assert_near((double)rates[0], near ? 1 - 0.14 / 2.5 : 0, 1e-6);
        assert_near((double)rates[1], near ? 0.035 : 3.5, 1e-6);
        assert_near((double)rates[2], near ? 0.15 : 1.5, 1e-6);
        eg_bundle_free(to);
        aim.kind->judge_free(judge);
    }
}

static const char text[] =
    "name: t\n"
    "data: [plane, plane]\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: domain-sources, clients: 2, rounds: 3, partition: iid}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 3, batch: 8}\n"
    "memory: {kind: reservoir, size: 12}\n"
    "runs: [{label: a, method: [er, der, fed-a-gem, gpm]}]\n";

static void test_a_run_learns_numbers_with_the_same_bits_everywhere(void **state)
{
    (void)state;
    char path[512], one[65], two[65], again[65];
    double value;
    eg_record *r;
    assert_ok(eg_dataset_add(&plane));
    assert_ok(fixture_run(text, NULL, 1, 0, path));
    runs_hash(path, one);
    eg_events *e = fixture_events(path);
    assert_ok(eg_run_record(e, EG_RECORD_CLASS_IL, &r));
    assert_true(eg_run_accuracy(r, eg_record_n_rows(r) - 1, 1, &value));
    assert_true(value > 0.9); /* a plane explains nearly all of it */
    eg_record_free(r);
    eg_events_free(e);
    assert_ok(fixture_run(text, NULL, 2, 0, path));
    runs_hash(path, two);
    assert_string_equal(one, two);
    assert_ok(fixture_run(text, NULL, 1, 4, path));
    runs_hash(path, again);
    assert_string_equal(one, again);
}

static void refused(const char *file, const char *set, const char *sentence)
{
    char path[512];
    eg_experiment *e;
    eg_status s = fixture_load(file, set, &e);
    if (s == EG_OK) {
        s = runs_run(e, fixture_folder, 1, 0, path);
        eg_experiment_free(e);
    }
    assert_true(s != EG_OK);
    if (!strstr(eg_error(), sentence))
        fail_msg("%s is not said, but: %s", sentence, eg_error());
}

static void test_what_needs_classes_is_refused_with_numbers(void **state)
{
    (void)state;
    char ncm[sizeof text];
    snprintf(ncm, sizeof ncm, "%.*sncm}]\n", (int)(strchr(strstr(text, "method:"), '[') - text),
             text);
    refused(ncm, NULL,
            "ncm needs one class for each sample; the targets of these data are numbers");
    refused(text, "model=tiny-yolo", "looks for boxes; the targets of these data are numbers");
    refused(text, "train.rotations=true", "train.rotations is about classes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_loss_is_the_mean_square),
        cmocka_unit_test(test_what_is_judged_is_the_share_of_variance),
        cmocka_unit_test(test_a_run_learns_numbers_with_the_same_bits_everywhere),
        cmocka_unit_test(test_what_needs_classes_is_refused_with_numbers),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
