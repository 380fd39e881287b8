/* test.c - a model's answers on test samples, counted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/outputs.h"

#include "engine/model/net.h"
#include "world/metric/metric.h"

#include <engram/op.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEST_BATCH = 250, TEST_FEW = 32, TEST_PLANS = 4 };

/* The outputs of upright images, or what a part answers in their place. */
static eg_node *test_answers(const eg_worker *w, eg_graph *g, eg_asked asked, const char *tasks)
{
    asked.outputs = eg_outputs_record(w, g, asked.features, tasks);
    eg_node *answers = eg_chain_answers(&w->chain, w->net, w->known, g, asked);
    return eg_feed_upright(g, answers, w->feed->fan);
}

static void test_record(void *context, eg_graph *g, int64_t batch)
{
    const eg_worker *w = context;
    const eg_feed *f = w->feed;
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(batch, f->channels, f->height, f->width));
    eg_outputs_declare(w, g, batch);
    eg_node *features = eg_net_features(w->net, g, x);
    eg_asked asked = {.x = x, .features = features};
    eg_output(g, "logits", test_answers(w, g, asked, EG_OUTPUTS_OPEN));
    if (eg_outputs_own(w->agreed))
        eg_output(g, "logits in task", test_answers(w, g, asked, EG_OUTPUTS_TOLD));
}

eg_status eg_worker_open_test(eg_worker *w)
{
    EG_TRY(eg_alloc(TEST_BATCH, sizeof *w->truth, &w->truth));
    return eg_program_new(test_record, w, TEST_PLANS, &w->test);
}

/* Rows of large samples are fewer at a time. */
static int64_t test_batch(const eg_worker *w)
{
    enum { TEST_FLOATS = 1 << 22 };
    int64_t fit = TEST_FLOATS / (int64_t)w->feed->sample;
    if (eg_net_model(w->net)->alone && w->feed->height > 1)
        return TEST_FEW; /* a row of a transformer has hundreds of tokens */
    return fit >= TEST_BATCH / 4 ? TEST_BATCH : fit < 1 ? 1 : fit;
}

/* Counts the right answers of a plan that has run on rows from `at` on; -1 is no answer. */
static void test_count(const eg_worker *w, const eg_plan *plan, const eg_exam *exam, int64_t at,
                       int64_t rows, eg_score *out)
{
    int64_t classes = eg_scenario_n_classes(w->feed->scenario);
    const float *logits = eg_plan_output(plan, "logits"); /* [rows, classes] */
    const float *in_task = eg_plan_output(plan, "logits in task");
    const eg_allowed allowed = {exam->allowed, exam->n_allowed};
    const eg_allowed own = {exam->classes, exam->n_classes};
    int64_t top = w->e->eval.top;
    in_task = in_task ? in_task : logits;
    for (int64_t i = 0; i < rows; i++, logits += classes, in_task += classes) {
        int32_t answer = exam->allowed && exam->n_allowed == 0
                             ? -1
                             : eg_predict(logits, classes, exam->allowed, exam->n_allowed);
        if (exam->answers)
            exam->answers[at + i] = answer;
        out->right +=
            answer >= 0 && eg_predict_holds(logits, classes, &allowed, top, w->truth[i]);
        out->right_in_task += eg_predict_holds(in_task, classes, &own, top, w->truth[i]);
    }
}

/* Fills the rows of an exam from row `from` on, and has the plan answer. */
static eg_status test_answer(eg_worker *w, eg_plan *plan, const eg_exam *exam, int64_t from,
                             int64_t rows)
{
    float *x = eg_plan_input(plan, "x");
    if (exam->held_out)
        eg_feed_validation(w->feed, exam->task, exam->ids + from, rows, x, w->truth);
    else
        eg_feed_test(w->feed, exam->task, exam->ids + from, rows, x, w->truth);
    eg_outputs_ask(w, plan, exam, rows);
    if (w->known)
        EG_TRY(eg_answers_fill(plan, w->known, w->knowing));
    return eg_plan_run(plan);
}

