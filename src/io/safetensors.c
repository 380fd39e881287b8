/* safetensors.c - reads safetensors, trusting nothing.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The parsed header is kept: names and notes are borrowed from it.
 */
#include "io/safetensors.h"

#include "base/half.h"

#include "io/file.h"
#include "io/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ST_MAX_FILE ((size_t)1 << 42)

struct eg_tensors {
    char *label;         /* the path, or "safetensors" */
    unsigned char *file; /* NULL when the bytes are the caller's */
    const unsigned char *data;
    size_t n_data;
    eg_json *header;
    const eg_json *notes; /* NULL when there are none */
    eg_stored *items;
    size_t n;
    eg_arena made; /* values that were made of others */
};

const char *eg_stored_type_text(eg_stored_type type)
{
    static const char *const texts[] = {
#define ST_TEXT(name, size) #name,
        EG_STORED_MAP(ST_TEXT)
#undef ST_TEXT
    };
    return (size_t)type < sizeof texts / sizeof *texts ? texts[type] : "unknown";
}

size_t eg_stored_type_size(eg_stored_type type)
{
    static const unsigned char sizes[] = {
#define ST_SIZE(name, size) size,
        EG_STORED_MAP(ST_SIZE)
#undef ST_SIZE
    };
    EG_ASSERT((size_t)type < sizeof sizes);
    return sizes[type];
}

eg_stored_label eg_stored_label_of(const char *name)
{
    eg_stored_label label;
    snprintf(label.text, sizeof label.text, "%s", name);
    for (char *c = label.text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return label;
}

eg_status eg_stored_size(const eg_stored *t, size_t *out)
{
    if (t->rank < 0 || t->rank > EG_STORED_RANK)
        return eg_fail(EG_ENOTSUP, "rank %d, more than %d", t->rank, EG_STORED_RANK);
    size_t size = eg_stored_type_size(t->type);
    bool fits = true;
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0)
            return eg_fail(EG_ESHAPE, "dimension %d is %lld", i, (long long)t->dims[i]);
        fits &= !__builtin_mul_overflow(size, (size_t)t->dims[i], &size);
    }
    if (!fits || size > SIZE_MAX / 4)
        return eg_fail(EG_ESHAPE, "the shape has more elements than memory can hold");
    *out = size;
    return EG_OK;
}

/* "[3, 4]"; "..." where it is too long. */
static void st_print_dims(int rank, const int64_t *dims, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, i ? ", %lld" : "%lld", (long long)dims[i]);
    if (n + 2 > size)
        n = size - 5, n += (size_t)snprintf(out + n, size - n, "...");
    snprintf(out + n, size - n, "]");
}

