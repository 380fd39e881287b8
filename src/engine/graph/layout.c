/* layout.c - places in the arena: two values share bytes when their lifetimes do not meet.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inputs and outputs lie first, since they outlive a run; what lies behind them may be in a
 * room that other plans use between two runs of this one.
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

struct eg_room {
    void *memory;
    size_t bytes;
};

eg_status eg_room_new(eg_room **out)
{
    return eg_alloc(1, sizeof **out, out);
}

void eg_room_free(eg_room *r)
{
    if (r)
        free(r->memory);
    free(r);
}

/* Nothing in it lasts, so growing copies nothing. */
static eg_status layout_fit(eg_room *r, size_t bytes)
{
    if (bytes <= r->bytes)
        return EG_OK;
    free(r->memory);
    r->bytes = 0;
    EG_TRY(eg_alloc(bytes, 1, &r->memory));
    r->bytes = bytes;
    return EG_OK;
}

static int layout_larger(const void *a, const void *b)
{
    const eg_value *x = *(eg_value *const *)a, *y = *(eg_value *const *)b;
    if (x->pinned != y->pinned)
        return x->pinned ? -1 : 1;
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

static void layout_point(eg_plan *p)
{
    for (size_t i = 0; i < p->n_values; i++) {
        eg_value *v = p->values[i], *root = eg_plan_root(v);
        bool shared = p->room && root->offset >= p->kept;
        char *base = shared ? p->room->memory : p->memory;
        if (root->home == EG_IN_ARENA && base)
            v->data = (float *)(void *)(base + root->offset - (shared ? p->kept : 0));
    }
    p->lived = p->room ? p->room->memory : NULL;
}

void eg_plan_follow(eg_plan *p)
{
    if (!p->room || p->lived == p->room->memory)
        return;
    layout_point(p);
    p->bound = false; /* the steps learn of it at the next run */
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
        p->kept = list[i]->pinned ? p->bytes : p->kept;
    }
    free(list);
    if (p->g->measured)
        return EG_OK;
    if (p->room)
        EG_TRY(layout_fit(p->room, p->bytes - p->kept));
    EG_TRY(eg_alloc(p->room ? p->kept : p->bytes, 1, &p->memory));
    layout_point(p);
    return EG_OK;
}