/* Gives a judge the answers of the rows from row `from` on. */
static eg_status test_judge(const eg_worker *w, const eg_plan *plan, const eg_exam *exam,
                            int64_t from, int64_t rows, void *judge)
{
    const eg_table *t = eg_feed_tested(w->feed, exam->task, exam->held_out);
    const eg_aim *aim = &w->feed->aim;
    const float *outputs = eg_plan_output(plan, "logits");
    for (int64_t i = 0; i < rows; i++)
        EG_TRY(aim->kind->judge_add(judge, 1, outputs + i * aim->outputs,
                                    t->target + exam->ids[from + i] * t->target_width));
    return EG_OK;
}

/* Adds all that a judge said below the exam's name. */
static eg_status test_tell(const eg_exam *exam, const eg_bundle *said)
{
    eg_bundle_entry e;
    char name[96];
    for (size_t i = 0; exam->said && i < eg_bundle_n(said); i++) {
        eg_bundle_at(said, i, &e);
        snprintf(name, sizeof name, EG_JUDGED "%s", exam->held_out ? "held" : "test",
                 (long long)exam->task, e.name);
        EG_TRY(eg_bundle_add(exam->said, name, e.shape, e.values));
    }
    return EG_OK;
}

/* What a judge comes to: the exam's score. */
static eg_status test_score(const eg_worker *w, void *judge, const eg_exam *exam, eg_score *out)
{
    const float *rates;
    eg_bundle *said;
    EG_TRY(eg_bundle_new(&said));
    eg_status s = w->feed->aim.kind->judge_end(judge, said);
    if (s == EG_OK)
        s = eg_bundle_need(said, "rates", eg_aim_rates(&w->feed->aim), &rates);
    if (s == EG_OK) {
        int64_t right = eg_rate_right((double)rates[0]);
        *out = (eg_score){EG_MILLION, right, right};
        s = test_tell(exam, said);
    }
    eg_bundle_free(said);
    return s;
}

/* All rows of an exam, by a judge if there is one. */
static eg_status test_rows(eg_worker *w, const eg_exam *exam, void *judge, eg_score *out)
{
    int64_t most = test_batch(w);
    for (int64_t i = 0; i < exam->n; i += most) {
        int64_t rows = exam->n - i < most ? exam->n - i : most;
        eg_plan *plan;
        EG_TRY(eg_program_plan(w->test, rows, &plan));
        EG_TRY(test_answer(w, plan, exam, i, rows));
        if (judge)
            EG_TRY(test_judge(w, plan, exam, i, rows, judge));
        else
            test_count(w, plan, exam, i, rows, out);
    }
    return judge ? test_score(w, judge, exam, out) : EG_OK;
}

eg_status eg_worker_test(eg_worker *w, const eg_weights *at, const eg_exam *exam, eg_score *out)
{
    const eg_target *kind = w->feed->aim.kind;
    void *judge = NULL;
    *out = (eg_score){.n = exam->n};
    EG_TRY(eg_program_read(w->test, eg_net_params(w->net), at));
    eg_status s =
        kind->judge_new ? kind->judge_new(&w->feed->aim, exam->n, exam->tells, &judge) : EG_OK;
    if (s == EG_OK)
        s = test_rows(w, exam, judge, out);
    if (judge)
        kind->judge_free(judge);
    return s;
}

void eg_test_fini(eg_test *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free((void *)(uintptr_t)t->exams[i].ids);
        free((void *)(uintptr_t)t->exams[i].classes);
        free((void *)(uintptr_t)t->exams[i].allowed);
    }
    free(t->exams);
    *t = (eg_test){0};
}

/* A copy of n items, at least room for one. */
static eg_status test_copy(const void *from, int64_t n, size_t size, const void **out)
{
    char *copy;
    EG_TRY(eg_alloc((size_t)n + 1, size, &copy));
    if (n)
        memcpy(copy, from, (size_t)n * size);
    *out = copy;
    return EG_OK;
}

eg_status eg_test_add(eg_test *t, const eg_exam *exam)
{
    EG_TRY(eg_grow(&t->exams, t->n, &t->cap, sizeof *t->exams));
    eg_exam *e = &t->exams[t->n++];
    *e = *exam;
    e->ids = NULL, e->classes = e->allowed = NULL;
    EG_TRY(test_copy(exam->ids, e->n, sizeof *e->ids, (const void **)&e->ids));
    EG_TRY(
        test_copy(exam->classes, e->n_classes, sizeof *e->classes, (const void **)&e->classes));
    return exam->allowed ? test_copy(exam->allowed, e->n_allowed, sizeof *e->allowed,
                                     (const void **)&e->allowed)
                         : EG_OK;
}

