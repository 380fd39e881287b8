/* swept.c - runs of one sweep, found by their labels.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/group.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether a text begins with "optimizer.lr=0.1". A setting has a dot in its name or is one of
 * these few, unlike what a value may have in it: "width=4 lr=0.1". */
static bool swept_is_pair(const char *text)
{
    static const char *const bare[] = {"data", "model", "optimizer", "scale"};
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-");
    bool key = memchr(text, '.', n) != NULL;
    for (size_t i = 0; i < sizeof bare / sizeof *bare && !key; i++)
        key = strlen(bare[i]) == n && strncmp(text, bare[i], n) == 0;
    return key && text[n] == '=' && text[n + 1] && text[n + 1] != ' ';
}

/* The blank before a text's next setting, or its end: values may have blanks too. */
static const char *swept_next(const char *text)
{
    while (*text && !(*text == ' ' && swept_is_pair(text + 1)))
        text++;
    return text;
}

/* How many bytes of a label stand before the settings at its end; *n: how many these are. */
static size_t swept_begin(const char *label, size_t *n)
{
    const char *first = *label ? swept_next(label + 1) : label;
    *n = 0;
    for (const char *at = first; *at; at = swept_next(at + 1))
        (*n)++;
    return (size_t)(first - label);
}

bool eg_published_fits(const eg_published *p, const char *label)
{
    size_t n, begin = swept_begin(label, &n);
    return strcmp(p->label, label) == 0 ||
           (strlen(p->label) == begin && strncmp(p->label, label, begin) == 0);
}

/* Reads the settings of a group's label. */
static eg_status swept_read(eg_groups *g, eg_group *of)
{
    const char *label = of->run[0]->start->label;
    size_t n, begin = swept_begin(label, &n), tail = strlen(of->title);
    eg_differing *list = eg_arena_alloc(&g->arena, (n + 1) * sizeof *list);
    if (!list)
        return EG_ENOMEM;
    const char *at = label + begin;
    for (size_t i = 0; i < n; i++) {
        const char *end = swept_next(++at);
        size_t key = strcspn(at, "="), value = (size_t)(end - at);
        list[i].key = eg_arena_text(&g->arena, "%.*s", (int)key, at);
        list[i].value = eg_arena_text(&g->arena, "%.*s", (int)(value - key - 1), at + key + 1);
        if (!list[i].key || !list[i].value)
            return EG_ENOMEM;
        at = end;
    }
    /* The title is the label with what stands around it. */
    tail -= *of->apart ? strlen(of->apart) + strlen(" ()") : 0;
    of->base = eg_arena_text(&g->arena, "%.*s%s", (int)(tail - strlen(label) + begin),
                             of->title, of->title + tail);
    of->swept = list;
    of->n_swept = n;
    return of->base ? EG_OK : EG_ENOMEM;
}

bool eg_group_in_sweep(const eg_group *a, const eg_group *b)
{
    bool same = a->n_swept == b->n_swept && strcmp(a->base, b->base) == 0;
    for (size_t i = 0; same && i < a->n_swept; i++)
        same = strcmp(a->swept[i].key, b->swept[i].key) == 0;
    return same;
}

/* Whether there is another one of its sweep: else the label is just a label. */
static bool swept_in_company(const eg_groups *g, const eg_group *of)
{
    for (const eg_group *k = g->group; k < g->group + g->n; k++)
        if (k != of && eg_group_in_sweep(k, of))
            return true;
    return false;
}

/* A group's accuracy on samples held out of training; NaN unless the seed's run is over, since
 * one that goes on may yet become better. */
static double swept_validation(const eg_group *g, int64_t seed)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->run[i]->start->seed == seed && g->run[i]->finished)
            return g->run[i]->summary[EG_SUMMARY_acc_validation];
    return NAN;
}

/* Means are compared over the same seeds, for some are harder than others. */
static eg_status swept_validate(eg_groups *g, eg_group *of)
{
    double *values = eg_arena_alloc(&g->arena, of->n * sizeof *values);
    if (!values)
        return EG_ENOMEM;
    for (size_t i = 0; i < of->n; i++) {
        int64_t seed = of->run[i]->start->seed;
        values[i] = swept_validation(of, seed);
        for (const eg_group *k = g->group; k < g->group + g->n && !isnan(values[i]); k++)
            if (eg_group_in_sweep(k, of) && isnan(swept_validation(k, seed)))
                values[i] = NAN;
    }
    of->validated = eg_spread_of(values, of->n);
    return EG_OK;
}

