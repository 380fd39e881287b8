/* npy.c - a small reader of the .npy header, which is a Python dictionary in text, and of zip.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/npy.h"

#include "io/gz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is left of a text that need not end in a zero. */
typedef struct npy_text {
    const char *at, *end;
} npy_text;

static bool npy_take(npy_text *t, char c)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n'))
        t->at++;
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static bool npy_take_word(npy_text *t, const char *word)
{
    size_t n = strlen(word);
    while (t->at < t->end && *t->at == ' ')
        t->at++;
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

/* A quoted text without escapes, as every key and type is. */
static bool npy_take_string(npy_text *t, char *out, size_t room)
{
    char quote = npy_take(t, '\'') ? '\'' : npy_take(t, '"') ? '"' : 0;
    size_t n = 0;
    while (quote && t->at < t->end && *t->at != quote && n + 1 < room)
        out[n++] = *t->at++;
    out[n] = 0;
    return quote && npy_take(t, quote);
}

static bool npy_take_number(npy_text *t, int64_t *out)
{
    while (t->at < t->end && *t->at == ' ')
        t->at++;
    const char *start = t->at;
    *out = 0;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && *out <= INT32_MAX)
        *out = *out * 10 + (*t->at++ - '0');
    return t->at > start && *out <= INT32_MAX;
}

static bool npy_take_shape(npy_text *t, eg_npy *a)
{
    if (!npy_take(t, '('))
        return false;
    while (!npy_take(t, ')')) {
        if (a->n_dims == EG_NPY_MAX_DIMS || !npy_take_number(t, &a->shape[a->n_dims]))
            return false;
        a->n_dims++;
        if (!npy_take(t, ',') && (t->at == t->end || *t->at != ')'))
            return false;
    }
    return true;
}

static const struct {
    const char *word;
    eg_npy_type type;
    size_t size;
} npy_types[] = {
    {"|u1", EG_NPY_U1, 1}, {"<u1", EG_NPY_U1, 1}, {"<i4", EG_NPY_I4, 4},
    {"<i8", EG_NPY_I8, 8}, {"<f4", EG_NPY_F4, 4}, {"<f8", EG_NPY_F8, 8},
};

/* Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } in any order of its keys.
 */
static eg_status npy_header(const char *name, npy_text t, eg_npy *a, size_t *size)
{
    char word[32];
    bool typed = false, shaped = false, ordered = false;
    bool good = npy_take(&t, '{');
    while (good && !npy_take(&t, '}')) {
        good = npy_take_string(&t, word, sizeof word) && npy_take(&t, ':');
        if (good && strcmp(word, "descr") == 0) {
            good = !typed && npy_take_string(&t, word, sizeof word);
            for (size_t i = 0; good && i < sizeof npy_types / sizeof *npy_types; i++)
                if (strcmp(word, npy_types[i].word) == 0) {
                    a->type = npy_types[i].type;
                    *size = npy_types[i].size;
                    typed = true;
                }
            if (good && !typed)
                return eg_fail(EG_ENOTSUP,
                               "%s: elements of type '%s'; u1, i4, i8, f4 and f8 "
                               "(little-endian) can be read",
                               name, word);
        } else if (good && strcmp(word, "fortran_order") == 0) {
            if (npy_take_word(&t, "True"))
                return eg_fail(EG_ENOTSUP, "%s: the array is in Fortran order", name);
            good = ordered = npy_take_word(&t, "False");
        } else if (good && strcmp(word, "shape") == 0) {
            good = !shaped && npy_take_shape(&t, a);
            shaped = true;
        } else {
            good = false;
        }
        npy_take(&t, ',');
    }
    if (!good || !typed || !shaped || !ordered)
        return eg_fail(EG_EFORMAT, "%s: the .npy header cannot be read", name);
    return EG_OK;
}

/* Reads the header: type, shape and number of elements. *start: bytes before the elements;
 * *size: bytes of one. */
