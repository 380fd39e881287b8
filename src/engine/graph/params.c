/* params.c - the table of a network's tensors, and their first values.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/graph.h"
#include "engine/graph/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { PARAMS_ALIGN = EG_ALIGN / sizeof(float) };

struct eg_params {
    eg_arena arena;
    eg_param_info *items;
    size_t n, cap;
    float *frozen;    /* of frozen tensors */
    size_t length[2]; /* floats of the state array and of the trained array */
};

eg_status eg_params_new(eg_params **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? EG_OK : eg_fail(EG_ENOMEM, "no memory for a parameter table");
}

void eg_params_free(eg_params *p)
{
    if (!p)
        return;
    eg_arena_fini(&p->arena);
    free(p->frozen);
    free(p->items);
    free(p);
}

static eg_status params_check_same(const eg_param_info *old, const eg_param_info *info)
{
    if (eg_shape_equal(old->shape, info->shape) &&
        (old->frozen || old->trained == info->trained))
        return EG_OK;
    char a[64], b[64];
    eg_shape_print(old->shape, a);
    eg_shape_print(info->shape, b);
    return eg_fail(EG_ESHAPE, "parameter '%s' is %s%s and is asked for as %s%s", old->name,
                   old->trained ? "" : "untrained ", a, info->trained ? "" : "untrained ", b);
}

eg_status eg_params_add(eg_params *p, const eg_param_info *info, size_t *index)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->items[i].name, info->name) == 0) {
            *index = i;
            return params_check_same(&p->items[i], info);
        }
    EG_TRY(eg_blame(eg_shape_check(info->shape), "parameter '%s'", info->name));
    EG_TRY(eg_grow(&p->items, p->n, &p->cap, sizeof *p->items));
    eg_param_info *item = &p->items[p->n];
    *item = *info;
    item->name = eg_arena_text(&p->arena, "%s", info->name);
    if (!item->name)
        return EG_ENOMEM;
    size_t *length = &p->length[info->trained];
    item->size = (size_t)eg_shape_size(info->shape);
    item->offset = *length;
    *length += eg_round_up(item->size, PARAMS_ALIGN);
    *index = p->n++;
    return EG_OK;
}

eg_status eg_params_freeze(eg_params *p, const bool *which)
{
    size_t length = 0;
    EG_ASSERT(!p->frozen);
    for (size_t i = 0; i < p->n; i++)
        length += which[i] ? eg_round_up(p->items[i].size, PARAMS_ALIGN) : 0;
    if (length == 0)
        return EG_OK;
    EG_TRY(eg_alloc(length, sizeof *p->frozen, &p->frozen));
    float *at = p->frozen;
    p->length[0] = p->length[1] = 0;
    for (size_t i = 0; i < p->n; i++) {
        eg_param_info *t = &p->items[i];
        size_t room = eg_round_up(t->size, PARAMS_ALIGN);
        if (which[i]) {
            t->frozen = at, t->trained = false, t->offset = 0;
            at += room;
        } else {
            t->offset = p->length[t->trained];
            p->length[t->trained] += room;
        }
    }
    return EG_OK;
}

size_t eg_params_n(const eg_params *p)
{
    return p->n;
}

const eg_param_info *eg_params_named(const eg_params *p, const char *name)
{
    for (size_t i = 0; i < eg_params_n(p); i++)
        if (strcmp(eg_params_at(p, i)->name, name) == 0)
            return eg_params_at(p, i);
    return NULL;
}

const eg_param_info *eg_params_at(const eg_params *p, size_t i)
{
    EG_ASSERT(i < p->n);
    return &p->items[i];
}

size_t eg_params_length(const eg_params *p)
{
    return p->length[true];
}

size_t eg_state_length(const eg_params *p)
{
    return p->length[false];
}

int64_t eg_params_count(const eg_params *p)
{
    int64_t count = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].trained)
            count += (int64_t)p->items[i].size;
    return count;
}

eg_status eg_params_alloc(const eg_params *p, float **value)
{
    return eg_alloc(eg_params_length(p), sizeof(float), value);
}

eg_status eg_state_alloc(const eg_params *p, float **state)
{
    return eg_alloc(eg_state_length(p), sizeof(float), state);
}

static void params_init_tensor(const eg_param_info *t, eg_rng rng, float *out)
{
    for (size_t j = 0; j < t->size; j++) {
        switch (t->init.kind) {
        case EG_INIT_CONSTANT:
            out[j] = (float)t->init.a;
            break;
        case EG_INIT_UNIFORM:
            out[j] = (float)eg_rng_uniform(&rng, -t->init.a, t->init.a);
            break;
        case EG_INIT_NORMAL:
            out[j] = (float)(t->init.mean + t->init.a * eg_rng_normal(&rng));
            break;
        }
    }
}

void eg_params_init(const eg_params *p, uint64_t seed, float *value, float *state)
{
    for (size_t i = 0; i < p->n; i++) {
        const eg_param_info *t = &p->items[i];
        params_init_tensor(t, eg_rng_at(seed, 0, (uint32_t)i, EG_FOR_INIT),
                           eg_param_place(t, value, state));
    }
}

void eg_params_clear_gaps(const eg_params *p, bool trained, float *values)
{
    for (size_t i = 0; i < p->n; i++) {
        const eg_param_info *t = &p->items[i];
        if (t->trained == trained && !t->frozen)
            memset(values + t->offset + t->size, 0,
                   (eg_round_up(t->size, PARAMS_ALIGN) - t->size) * sizeof *values);
    }
}

double eg_dot(const float *a, const float *b, size_t n)
{
    double dot;
    eg_kernels_get()->dot(&dot, a, b, n);
    return dot;
}

void eg_add_scaled(float *y, float a, const float *x, size_t n)
{
    eg_kernels_get()->axpy(y, a, x, n);
}
