/* paired.c - groups held against one of them, seed by seed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/table/paired.h"
#include "report/runs/group.h"

#include "run/experiment/experiment.h"

#include <engram/opt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seeds are in order in both. */
eg_paired eg_group_paired(const eg_group *g, const eg_group *other, eg_summary which)
{
    enum { PAIRED_MOST = 1024 }; /* more seeds show nothing else */
    double d[PAIRED_MOST];
    size_t n = 0, k = 0;
    for (size_t i = 0; i < g->n && n < PAIRED_MOST; i++) {
        int64_t seed = g->run[i]->start->seed;
        while (k < other->n && other->run[k]->start->seed < seed)
            k++;
        if (k == other->n || other->run[k]->start->seed != seed)
            continue;
        double mine = g->run[i]->summary[which], theirs = other->run[k]->summary[which];
        if (!isnan(mine) && !isnan(theirs))
            d[n++] = mine - theirs;
    }
    return eg_paired_of(d, n);
}

/* What a comparison is about: of streams AA; where a paper tells it, acc_seen; whatever columns
 * are shown. */
static eg_summary paired_main(const eg_groups *g)
{
    bool stream = false, told = false;
    for (const eg_group *k = g->group; k < g->group + g->n; k++) {
        stream |= eg_group_summary(k, EG_SUMMARY_aa).n > 0 ||
                  eg_groups_published(g, k, EG_SUMMARY_aa) != NULL;
        told |= eg_groups_published(g, k, EG_SUMMARY_acc_seen) != NULL;
    }
    return stream ? EG_SUMMARY_aa : told ? EG_SUMMARY_acc_seen : EG_SUMMARY_acc_final;
}

static bool paired_in_one(const eg_group *a, const eg_group *b)
{
    return strcmp(a->run[0]->start->name, b->run[0]->start->name) == 0;
}

/* Whether `it` is what another group is held against. */
typedef bool (*paired_fits)(const eg_group *it, const eg_group *of, const char *word);

/* The first that is; NULL: none. */
static const eg_group *paired_find(const eg_groups *g, paired_fits fits, const eg_group *of,
                                   const char *word)
{
    for (const eg_group *k = g->group; k < g->group + g->n; k++)
        if (fits(k, of, word))
            return k;
    return NULL;
}

static bool paired_is_first(const eg_group *it, const eg_group *of, const char *word)
{
    (void)word;
    return paired_in_one(it, of);
}

/* The first of an experiment, or if it is of a sweep, the best of that by validation. */
static const eg_group *paired_usual(const eg_groups *g, const eg_group *of)
{
    const eg_group *first = paired_find(g, paired_is_first, of, NULL);
    for (const eg_group *k = g->group; k < g->group + g->n; k++)
        if (eg_group_is_chosen(g, k) && eg_group_in_sweep(k, first))
            return k;
    return first;
}

/* A title is one group's, whatever its experiment. */
static bool paired_is_called(const eg_group *it, const eg_group *of, const char *label)
{
    return strcmp(it->title, label) == 0 ||
           (strcmp(it->run[0]->start->label, label) == 0 && paired_in_one(it, of));
}

/* Whether a setting, "er.batch", is an option of a part. */
static bool paired_is_of_part(const char *key, const char *part)
{
    char head[64];
    snprintf(head, sizeof head, "%.*s", (int)strcspn(key, "."), key);
    return eg_name_equal(part, head);
}

/* Whether `it` has the same values of a sweep as a group with the part; it may lack those of
 * the part itself. */
static bool paired_is_swept_alike(const eg_group *it, const eg_group *of, const char *part)
{
    size_t own = 0;
    bool alike = true;
    for (size_t i = 0; i < of->n_swept && alike; i++) {
        const char *value = eg_group_swept(it, of->swept[i].key);
        bool lacks = !value && paired_is_of_part(of->swept[i].key, part);
        own += lacks;
        alike = lacks || (value && strcmp(value, of->swept[i].value) == 0);
    }
    return alike && it->n_swept + own == of->n_swept;
}

/* Whether `it` has the parts of the other but for one, which the other has. */
static bool paired_is_without(const eg_group *it, const eg_group *of, const char *part)
{
    const eg_start_event *mine = it->run[0]->start, *its = of->run[0]->start;
    size_t k = 0;
    bool alike = its->n_method == mine->n_method + 1;
    for (size_t i = 0; i < its->n_method && alike; i++)
        if (strcmp(its->method[i], part) != 0)
            alike = k < mine->n_method && strcmp(its->method[i], mine->method[k++]) == 0;
    return alike && k == mine->n_method && paired_in_one(it, of) &&
           paired_is_swept_alike(it, of, part);
}

/* The row without a part whose settings are nearest to a group's, since a file may have
 * several, with memories of other sizes; and the settings in which it still differs.
 */
