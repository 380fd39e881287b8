/* bundle.c - named tensors and scalars, and their byte form.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Scalars, tensors and those of bytes are kept apart, since safetensors lays out the wider type
 * first: so the order here is the order there. A cleared bundle keeps names and buffers, so
 * that filling it again with the same things allocates nothing.
 */
#include <engram/exchange.h>
#include <engram/safetensors.h>

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUNDLE_MAX_NAME 200

enum { BUNDLE_MANY = 32 }; /* from here on names are found by an index */

typedef struct bundle_item {
    char *name;
    double scalar;
    eg_bundle_type type;
    eg_shape shape;
    float *values; /* [n] of its type, room for cap floats */
    size_t n, cap;
} bundle_item;

/* The first n are in use; up to n_made they own memory to be used again. */
typedef struct bundle_list {
    bundle_item *items;
    size_t n, n_made, cap;
    uint32_t
        *index; /* [n_index] numbers of items plus 1, by name; 0: free. NULL: there are few */
    size_t n_index; /* a power of 2, and at least twice n */
} bundle_list;

struct eg_bundle {
    bundle_list scalars, tensors;
    bundle_list small;      /* tensors of bytes */
    const eg_bundle *below; /* where lookups go on; NULL: nowhere */
};

eg_status eg_bundle_new(eg_bundle **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? EG_OK : eg_fail(EG_ENOMEM, "no memory for a bundle");
}

static void bundle_list_fini(bundle_list *list)
{
    for (size_t i = 0; i < list->n_made; i++) {
        free(list->items[i].name);
        free(list->items[i].values);
    }
    free(list->items);
    free(list->index);
}

void eg_bundle_free(eg_bundle *b)
{
    if (!b)
        return;
    bundle_list_fini(&b->scalars);
    bundle_list_fini(&b->tensors);
    bundle_list_fini(&b->small);
    free(b);
}

eg_status eg_bundle_filled(eg_bundle *b, eg_status filled)
{
    if (filled != EG_OK)
        eg_bundle_free(b);
    return filled;
}

static void bundle_list_clear(bundle_list *list)
{
    list->n = 0;
    if (list->index)
        memset(list->index, 0, list->n_index * sizeof *list->index);
}

void eg_bundle_clear(eg_bundle *b)
{
    bundle_list_clear(&b->scalars);
    bundle_list_clear(&b->tensors);
    bundle_list_clear(&b->small);
}

/* Where a name stands in the index, or would. */
static size_t bundle_slot(const bundle_list *list, const char *name)
{
    uint64_t hash = (uintptr_t)list->index; /* so that nobody can choose names that meet */
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    size_t at = (size_t)(hash ^ hash >> 32) & (list->n_index - 1);
    while (list->index[at] && strcmp(list->items[list->index[at] - 1].name, name) != 0)
        at = (at + 1) & (list->n_index - 1);
    return at;
}

