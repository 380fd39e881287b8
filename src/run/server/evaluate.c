/* evaluate.c - tests: the global model on every task, or every client's own on its tasks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * In a stream, the model of every client on all that the client has met. With eval.local, what
 * clients upload too.
 */
#include "run/client/outputs.h"
#include "run/server/federation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct evaluation {
    eg_federation *f;
    int64_t limit;     /* test samples per task; 0: all */
    bool met;          /* on the clients' cumulative test sets */
    bool uploads;      /* what clients uploaded */
    bool each;         /* by client, else by task: of the global model */
    int64_t round;     /* rounds done */
    int64_t period;    /* of the run so far */
    eg_bundle *down;   /* the global model */
    eg_score *scores;  /* [tasks], or [clients, tasks]; n < 0: not tested */
    int32_t **answers; /* [tasks] the server's on each task's test samples; NULL: not wanted */
    float *rates; /* [tasks], or [clients, tasks], of n_rates each: what judges said; or NULL */
    size_t n_rates;
    eg_bundle *told; /* what judges tell to be looked at; NULL: not wanted */
    eg_score *held;  /* likewise, on samples held out of training; NULL: there are none */
    int64_t n;       /* tests: tasks, or clients */
    eg_test *tests;  /* [n]: those under way */
} evaluation;

/* Whether clients have models of their own: kept by themselves, or made by the server. */
static bool evaluate_has_own(const eg_federation *f)
{
    return f->agreed.all.personal || f->agreed.has_models;
}

/* The answers that count in this test. list: [n_classes]; met: [n_classes], zeroed. */
static void evaluate_allow(const evaluation *j, int64_t who, eg_exam *exam, int32_t *list,
                           uint8_t *met)
{
    const eg_federation *f = j->f;
    const eg_scenario *s = f->feed.scenario;
    int rule = f->e->eval.classes;
    bool of_client = rule == EG_CLASSES_CLIENT && (evaluate_has_own(f) || j->uploads);
    if (rule == EG_CLASSES_TASK) {
        exam->allowed = exam->classes;
        exam->n_allowed = exam->n_classes;
    }
    if (rule != EG_CLASSES_SEEN && rule != EG_CLASSES_CLIENT)
        return;
    /* A global model is everybody's. */
    eg_classes_mark(s, f->cursor, of_client ? who : EG_SERVER, met);
    exam->n_allowed = eg_classes_list(s, met, list);
    exam->allowed = list;
}

/* The numbers of the test samples: of the whole task, some of it, or what was met of it. */
static int64_t evaluate_ids(const evaluation *j, int64_t who, int64_t task, int64_t *ids)
{
    if (j->met)
        return eg_cursor_test_of(j->f->cursor, who, task, ids);
    int64_t n = eg_scenario_test(j->f->feed.scenario, who, task, ids);
    if (j->limit && n > j->limit) { /* the same samples each time, spread over the set */
        for (int64_t i = 0; i < j->limit; i++)
            ids[i] = ids[i * n / j->limit];
        n = j->limit;
    }
    return n;
}

/* The numbers of a client's samples of a task that were held out, of the server's all clients';
 * ids may be NULL, to count them. */
static int64_t evaluate_held(const eg_federation *f, int64_t who, int64_t task, int64_t *ids)
{
    const eg_scenario *s = f->feed.scenario;
    int64_t first = who < 0 ? 0 : who, n = 0;
    for (int64_t c = first; c < (who < 0 ? eg_scenario_n_clients(s) : who + 1); c++) {
        const int64_t *own;
        int64_t m = eg_scenario_validation(s, c, task, &own);
        if (ids && m > 0)
            memcpy(ids + n, own, (size_t)m * sizeof *ids);
        n += m;
    }
    return n;
}

/* Adds an exam on one task of the server's or of a client's: on test samples, or on those held
 * out; none if there are no samples. */
