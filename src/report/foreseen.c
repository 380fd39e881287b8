/* foreseen.c - whether a comparison can be made of runs that are not there yet.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs are put together as if they were there, so that what is foreseen is what will be.
 */
#include "report/paired.h"
#include "run/experiment/experiment.h"

#include <math.h>
#include <stdlib.h>

/* What the log of an experiment's run will begin with. A number below 0 is no run's seed. */
static eg_status foreseen_start(eg_run *r, const eg_experiment *e, int64_t number)
{
    eg_start_event *start = eg_arena_alloc(&r->arena, sizeof *start);
    const char **method = eg_arena_alloc(&r->arena, (e->parts.n + 1) * sizeof *method);
    if (!start || !method)
        return EG_ENOMEM;
    for (size_t i = 0; i < e->parts.n; i++)
        method[i] = eg_parts_name(&e->parts, i);
    *start = (eg_start_event){.name = e->name,
                              .label = e->label,
                              .seed = number,
                              .method = method,
                              .n_method = e->parts.n,
                              .config_sha256 = e->sha256};
    r->start = start;
    return EG_OK;
}

static eg_status foreseen_add(eg_groups *g, const eg_experiment *e)
{
    eg_run *r;
    EG_TRY(eg_alloc(1, sizeof *r, &r));
    r->dir = e->name;
    r->config = e->resolved;
    r->scale = 1;
    for (int i = 0; i < EG_SUMMARY_N; i++)
        r->summary[i] = NAN;
    eg_status status = foreseen_start(r, e, -1 - (int64_t)g->n_runs);
    if (status == EG_OK)
        eg_groups_add(g, r);
    else
        eg_run_free(r);
    return status;
}

eg_status eg_compare_foresee(const eg_compare_how *how, const char *const *run_dirs,
                             size_t n_dirs, const eg_experiment *const *runs, size_t n)
{
    eg_groups *g;
    eg_against against;
    if (n_dirs + n == 0)
        return EG_OK;
    EG_TRY(eg_groups_new(n_dirs + n, &g));
    eg_status status = EG_OK;
    for (size_t i = 0; i < n_dirs && status == EG_OK; i++) {
        eg_run *r;
        status = eg_run_load(run_dirs[i], &r);
        if (status == EG_OK)
            eg_groups_add(g, r);
    }
    for (size_t i = 0; i < n && status == EG_OK; i++)
        status = foreseen_add(g, runs[i]);
    if (status == EG_OK)
        status = eg_groups_make(g);
    if (status == EG_OK)
        status = eg_groups_against(&g->arena, g, how, &against);
    eg_groups_free(g);
    return status;
}