static eg_status st_read_type(const eg_json *entry, eg_stored_type *out)
{
    const eg_json *dtype;
    const char *word;
    EG_TRY(eg_json_need(entry, "dtype", EG_JSON_TEXT, &dtype));
    EG_TRY(eg_json_text(dtype, &word));
#define ST_MATCH(name, size)                                                                   \
    if (strcmp(word, #name) == 0) {                                                            \
        *out = EG_STORED_##name;                                                               \
        return EG_OK;                                                                          \
    }
    EG_STORED_MAP(ST_MATCH)
#undef ST_MATCH
    return eg_fail(EG_ENOTSUP, "dtype '%s' is not known", eg_stored_label_of(word).text);
}

/* A list of whole numbers that are not negative. */
static eg_status st_read_list(const eg_json *entry, const char *key, size_t max, int64_t *out,
                              size_t *n)
{
    const eg_json *list;
    EG_TRY(eg_json_need(entry, key, EG_JSON_ARRAY, &list));
    *n = eg_json_count(list);
    if (*n > max)
        return eg_fail(EG_ENOTSUP, "'%s' has %zu numbers, more than %zu", key, *n, max);
    for (size_t i = 0; i < *n; i++) {
        EG_TRY(eg_blame(eg_json_int(eg_json_at(list, i), &out[i]), "'%s'", key));
        if (out[i] < 0)
            return eg_fail(EG_EFORMAT, "'%s' has %lld in it", key, (long long)out[i]);
    }
    return EG_OK;
}

static eg_status st_read_entry(const eg_tensors *t, const eg_json *entry, eg_stored *item)
{
    int64_t offsets[2];
    size_t n, size;
    EG_TRY(st_read_type(entry, &item->type));
    EG_TRY(st_read_list(entry, "shape", EG_STORED_RANK, item->dims, &n));
    item->rank = (int)n;
    EG_TRY(eg_stored_size(item, &size));
    EG_TRY(st_read_list(entry, "data_offsets", 2, offsets, &n));
    if (n != 2)
        return eg_fail(EG_EFORMAT, "'data_offsets' has %zu numbers, not 2", n);
    size_t begin = (size_t)offsets[0], end = (size_t)offsets[1];
    if (end > t->n_data)
        return eg_fail(EG_EFORMAT, "ends at byte %zu of the data, which has %zu", end,
                       t->n_data);
    if (begin > end)
        return eg_fail(EG_EFORMAT, "begins at byte %zu and ends at %zu", begin, end);
    if (end - begin != size)
        return eg_fail(EG_EFORMAT, "its shape makes %zu bytes, its offsets %zu", size,
                       end - begin);
    item->bytes = t->data + begin;
    item->n_bytes = size;
    return EG_OK;
}

static eg_status st_read_notes(eg_tensors *t, const eg_json *notes)
{
    if (eg_json_kind_of(notes) != EG_JSON_OBJECT)
        return eg_fail(EG_EFORMAT, "%s, not an object",
                       eg_json_kind_text(eg_json_kind_of(notes)));
    const char *key = NULL, *text;
    const eg_json *value;
    while (eg_json_next(notes, &key, &value))
        EG_TRY(eg_blame(eg_json_text(value, &text), "'%s'", eg_stored_label_of(key).text));
    t->notes = notes;
    return EG_OK;
}

/* Fills items from the header, in its order. */
static eg_status st_read_entries(eg_tensors *t)
{
    const char *key = NULL;
    const eg_json *entry;
    EG_TRY(eg_alloc(eg_json_count(t->header), sizeof *t->items, &t->items));
    while (eg_json_next(t->header, &key, &entry)) {
        if (strcmp(key, EG_SAFETENSORS_NOTES) == 0) {
            EG_TRY(eg_blame(st_read_notes(t, entry), EG_SAFETENSORS_NOTES));
            continue;
        }
        eg_stored *item = &t->items[t->n++];
        item->name = key;
        EG_TRY(eg_blame(st_read_entry(t, entry, item), "tensor '%s'",
                        eg_stored_label_of(key).text));
    }
    return EG_OK;
}

/* A tensor and its place in the header. */
typedef struct st_slot {
    eg_stored item;
    size_t at;
} st_slot;

static int st_compare(const void *x, const void *y)
{
    const st_slot *a = x, *b = y;
    if (a->item.bytes != b->item.bytes)
        return (const char *)a->item.bytes < (const char *)b->item.bytes ? -1 : 1;
    if (a->item.n_bytes != b->item.n_bytes) /* an empty one stands before what begins there */
        return a->item.n_bytes < b->item.n_bytes ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static eg_status st_sort(eg_tensors *t)
{
    st_slot *slots;
    EG_TRY(eg_alloc(t->n, sizeof *slots, &slots));
    for (size_t i = 0; i < t->n; i++)
        slots[i] = (st_slot){t->items[i], i};
    if (t->n > 0)
        qsort(slots, t->n, sizeof *slots, st_compare);
    for (size_t i = 0; i < t->n; i++)
        t->items[i] = slots[i].item;
    free(slots);
    return EG_OK;
}

/* Sorts the tensors by place; each must begin where the last one ended. */
static eg_status st_check_cover(eg_tensors *t)
{
    EG_TRY(st_sort(t));
    size_t end = 0;
    for (size_t i = 0; i < t->n; i++) {
        const eg_stored *item = &t->items[i];
        size_t begin = (size_t)((const unsigned char *)item->bytes - t->data);
        if (begin < end)
            return eg_fail(EG_EFORMAT, "tensor '%s': overlaps tensor '%s'",
                           eg_stored_label_of(item->name).text,
                           eg_stored_label_of(item[-1].name).text);
        if (begin > end)
            return eg_fail(EG_EFORMAT,
                           "tensor '%s': bytes %zu to %zu before it are no tensor's",
                           eg_stored_label_of(item->name).text, end, begin);
        end = begin + item->n_bytes;
    }
    if (end != t->n_data)
        return eg_fail(EG_EFORMAT, "the tensors end at byte %zu of the data, which has %zu",
                       end, t->n_data);
    return EG_OK;
}

static eg_status st_parse(eg_tensors *t, const unsigned char *bytes, size_t n)
{
    if (n < 8)
        return eg_fail(EG_EFORMAT, "%zu bytes are too few for the length of a header", n);
    uint64_t length = 0;
    for (int i = 8; i-- > 0;)
        length = length << 8 | bytes[i];
    if (length > n - 8 && (n == 8 || bytes[8] != '{'))
        return eg_fail(EG_EFORMAT, "this is no safetensors file");
    if (length > n - 8)
        return eg_fail(EG_EFORMAT, "header says %llu bytes, the file has %zu",
                       (unsigned long long)length, n);
    if (length > EG_SAFETENSORS_MAX_HEADER)
        return eg_fail(EG_EFORMAT, "header says %llu bytes, more than %d",
                       (unsigned long long)length, EG_SAFETENSORS_MAX_HEADER);
    if (length == 0 || bytes[8] != '{')
        return eg_fail(EG_EFORMAT, "header does not begin with '{'");
    t->data = bytes + 8 + length;
    t->n_data = n - 8 - (size_t)length;
    EG_TRY(eg_blame(eg_json_parse(bytes + 8, (size_t)length, &t->header), "header"));
    EG_TRY(st_read_entries(t));
    return st_check_cover(t);
}

/* EG_ENOENT and EG_EINVAL of a lookup are the format's fault here. */
static eg_status st_format_fault(eg_status s)
{
    return s == EG_OK || s == EG_ENOMEM || s == EG_ENOTSUP ? s : EG_EFORMAT;
}

static eg_status st_new(const char *label, const unsigned char *bytes, size_t n,
                        eg_tensors **out)
{
    *out = NULL;
    eg_tensors *t = calloc(1, sizeof *t);
    if (!t || !(t->label = strdup(label))) {
        free(t);
        return eg_fail(EG_ENOMEM, "%s: cannot allocate", label);
    }
    eg_status status = eg_blame(st_format_fault(st_parse(t, bytes, n)), "%s", label);
    if (status == EG_OK)
        *out = t;
    else
        eg_tensors_free(t);
    return status;
}

eg_status eg_safetensors_parse(const void *bytes, size_t n, eg_tensors **out)
{
    return st_new("safetensors", bytes, n, out);
}

eg_status eg_safetensors_load(const char *path, eg_tensors **out)
{
    unsigned char *bytes;
    size_t n;
    *out = NULL;
    EG_TRY(eg_file_read(path, ST_MAX_FILE, &bytes, &n));
    eg_status status = st_new(path, bytes, n, out);
    if (status == EG_OK)
        (*out)->file = bytes;
    else
        free(bytes);
    return status;
}

void eg_tensors_free(eg_tensors *t)
{
    if (!t)
        return;
    eg_json_free(t->header);
    free(t->items);
    eg_arena_fini(&t->made);
    free(t->file);
    free(t->label);
    free(t);
}

size_t eg_tensors_count(const eg_tensors *t)
{
    return t->n;
}

const eg_stored *eg_tensors_at(const eg_tensors *t, size_t i)
{
    EG_ASSERT(i < t->n);
    return &t->items[i];
}

const eg_stored *eg_tensors_find(const eg_tensors *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->items[i].name, name) == 0)
            return &t->items[i];
    return NULL;
}

