/* group.c - seeds found, and statistics over them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/group.h"

#include <engram/method.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool group_same(const eg_run *a, const eg_run *b)
{
    return strcmp(a->start->name, b->start->name) == 0 &&
           strcmp(a->start->label, b->start->label) == 0 &&
           strcmp(a->start->config_sha256, b->start->config_sha256) == 0;
}

/* Keeps seeds in order. */
void eg_groups_add(eg_groups *g, eg_run *r)
{
    eg_run **runs = g->runs;
    size_t i = g->n_runs++, at = i;
    for (size_t k = 0; k < i; k++)
        if (group_same(runs[k], r)) {
            at = k;
            while (at < i && group_same(runs[at], r) && runs[at]->start->seed <= r->start->seed)
                at++;
            break;
        }
    memmove(runs + at + 1, runs + at, (i - at) * sizeof *runs);
    runs[at] = r;
}

static eg_status group_name(eg_groups *g)
{
    bool names = false;
    for (size_t i = 1; i < g->n_runs; i++)
        names = names || strcmp(g->runs[i]->start->name, g->runs[0]->start->name) != 0;
    for (eg_group *group = g->group; group < g->group + g->n; group++) {
        bool apart = *group->apart;
        const eg_run *r = group->run[0];
        group->title = eg_arena_text(&g->arena, "%s%s%s%s%s%s", names ? r->start->name : "",
                                     names ? " / " : "", r->start->label, apart ? " (" : "",
                                     group->apart, apart ? ")" : "");
        if (!group->title)
            return EG_ENOMEM;
    }
    return EG_OK;
}

static bool group_is_bound(const eg_start_event *s)
{
    for (size_t i = 0; i < s->n_method; i++) {
        const eg_method *m = eg_method_find(s->method[i]);
        if (m && m->bound)
            return true;
    }
    return false;
}

eg_status eg_groups_make(eg_groups *g)
{
    for (size_t i = 0; i < g->n_runs; i++) {
        eg_run *r = g->runs[i];
        if (i > 0 && group_same(g->runs[i - 1], r)) {
            if (g->runs[i - 1]->start->seed == r->start->seed)
                return eg_fail(EG_EINVAL, "%s and %s are both seed %" PRId64 " of '%s'",
                               g->runs[i - 1]->dir, r->dir, r->start->seed, r->start->label);
            g->group[g->n - 1].n++;
            continue;
        }
        g->group[g->n++] =
            (eg_group){.run = g->runs + i, .n = 1, .bound = group_is_bound(r->start)};
    }
    EG_TRY(eg_groups_tell_apart(g));
    EG_TRY(group_name(g));
    return eg_groups_find_sweeps(g);
}

/* The run that others of its experiment and seed are held against; NULL if there is none, or
 * more than one, with other settings. */
static const eg_run *group_reference(const eg_groups *g, const eg_run *of)
{
    const eg_run *found = NULL;
    for (size_t i = 0; i < g->n_runs; i++) {
        const eg_start_event *s = g->runs[i]->start;
        if (strcmp(s->label, of->bound) != 0 || strcmp(s->name, of->start->name) != 0 ||
            s->seed != of->start->seed)
            continue;
        if (found)
            return NULL;
        found = g->runs[i];
    }
    return found;
}

/* Fills in the one value that takes two runs. */
static eg_status group_regret(const eg_groups *g, eg_run *r)
{
    const eg_run *reference = group_reference(g, r);
    eg_record *mine, *other;
    double regret;
    if (!reference || isnan(r->summary[EG_SUMMARY_aa]) ||
        isnan(reference->summary[EG_SUMMARY_aa]))
        return EG_OK;
    EG_TRY(eg_run_record(r->log, EG_RECORD_CLASS_IL, &mine));
    eg_status status = eg_run_record(reference->log, EG_RECORD_CLASS_IL, &other);
    if (status == EG_OK) {
        const eg_metric *ar = eg_metric_find(eg_summary_name(EG_SUMMARY_ar));
        if (eg_run_value(ar, mine, other, &regret))
            r->summary[EG_SUMMARY_ar] = regret;
        eg_record_free(other);
    }
    eg_record_free(mine);
    return status;
}

static eg_status group_load(eg_groups *g, const char *const *dirs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        eg_run *r;
        EG_TRY(eg_run_load(dirs[i], &r));
        eg_groups_add(g, r);
    }
    for (size_t i = 0; i < g->n_published; i++)
        if (eg_summary_find(g->published[i].metric) == EG_SUMMARY_N)
            return eg_fail(EG_EINVAL, "published: the table has no column for '%s'",
                           g->published[i].metric);
    for (size_t i = 0; i < n; i++)
        EG_TRY(group_regret(g, g->runs[i]));
    return eg_groups_make(g);
}

eg_status eg_groups_new(size_t n, eg_groups **out)
{
    eg_groups *g = calloc(1, sizeof *g);
    *out = NULL;
    if (!g)
        return eg_fail(EG_ENOMEM, "out of memory");
    g->runs = calloc(n, sizeof *g->runs);
    g->group = calloc(n, sizeof *g->group);
    if (!g->runs || !g->group) {
        eg_groups_free(g);
        return eg_fail(EG_ENOMEM, "%zu runs are more than memory can hold", n);
    }
    eg_columns_fill(g->column);
    *out = g;
    return EG_OK;
}

eg_status eg_groups_load(const char *const *dirs, size_t n, const eg_published *published,
                         size_t n_published, eg_groups **out)
{
    eg_groups *g;
    if (n == 0)
        return eg_fail(EG_EINVAL, "there is no run to look at");
    EG_TRY(eg_groups_new(n, &g));
    g->published = published;
    g->n_published = published ? n_published : 0;
    eg_status status = group_load(g, dirs, n);
    if (status != EG_OK) {
        eg_groups_free(g);
        return status;
    }
    *out = g;
    return EG_OK;
}

