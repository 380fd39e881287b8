/* paired.c - groups held against one of them, seed by seed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/paired.h"

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

/* What a comparison is about: of streams AA; where a paper tells it, acc_seen. */
static eg_summary paired_main(const eg_groups *g)
{
    static const eg_summary first[] = {EG_SUMMARY_aa, EG_SUMMARY_acc_seen};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (eg_column_used(g, eg_column_find(eg_summary_name(first[i]))))
            return first[i];
    return EG_SUMMARY_acc_final;
}

/* The group of a label or title; NULL: there is none. */
static const eg_group *paired_find(const eg_groups *g, const char *label)
{
    for (const eg_group *k = g->group; k < g->group + g->n; k++)
        if (strcmp(k->title, label) == 0 || strcmp(k->run[0]->start->label, label) == 0)
            return k;
    return NULL;
}

eg_status eg_groups_against(const eg_groups *g, const char *label, const eg_group *first,
                            eg_against *out)
{
    *out = (eg_against){.which = paired_main(g)};
    const eg_group *named = label ? paired_find(g, label) : NULL;
    if (label && !named)
        return eg_fail(EG_EINVAL, "there is no '%s' to hold the others against", label);
    if (named && eg_column_used(g, eg_column_find(eg_summary_name(out->which))))
        out->group = named;
    if (named)
        return EG_OK;
    for (const eg_group *k = g->group; k < g->group + g->n; k++)
        if (k != first && eg_group_paired(k, first, out->which).n > 1)
            out->group = first;
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

const char *eg_against_note(eg_arena *a, const eg_against *against)
{
    const eg_column *c = eg_column_find(eg_summary_name(against->which));
    return eg_arena_text(a,
                         "difference: in %s to %s, seed by seed; p: of a paired t test, below "
                         "five seeds of an exact sign test",
                         c->heading, against->group->title);
}