eg_status eg_records_model(eg_records *of, const char *name, const eg_params *like,
                           eg_weights *out)
{
    char param[64], state[64];
    const float *values[2] = {0};
    const eg_bundle *kept;
    *out = (eg_weights){0};
    EG_TRY(eg_records_get(of, name, &kept));
    if (!kept)
        return EG_OK;
    snprintf(param, sizeof param, "%s.param", name);
    snprintf(state, sizeof state, "%s.state", name);
    EG_TRY(eg_bundle_need(kept, param, eg_params_length(like), &values[0]));
    if (eg_state_length(like))
        EG_TRY(eg_bundle_need(kept, state, eg_state_length(like), &values[1]));
    out->param = values[0];
    out->state = values[1];
    return EG_OK;
}

/* The model that was sent. */
static eg_status test_sent(const eg_turn *turn, const eg_params *like, eg_weights *out)
{
    const float *param, *state = NULL;
    EG_TRY(eg_bundle_need(turn->down, "param", eg_params_length(like), &param));
    if (eg_state_length(like))
        EG_TRY(eg_bundle_need(turn->down, "state", eg_state_length(like), &state));
    *out = (eg_weights){param, state};
    return EG_OK;
}

/* The model to be tested; NULL members: there is none. *records must outlive it. */
static eg_status test_model(eg_worker *w, const eg_turn *turn, eg_records **records,
                            eg_weights *out)
{
    const eg_params *like = eg_net_params(w->net);
    const eg_bundle *kept;
    double when = -1;
    *out = (eg_weights){0};
    if (turn->test->model == EG_TESTED_SENT)
        return test_sent(turn, like, out);
    EG_TRY(eg_records_open(w->store, turn->id, &turn->kept, turn->committed, records));
    if (turn->test->model == EG_TESTED_OWN) {
        EG_TRY(eg_records_get(*records, EG_KNOWN, &w->knowing));
        EG_TRY(eg_records_model(*records, "own", like, out));
        return out->param ? EG_OK : test_sent(turn, like, out);
    }
    EG_TRY(eg_records_get(*records, EG_UPLOADED, &kept));
    if (kept)
        eg_bundle_scalar_of(kept, EG_UPLOADED ".round", &when);
    return (int64_t)when == turn->round ? eg_records_model(*records, EG_UPLOADED, like, out)
                                        : EG_OK;
}

/* All exams of a test, one after the other. */
static eg_status test_all(eg_worker *w, const eg_test *t, const eg_weights *model,
                          eg_reply *out)
{
    size_t n_answers = 0;
    for (size_t i = 0; i < t->n; i++)
        n_answers += t->exams[i].tells ? (size_t)t->exams[i].n : 0;
    EG_TRY(eg_alloc(t->n, sizeof *out->scores, &out->scores));
    EG_TRY(eg_alloc(n_answers, sizeof *out->answers, &out->answers));
    if (w->feed->aim.kind->judge_new)
        EG_TRY(eg_bundle_new(&out->up));
    for (; out->n_scores < t->n; out->n_scores++) {
        eg_exam exam = t->exams[out->n_scores];
        exam.said = out->up;
        exam.answers = exam.tells ? out->answers + out->n_answers : NULL;
        out->n_answers += exam.tells ? (size_t)exam.n : 0;
        EG_TRY(eg_worker_test(w, model, &exam, &out->scores[out->n_scores]));
    }
    return EG_OK;
}

eg_status eg_worker_take_test(eg_worker *w, const eg_turn *turn, eg_reply *out)
{
    double since = eg_seconds();
    eg_records *records = NULL;
    eg_weights model;
    *out = (eg_reply){.kept = turn->kept};
    w->knowing = turn->down;
    eg_status s = test_model(w, turn, &records, &model);
    if (s == EG_OK && model.param)
        s = test_all(w, turn->test, &model, out);
    w->knowing = NULL;
    eg_records_free(records);
    out->seconds = eg_seconds() - since;
    return s;
}
