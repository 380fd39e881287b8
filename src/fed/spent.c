/* spent.c - the time a run took, over all the processes that carried it on.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fed/federation.h"

#include <stdio.h>
#include <sys/resource.h>

eg_spent eg_federation_spent(const eg_federation *f)
{
    eg_spent s = f->before;
    s.seconds += eg_seconds() - f->since;
    s.train += f->now.train;
    s.phase += f->now.phase;
    for (size_t i = 0; i < f->e->parts.n; i++) {
        s.part[i] += f->now.part[i];
        s.server_part[i] += f->chain.seconds[i];
    }
    return s;
}

eg_status eg_federation_save_spent(const eg_federation *f, eg_bundle *to)
{
    eg_spent s = eg_federation_spent(f);
    char name[48];
    EG_TRY(eg_bundle_scalar(to, "spent.seconds", s.seconds));
    EG_TRY(eg_bundle_scalar(to, "spent.train", s.train));
    EG_TRY(eg_bundle_scalar(to, "spent.phase", s.phase));
    for (size_t i = 0; i < f->e->parts.n; i++) {
        snprintf(name, sizeof name, "spent.part%zu", i);
        EG_TRY(eg_bundle_scalar(to, name, s.part[i]));
        snprintf(name, sizeof name, "spent.server%zu", i);
        EG_TRY(eg_bundle_scalar(to, name, s.server_part[i]));
    }
    return EG_OK;
}

void eg_federation_load_spent(eg_federation *f, const eg_bundle *from)
{
    char name[48];
    eg_bundle_scalar_of(from, "spent.seconds", &f->before.seconds);
    eg_bundle_scalar_of(from, "spent.train", &f->before.train);
    eg_bundle_scalar_of(from, "spent.phase", &f->before.phase);
    for (size_t i = 0; i < f->e->parts.n; i++) {
        snprintf(name, sizeof name, "spent.part%zu", i);
        eg_bundle_scalar_of(from, name, &f->before.part[i]);
        snprintf(name, sizeof name, "spent.server%zu", i);
        eg_bundle_scalar_of(from, name, &f->before.server_part[i]);
    }
}

/* The memory is this process's; of processes of clients it has none. */
eg_status eg_federation_write_end(const eg_federation *f)
{
    struct rusage usage;
    const char *parts[EG_MAX_PARTS];
    eg_spent s = eg_federation_spent(f);
    getrusage(RUSAGE_SELF, &usage);
    eg_parts_names(&f->e->parts, parts);
    return eg_run_write_end(f->folder,
                            &(eg_end_event){.seconds = s.seconds,
                                            .peak_rss_bytes = (int64_t)usage.ru_maxrss * 1024,
                                            .train_seconds = s.train,
                                            .phase_seconds = s.phase,
                                            .parts = parts,
                                            .part_seconds = s.part,
                                            .server_seconds = s.server_part,
                                            .n_parts = f->e->parts.n});
}