static eg_status npy_begin(const char *name, const uint8_t *bytes, size_t n, eg_npy *out,
                           size_t *start, size_t *size)
{
    *out = (eg_npy){0};
    if (n < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return eg_fail(EG_EFORMAT, "%s: not a .npy file", name);
    *start = bytes[6] == 1 ? 10 : 12;
    if (bytes[6] < 1 || bytes[6] > 3 || n < *start)
        return eg_fail(EG_EFORMAT, "%s: .npy version %d is not known", name, bytes[6]);
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (*start == 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > n - *start)
        return eg_fail(EG_EFORMAT, "%s: the file is cut short in its header", name);
    const char *text = (const char *)bytes + *start;
    EG_TRY(npy_header(name, (npy_text){text, text + length}, out, size));
    *start += length;
    out->n = 1;
    for (int i = 0; i < out->n_dims; i++) {
        size_t d = (size_t)out->shape[i];
        if (d && out->n > SIZE_MAX / 16 / d)
            return eg_fail(EG_EFORMAT, "%s: the shape is too large", name);
        out->n *= d;
    }
    return EG_OK;
}

eg_status eg_npy_measure(const char *name, const uint8_t *bytes, size_t n, size_t *out)
{
    eg_npy a;
    size_t start, size = 1;
    EG_TRY(npy_begin(name, bytes, n, &a, &start, &size));
    *out = start + a.n * size;
    return EG_OK;
}

eg_status eg_npy_parse(const char *name, const uint8_t *bytes, size_t n, eg_npy *out)
{
    size_t start, size = 1;
    EG_TRY(npy_begin(name, bytes, n, out, &start, &size));
    if (out->n != (n - start) / size || (n - start) % size)
        return eg_fail(EG_EFORMAT, "%s: %zu bytes of elements, but the shape needs %zu", name,
                       n - start, out->n * size);
    out->bytes = bytes + start;
    return EG_OK;
}

int64_t eg_npy_whole(const eg_npy *a, size_t i)
{
    int32_t i4;
    int64_t i8;
    double v;
    switch (a->type) {
    case EG_NPY_U1:
        return a->bytes[i];
    case EG_NPY_I4:
        memcpy(&i4, a->bytes + 4 * i, 4);
        return i4;
    case EG_NPY_I8:
        memcpy(&i8, a->bytes + 8 * i, 8);
        return i8;
    case EG_NPY_F4:
    case EG_NPY_F8:
        break;
    }
    v = eg_npy_real(a, i);
    return v > -0x1p62 && v < 0x1p62 ? (int64_t)v : INT64_MIN;
}

double eg_npy_real(const eg_npy *a, size_t i)
{
    float f4;
    double f8;
    if (a->type == EG_NPY_F4) {
        memcpy(&f4, a->bytes + 4 * i, 4);
        return (double)f4;
    }
    if (a->type == EG_NPY_F8) {
        memcpy(&f8, a->bytes + 8 * i, 8);
        return f8;
    }
    return (double)eg_npy_whole(a, i);
}

static uint32_t zip_u16(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t zip_u32(const uint8_t *p)
{
    return zip_u16(p) | zip_u16(p + 2) << 16;
}

/* The end record stands last, before a comment of at most 65535 bytes. */
static const uint8_t *zip_end(const uint8_t *bytes, size_t n)
{
    size_t low = n > 65535 + 22 ? n - 65535 - 22 : 0;
    for (size_t i = n < 22 ? 0 : n - 22 + 1; i-- > low;)
        if (memcmp(bytes + i, "PK\5\6", 4) == 0)
            return bytes + i;
    return NULL;
}

/* An entry of an archive is an array: before there is memory for it, its header must say that
 * it needs as much as the directory does. */
static eg_status zip_check_size(const char *name, const uint8_t *packed, size_t n,
                                uint32_t method, size_t whole)
{
    size_t got = n < EG_NPY_HEAD ? n : EG_NPY_HEAD, needs;
    uint8_t *head = NULL;
    eg_status s = EG_OK;
    if (method == 8) {
        if (!(head = malloc(EG_NPY_HEAD)))
            return eg_fail(EG_ENOMEM, "%s: no memory for a header", name);
        s = eg_blame(eg_gz_inflate_head(packed, n, head, EG_NPY_HEAD, &got), "%s", name);
    }
    if (s == EG_OK)
        s = eg_npy_measure(name, head ? head : packed, got, &needs);
    if (s == EG_OK && needs != whole)
        s = eg_fail(EG_EFORMAT, "%s: an entry of %zu bytes, but the shape needs %zu", name,
                    whole, needs);
    free(head);
    return s;
}

/* Unpacks the entry that the 46-byte directory record e describes. */
static eg_status zip_unpack(const char *name, const uint8_t *bytes, size_t n, const uint8_t *e,
                            uint8_t **out, size_t *n_out)
{
    uint32_t method = zip_u16(e + 10), packed = zip_u32(e + 20), whole = zip_u32(e + 24);
    size_t at = zip_u32(e + 42);
    if (packed == UINT32_MAX || whole == UINT32_MAX)
        return eg_fail(EG_ENOTSUP, "%s: an entry of more than 4 GiB", name);
    if (n < 30 || at > n - 30 || memcmp(bytes + at, "PK\3\4", 4) != 0)
        return eg_fail(EG_EFORMAT, "%s: the zip directory points to no entry", name);
    at += 30 + zip_u16(bytes + at + 26) + zip_u16(bytes + at + 28);
    if (at > n || packed > n - at)
        return eg_fail(EG_EFORMAT, "%s: the zip file is cut short", name);
    if (method != 0 && method != 8)
        return eg_fail(EG_ENOTSUP, "%s: zip method %u", name, method);
    if ((method == 0 && packed != whole) || (method == 8 && whole / 1032 > packed))
        return eg_fail(EG_EFORMAT, "%s: an entry's two sizes do not fit", name);
    EG_TRY(zip_check_size(name, bytes + at, packed, method, whole));
    uint8_t *entry = malloc((size_t)whole + 1);
    if (!entry)
        return eg_fail(EG_ENOMEM, "%s: cannot allocate %u bytes", name, whole);
    eg_status s = EG_OK;
    if (method == 8)
        s = eg_blame(eg_gz_inflate(bytes + at, packed, entry, whole), "%s", name);
    else
        memcpy(entry, bytes + at, whole);
    if (s == EG_OK && eg_gz_crc32(entry, whole) != zip_u32(e + 16))
        s = eg_fail(EG_EFORMAT, "%s: an entry's checksum is wrong", name);
    if (s != EG_OK) {
        free(entry);
        return s;
    }
    *out = entry;
    *n_out = whole;
    return EG_OK;
}

eg_status eg_npz_entry(const char *name, const uint8_t *bytes, size_t n, const char *key,
                       uint8_t **out, size_t *n_out)
{
    *out = NULL;
    *n_out = 0;
    const uint8_t *end = zip_end(bytes, n);
    if (!end)
        return eg_fail(EG_EFORMAT, "%s: not a zip file, or cut short", name);
    size_t left = zip_u16(end + 10), at = zip_u32(end + 16);
    char file[64];
    snprintf(file, sizeof file, "%s.npy", key);
    for (; left > 0; left--) {
        if (n < 46 || at > n - 46 || memcmp(bytes + at, "PK\1\2", 4) != 0)
            return eg_fail(EG_EFORMAT, "%s: the zip directory is damaged", name);
        const uint8_t *e = bytes + at;
        size_t length = zip_u16(e + 28);
        if (length > n - at - 46)
            return eg_fail(EG_EFORMAT, "%s: the zip directory is damaged", name);
        if (length == strlen(file) && memcmp(e + 46, file, length) == 0)
            return zip_unpack(name, bytes, n, e, out, n_out);
        at += 46 + length + zip_u16(e + 30) + zip_u16(e + 32);
    }
    return eg_fail(EG_ENOENT, "%s: there is no array '%s' in it", name, key);
}