void eg_groups_free(eg_groups *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_runs; i++)
        eg_run_free(g->runs[i]);
    free(g->runs);
    free(g->group);
    eg_arena_fini(&g->arena);
    free(g);
}

/* Values are added one by one (Welford, 1962), so that no array is needed. */
typedef struct group_sum {
    double mean, m2;
    size_t n;
} group_sum;

static void group_add(group_sum *s, double x)
{
    if (isnan(x))
        return;
    double gap = x - s->mean;
    s->n++;
    s->mean += gap / (double)s->n;
    s->m2 += gap * (x - s->mean);
}

static eg_spread group_spread(group_sum s)
{
    eg_spread out = {NAN, NAN, s.n};
    if (s.n > 0)
        out.mean = s.mean;
    if (s.n > 1)
        out.sd = sqrt(s.m2 / (double)(s.n - 1));
    return out;
}

eg_spread eg_spread_of(const double *values, size_t n)
{
    group_sum s = {0};
    for (size_t i = 0; i < n; i++)
        group_add(&s, values[i]);
    return group_spread(s);
}

eg_spread eg_group_summary(const eg_group *g, eg_summary which)
{
    group_sum s = {0};
    for (size_t i = 0; i < g->n; i++)
        group_add(&s, g->run[i]->summary[which]);
    return group_spread(s);
}

const eg_run *eg_group_longest(const eg_group *g)
{
    const eg_run *longest = g->run[0];
    for (size_t i = 1; i < g->n; i++)
        if (eg_run_last_round(g->run[i]) > eg_run_last_round(longest))
            longest = g->run[i];
    return longest;
}

bool eg_group_stopped(const eg_group *g)
{
    int64_t last = eg_run_last_round(eg_group_longest(g));
    bool any = false;
    for (size_t i = 0; i < g->n; i++)
        any |= g->run[i]->log->stopped && eg_run_last_round(g->run[i]) < last;
    return any;
}

/* The row of a run's model after a round: that of a run which has stopped does not change any
 * more. */
static const eg_run_row *group_row(const eg_run *r, int64_t round)
{
    int64_t last = eg_run_last_round(r);
    return eg_run_row_at(r, r->log->stopped && round > last ? last : round);
}

eg_spread eg_group_acc(const eg_group *g, int64_t round, int64_t task)
{
    group_sum s = {0};
    for (size_t i = 0; i < g->n; i++) {
        const eg_run_row *row = group_row(g->run[i], round);
        if (row && task < g->run[i]->start->tasks)
            group_add(&s, task == EG_MEAN              ? row->mean
                          : task == EG_MEAN_IL         ? row->mean_il
                          : task == EG_MEAN_VALIDATION ? row->validation
                                                       : row->acc[task]);
    }
    return group_spread(s);
}

eg_spread eg_group_fall(const eg_group *g, int64_t task)
{
    group_sum s = {0};
    for (size_t i = 0; i < g->n; i++)
        if (task < g->run[i]->start->tasks)
            group_add(&s, g->run[i]->fall[task]);
    return group_spread(s);
}

eg_spread eg_group_met(const eg_group *g, int64_t round)
{
    group_sum s = {0};
    for (size_t i = 0; i < g->n; i++) {
        const eg_run *r = g->run[i];
        int64_t last = r->n_met ? r->met[r->n_met - 1].round : -1;
        int64_t wanted = r->log->stopped && round > last ? last : round;
        for (size_t k = 0; k < r->n_met; k++)
            if (r->met[k].round == wanted)
                group_add(&s, r->met[k].acc);
    }
    return group_spread(s);
}

/* Bounds compete with none, and of a sweep only what validation has chosen does. */
static bool group_competes(const eg_groups *all, const eg_group *g)
{
    return !g->bound && (g->n_swept == 0 || eg_group_is_chosen(all, g));
}

bool eg_group_is_best(const eg_groups *all, const eg_group *g, const eg_column *c)
{
    eg_spread mine = eg_group_summary(g, c->which);
    bool alone = true;
    if (!group_competes(all, g) || c->better == 0 || isnan(mine.sd))
        return false;
    for (const eg_group *k = all->group; k < all->group + all->n; k++) {
        eg_spread other = eg_group_summary(k, c->which);
        if (k == g || !group_competes(all, k) || other.n == 0)
            continue;
        double lead = (mine.mean - other.mean) * c->better;
        if (!(lead > fmax(mine.sd, other.sd)) || isnan(other.sd))
            return false;
        alone = false;
    }
    return !alone;
}

eg_losses eg_group_losses(const eg_group *g)
{
    eg_losses l = {0};
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->run[i]->log->n_loss; k++) {
            const eg_loss_event *loss = &g->run[i]->log->loss[k];
            *(loss->client >= 0 ? &l.left_out : &l.skipped) += 1;
            l.first = l.first ? l.first : loss;
        }
    return l;
}

const eg_published *eg_groups_published(const eg_groups *g, const eg_group *of,
                                        eg_summary which)
{
    const eg_start_event *run = of->run[0]->start;
    const eg_published *found = NULL;
    for (size_t i = 0; i < g->n_published; i++) {
        const eg_published *p = &g->published[i];
        if ((p->name && strcmp(p->name, run->name) != 0) ||
            eg_summary_find(p->metric) != which || !eg_published_fits(p, run->label))
            continue;
        if (!found || strcmp(p->label, run->label) == 0) /* its own, before its sweep's */
            found = p;
    }
    return found;
}
