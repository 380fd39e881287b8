/* summary.c - what a run amounts to: its values, and the files and the log made of its events.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/summary.h"

#include "io/file.h"
#include "io/json.h"
#include "run/log/run_folder.h"

#include <engram/log.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
static const char *const summary_names[] = {
#define X(name) #name,
#include "world/metric/list.inc"
#undef X
    "acc_task_il", "acc_validation", "bytes_up", "bytes_down", "seconds", "peak_rss_bytes",
    "flops_clients", "flops_server", "server_seconds", "rounds",
    "aia_task_il", "forgetting_task_il", "bwt_task_il", "fwt_task_il",
};
// clang-format on

const char *eg_summary_name(eg_summary which)
{
    return summary_names[which];
}

eg_summary eg_summary_find(const char *name)
{
    int i = 0;
    while (i < EG_SUMMARY_N && strcmp(summary_names[i], name) != 0)
        i++;
    return (eg_summary)i;
}

static void summary_work(const eg_end_event *e, double *out)
{
    double seconds = 0;
    for (size_t i = 0; i < e->n_parts; i++)
        seconds += e->server_seconds[i];
    out[EG_SUMMARY_server_seconds] = seconds;
    out[EG_SUMMARY_flops_clients] = (double)e->flops_clients;
    out[EG_SUMMARY_flops_server] = (double)e->flops_server;
}

static void summary_costs(const eg_events *e, double *out)
{
    double up = 0, down = 0;
    int64_t rounds = 0;
    for (size_t i = 0; i < e->n_round; i++) {
        up += (double)e->round[i].bytes_up;
        down += (double)e->round[i].bytes_down;
        rounds = e->round[i].round;
    }
    for (size_t i = 0; i < e->n_loss; i++) /* a run may end with rounds that were skipped */
        if (e->loss[i].client < 0 && e->loss[i].round > rounds)
            rounds = e->loss[i].round;
    out[EG_SUMMARY_bytes_up] = up;
    out[EG_SUMMARY_bytes_down] = down;
    out[EG_SUMMARY_rounds] = (double)rounds;
    if (e->ended) {
        out[EG_SUMMARY_seconds] = e->end.seconds;
        out[EG_SUMMARY_peak_rss_bytes] = (double)e->end.peak_rss_bytes;
        summary_work(&e->end, out);
    }
}

/* A metric of a record; NaN without one. */
static double summary_value(eg_summary metric, const eg_record *r)
{
    double value;
    const eg_metric *m = eg_metric_find(summary_names[metric]);
    return r && m && eg_run_value(m, r, NULL, &value) ? value : NAN;
}

void eg_summary_of(const eg_events *e, const eg_run_records *r, double out[EG_SUMMARY_N])
{
    static const eg_summary main[] = {EG_SUMMARY_aia, EG_SUMMARY_forgetting, EG_SUMMARY_bwt,
                                      EG_SUMMARY_fwt};
    const eg_record *task_il = r->of[EG_RECORD_TASK_IL];
    for (int i = 0; i < EG_SUMMARY_N; i++)
        out[i] = summary_value((eg_summary)i, r->of[EG_RECORD_CLASS_IL]);
    out[EG_SUMMARY_acc_task_il] = summary_value(EG_SUMMARY_acc_final, task_il);
    out[EG_SUMMARY_acc_validation] =
        summary_value(EG_SUMMARY_acc_final, r->of[EG_RECORD_VALIDATION]);
    for (int i = 0; i < 4; i++)
        out[EG_SUMMARY_aia_task_il + i] = summary_value(main[i], task_il);
    summary_costs(e, out);
}

/* Prints a number as JSON does, or nothing if there is none. */
static eg_status summary_print_cell(FILE *to, double x, const char *after)
{
    char *text;
    if (isfinite(x)) {
        eg_json *v = eg_json_of_real(x);
        eg_status status = v ? eg_json_print(v, 0, &text, NULL) : EG_ENOMEM;
        eg_json_free(v);
        EG_TRY(status);
        fputs(text, to);
        free(text);
    }
    fputs(after, to);
    return EG_OK;
}

static eg_status summary_print_rounds(FILE *to, const eg_events *events)
{
    fputs("round,clients,samples,loss,bytes_up,bytes_down,seconds\n", to);
    for (const eg_round_event *e = events->round; e < events->round + events->n_round; e++) {
        fprintf(to, "%" PRId64 ",%zu,%" PRId64 ",", e->round, e->n_clients, e->samples);
        EG_TRY(summary_print_cell(to, e->loss, ","));
        fprintf(to, "%" PRId64 ",%" PRId64 ",", e->bytes_up, e->bytes_down);
        EG_TRY(summary_print_cell(to, e->seconds, "\n"));
    }
    return EG_OK;
}