static const bundle_item *bundle_list_find(const bundle_list *list, const char *name)
{
    if (list->index) {
        uint32_t item = list->index[bundle_slot(list, name)];
        return item ? &list->items[item - 1] : NULL;
    }
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

/* An item more is in use: enters it into the index, if there are many, or makes a larger one.
 */
static eg_status bundle_list_count(bundle_list *list)
{
    size_t first = list->n++;
    if (list->n < BUNDLE_MANY && !list->index)
        return EG_OK;
    if (list->n * 2 > list->n_index) {
        size_t n = list->n_index ? 2 * list->n_index : 4 * BUNDLE_MANY;
        uint32_t *index;
        eg_status s = eg_alloc(n, sizeof *index, &index);
        if (s != EG_OK) {
            list->n--;
            return s;
        }
        free(list->index);
        list->index = index, list->n_index = n;
        first = 0;
    }
    for (size_t i = first; i < list->n; i++)
        list->index[bundle_slot(list, list->items[i].name)] = (uint32_t)i + 1;
    return EG_OK;
}

/* Names need no escapes in JSON, so that a header's length is a sum. */
static eg_status bundle_check_name(const eg_bundle *b, const char *name)
{
    size_t n = strlen(name);
    bool good = n > 0 && n <= BUNDLE_MAX_NAME && strcmp(name, "__metadata__") != 0;
    for (size_t i = 0; good && i < n; i++)
        good = name[i] >= ' ' && name[i] <= '~' && name[i] != '"' && name[i] != '\\';
    if (!good)
        return eg_fail(EG_EINVAL, "this is no name for a tensor or a scalar");
    if (bundle_list_find(&b->tensors, name) || bundle_list_find(&b->scalars, name) ||
        bundle_list_find(&b->small, name))
        return eg_fail(EG_EINVAL, "'%s' is in the bundle already", name);
    return EG_OK;
}

/* The item after the last one, named; it counts when the caller raises list->n. */
static eg_status bundle_next(const eg_bundle *b, bundle_list *list, const char *name,
                             bundle_item **out)
{
    EG_TRY(bundle_check_name(b, name));
    if (list->n == list->n_made) {
        EG_TRY(eg_grow(&list->items, list->n, &list->cap, sizeof *list->items));
        list->items[list->n_made++] = (bundle_item){0};
    }
    bundle_item *item = &list->items[list->n];
    if (!item->name || strcmp(item->name, name) != 0) {
        free(item->name);
        item->name = strdup(name);
        if (!item->name)
            return eg_fail(EG_ENOMEM, "no memory for the name '%s'", name);
    }
    *out = item;
    return EG_OK;
}

static eg_status bundle_count(eg_shape shape, size_t *out)
{
    size_t n = sizeof(float);
    bool fits = shape.rank >= 0 && shape.rank <= EG_MAX_RANK;
    for (int i = 0; fits && i < shape.rank; i++)
        fits = shape.dim[i] >= 0 && !__builtin_mul_overflow(n, (size_t)shape.dim[i], &n);
    if (!fits || n > SIZE_MAX / 4)
        return eg_fail(EG_ESHAPE, "no tensor can have this shape");
    *out = n / sizeof(float);
    return EG_OK;
}

static size_t bundle_size(eg_bundle_type type)
{
    return type == EG_BUNDLE_U8 ? 1 : 4;
}

static eg_stored_type bundle_stored(eg_bundle_type type)
{
    static const eg_stored_type stored[] = {EG_STORED_F32, EG_STORED_U32, EG_STORED_U8};
    return stored[type];
}

/* Adds a tensor whose values are still to be written. */
static eg_status bundle_make(eg_bundle *b, eg_bundle_type type, const char *name,
                             eg_shape shape, bundle_item **out)
{
    size_t n = 0;
    bundle_item *item;
    bundle_list *list = type == EG_BUNDLE_U8 ? &b->small : &b->tensors;
    EG_TRY(bundle_next(b, list, name, &item));
    EG_TRY(eg_blame(bundle_count(shape, &n), "tensor '%s'", name));
    size_t room = eg_round_up(n * bundle_size(type), sizeof *item->values) / sizeof(float);
    if (room > item->cap || !item->values) {
        free(item->values);
        item->values = NULL;
        item->cap = 0;
        EG_TRY(eg_alloc(room > 0 ? room : 1, sizeof *item->values, &item->values));
        item->cap = room;
    }
    item->type = type;
    item->shape = shape;
    item->n = n;
    *out = item;
    return bundle_list_count(list);
}

eg_status eg_bundle_room_as(eg_bundle *b, eg_bundle_type type, const char *name, eg_shape shape,
                            void **out)
{
    bundle_item *item;
    *out = NULL;
    EG_TRY(bundle_make(b, type, name, shape, &item));
    memset(item->values, 0, item->n * bundle_size(type));
    *out = item->values;
    return EG_OK;
}

eg_status eg_bundle_room(eg_bundle *b, const char *name, eg_shape shape, float **out)
{
    void *values;
    eg_status s = eg_bundle_room_as(b, EG_BUNDLE_F32, name, shape, &values);
    *out = values;
    return s;
}

eg_status eg_bundle_add(eg_bundle *b, const char *name, eg_shape shape, const float *values)
{
    bundle_item *item;
    EG_TRY(bundle_make(b, EG_BUNDLE_F32, name, shape, &item));
    if (item->n > 0)
        memcpy(item->values, values, item->n * sizeof *values);
    return EG_OK;
}

eg_status eg_bundle_add_flat(eg_bundle *b, const char *name, const float *values, size_t n)
{
    return eg_bundle_add(b, name, eg_dims((int64_t)n), values);
}

eg_status eg_bundle_scalar(eg_bundle *b, const char *name, double value)
{
    bundle_item *item;
    EG_TRY(bundle_next(b, &b->scalars, name, &item));
    item->scalar = value;
    return bundle_list_count(&b->scalars);
}

const void *eg_bundle_find_as(const eg_bundle *b, eg_bundle_type type, const char *name,
                              size_t *n)
{
    const bundle_item *item =
        bundle_list_find(type == EG_BUNDLE_U8 ? &b->small : &b->tensors, name);
    if (item && item->type != type)
        item = NULL;
    else if (!item && b->below)
        return eg_bundle_find_as(b->below, type, name, n);
    if (n)
        *n = item ? item->n : 0;
    return item ? item->values : NULL;
}

const float *eg_bundle_find(const eg_bundle *b, const char *name, size_t *n)
{
    return eg_bundle_find_as(b, EG_BUNDLE_F32, name, n);
}

float *eg_bundle_values(eg_bundle *b, const char *name)
{
    const bundle_item *item = bundle_list_find(&b->tensors, name);
    return item && item->type == EG_BUNDLE_F32 ? item->values : NULL;
}

bool eg_bundle_scalar_of(const eg_bundle *b, const char *name, double *out)
{
    const bundle_item *item = bundle_list_find(&b->scalars, name);
    if (!item && b->below)
        return eg_bundle_scalar_of(b->below, name, out);
    *out = item ? item->scalar : 0;
    return item != NULL;
}

void eg_bundle_rest_on(eg_bundle *b, const eg_bundle *below)
{
    b->below = below;
}

const eg_bundle *eg_bundle_below(const eg_bundle *b)
{
    return b->below;
}

size_t eg_bundle_n(const eg_bundle *b)
{
    return b->scalars.n + b->tensors.n + b->small.n;
}

void eg_bundle_at(const eg_bundle *b, size_t i, eg_bundle_entry *out)
{
    EG_ASSERT(i < eg_bundle_n(b));
    const bundle_list *list = &b->scalars;
    bool scalar = i < list->n;
    if (!scalar) {
        i -= list->n, list = &b->tensors;
        if (i >= list->n)
            i -= list->n, list = &b->small;
    }
    const bundle_item *item = &list->items[i];
    *out = (eg_bundle_entry){.name = item->name, .is_scalar = scalar};
    if (scalar) {
        out->scalar = item->scalar;
        out->bytes = &item->scalar;
    } else {
        out->type = item->type;
        out->shape = item->shape;
        out->values = item->type == EG_BUNDLE_F32 ? item->values : NULL;
        out->bytes = item->values;
        out->n = item->n;
    }
}

eg_status eg_bundle_copy(eg_bundle *b, const eg_bundle *from, const char *prefix)
{
    for (size_t i = 0; i < eg_bundle_n(from); i++) {
        eg_bundle_entry e;
        eg_bundle_at(from, i, &e);
        if (strncmp(e.name, prefix, strlen(prefix)) != 0)
            continue;
        bundle_item *item;
        if (e.is_scalar) {
            EG_TRY(eg_bundle_scalar(b, e.name, e.scalar));
            continue;
        }
        EG_TRY(bundle_make(b, e.type, e.name, e.shape, &item));
        memcpy(item->values, e.bytes, e.n * bundle_size(e.type));
    }
    return EG_OK;
}

static size_t bundle_digits(size_t x)
{
    size_t n = 1;
    for (; x >= 10; x /= 10)
        n++;
    return n;
}

static eg_stored_type bundle_type_of(const eg_bundle_entry *e)
{
    return e->is_scalar ? EG_STORED_F64 : bundle_stored(e->type);
}

/* The length of '"name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}'. */
static size_t bundle_head_length(const eg_bundle_entry *e, size_t begin, size_t end)
{
    size_t n = strlen(e->name) + strlen(eg_stored_type_text(bundle_type_of(e))) +
               sizeof "\"\":{\"dtype\":\"\",\"shape\":[]" - 1 +
               sizeof ",\"data_offsets\":[,]}" - 1 + bundle_digits(begin) + bundle_digits(end);
    for (int i = 0; i < e->shape.rank; i++) /* a scalar's is 0 */
        n += bundle_digits((size_t)e->shape.dim[i]) + (i > 0);
    return n;
}

size_t eg_bundle_bytes(const eg_bundle *b)
{
    size_t head = 2, data = 0; /* the outer braces */
    for (size_t i = 0; i < eg_bundle_n(b); i++) {
        eg_bundle_entry e;
        eg_bundle_at(b, i, &e);
        size_t end = data + (e.is_scalar ? sizeof(double) : e.n * bundle_size(e.type));
        head += bundle_head_length(&e, data, end) + (i > 0);
        data = end;
    }
    return 8 + eg_round_up(head, 8) + data;
}

eg_status eg_bundle_pack(const eg_bundle *b, unsigned char **bytes, size_t *n)
{
    *bytes = NULL;
    *n = 0;
    size_t count = eg_bundle_n(b);
    eg_stored *list = calloc(count + 1, sizeof *list);
    if (!list)
        return eg_fail(EG_ENOMEM, "no memory for %zu tensors", count);
    for (size_t i = 0; i < count; i++) {
        eg_bundle_entry e;
        eg_bundle_at(b, i, &e);
        list[i] = (eg_stored){
            .name = e.name, .type = bundle_type_of(&e), .rank = e.shape.rank, .bytes = e.bytes};
        memcpy(list[i].dims, e.shape.dim, sizeof e.shape.dim);
    }
    eg_status status = eg_safetensors_pack(list, count, NULL, 0, bytes, n);
    free(list);
    return status;
}

static eg_status bundle_take(eg_bundle *b, const eg_stored *t)
{
    if (t->type == EG_STORED_F64 && t->rank == 0) {
        double value;
        memcpy(&value, t->bytes, sizeof value);
        return eg_bundle_scalar(b, t->name, value);
    }
    int type = EG_BUNDLE_F32;
    while (type <= EG_BUNDLE_U8 && t->type != bundle_stored((eg_bundle_type)type))
        type++;
    if (type > EG_BUNDLE_U8 || t->rank > EG_MAX_RANK)
        return eg_fail(EG_EFORMAT, "'%.80s': a bundle has no %s of rank %d", t->name,
                       eg_stored_type_text(t->type), t->rank);
    bundle_item *item;
    EG_TRY(bundle_make(b, (eg_bundle_type)type, t->name, eg_shape_of(t->rank, t->dims), &item));
    memcpy(item->values, t->bytes, t->n_bytes);
    return EG_OK;
}

eg_status eg_bundle_unpack(const void *bytes, size_t n, eg_bundle **out)
{
    eg_tensors *tensors;
    eg_bundle *b = NULL;
    *out = NULL;
    EG_TRY(eg_safetensors_parse(bytes, n, &tensors));
    eg_status status = eg_bundle_new(&b);
    for (size_t i = 0; i < eg_tensors_count(tensors) && status == EG_OK; i++)
        status = bundle_take(b, eg_tensors_at(tensors, i));
    eg_tensors_free(tensors);
    if (status != EG_OK) {
        eg_bundle_free(b);
        return status == EG_ENOMEM ? status : EG_EFORMAT;
    }
    *out = b;
    return EG_OK;
}

static eg_status bundle_check_tensors(const bundle_list *list, const bundle_list *like)
{
    for (size_t i = 0; i < like->n; i++) {
        const bundle_item *wanted = &like->items[i];
        const bundle_item *item = bundle_list_find(list, wanted->name);
        if (!item || item->type != wanted->type)
            return eg_fail(EG_ENOENT, "tensor '%s' is missing", wanted->name);
        char is[64], should[64];
        eg_shape_print(item->shape, is);
        eg_shape_print(wanted->shape, should);
        if (!eg_shape_equal(item->shape, wanted->shape))
            return eg_fail(EG_ESHAPE, "tensor '%s': %s, not %s", item->name, is, should);
    }
    return EG_OK;
}

/* Every entry of `like` is in b, in the same form. */
static eg_status bundle_check_there(const eg_bundle *b, const eg_bundle *like)
{
    for (size_t i = 0; i < like->scalars.n; i++)
        if (!bundle_list_find(&b->scalars, like->scalars.items[i].name))
            return eg_fail(EG_ENOENT, "scalar '%s' is missing", like->scalars.items[i].name);
    EG_TRY(bundle_check_tensors(&b->tensors, &like->tensors));
    return bundle_check_tensors(&b->small, &like->small);
}

static const char *bundle_flaw(double x)
{
    return isnan(x) ? "NaN" : "infinite";
}

eg_status eg_bundle_check(const eg_bundle *b, const eg_bundle *like)
{
    EG_TRY(bundle_check_there(b, like));
    for (size_t i = 0; i < b->scalars.n; i++) {
        const bundle_item *item = &b->scalars.items[i];
        if (!isfinite(item->scalar))
            return eg_fail(EG_EINVAL, "scalar '%s' is %s", item->name,
                           bundle_flaw(item->scalar));
    }
    for (size_t i = 0; i < b->tensors.n; i++) {
        const bundle_item *item = &b->tensors.items[i];
        for (size_t k = 0; item->type == EG_BUNDLE_F32 && k < item->n; k++)
            if (!isfinite(item->values[k]))
                return eg_fail(EG_EINVAL, "tensor '%s': element %zu is %s", item->name, k,
                               bundle_flaw(item->values[k]));
    }
    return EG_OK;
}
