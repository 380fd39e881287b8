/* test.c - a model's answers on test samples, counted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "client/outputs.h"

#include <engram/metric.h>
#include <engram/op.h>

enum { TEST_BATCH = 250, TEST_PLANS = 4 };

/* The outputs of upright images: the first of each class. [n, outputs] -> [n, classes] */
static eg_node *test_upright(const eg_worker *w, eg_graph *g, eg_node *logits)
{
    int64_t fan = w->feed->fan;
    if (fan == 1 || eg_graph_status(g) != EG_OK)
        return logits;
    int64_t n = eg_node_shape(logits).dim[0], classes = eg_node_shape(logits).dim[1] / fan;
    eg_node *by_class = eg_reshape(g, logits, eg_dims(n, classes, fan));
    return eg_reshape(g, eg_slice(g, by_class, 2, 0, 1), eg_dims(n, classes));
}

static void test_record(void *context, eg_graph *g, int64_t batch)
{
    const eg_worker *w = context;
    const eg_feed *f = w->feed;
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(batch, f->channels, f->height, f->width));
    eg_node *features = eg_net_features(w->net, g, x);
    eg_node *open = eg_outputs_record(w, g, features, EG_OUTPUTS_OPEN);
    eg_output(g, "logits", test_upright(w, g, open));
    if (!eg_outputs_own(w->agreed))
        return;
    eg_node *told = eg_outputs_record(w, g, features, EG_OUTPUTS_TOLD);
    eg_output(g, "logits in task", test_upright(w, g, told));
}

eg_status eg_worker_open_test(eg_worker *w)
{
    EG_TRY(eg_alloc(TEST_BATCH, sizeof *w->truth, &w->truth));
    return eg_program_new(test_record, w, TEST_PLANS, &w->test);
}

/* Counts the right answers of a plan that has run on rows from `at` on; -1 is no answer. */
static void test_count(const eg_worker *w, const eg_plan *plan, const eg_exam *exam, int64_t at,
                       int64_t rows, eg_score *out)
{
    int64_t classes = eg_scenario_n_classes(w->feed->scenario);
    const float *logits = eg_plan_output(plan, "logits"); /* [rows, classes] */
    const float *in_task = eg_plan_output(plan, "logits in task");
    in_task = in_task ? in_task : logits;
    for (int64_t i = 0; i < rows; i++, logits += classes, in_task += classes) {
        int32_t answer = exam->allowed && exam->n_allowed == 0
                             ? -1
                             : eg_predict(logits, classes, exam->allowed, exam->n_allowed);
        out->right += answer == w->truth[i];
        if (exam->answers)
            exam->answers[at + i] = answer;
        out->right_in_task +=
            eg_predict(in_task, classes, exam->classes, exam->n_classes) == w->truth[i];
    }
}

eg_status eg_worker_test(eg_worker *w, const float *param, const float *state,
                         const eg_exam *exam, eg_score *out)
{
    *out = (eg_score){.n = exam->n};
    /* The plan only reads them: no gradient, no statistics in eval form. */
    EG_TRY(eg_program_bind(w->test, eg_net_params(w->net), (float *)(uintptr_t)param, NULL,
                           (float *)(uintptr_t)state));
    for (int64_t at = 0; at < exam->n; at += TEST_BATCH) {
        int64_t rows = exam->n - at < TEST_BATCH ? exam->n - at : TEST_BATCH;
        eg_plan *plan;
        EG_TRY(eg_program_plan(w->test, rows, &plan));
        float *x = eg_plan_input(plan, "x");
        if (exam->held_out)
            eg_feed_validation(w->feed, exam->task, exam->ids + at, rows, x, w->truth);
        else
            eg_feed_test(w->feed, exam->task, exam->ids + at, rows, x, w->truth);
        eg_outputs_ask(w, plan, exam, rows);
        EG_TRY(eg_plan_run(plan));
        test_count(w, plan, exam, at, rows, out);
    }
    return EG_OK;
}