/* One line for each accuracy that was measured; tasks count from 1. */
static eg_status summary_print_eval(FILE *to, const eg_eval_event *e)
{
    for (int64_t t = 0; t < e->n_tasks; t++) {
        double n = (double)e->n[t];
        if (e->n[t] == 0)
            continue;
        fprintf(to, "%" PRId64 ",", e->round);
        fprintf(to, e->who < 0 ? "server" : "%" PRId64, e->who);
        fprintf(to, ",%s,%s,%" PRId64 ",%" PRId64 ",", e->task_end ? "true" : "false",
                e->full ? "true" : "false", t + 1, e->n[t]);
        EG_TRY(summary_print_cell(to, (double)e->correct[t] / n, ","));
        EG_TRY(summary_print_cell(
            to, e->correct_task_il ? (double)e->correct_task_il[t] / n : NAN, "\n"));
    }
    return EG_OK;
}

static eg_status summary_print_accuracy(FILE *to, const eg_events *events)
{
    fputs("round,who,task_end,full,task,n,accuracy,accuracy_task_il\n", to);
    for (size_t i = 0; i < events->n_eval; i++)
        EG_TRY(summary_print_eval(to, &events->eval[i]));
    return EG_OK;
}

/* One line for each class that was tested. */
static eg_status summary_print_confusion(FILE *to, const eg_confusion_event *e)
{
    for (size_t i = 0, end; i < e->n_cells; i = end) {
        int64_t n = 0, correct = 0, class = e->cells[i];
        for (end = i; end < e->n_cells && e->cells[end] == class; end += 3) {
            n += e->cells[end + 2];
            correct += e->cells[end + 1] == class ? e->cells[end + 2] : 0;
        }
        fprintf(to, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", e->round, class, n,
                correct);
        EG_TRY(summary_print_cell(to, (double)correct / (double)n, "\n"));
    }
    return EG_OK;
}

static eg_status summary_print_classes(FILE *to, const eg_events *events)
{
    fputs("round,class,n,correct,accuracy\n", to);
    for (size_t i = 0; i < events->n_confusion; i++)
        EG_TRY(summary_print_confusion(to, &events->confusion[i]));
    return EG_OK;
}

typedef eg_status (*summary_table)(FILE *to, const eg_events *events);

static eg_status summary_save(const eg_run_folder *f, const char *name, const char *text,
                              size_t n)
{
    char *path;
    EG_TRY(eg_run_folder_file(f, name, &path));
    eg_status status = eg_file_write(path, &(eg_bytes){text, n}, 1);
    free(path);
    return status;
}

static eg_status summary_write_table(const eg_run_folder *f, const char *name,
                                     const eg_events *events, summary_table table)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return eg_fail(EG_ENOMEM, "no memory for %s", name);
    eg_status status = table(to, events);
    if (fclose(to) != 0 && status == EG_OK)
        status = eg_fail(EG_ENOMEM, "no memory for %s", name);
    if (status == EG_OK)
        status = summary_save(f, name, text, n);
    free(text);
    return status;
}

static eg_status summary_put_number(eg_json *to, const char *key, double x)
{
    return eg_json_set(to, key, isfinite(x) ? eg_json_of_real(x) : eg_json_of_null());
}

/* A value of the summary: counts as whole numbers, what is not known as null. */
static eg_status summary_put_value(eg_json *to, eg_summary which, double x)
{
    bool whole = which == EG_SUMMARY_bytes_up || which == EG_SUMMARY_bytes_down ||
                 which == EG_SUMMARY_peak_rss_bytes || which == EG_SUMMARY_rounds ||
                 which == EG_SUMMARY_flops_clients || which == EG_SUMMARY_flops_server;
    if (whole && isfinite(x))
        return eg_json_set(to, eg_summary_name(which), eg_json_of_int((int64_t)x));
    return summary_put_number(to, eg_summary_name(which), x);
}

/* What is always there, null or not; the other metrics only if they have a meaning. */
static const eg_summary summary_always[] = {
    EG_SUMMARY_acc_final,      EG_SUMMARY_acc_task_il,   EG_SUMMARY_aia,
    EG_SUMMARY_forgetting,     EG_SUMMARY_bwt,           EG_SUMMARY_fwt,
    EG_SUMMARY_bytes_up,       EG_SUMMARY_bytes_down,    EG_SUMMARY_seconds,
    EG_SUMMARY_peak_rss_bytes, EG_SUMMARY_flops_clients, EG_SUMMARY_flops_server,
    EG_SUMMARY_server_seconds};