static eg_status evaluate_add(const evaluation *j, int64_t who, eg_exam exam, eg_test *to)
{
    const eg_scenario *s = j->f->feed.scenario;
    int64_t room =
        exam.held_out ? evaluate_held(j->f, who, exam.task, NULL) : eg_scenario_max_test(s);
    int64_t *ids;
    int32_t *allowed = NULL; /* [n_classes], and as many marks behind */
    EG_TRY(eg_alloc((size_t)room + 1, sizeof *ids, &ids));
    eg_status status =
        eg_alloc(2 * (size_t)eg_scenario_n_classes(s), sizeof *allowed, &allowed);
    if (status == EG_OK) {
        exam.n_classes = eg_scenario_classes(s, who, exam.task, &exam.classes);
        evaluate_allow(j, who, &exam, allowed, (uint8_t *)(allowed + eg_scenario_n_classes(s)));
        exam.n = exam.held_out ? evaluate_held(j->f, who, exam.task, ids)
                               : evaluate_ids(j, who, exam.task, ids);
        exam.ids = ids;
        status = exam.n ? eg_test_add(to, &exam) : EG_OK;
    }
    free(allowed);
    free(ids);
    return status;
}

/* Both of them. */
static eg_status evaluate_task(const evaluation *j, int64_t who, int64_t task, eg_test *to)
{
    eg_exam exam = {.task = task, .period = j->period, .tells = j->answers || j->told};
    EG_TRY(evaluate_add(j, who, exam, to));
    exam.held_out = true, exam.tells = false;
    return j->held ? evaluate_add(j, who, exam, to) : EG_OK;
}

/* A client's model on its tasks. */
static eg_status evaluate_client(const evaluation *j, int64_t client, eg_test *to)
{
    const int32_t *classes;
    for (int64_t t = 0; t < j->f->feed.n_tasks; t++)
        if (eg_scenario_classes(j->f->feed.scenario, client, t, &classes) > 0)
            EG_TRY(evaluate_task(j, client, t, to));
    return EG_OK;
}

/* Which model test i is of. */
static eg_tested evaluate_of(const evaluation *j)
{
    if (j->uploads)
        return EG_TESTED_UPLOAD;
    return j->each && j->f->agreed.all.personal ? EG_TESTED_OWN : EG_TESTED_SENT;
}

/* Test i as a turn: of the global model on a task, or of client i's model on all its tasks: its
 * own, kept by itself or made by the server; what it uploaded; or the global one. */
static eg_status evaluate_tell(void *context, int64_t i, eg_turn *out, eg_bundle **own)
{
    evaluation *j = context;
    eg_federation *f = j->f;
    eg_test *test = &j->tests[i];
    *out = (eg_turn){.kind = EG_TURN_TEST,
                     .id = j->each ? i : EG_SERVER,
                     .round = j->round - 1,
                     .seed = f->seed,
                     .test = test};
    test->model = evaluate_of(j);
    if (test->model != EG_TESTED_SENT)
        out->kept = eg_ledger_receipt(f->ledger, i, &out->committed);
    if (j->each && !j->uploads)
        EG_TRY(eg_federation_model_of(f, i, own));
    return j->each ? evaluate_client(j, i, test) : evaluate_task(j, EG_SERVER, i, test);
}

/* Keeps the answers of an exam, which are the first of those left. */
static eg_status evaluate_keep(evaluation *j, const eg_exam *exam, const int32_t *answers)
{
    int32_t **to = &j->answers[exam->task];
    EG_TRY(eg_alloc((size_t)exam->n, sizeof **to, to));
    memcpy(*to, answers, (size_t)exam->n * sizeof **to);
    return EG_OK;
}

/* Keeps what a judge said of an exam. */
static eg_status evaluate_rates(const evaluation *j, const eg_exam *exam, const eg_bundle *said,
                                float *to)
{
    char name[96];
    const float *rates;
    snprintf(name, sizeof name, EG_JUDGED "rates", "test", (long long)exam->task);
    if (!said)
        return eg_fail(EG_EFORMAT, "a test says no rates");
    EG_TRY(eg_bundle_need(said, name, j->n_rates, &rates));
    memcpy(to, rates, j->n_rates * sizeof *to);
    return EG_OK;
}

/* Enters the scores of test i. */
static eg_status evaluate_mark(void *context, int64_t i, const eg_reply *reply)
{
    evaluation *j = context;
    eg_test *t = &j->tests[i];
    int64_t at = j->each ? i * j->f->feed.n_tasks : 0;
    const int32_t *answers = reply->answers;
    for (size_t k = 0; k < t->n && k < reply->n_scores; k++) {
        const eg_exam *e = &t->exams[k];
        (e->held_out ? j->held : j->scores)[at + e->task] = reply->scores[k];
        if (j->rates && !e->held_out)
            EG_TRY(evaluate_rates(j, e, reply->up,
                                  j->rates + (size_t)(at + e->task) * j->n_rates));
        if (e->tells && j->told)
            EG_TRY(eg_bundle_copy(j->told, reply->up, "test "));
        if (e->tells && j->answers) {
            EG_TRY(evaluate_keep(j, e, answers));
            answers += e->n;
        }
    }
    eg_test_fini(t);
    return EG_OK;
}

