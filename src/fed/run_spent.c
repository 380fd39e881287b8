/* run_spent.c - the time a run took, over all the processes that carried it on.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fed/federation.h"

#include <stdio.h>
#include <sys/resource.h>

eg_spent eg_federation_spent(const eg_federation *f)
{
    eg_spent s = f->before;
    s.seconds += eg_seconds() - f->since;
    for (int k = 0; k < f->n_workers; k++) {
        s.train += f->workers[k].train_seconds;
        s.phase += f->workers[k].phase_seconds;
        for (size_t i = 0; i < f->e->n_parts; i++)
            s.part[i] += f->workers[k].part_seconds[i];
    }
    return s;
}

eg_status eg_federation_save_spent(const eg_federation *f, eg_bundle *to)
{
    eg_spent s = eg_federation_spent(f);
    char name[32];
    EG_TRY(eg_bundle_scalar(to, "spent.seconds", s.seconds));
    EG_TRY(eg_bundle_scalar(to, "spent.train", s.train));
    EG_TRY(eg_bundle_scalar(to, "spent.phase", s.phase));
    for (size_t i = 0; i < f->e->n_parts; i++) {
        snprintf(name, sizeof name, "spent.part%zu", i);
        EG_TRY(eg_bundle_scalar(to, name, s.part[i]));
    }
    return EG_OK;
}

void eg_federation_load_spent(eg_federation *f, const eg_bundle *from)
{
    char name[32];
    eg_bundle_scalar_of(from, "spent.seconds", &f->before.seconds);
    eg_bundle_scalar_of(from, "spent.train", &f->before.train);
    eg_bundle_scalar_of(from, "spent.phase", &f->before.phase);
    for (size_t i = 0; i < f->e->n_parts; i++) {
        snprintf(name, sizeof name, "spent.part%zu", i);
        eg_bundle_scalar_of(from, name, &f->before.part[i]);
    }
}

/* The memory is this process's; over a wire the clients' is not in it. */
eg_status eg_federation_write_end(const eg_federation *f)
{
    struct rusage usage;
    const char *parts[EG_MAX_PARTS];
    eg_spent s = eg_federation_spent(f);
    getrusage(RUSAGE_SELF, &usage);
    for (size_t i = 0; i < f->e->n_parts; i++)
        parts[i] = f->e->parts[i].method->name;
    return eg_run_write_end(f->folder,
                            &(eg_end_event){.seconds = s.seconds,
                                            .peak_rss_bytes = (int64_t)usage.ru_maxrss * 1024,
                                            .train_seconds = s.train,
                                            .phase_seconds = s.phase,
                                            .parts = parts,
                                            .part_seconds = s.part,
                                            .n_parts = f->e->n_parts});
}