static eg_status summary_put_values(eg_json *to, const double *summary)
{
    for (size_t i = 0; i < sizeof summary_always / sizeof *summary_always; i++)
        EG_TRY(summary_put_value(to, summary_always[i], summary[summary_always[i]]));
    return EG_OK;
}

static eg_status summary_put_who(eg_json *to, const eg_start_event *e)
{
    EG_TRY(eg_json_set(to, "name", eg_json_of_text(e->name)));
    EG_TRY(eg_json_set(to, "label", eg_json_of_text(e->label)));
    EG_TRY(eg_json_set(to, "seed", eg_json_of_int(e->seed)));
    eg_json *method = eg_json_array();
    EG_TRY(eg_json_set(to, "method", method));
    for (size_t i = 0; i < e->n_method; i++)
        EG_TRY(eg_json_add(method, eg_json_of_text(e->method[i])));
    return EG_OK;
}

/* The seconds of work; null if the end of the run was not logged. */
static eg_status summary_put_work(eg_json *to, const eg_events *events)
{
    const eg_end_event *e = &events->end;
    EG_TRY(summary_put_number(to, "train_seconds", events->ended ? e->train_seconds : NAN));
    EG_TRY(summary_put_number(to, "phase_seconds", events->ended ? e->phase_seconds : NAN));
    if (!events->ended)
        return eg_json_set(to, "part_seconds", eg_json_of_null());
    eg_json *parts = eg_json_object();
    EG_TRY(eg_json_set(to, "part_seconds", parts));
    for (size_t i = 0; i < e->n_parts; i++)
        EG_TRY(summary_put_number(parts, e->parts[i], e->part_seconds[i]));
    return EG_OK;
}

/* The metrics that only some runs have; those of task-IL, known or not, where there is any. */
static eg_status summary_put_others(eg_json *to, const double *summary,
                                    const eg_record *class_il, bool task_il)
{
    const eg_component *c;
    double x;
    for (int i = 0; i < EG_SUMMARY_N; i++) {
        bool shown = !isnan(summary[i]) || (task_il && i >= EG_SUMMARY_aia_task_il);
        if (shown && !eg_json_get(to, eg_summary_name((eg_summary)i)))
            EG_TRY(summary_put_value(to, (eg_summary)i, summary[i]));
    }
    for (size_t i = 0; (c = eg_family_at(&eg_metric_family, i)); i++) { /* a plugin's */
        if (!eg_json_get(to, c->name) && eg_run_value((const eg_metric *)c, class_il, NULL, &x))
            EG_TRY(summary_put_number(to, c->name, x));
    }
    return EG_OK;
}

static eg_status summary_put_all(eg_json *to, const eg_events *events, const eg_run_records *r,
                                 const char *params_sha256)
{
    double summary[EG_SUMMARY_N];
    eg_summary_of(events, r, summary);
    EG_TRY(summary_put_who(to, &events->start));
    EG_TRY(summary_put_values(to, summary));
    EG_TRY(summary_put_work(to, events));
    EG_TRY(summary_put_value(to, EG_SUMMARY_rounds, summary[EG_SUMMARY_rounds]));
    EG_TRY(eg_json_set(to, "params_sha256", eg_json_of_text(params_sha256)));
    EG_TRY(eg_json_set(to, "config_sha256", eg_json_of_text(events->start.config_sha256)));
    EG_TRY(eg_json_set(to, "version", eg_json_of_text(eg_version())));
    EG_TRY(eg_json_set(to, "commit", eg_json_of_text(eg_commit())));
    if (events->stopped)
        EG_TRY(eg_json_set(to, "stopped_after", eg_json_of_int(events->stop.round)));
    return summary_put_others(to, summary, r->of[EG_RECORD_CLASS_IL],
                              r->of[EG_RECORD_TASK_IL] != NULL);
}

static eg_status summary_write(const eg_run_folder *f, const eg_events *events,
                               const char *params_sha256)
{
    eg_run_records r = {0};
    char *text = NULL;
    size_t n;
    eg_json *to = eg_json_object();
    eg_status status = to ? eg_run_records_init(&r, events) : EG_ENOMEM;
    if (status == EG_OK)
        status = summary_put_all(to, events, &r, params_sha256);
    if (status == EG_OK)
        status = eg_json_print(to, 2, &text, &n);
    if (status == EG_OK)
        status = summary_save(f, EG_RUN_SUMMARY, text, n);
    free(text);
    eg_json_free(to);
    eg_run_records_fini(&r);
    return status;
}

