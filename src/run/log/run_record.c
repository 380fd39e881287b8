/* run_record.c - the record that a run's evaluations make.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/events.h"

/* Enters one evaluation into the newest row. */
static void record_enter(eg_record *r, const eg_eval_event *e, const int64_t *correct,
                         const int64_t *n)
{
    int64_t row = eg_record_n_rows(r) - 1;
    double before;
    for (int64_t t = 0; t < e->n_tasks; t++)
        if (n[t] > 0 && (e->full || !eg_record_at(r, row, e->who, t, &before)))
            eg_record_enter(r, e->who, t, correct[t], n[t]);
    if (e->met >= 0 && e->who >= 0)
        eg_record_met(r, e->who, e->met);
}

/* Begins the row of the round of evaluation i, which ends a task if any evaluation of the same
 * round says so. Row 0 is there from the beginning. */
static eg_status record_begin(eg_record *r, const eg_events *events, size_t i)
{
    const eg_eval_event *e = &events->eval[i];
    if (e->round == eg_record_round(r, eg_record_n_rows(r) - 1))
        return EG_OK;
    bool end = false;
    for (; i < events->n_eval && events->eval[i].round == e->round; i++)
        end |= events->eval[i].task_end;
    return eg_record_add(r, e->round, eg_record_n_periods(r) + 1, end);
}

/* A record has no room for clients unless one was evaluated. */
static int64_t record_clients(const eg_events *events)
{
    for (size_t i = 0; i < events->n_eval; i++)
        if (events->eval[i].who >= 0)
            return events->start.clients;
    return 0;
}

/* Enters what was counted in the newest row's round over all classes met. */
static void record_enter_seen(eg_record *r, const eg_events *events)
{
    int64_t round = eg_record_round(r, eg_record_n_rows(r) - 1), correct = 0, n = 0;
    for (size_t i = 0; i < events->n_confusion; i++) {
        const eg_confusion_event *e = &events->confusion[i];
        for (size_t k = 0; e->round == round && k < e->n_cells; k += 3) {
            n += e->cells[k + 2];
            correct += e->cells[k] == e->cells[k + 1] ? e->cells[k + 2] : 0;
        }
    }
    if (n > 0)
        eg_record_enter_seen(r, correct, n);
}

/* *any: whether an accuracy of the wanted kind was there. */
static eg_status record_fill(const eg_events *events, eg_record_kind kind, eg_record *r,
                             bool *any)
{
    EG_TRY(eg_record_add(r, 0, 0, false));
    for (int64_t t = 0; t < events->start.tasks; t++)
        eg_record_learned(r, t, events->start.learned[t]);
    for (size_t i = 0; i < events->n_eval; i++) {
        const eg_eval_event *e = &events->eval[i];
        const int64_t *correct = kind == EG_RECORD_TASK_IL      ? e->correct_task_il
                                 : kind == EG_RECORD_VALIDATION ? e->correct_validation
                                                                : e->correct;
        int64_t rows = eg_record_n_rows(r);
        EG_TRY(record_begin(r, events, i));
        if (kind == EG_RECORD_CLASS_IL && eg_record_n_rows(r) > rows)
            record_enter_seen(r, events);
        if (e->full)
            eg_record_set_whole(r);
        if (correct)
            record_enter(r, e, correct, kind == EG_RECORD_VALIDATION ? e->n_validation : e->n);
        *any |= correct != NULL;
    }
    return EG_OK;
}

eg_status eg_run_record(const eg_events *e, eg_record_kind kind, eg_record **out)
{
    eg_record *r = NULL;
    bool any = false;
    *out = NULL;
    EG_TRY(eg_record_new(record_clients(e), e->start.tasks, &r));
    eg_status status = record_fill(e, kind, r, &any);
    if (status == EG_OK && kind != EG_RECORD_CLASS_IL && !any)
        status =
            eg_fail(EG_ENOENT, kind == EG_RECORD_TASK_IL ? "no task-IL accuracy was measured"
                                                         : "nothing was validated");
    if (status == EG_OK)
        *out = r;
    else
        eg_record_free(r);
    return status;
}

eg_status eg_run_records_init(eg_run_records *r, const eg_events *e)
{
    *r = (eg_run_records){0};
    for (int kind = 0; kind < EG_RECORD_KINDS; kind++) {
        eg_status status = eg_run_record(e, (eg_record_kind)kind, &r->of[kind]);
        if (status != EG_OK && status != EG_ENOENT) {
            eg_run_records_fini(r);
            return status;
        }
    }
    return EG_OK;
}

void eg_run_records_fini(eg_run_records *r)
{
    for (int kind = 0; kind < EG_RECORD_KINDS; kind++)
        eg_record_free(r->of[kind]);
    *r = (eg_run_records){0};
}
