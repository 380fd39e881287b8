/* layout.c - places in the arena: two values share bytes when their lifetimes do not meet.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/plan_private.h"

#include <limits.h>
#include <stdlib.h>

/* Takes the hints that lifetimes allow: out moves into in's memory. */
static void layout_in_place(eg_plan *p)
{
    for (size_t i = 0; i < p->n_hints; i++) {
        eg_value *out = p->hints[i].out, *in = eg_plan_root(p->hints[i].in);
        if (out->within || out->pinned || in->pinned || out->home != EG_IN_ARENA ||
            in->home != EG_IN_ARENA || in->bytes != out->bytes || in->last != out->first)
            continue;
        out->within = in;
        in->last = out->last;
    }
}

static int layout_larger(const void *a, const void *b)
{
    const eg_value *x = *(eg_value *const *)a, *y = *(eg_value *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first - y->first;
}

static int layout_lower(const void *a, const void *b)
{
    const eg_value *x = *(eg_value *const *)a, *y = *(eg_value *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The lowest gap for v among the values already placed that live at the same time. */
static size_t layout_place(const eg_value *v, size_t n_placed, eg_value **placed,
                           eg_value **meeting)
{
    size_t n = 0, offset = 0;
    for (size_t i = 0; i < n_placed; i++)
        if (placed[i]->first <= v->last && v->first <= placed[i]->last)
            meeting[n++] = placed[i];
    qsort(meeting, n, sizeof *meeting, layout_lower);
    for (size_t i = 0; i < n; i++) {
        if (meeting[i]->offset >= offset + v->bytes)
            break;
        size_t end = meeting[i]->offset + eg_round_up(meeting[i]->bytes, EG_ALIGN);
        offset = end > offset ? end : offset;
    }
    return offset;
}

eg_status eg_plan_lay_out(eg_plan *p)
{
    layout_in_place(p);
    eg_value **list = calloc(2 * p->n_values + 1, sizeof *list);
    if (!list)
        return eg_fail(EG_ENOMEM, "no memory to lay out %zu values", p->n_values);
    size_t n = 0;
    for (size_t i = 0; i < p->n_values; i++) {
        eg_value *v = p->values[i];
        if (v->within || v->home != EG_IN_ARENA)
            continue;
        if (v->pinned)
            v->first = -1, v->last = INT_MAX;
        list[n++] = v;
    }
    qsort(list, n, sizeof *list, layout_larger);
    for (size_t i = 0; i < n; i++) {
        list[i]->offset = layout_place(list[i], i, list, list + p->n_values);
        size_t end = list[i]->offset + eg_round_up(list[i]->bytes, EG_ALIGN);
        p->bytes = end > p->bytes ? end : p->bytes;
    }
    free(list);
    if (p->g->measured)
        return EG_OK;
    EG_TRY(eg_alloc(p->bytes, 1, &p->memory));
    for (size_t i = 0; i < p->n_values; i++) {
        eg_value *v = p->values[i], *root = eg_plan_root(v);
        if (root->home == EG_IN_ARENA)
            v->data = (float *)(void *)((char *)p->memory + root->offset);
    }
    return EG_OK;
}