eg_status eg_run_finish(eg_run_folder *f, const char *params_sha256)
{
    eg_events *events = NULL;
    EG_TRY(eg_events_load(eg_run_folder_name(f), &events));
    eg_status status = summary_write_table(f, EG_RUN_ROUNDS, events, summary_print_rounds);
    if (status == EG_OK)
        status = summary_write_table(f, EG_RUN_ACCURACY, events, summary_print_accuracy);
    if (status == EG_OK)
        status = summary_write_table(f, EG_RUN_CLASSES, events, summary_print_classes);
    if (status == EG_OK)
        status = summary_write(f, events, params_sha256);
    eg_events_free(events);
    return status;
}

struct eg_run_log {
    eg_events *events;
    eg_run_records records;
    double summary[EG_SUMMARY_N];
};

eg_status eg_run_log_open(const char *folder, eg_run_log **out)
{
    eg_run_log *l;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *l, &l));
    eg_status s = eg_events_load(folder, &l->events);
    if (s == EG_OK)
        s = eg_run_records_init(&l->records, l->events);
    if (s != EG_OK) {
        eg_run_log_free(l);
        return s;
    }
    eg_summary_of(l->events, &l->records, l->summary);
    *out = l;
    return EG_OK;
}

void eg_run_log_free(eg_run_log *l)
{
    if (!l)
        return;
    eg_run_records_fini(&l->records);
    eg_events_free(l->events);
    free(l);
}

const char *eg_run_log_label(const eg_run_log *l)
{
    return l->events->start.label;
}

int64_t eg_run_log_seed(const eg_run_log *l)
{
    return l->events->start.seed;
}

bool eg_run_log_value(const eg_run_log *l, const char *name, double *out)
{
    eg_summary which = eg_summary_find(name);
    *out = which < EG_SUMMARY_N ? l->summary[which] : NAN;
    return !isnan(*out);
}

bool eg_run_log_round(const eg_run_log *l, size_t i, eg_run_round *out)
{
    if (i >= l->events->n_round)
        return false;
    const eg_round_event *e = &l->events->round[i];
    *out = (eg_run_round){.round = e->round,
                          .clients = (int64_t)e->n_clients,
                          .samples = e->samples,
                          .bytes_up = e->bytes_up,
                          .bytes_down = e->bytes_down,
                          .loss = e->loss,
                          .seconds = e->seconds};
    return true;
}

const eg_record *eg_run_log_record(const eg_run_log *l)
{
    return l->records.of[EG_RECORD_CLASS_IL];
}

/* What helps against uploads that were left out for this. */
static const char *summary_advice(const char *why)
{
    bool far = strstr(why, "max_change") || strstr(why, "finite");
    return far ? "; lower optimizer.lr, or set data.mean and data.std" : "";
}

/* How many rounds counted: those that were not skipped. Rounds in which nobody took part have
 * no event of their own. */
static size_t summary_counted(const eg_events *e)
{
    size_t n = e->n_round, at = 0;
    for (size_t i = 0; i < e->n_loss; i++) {
        while (at < e->n_round && e->round[at].round < e->loss[i].round)
            at++;
        bool there = at < e->n_round && e->round[at].round == e->loss[i].round;
        n -= e->loss[i].client < 0 && there;
    }
    return n;
}

/* The sentence about a run without a round that counted. */
static eg_status summary_blame(const eg_events *e, size_t skipped, size_t left_out)
{
    const eg_loss_event *first = e->loss; /* there is one for each round */
    char who[400];
    for (size_t i = 0; i < e->n_loss && left_out && first->client < 0; i++)
        first = &e->loss[i];
    snprintf(who, sizeof who, "%.300s seed %" PRId64 ": none of its %zu rounds counted",
             e->start.label, e->start.seed, skipped);
    if (!left_out)
        return eg_fail(EG_EINVAL, "%s: %.300s", who, first->why);
    return eg_fail(EG_EINVAL, "%s: all %zu uploads were left out; of the first: %.300s%s", who,
                   left_out, first->why, summary_advice(first->why));
}

eg_status eg_run_check_progress(const char *folder)
{
    eg_events *e;
    size_t skipped = 0, left_out = 0;
    EG_TRY(eg_events_load(folder, &e));
    for (size_t i = 0; i < e->n_loss; i++)
        *(e->loss[i].client < 0 ? &skipped : &left_out) += 1;
    bool none = skipped > 0 && summary_counted(e) == 0;
    eg_status s = none ? summary_blame(e, skipped, left_out) : EG_OK;
    eg_events_free(e);
    return s;
}
