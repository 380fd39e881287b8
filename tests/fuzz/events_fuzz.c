/* events_fuzz.c - the log of a run, of any bytes: what is read can be judged.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz/fuzz.h"

#include "run/log/summary.h"
#include "sealed.h"

#include <math.h>

enum { CELLS_MOST = 100000 }; /* of a row; a record of more is only slow */

static void try_events(const eg_events *e)
{
    eg_run_records r;
    double summary[EG_SUMMARY_N];
    for (size_t i = 0; i < e->n_eval; i++)
        for (int64_t t = 0; t < e->start.tasks; t++)
            EG_ASSERT(e->eval[i].correct[t] >= 0 && e->eval[i].correct[t] <= e->eval[i].n[t]);
    for (size_t i = 0; i < e->n_round; i++)
        for (size_t k = 0; k < e->round[i].n_clients; k++)
            EG_ASSERT(e->round[i].clients[k] >= 0 && e->round[i].clients[k] < e->start.clients);
    for (size_t i = 0; i < e->n_late; i++)
        EG_ASSERT(e->late[i].age >= 0 && e->late[i].age < e->late[i].round &&
                  e->late[i].client < e->start.clients);
    if (e->start.clients * e->start.tasks > CELLS_MOST)
        return;
    EG_ASSERT(eg_run_records_init(&r, e) == EG_OK);
    eg_summary_of(e, &r, summary);
    double final = summary[EG_SUMMARY_acc_final];
    EG_ASSERT(isnan(final) || (final >= 0 && final <= 1));
    eg_run_records_fini(&r);
}

/* With the right checksums, so that what lies behind them is tried, or as it is. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    size_t length;
    char *log = sealed((const char *)bytes, n, &length);
    for (int way = 0; way < 4; way++) {
        eg_events *e;
        bool seals = way & 1, whole = way & 2;
        if (eg_events_parse("log", seals ? log : (const char *)bytes, seals ? length : n, whole,
                            &e) != EG_OK)
            continue;
        try_events(e);
        eg_events_free(e);
    }
    free(log);
    return 0;
}
