/* run_log.c - a run's log for other programs: its values, rounds and accuracies.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/summary.h"

#include <engram/log.h>

#include <math.h>
#include <stdlib.h>

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
