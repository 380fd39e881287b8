/* progress.c - how far a run is: the time it took, and whether validation still becomes better.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/federation.h"

#include <stdio.h>
#include <sys/resource.h>

eg_spent eg_federation_spent(const eg_federation *f)
{
    eg_spent s = f->before;
    s.seconds += eg_seconds() - f->since;
    s.train += f->now.train;
    s.phase += f->now.phase;
    s.flops_clients += f->now.flops_clients;
    s.flops_server += f->chain.flops;
    for (size_t i = 0; i < f->e->parts.n; i++) {
        s.part[i] += f->now.part[i];
        s.server_part[i] += f->chain.seconds[i];
    }
    return s;
}

/* A scalar holds whole numbers up to 2^53, less than a long run computes: two of them. */
static eg_status progress_save_count(eg_bundle *to, const char *name, uint64_t count)
{
    char part[48];
    snprintf(part, sizeof part, "%s.high", name);
    EG_TRY(eg_bundle_scalar(to, part, (double)(count >> 32)));
    snprintf(part, sizeof part, "%s.low", name);
    return eg_bundle_scalar(to, part, (double)(count & UINT32_MAX));
}

static void progress_load_count(const eg_bundle *from, const char *name, uint64_t *count)
{
    char part[48];
    double high = 0, low = 0;
    snprintf(part, sizeof part, "%s.high", name);
    eg_bundle_scalar_of(from, part, &high);
    snprintf(part, sizeof part, "%s.low", name);
    eg_bundle_scalar_of(from, part, &low);
    bool good = high >= 0 && high <= UINT32_MAX && low >= 0 && low <= UINT32_MAX;
    *count = good ? (uint64_t)high << 32 | (uint64_t)low : 0;
}

eg_status eg_federation_save_spent(const eg_federation *f, eg_bundle *to)
{
    eg_spent s = eg_federation_spent(f);
    char name[48];
    EG_TRY(eg_bundle_scalar(to, "spent.seconds", s.seconds));
    EG_TRY(eg_bundle_scalar(to, "spent.train", s.train));
    EG_TRY(eg_bundle_scalar(to, "spent.phase", s.phase));
    EG_TRY(progress_save_count(to, "spent.flops_clients", s.flops_clients));
    EG_TRY(progress_save_count(to, "spent.flops_server", s.flops_server));
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
    progress_load_count(from, "spent.flops_clients", &f->before.flops_clients);
    progress_load_count(from, "spent.flops_server", &f->before.flops_server);
    for (size_t i = 0; i < f->e->parts.n; i++) {
        snprintf(name, sizeof name, "spent.part%zu", i);
        eg_bundle_scalar_of(from, name, &f->before.part[i]);
        snprintf(name, sizeof name, "spent.server%zu", i);
        eg_bundle_scalar_of(from, name, &f->before.server_part[i]);
    }
}

static int64_t progress_flops(uint64_t flops)
{
    return flops < EG_MOST_FLOPS ? (int64_t)flops : EG_MOST_FLOPS;
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
                                            .flops_clients = progress_flops(s.flops_clients),
                                            .flops_server = progress_flops(s.flops_server),
                                            .n_parts = f->e->parts.n});
}

/* A last test of everything, as after a task. */
static eg_status progress_end(eg_federation *f, int64_t round)
{
    const eg_patience *p = &f->patience;
    const eg_scenario *s = f->feed.scenario;
    bool streams = eg_scenario_streams(s);
    if (!(streams && f->agreed.all.personal))
        EG_TRY(eg_federation_evaluate(f, round, true, true));
    if (streams)
        EG_TRY(eg_federation_evaluate_met(f, round, true));
    return eg_run_write_stop(
        f->folder, &(eg_stop_event){.round = round, .best_round = p->round, .best = p->best});
}

/* While tasks are still to come accuracy falls and rises with them, so points count from the
 * last task on only. */
eg_status eg_federation_wait(eg_federation *f, int64_t round)
{
    const eg_scenario *s = f->feed.scenario;
    int64_t n_rounds = eg_scenario_n_rounds(s);
    eg_patience *p = &f->patience;
    if (f->e->eval.patience == 0 || round >= n_rounds ||
        eg_scenario_period(s, round - 1) < eg_scenario_period(s, n_rounds - 1))
        return EG_OK;
    if (f->validation > p->best) {
        *p = (eg_patience){.best = f->validation, .round = round};
        return EG_OK;
    }
    p->stops = ++p->points >= f->e->eval.patience;
    return p->stops ? progress_end(f, round) : EG_OK;
}

eg_status eg_federation_save_patience(const eg_federation *f, eg_bundle *to)
{
    EG_TRY(eg_bundle_scalar(to, "patience.best", f->patience.best));
    EG_TRY(eg_bundle_scalar(to, "patience.round", (double)f->patience.round));
    EG_TRY(eg_bundle_scalar(to, "patience.points", (double)f->patience.points));
    return eg_bundle_scalar(to, "patience.stops", f->patience.stops);
}

eg_status eg_federation_load_patience(eg_federation *f, const eg_bundle *from)
{
    int64_t stops, most = eg_scenario_n_rounds(f->feed.scenario);
    eg_bundle_scalar_of(from, "patience.best", &f->patience.best);
    EG_TRY(eg_bundle_need_count(from, "patience.round", most, &f->patience.round));
    EG_TRY(eg_bundle_need_count(from, "patience.points", most, &f->patience.points));
    EG_TRY(eg_bundle_need_count(from, "patience.stops", 1, &stops));
    f->patience.stops = stops != 0;
    return EG_OK;
}
