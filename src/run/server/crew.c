/* crew.c - who computes: workers, and the threads that they and the server share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All threads of a run are its workers times what each may have. Whoever is at work shares
 * them: where fewer clients take turns than there are workers, each has more, and the server
 * has all while its clients wait. No result depends on any of it.
 */
#include "run/server/federation.h"

/* Where nothing is said, the cores of this machine, which ranks of one run may share. */
static int crew_cores(const eg_run_how *how)
{
    int cores = how->cluster ? 1 : eg_cores();
    return cores < EG_MAX_THREADS ? cores : EG_MAX_THREADS;
}

int eg_federation_workers(const eg_run_how *how)
{
    int each = how->threads > 0 ? how->threads : 1, cores = crew_cores(how);
    int want = how->workers > 0 ? how->workers : cores > each ? cores / each : 1;
    return want < EG_MAX_THREADS ? want : EG_MAX_THREADS;
}

int eg_federation_threads(const eg_run_how *how)
{
    int each = how->threads > 0 ? how->threads : 1;
    return eg_federation_workers(how) * each;
}

eg_status eg_federation_gather(eg_federation *f)
{
    int n = f->threads < EG_MAX_TEAM ? f->threads : EG_MAX_TEAM;
    if (n > 1 && !f->team)
        EG_TRY(eg_team_new(n, &f->team));
    eg_team_enter(f->team);
    return EG_OK;
}

void eg_federation_scatter(eg_federation *f)
{
    eg_team_free(f->team);
    f->team = NULL;
}
