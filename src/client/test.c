/* test.c - a model's answers on test samples, counted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "client/outputs.h"

#include <engram/metric.h>
#include <engram/op.h>

enum { TEST_BATCH = 250, TEST_PLANS = 4 };

static void test_record(void *context, eg_graph *g, int64_t batch)
{
    const eg_worker *w = context;
    const eg_feed *f = w->feed;
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(batch, f->channels, f->height, f->width));
    eg_node *features = eg_net_features(w->net, g, x);
    eg_output(g, "logits", eg_outputs_record(w, g, features, EG_OUTPUTS_OPEN));
    if (eg_outputs_own(w->agreed))
        eg_output(g, "logits in task", eg_outputs_record(w, g, features, EG_OUTPUTS_TOLD));
}

eg_status eg_worker_open_test(eg_worker *w)
{
    EG_TRY(eg_alloc(TEST_BATCH, sizeof *w->truth, &w->truth));
    return eg_program_new(test_record, w, TEST_PLANS, &w->test);
}

/* Counts the right answers of a plan that has run. */
static void test_count(const eg_worker *w, const eg_plan *plan, const eg_exam *exam,
                       int64_t rows, eg_score *out)
{
    int64_t outputs = eg_net_spec_of(w->net)->classes;
    const float *logits = eg_plan_output(plan, "logits"); /* [rows, outputs] */
    const float *in_task = eg_plan_output(plan, "logits in task");
    in_task = in_task ? in_task : logits;
    for (int64_t i = 0; i < rows; i++, logits += outputs, in_task += outputs) {
        out->right +=
            (!exam->allowed || exam->n_allowed) &&
            eg_predict(logits, outputs, exam->allowed, exam->n_allowed) == w->truth[i];
        out->right_in_task +=
            eg_predict(in_task, outputs, exam->classes, exam->n_classes) == w->truth[i];
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
        eg_feed_test(w->feed, exam->task, exam->ids + at, rows, eg_plan_input(plan, "x"),
                     w->truth);
        eg_outputs_ask(w, plan, exam, rows);
        EG_TRY(eg_plan_run(plan));
        test_count(w, plan, exam, rows, out);
    }
    return EG_OK;
}