const char *eg_tensors_note(const eg_tensors *t, const char *key)
{
    const eg_json *value = t->notes ? eg_json_get(t->notes, key) : NULL;
    const char *text = NULL;
    if (value)
        eg_json_text(value, &text); /* known to be one */
    return text;
}

bool eg_tensors_next_note(const eg_tensors *t, eg_stored_note *note)
{
    const eg_json *value;
    return t->notes && eg_json_next(t->notes, &note->key, &value) &&
           eg_json_text(value, &note->value) == EG_OK;
}

static bool st_is_shape(const eg_stored *s, int rank, const int64_t *dims)
{
    bool same = rank == s->rank;
    for (int i = 0; same && i < rank; i++)
        same = dims[i] == s->dims[i];
    return same;
}

static eg_status st_read_floats(const eg_stored *s, int rank, const int64_t *dims, float *out)
{
    if (!st_is_shape(s, rank, dims)) {
        char have[100], want[100];
        st_print_dims(s->rank, s->dims, have, sizeof have);
        st_print_dims(rank, dims, want, sizeof want);
        return eg_fail(EG_ESHAPE, "it is %s, not %s", have, want);
    }
    if (s->type == EG_STORED_I64 && s->n_bytes == sizeof(int64_t)) {
        int64_t counter;
        memcpy(&counter, s->bytes, sizeof counter);
        *out = (float)counter;
        return EG_OK;
    }
    if (s->type != EG_STORED_F32)
        return eg_fail(EG_ENOTSUP, "it holds %s, and only F32 can be read as floats",
                       eg_stored_type_text(s->type));
    if (s->n_bytes > 0)
        memcpy(out, s->bytes, s->n_bytes);
    return EG_OK;
}