eg_status eg_federation_add_known(eg_federation *f, eg_bundle *to)
{
    const eg_bundle *like = f->workers[0].known;
    eg_bundle *known;
    if (!like)
        return EG_OK;
    EG_TRY(eg_bundle_new(&known));
    eg_status s = eg_chain_know(&f->chain, &f->server, known);
    if (s == EG_OK && eg_bundle_n(known) > 0)
        s = eg_blame(eg_bundle_check(known, like), "what answers know");
    if (s == EG_OK)
        s = eg_bundle_copy(to, eg_bundle_n(known) > 0 ? known : like, "");
    eg_bundle_free(known);
    return s;
}

/* The global model as it is sent, and room for the tests. */
static eg_status evaluate_begin(evaluation *j)
{
    EG_TRY(eg_alloc((size_t)j->n, sizeof *j->tests, &j->tests));
    EG_TRY(eg_bundle_new(&j->down));
    EG_TRY(eg_server_add_model(&j->f->server, j->f->param, j->f->state, j->down));
    return eg_federation_add_known(j->f, j->down);
}

static eg_status evaluate_all(evaluation *j)
{
    j->n = j->each ? eg_scenario_n_clients(j->f->feed.scenario) : j->f->feed.n_tasks;
    EG_TRY(evaluate_begin(j));
    const eg_job job = {.n = j->n,
                        .down = j->down,
                        .tell = evaluate_tell,
                        .context = j,
                        .large = j->f->agreed.has_models};
    return eg_federation_share(j->f, &job, evaluate_mark,
                               (eg_moment){.at = EG_AT_TESTS, .what = ""});
}

static void evaluate_free(evaluation *j)
{
    for (int64_t i = 0; j->tests && i < j->n; i++)
        eg_test_fini(&j->tests[i]);
    free(j->tests);
    eg_bundle_free(j->down);
    for (int64_t t = 0; j->answers && t < j->f->feed.n_tasks; t++)
        free(j->answers[t]);
    free(j->answers);
    free(j->scores);
    free(j->rates);
    free(j->held);
    eg_bundle_free(j->told);
}

/* Room for the scores of n_who models. */
static eg_status evaluate_alloc(evaluation *j, int64_t n_who, bool validates)
{
    size_t n = (size_t)(n_who * j->f->feed.n_tasks);
    EG_TRY(eg_alloc(n, sizeof *j->scores, &j->scores));
    if (validates)
        EG_TRY(eg_alloc(n, sizeof *j->held, &j->held));
    j->n_rates = eg_aim_rates(&j->f->feed.aim);
    if (j->n_rates)
        EG_TRY(eg_alloc(n, j->n_rates * sizeof *j->rates, &j->rates));
    for (size_t i = 0; i < n; i++)
        j->scores[i].n = -1;
    for (size_t i = 0; validates && i < n; i++)
        j->held[i].n = -1;
    return EG_OK;
}

static int64_t evaluate_period(const eg_federation *f, int64_t round)
{
    return round ? eg_scenario_period(f->feed.scenario, round - 1) : 0;
}

/* The mean accuracy over the tasks that have been learned by now. */
static double evaluate_mean(const eg_federation *f, const eg_score *scores, int64_t round)
{
    int64_t period = evaluate_period(f, round), n = 0;
    double sum = 0;
    for (int64_t t = 0; t < f->feed.n_tasks; t++)
        if (scores[t].n > 0 && eg_scenario_learned(f->feed.scenario, t) <= period) {
            sum += (double)scores[t].right / (double)scores[t].n;
            n++;
        }
    return n ? sum / (double)n : -1;
}