static eg_status paired_nearest(eg_arena *a, const eg_groups *g, const eg_group *of,
                                const char *part, const eg_group **out, const char **beside)
{
    size_t n, least = SIZE_MAX;
    *out = NULL;
    *beside = "";
    for (const eg_group *k = g->group; k < g->group + g->n; k++) {
        const char *keys;
        if (!paired_is_without(k, of, part))
            continue;
        EG_TRY(eg_groups_between(a, of, k, &keys, &n));
        if (n >= least)
            continue;
        *out = k;
        *beside = keys;
        least = n;
    }
    return EG_OK;
}

/* Whom each group is held against to tell what a part gains. */
static eg_status paired_without(eg_arena *a, const eg_groups *g, const char *part,
                                eg_against *out)
{
    for (size_t i = 0; i < g->n; i++) {
        const char *beside;
        EG_TRY(paired_nearest(a, g, &g->group[i], part, &out->to[i], &beside));
        if (!*beside)
            continue;
        out->beside = eg_arena_text(a, "%s%s%s (%s)", out->beside ? out->beside : "",
                                    out->beside ? ", " : "", g->group[i].title, beside);
        if (!out->beside)
            return EG_ENOMEM;
    }
    return EG_OK;
}

/* The most seeds that a group shares with another one that it is held against. */
static size_t paired_seeds(const eg_groups *g, const eg_against *a)
{
    size_t most = 0;
    for (size_t i = 0; i < g->n; i++)
        if (a->to[i] && a->to[i] != &g->group[i]) {
            size_t shared = eg_group_paired(&g->group[i], a->to[i], a->which).n;
            most = shared > most ? shared : most;
        }
    return most;
}

/* "to er", "to the first run of its experiment" */
static const char *paired_words(eg_arena *arena, const eg_groups *g, const eg_compare_how *how,
                                const eg_against *a)
{
    const eg_group *one = NULL;
    bool many = false;
    for (size_t i = 0; i < g->n; i++) {
        many = many || (a->to[i] && one && a->to[i] != one);
        one = a->to[i] ? a->to[i] : one;
    }
    if (how->without)
        return eg_arena_text(arena, "to the row without %s", how->without);
    if (one && !many)
        return eg_arena_text(arena, "to %s", one->title);
    return eg_arena_text(arena, "to %s of its experiment",
                         how->against ? how->against : "the first run");
}

const eg_group *eg_against_of(const eg_against *a, const eg_groups *g, const eg_group *of)
{
    return a->words ? a->to[of - g->group] : NULL;
}

eg_status eg_groups_against(eg_arena *a, const eg_groups *g, const eg_compare_how *how,
                            eg_against *out)
{
    const char *word = how->without ? how->without : how->against;
    size_t found = 0;
    *out = (eg_against){.which = paired_main(g)};
    out->to = eg_arena_alloc(a, g->n * sizeof *out->to);
    EG_TRY(out->to ? EG_OK : EG_ENOMEM);
    if (how->without)
        EG_TRY(paired_without(a, g, word, out));
    for (size_t i = 0; i < g->n; i++) {
        if (how->against)
            out->to[i] = paired_find(g, paired_is_called, &g->group[i], word);
        else if (!how->without)
            out->to[i] = paired_usual(g, &g->group[i]);
        found += out->to[i] != NULL;
    }
    if (found == 0 && how->without)
        return eg_fail(EG_EINVAL, "there is no row with the part '%s' that has one without it",
                       word);
    if (found == 0 && how->against)
        return eg_fail(EG_EINVAL, "there is no '%s' to hold the others against", word);
    const eg_column c = eg_column_of(out->which);
    bool shown = word ? eg_column_used(g, &c) : paired_seeds(g, out) > 1;
    if (shown && !(out->words = paired_words(a, g, how, out)))
        return EG_ENOMEM;
    return EG_OK;
}

void eg_show_difference(char out[96], eg_summary which, const eg_paired *p)
{
    char text[80];
    eg_show_spread(text, which, (eg_spread){p->mean, p->sd, p->n});
    snprintf(out, 96, "%s%s", p->mean >= 0 ? "+" : "", text);
}

void eg_show_p(char out[32], double p)
{
    if (isnan(p))
        snprintf(out, 32, "–");
    else if (p < 0.001)
        snprintf(out, 32, "<0.001");
    else
        snprintf(out, 32, p < 0.1 ? "%.3f" : "%.2f", p);
}

void eg_against_show(const eg_against *a, const eg_groups *g, const eg_group *of,
                     char difference[96], char p[32])
{
    const eg_group *to = eg_against_of(a, g, of);
    if (!to || to == of) {
        snprintf(difference, 96, "–");
        snprintf(p, 32, "–");
        return;
    }
    eg_paired d = eg_group_paired(of, to, a->which);
    eg_show_difference(difference, a->which, &d);
    eg_show_p(p, d.p);
}

const char *eg_against_note(eg_arena *a, const eg_against *against)
{
    return eg_arena_text(a,
                         "difference: in %s %s, seed by seed; p: of a paired t test, below "
                         "five seeds of an exact sign test%s%s",
                         eg_column_of(against->which).heading, against->words,
                         against->beside ? "; not the part alone differs: " : "",
                         against->beside ? against->beside : "");
}

/* * Runs are put together as if they were there, so that what is foreseen is what will be. */

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