eg_status eg_tensors_read(const eg_tensors *t, const char *name, int rank, const int64_t *dims,
                          float *out)
{
    const eg_stored *s = eg_tensors_find(t, name);
    if (!s)
        return eg_fail(EG_ENOENT, "%s: there is no tensor '%s'", t->label,
                       eg_stored_label_of(name).text);
    return eg_blame(st_read_floats(s, rank, dims, out), "%s: tensor '%s'", t->label,
                    eg_stored_label_of(name).text);
}

/* The same values in F32, of the file's arena. */
static eg_status st_widen(eg_tensors *t, eg_stored *s)
{
    size_t n = s->n_bytes / sizeof(uint16_t);
    bool half = s->type == EG_STORED_F16;
    float *out = eg_arena_alloc(&t->made, n * sizeof *out + 1);
    if (!out)
        return eg_fail(EG_ENOMEM, "%s: no memory for %zu values", t->label, n);
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;
        memcpy(&bits, (const char *)s->bytes + i * sizeof bits, sizeof bits);
        out[i] = half ? eg_float_of_half(bits) : eg_float_of_bfloat(bits);
    }
    s->type = EG_STORED_F32;
    s->bytes = out;
    s->n_bytes = n * sizeof *out;
    return EG_OK;
}

eg_status eg_tensors_simplify(eg_tensors *t)
{
    static const char wrapped[] = "module.";
    size_t n = sizeof wrapped - 1;
    bool all = t->n > 0;
    for (size_t i = 0; i < t->n; i++) {
        all &= strncmp(t->items[i].name, wrapped, n) == 0;
        if (t->items[i].type == EG_STORED_F16 || t->items[i].type == EG_STORED_BF16)
            EG_TRY(st_widen(t, &t->items[i]));
    }
    for (size_t i = 0; i < t->n && all; i++)
        t->items[i].name += n;
    return EG_OK;
}

eg_status eg_tensors_check_finite(const eg_tensors *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const eg_stored *s = &t->items[i];
        size_t n = s->type == EG_STORED_F32 ? s->n_bytes / sizeof(float) : 0;
        for (size_t j = 0; j < n; j++) {
            float x;
            memcpy(&x, (const char *)s->bytes + j * sizeof x, sizeof x);
            if (!isfinite(x))
                return eg_fail(EG_EINVAL, "%s: tensor '%s': element %zu is %f", t->label,
                               eg_stored_label_of(s->name).text, j, (double)x);
        }
    }
    return EG_OK;
}
