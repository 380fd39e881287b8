/* patience.c - ends a run whose validation does not become better any more.
 * SPDX-License-Identifier: Apache-2.0
 *
 * While tasks are still to come accuracy falls and rises with them, so points count from the
 * last task on only.
 */
#include "run/server/federation.h"

/* A last test of everything, as after a task. */
static eg_status patience_stop(eg_federation *f, int64_t round)
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
    return p->stops ? patience_stop(f, round) : EG_OK;
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