eg_status eg_groups_find_sweeps(eg_groups *g)
{
    bool *in_company = eg_arena_alloc(&g->arena, g->n * sizeof *in_company);
    if (!in_company)
        return EG_ENOMEM;
    for (size_t i = 0; i < g->n; i++)
        EG_TRY(swept_read(g, &g->group[i]));
    for (size_t i = 0; i < g->n; i++)
        in_company[i] = g->group[i].n_swept > 0 && swept_in_company(g, &g->group[i]);
    for (size_t i = 0; i < g->n; i++)
        if (!in_company[i]) {
            g->group[i].n_swept = 0;
            g->group[i].base = g->group[i].title;
        }
    for (size_t i = 0; i < g->n; i++)
        if (g->group[i].n_swept > 0)
            EG_TRY(swept_validate(g, &g->group[i]));
    return EG_OK;
}

const char *eg_group_swept(const eg_group *g, const char *key)
{
    for (size_t i = 0; i < g->n_swept; i++)
        if (strcmp(g->swept[i].key, key) == 0)
            return g->swept[i].value;
    return NULL;
}

eg_status eg_groups_swept_keys(eg_arena *a, const eg_groups *g, const char ***out, size_t *n)
{
    size_t most = 0;
    *n = 0;
    for (size_t i = 0; i < g->n; i++)
        most += g->group[i].n_swept;
    *out = eg_arena_alloc(a, (most + 1) * sizeof **out);
    if (!*out)
        return EG_ENOMEM;
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->group[i].n_swept; k++) {
            const char *key = g->group[i].swept[k].key;
            bool known = false;
            for (size_t j = 0; j < *n && !known; j++)
                known = strcmp((*out)[j], key) == 0;
            if (!known)
                (*out)[(*n)++] = key;
        }
    return EG_OK;
}

bool eg_group_is_chosen(const eg_groups *all, const eg_group *g)
{
    double mine = g->validated.mean;
    if (g->n_swept == 0 || isnan(mine))
        return false;
    for (const eg_group *k = all->group; k < all->group + all->n; k++) {
        double other = k->validated.mean;
        if (eg_group_in_sweep(k, g) && (other > mine || (other == mine && k < g)))
            return false;
    }
    return true;
}

/* "best by validation: er with optimizer.lr=0.1, 81.2 %" */
static const char *swept_note(eg_arena *a, const eg_group *of)
{
    char percent[32], seeds[96] = "";
    const char *text = eg_arena_text(a, "best by validation: %s with", of->base);
    for (size_t i = 0; text && i < of->n_swept; i++)
        text = eg_arena_text(a, "%s %s=%s", text, of->swept[i].key, of->swept[i].value);
    eg_show_percent(percent, of->validated.mean);
    if (of->validated.n < of->n)
        snprintf(seeds, sizeof seeds, " over the %zu of %zu seeds that all of its sweep have",
                 of->validated.n, of->n);
    return text ? eg_arena_text(a, "%s, %s %%%s", text, percent, seeds) : NULL;
}

/* Whether a group stands first of its sweep, and the sweep, though some of it was validated,
 * has no seed by which to choose. */
static bool swept_is_open(const eg_groups *g, const eg_group *of)
{
    bool validated = false;
    for (const eg_group *k = g->group; k < g->group + g->n; k++) {
        if (of->n_swept == 0 || !eg_group_in_sweep(k, of))
            continue;
        if (k < of || k->validated.n > 0)
            return false;
        validated |= eg_group_summary(k, EG_SUMMARY_acc_validation).n > 0;
    }
    return validated;
}

eg_status eg_groups_sweep_notes(eg_arena *a, const eg_groups *g, const char **notes, size_t *n)
{
    bool swept = false, said = false;
    for (size_t i = 0; i < g->n; i++) {
        const eg_group *k = &g->group[i];
        bool open = swept_is_open(g, k);
        swept |= k->n_swept > 0;
        if (!open && !eg_group_is_chosen(g, k))
            continue;
        said = true;
        notes[*n] = open ? eg_arena_text(a,
                                         "no run of %s is called the best by validation: there "
                                         "is no seed that all of its sweep have finished",
                                         k->base)
                         : swept_note(a, k);
        if (!notes[(*n)++])
            return EG_ENOMEM;
    }
    if (swept && !said)
        notes[(*n)++] = "no run of the sweep is called the best, for the test must not choose; "
                        "data.validation holds samples out that may";
    return EG_OK;
}