/* Writes the scores of model number `at`. */
static eg_status evaluate_log(const evaluation *j, int64_t at, eg_eval_event *e)
{
    const eg_federation *f = j->f;
    int64_t tasks = f->feed.n_tasks, *counts; /* [6, tasks] */
    const float *rates = j->rates ? j->rates + (size_t)(at * tasks) * j->n_rates : NULL;
    const eg_score *scores = j->scores + at * tasks;
    const eg_score *held = j->held ? j->held + at * tasks : NULL;
    EG_TRY(eg_alloc((size_t)(6 * tasks), sizeof *counts, &counts));
    for (int64_t t = 0; t < tasks; t++) {
        counts[t] = scores[t].n > 0 ? scores[t].n : 0;
        counts[tasks + t] = scores[t].right;
        counts[2 * tasks + t] = scores[t].right_in_task;
        counts[3 * tasks + t] = held && held[t].n > 0 ? held[t].n : 0;
        counts[4 * tasks + t] = held ? held[t].right : 0;
        if (rates && f->feed.aim.kind->by_class && scores[t].n > 0)
            counts[5 * tasks + t] = eg_rate_right((double)rates[(size_t)t * j->n_rates + 1]);
    }
    /* A part with outputs of its own may use the task where classes do not tell it. */
    bool task_il = eg_outputs_own(&f->agreed) ||
                   eg_scenario_offers(f->feed.scenario) & EG_OFFERS_TASK_CLASSES;
    e->n_tasks = tasks;
    e->n = counts;
    e->correct = counts + tasks;
    e->correct_task_il = task_il ? counts + 2 * tasks : NULL;
    e->map = f->feed.aim.kind->by_class ? counts + 5 * tasks : NULL;
    e->n_validation = held ? counts + 3 * tasks : NULL;
    e->correct_validation = held ? counts + 4 * tasks : NULL;
    eg_status s = eg_run_write_eval(f->folder, e);
    free(counts);
    return s;
}

/* What the progress shows of a stream: everybody's right answers, weighted by samples met. */
static double evaluate_mean_met(const eg_federation *f, const eg_score *scores)
{
    double sum = 0, weight = 0;
    for (int64_t c = 0; c < eg_scenario_n_clients(f->feed.scenario); c++) {
        int64_t right = 0, n = 0;
        for (int64_t t = 0; t < f->feed.n_tasks; t++) {
            const eg_score *s = &scores[c * f->feed.n_tasks + t];
            right += s->n > 0 ? s->right : 0;
            n += s->n > 0 ? s->n : 0;
        }
        double met = n ? (double)eg_cursor_samples(f->cursor, c) : 0;
        sum += n ? met * (double)right / (double)n : 0;
        weight += met;
    }
    return weight > 0 ? sum / weight : -1;
}

/* The mean over the models that have samples held out; -1: none has. */
static double evaluate_validation(const evaluation *j, int64_t n_who, int64_t round)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t who = 0; who < n_who && j->held; who++) {
        double mean = evaluate_mean(j->f, j->held + who * j->f->feed.n_tasks, round);
        sum += mean >= 0 ? mean : 0;
        n += mean >= 0;
    }
    return n ? sum / (double)n : -1;
}

/* The mean over learned tasks of rate number `at`, as far as tasks have it; -1: none. */
static double evaluate_rate(const evaluation *j, int64_t round, size_t at)
{
    int64_t period = evaluate_period(j->f, round), n = 0;
    double sum = 0;
    for (int64_t t = 0; t < j->f->feed.n_tasks; t++) {
        double rate = (double)j->rates[(size_t)t * j->n_rates + at];
        bool counts = j->scores[t].n > 0 && rate >= 0 &&
                      eg_scenario_learned(j->f->feed.scenario, t) <= period;
        sum += counts ? rate : 0;
        n += counts;
    }
    return n ? sum / (double)n : -1;
}

/* Has what judges say of the server's model drawn as curves: each rate, and the first of every
 * class, means over the tasks learned by now. */
static eg_status evaluate_note(const evaluation *j, int64_t round)
{
    const eg_aim *aim = &j->f->feed.aim;
    char *const *names = j->f->feed.train[0].names;
    size_t whole = 0;
    for (; aim->kind->rates[whole]; whole++) {
        double rate = evaluate_rate(j, round, whole);
        if (rate >= 0)
            EG_TRY(eg_run_write_note(j->f->folder, round, EG_SERVER, aim->kind->rates[whole],
                                     rate));
    }
    for (int64_t k = 0; k < aim->classes && aim->kind->by_class; k++) {
        double rate = evaluate_rate(j, round, whole + (size_t)k);
        char name[64], number[32];
        snprintf(number, sizeof number, "class %lld", (long long)k);
        snprintf(name, sizeof name, "%s of %.40s", aim->kind->rates[0],
                 names ? names[k] : number);
        if (rate >= 0)
            EG_TRY(eg_run_write_note(j->f->folder, round, EG_SERVER, name, rate));
    }
    return EG_OK;
}

eg_status eg_federation_evaluate(eg_federation *f, int64_t round, bool task_end, bool full)
{
    bool own = evaluate_has_own(f);
    int64_t n_who = own ? eg_scenario_n_clients(f->feed.scenario) : 1;
    evaluation j = {.f = f,
                    .limit = full ? 0 : f->e->eval.samples,
                    .each = own,
                    .period = evaluate_period(f, round)};
    eg_status s = evaluate_alloc(&j, n_who, f->e->data.validation > 0);
    bool tells = task_end && full && !own;
    if (s == EG_OK && tells && j.rates)
        s = eg_bundle_new(&j.told);
    if (s == EG_OK && tells && !j.rates)
        s = eg_alloc((size_t)f->feed.n_tasks, sizeof *j.answers, &j.answers);
    if (s == EG_OK)
        s = evaluate_all(&j);
    double sum = 0;
    for (int64_t who = 0; who < n_who && s == EG_OK; who++) {
        sum += evaluate_mean(f, j.scores + who * f->feed.n_tasks, round);
        s = evaluate_log(&j, who,
                         &(eg_eval_event){.round = round,
                                          .who = own ? who : EG_SERVER,
                                          .task_end = task_end,
                                          .full = full,
                                          .met = -1});
    }
    if (s == EG_OK && j.answers)
        s = eg_federation_log_seen(f, round, j.answers);
    if (s == EG_OK && j.rates && !own)
        s = evaluate_note(&j, round);
    if (s == EG_OK && j.told)
        s = eg_federation_log_boxes(f, round, j.told);
    if (s == EG_OK) {
        f->accuracy = sum / (double)n_who;
        f->validation = evaluate_validation(&j, n_who, round);
    }
    evaluate_free(&j);
    return s;
}

/* Whether a client was tested at all. */
static bool evaluate_was_tested(const evaluation *j, int64_t client)
{
    const eg_score *scores = j->scores + client * j->f->feed.n_tasks;
    bool tested = false;
    for (int64_t t = 0; t < j->f->feed.n_tasks; t++)
        tested |= scores[t].n > 0;
    return tested;
}

eg_status eg_federation_evaluate_uploads(eg_federation *f, int64_t round)
{
    int64_t n_clients = eg_scenario_n_clients(f->feed.scenario);
    evaluation j = {.f = f,
                    .uploads = true,
                    .each = true,
                    .round = round,
                    .period = evaluate_period(f, round)};
    if (!eg_worker_tests_uploads(f->e, f->feed.scenario, &f->agreed, round - 1))
        return EG_OK;
    eg_status s = evaluate_alloc(&j, n_clients, false);
    if (s == EG_OK)
        s = evaluate_all(&j);
    for (int64_t who = 0; who < n_clients && s == EG_OK; who++)
        if (evaluate_was_tested(&j, who))
            s = evaluate_log(
                &j, who,
                &(eg_eval_event){
                    .round = round, .who = who, .task_end = true, .full = true, .met = -1});
    evaluate_free(&j);
    return s;
}

eg_status eg_federation_evaluate_met(eg_federation *f, int64_t round, bool task_end)
{
    int64_t n_clients = eg_scenario_n_clients(f->feed.scenario);
    bool own = evaluate_has_own(f); /* else the global model is validated by itself */
    evaluation j = {.f = f, .met = true, .each = true};
    eg_status s = evaluate_alloc(&j, n_clients, own && f->e->data.validation > 0);
    if (s == EG_OK)
        s = evaluate_all(&j);
    for (int64_t who = 0; who < n_clients && s == EG_OK; who++) {
        int64_t met = eg_cursor_samples(f->cursor, who);
        if (met > 0)
            s = evaluate_log(&j, who,
                             &(eg_eval_event){.round = round,
                                              .who = who,
                                              .task_end = task_end,
                                              .full = true,
                                              .met = met});
    }
    if (s == EG_OK) {
        f->accuracy = evaluate_mean_met(f, j.scores);
        f->validation = own ? evaluate_validation(&j, n_clients, round) : f->validation;
    }
    evaluate_free(&j);
    return s;
}
