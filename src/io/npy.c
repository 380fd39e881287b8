/* npy.c - a small reader of the .npy header, which is a Python dictionary in text, and of zip.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/npy.h"
#include "base/half.h"
#include "io/file.h"
#include "io/gz.h"

#include <inttypes.h>
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
    {"|u1", EG_NPY_U1, 1}, {"<u1", EG_NPY_U1, 1}, {"|b1", EG_NPY_U1, 1}, {"|i1", EG_NPY_I1, 1},
    {"<u2", EG_NPY_U2, 2}, {"<i2", EG_NPY_I2, 2}, {"<u4", EG_NPY_U4, 4}, {"<i4", EG_NPY_I4, 4},
    {"<u8", EG_NPY_U8, 8}, {"<i8", EG_NPY_I8, 8}, {"<f2", EG_NPY_F2, 2}, {"<f4", EG_NPY_F4, 4},
    {"<f8", EG_NPY_F8, 8},
};

/* What "<f4" and "<U12" say; false: nothing that can be read. */
static bool npy_take_type(const char *word, eg_npy *a)
{
    enum { LONGEST = 4096 }; /* characters of a text */
    for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types; i++)
        if (strcmp(word, npy_types[i].word) == 0) {
            a->type = npy_types[i].type;
            a->size = npy_types[i].size;
            return true;
        }
    bool wide = strncmp(word, "<U", 2) == 0;
    char *end;
    long n = wide || strncmp(word, "|S", 2) == 0 ? strtol(word + 2, &end, 10) : 0;
    if (n < 1 || n > LONGEST || *end)
        return false;
    a->type = wide ? EG_NPY_TEXT : EG_NPY_BYTES;
    a->size = (wide ? 4 : 1) * (size_t)n;
    return true;
}

/* Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } in any order of its keys.
 */
static eg_status npy_header(const char *name, npy_text t, eg_npy *a)
{
    char word[32];
    bool typed = false, shaped = false, ordered = false;
    bool good = npy_take(&t, '{');
    while (good && !npy_take(&t, '}')) {
        good = npy_take_string(&t, word, sizeof word) && npy_take(&t, ':');
        if (good && strcmp(word, "descr") == 0) {
            good = !typed && npy_take_string(&t, word, sizeof word);
            typed = good && npy_take_type(word, a);
            if (good && !typed)
                return eg_fail(EG_ENOTSUP,
                               "%s: elements of type '%s'%s; numbers of up to 64 bits "
                               "(little-endian) and texts can be read",
                               name, word,
                               strcmp(word, "|O") == 0
                                   ? ", which are pickled objects (save array.astype(str))"
                                   : "");
        } else if (good && strcmp(word, "fortran_order") == 0) {
            a->fortran = npy_take_word(&t, "True");
            good = ordered = a->fortran || npy_take_word(&t, "False");
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

/* Reads the header: type, shape and number of elements. *start: bytes before the elements. */
static eg_status npy_begin(const char *name, const uint8_t *bytes, size_t n, eg_npy *out,
                           size_t *start)
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
    EG_TRY(npy_header(name, (npy_text){text, text + length}, out));
    *start += length;
    out->n = 1;
    for (int i = 0; i < out->n_dims; i++) {
        size_t d = (size_t)out->shape[i];
        if (d && out->n > SIZE_MAX / 16 / out->size / d)
            return eg_fail(EG_EFORMAT, "%s: the shape is too large", name);
        out->n *= d;
    }
    return EG_OK;
}

eg_status eg_npy_measure(const char *name, const uint8_t *bytes, size_t n, size_t *out)
{
    eg_npy a;
    size_t start;
    EG_TRY(npy_begin(name, bytes, n, &a, &start));
    *out = start + a.n * a.size;
    return EG_OK;
}

eg_status eg_npy_parse(const char *name, const uint8_t *bytes, size_t n, eg_npy *out)
{
    size_t start;
    EG_TRY(npy_begin(name, bytes, n, out, &start));
    if (out->n != (n - start) / out->size || (n - start) % out->size)
        return eg_fail(EG_EFORMAT, "%s: %zu bytes of elements, but the shape needs %zu", name,
                       n - start, out->n * out->size);
    out->bytes = bytes + start;
    return EG_OK;
}

bool eg_npy_is_text(const eg_npy *a)
{
    return a->type == EG_NPY_BYTES || a->type == EG_NPY_TEXT;
}

bool eg_npy_is_whole(const eg_npy *a)
{
    return a->type <= EG_NPY_I8;
}

/* Where element i stands. */
static const uint8_t *npy_place(const eg_npy *a, size_t i)
{
    size_t at = i, step = 1;
    if (a->fortran) {
        size_t each = a->n; /* elements of one index of the axis */
        at = 0;
        for (int d = 0; d < a->n_dims; d++) {
            size_t length = (size_t)a->shape[d];
            each /= length;
            at += i / each % length * step;
            step *= length;
        }
    }
    return a->bytes + at * a->size;
}

static uint64_t npy_bits(const eg_npy *a, size_t i)
{
    const uint8_t *p = npy_place(a, i);
    uint64_t bits = 0;
    for (size_t k = 0; k < a->size && k < 8; k++)
        bits |= (uint64_t)p[k] << 8 * k;
    return bits;
}

/* A whole number; those from 2^63 on become the largest there is. */
static int64_t npy_integer(const eg_npy *a, size_t i)
{
    uint64_t bits = npy_bits(a, i);
    bool is_signed = a->type == EG_NPY_I1 || a->type == EG_NPY_I2 || a->type == EG_NPY_I4 ||
                     a->type == EG_NPY_I8;
    unsigned unused = 64 - 8 * (unsigned)a->size;
    if (is_signed)
        return (int64_t)(bits << unused) >> unused;
    return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
}

int64_t eg_npy_whole(const eg_npy *a, size_t i)
{
    if (eg_npy_is_text(a))
        return 0;
    if (eg_npy_is_whole(a))
        return npy_integer(a, i);
    double v = eg_npy_real(a, i);
    return v > -0x1p62 && v < 0x1p62 ? (int64_t)v : INT64_MIN;
}

double eg_npy_real(const eg_npy *a, size_t i)
{
    uint64_t bits = npy_bits(a, i);
    double f8;
    if (a->type == EG_NPY_F2)
        return (double)eg_float_of_half((uint16_t)bits);
    if (a->type == EG_NPY_F4)
        return (double)eg_float_of_bits((uint32_t)bits);
    if (a->type == EG_NPY_F8) {
        memcpy(&f8, &bits, sizeof f8);
        return f8;
    }
    return eg_npy_is_text(a) ? 0 : (double)npy_integer(a, i);
}

/* One character in UTF-8; what is none is a question mark. Returns its bytes. */
static size_t npy_put_character(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return npy_put_character('?', out);
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t k = n; --k > 0; code >>= 6)
        out[k] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00U >> n & 0xf0) | code);
    return n;
}

void eg_npy_text(const eg_npy *a, size_t i, size_t room, char *out)
{
    const uint8_t *p = npy_place(a, i);
    size_t n = 0, step = a->type == EG_NPY_TEXT ? 4 : 1;
    for (size_t at = 0; eg_npy_is_text(a) && at + step <= a->size; at += step) {
        char character[4] = {(char)p[at]};
        uint32_t code = p[at];
        for (size_t k = 1; k < step; k++)
            code |= (uint32_t)p[at + k] << 8 * k;
        size_t bytes = step == 4 ? npy_put_character(code, character) : 1;
        if (code == 0 || n + bytes >= room)
            break;
        memcpy(out + n, character, bytes);
        n += bytes;
    }
    if (room)
        out[n] = 0;
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

/* Adds the name of an array to the list of those there are, "x, y", as far as there is room. */
static void zip_add_name(char *list, size_t room, const uint8_t *name, size_t length)
{
    static const char ending[] = ".npy";
    size_t n = strlen(list), end = sizeof ending - 1;
    if (length > end && memcmp(name + length - end, ending, end) == 0)
        length -= end;
    if (strcmp(list, "nothing") == 0)
        n = 0;
    for (size_t i = 0; i < length; i++)
        if (name[i] < ' ' || name[i] > '~')
            return;
    if (n + length + 3 < room)
        snprintf(list + n, room - n, "%s%.*s", n ? ", " : "", (int)length, (const char *)name);
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
    char file[64], there[200] = "nothing";
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
        zip_add_name(there, sizeof there, e + 46, length);
        at += 46 + length + zip_u16(e + 30) + zip_u16(e + 32);
    }
    return eg_fail(EG_ENOENT, "%s: there is no array '%s' in it, but %s", name, key, there);
}

enum { NPZ_ALIGN = 64 };

static void npz_number(FILE *f, uint64_t x, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        fputc((int)(x >> 8 * i & 255), f);
}

static size_t npz_count(const eg_npz_array *a)
{
    size_t n = 1;
    for (int d = 0; d < a->n_dims; d++)
        n *= (size_t)a->shape[d];
    return n;
}

/* The magic and a dictionary, padded to an even place. Returns its bytes. */
static size_t npy_print_head(const char *type, int n_dims, const int64_t *shape, char out[512])
{
    char words[256];
    int n = snprintf(words, sizeof words, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     type);
    for (int d = 0; d < n_dims; d++)
        n += snprintf(words + n, sizeof words - (size_t)n, "%" PRId64 ", ", shape[d]);
    n += snprintf(words + n, sizeof words - (size_t)n, "), }");
    size_t whole = eg_round_up((size_t)n + 11, NPZ_ALIGN); /* with the line end */
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((whole - 10) & 255);
    out[9] = (char)((whole - 10) >> 8);
    snprintf(out + 10, 502, "%-*s\n", (int)whole - 11, words);
    return whole;
}

eg_status eg_npy_save(const char *path, eg_npy_type type, int n_dims, const int64_t *shape,
                      const void *values)
{
    char head[512];
    const char *word = NULL;
    size_t n = 0;
    for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types && !word; i++)
        if (npy_types[i].type == type)
            word = npy_types[i].word, n = npy_types[i].size;
    EG_ASSERT(word != NULL);
    for (int d = 0; d < n_dims; d++)
        n *= (size_t)shape[d];
    const eg_bytes parts[] = {{head, npy_print_head(word, n_dims, shape, head)}, {values, n}};
    return eg_file_write(path, parts, 2);
}

/* An array as a .npy. */
static void npz_array(FILE *f, const eg_npz_array *a)
{
    char head[512];
    fwrite(head, 1, npy_print_head("<f8", a->n_dims, a->shape, head), f);
    for (size_t i = 0; i < npz_count(a); i++) {
        uint64_t bits;
        memcpy(&bits, &a->values[i], sizeof bits);
        npz_number(f, bits, 8);
    }
}

/* What the two headers of an entry both say. */
static void npz_entry(FILE *f, uint32_t crc, size_t size, size_t name)
{
    npz_number(f, 20, 2);     /* the version it takes to read it */
    npz_number(f, 0x0800, 2); /* names are UTF-8 */
    npz_number(f, 0, 2);      /* stored */
    npz_number(f, 0, 2);      /* midnight, */
    npz_number(f, 0x21, 2);   /* on the first day there is */
    npz_number(f, crc, 4);
    npz_number(f, size, 4);
    npz_number(f, size, 4);
    npz_number(f, name, 2);
    npz_number(f, 0, 2); /* nothing extra */
}

/* One entry into the archive, and its line into the directory at its end. */
static eg_status npz_add(FILE *f, FILE *directory, const eg_npz_array *a)
{
    char *bytes = NULL, name[256];
    size_t n = 0;
    FILE *array = open_memstream(&bytes, &n);
    if (!array)
        return eg_fail(EG_ENOMEM, "no memory for the array '%s'", a->name);
    npz_array(array, a);
    bool bad = fclose(array) != 0;
    int length = snprintf(name, sizeof name, "%s.npy", a->name);
    uint32_t crc = bad ? 0 : eg_gz_crc32((const uint8_t *)bytes, n);
    uint64_t offset = (uint64_t)ftell(f);
    if (bad || length >= (int)sizeof name || offset + n >= UINT32_MAX) {
        free(bytes);
        return eg_fail(EG_EINVAL, "the array '%.60s' makes the file too large", a->name);
    }
    npz_number(f, 0x04034b50, 4);
    npz_entry(f, crc, n, (size_t)length);
    fwrite(name, 1, (size_t)length, f);
    fwrite(bytes, 1, n, f);
    free(bytes);
    npz_number(directory, 0x02014b50, 4);
    npz_number(directory, 20, 2);
    npz_entry(directory, crc, n, (size_t)length);
    npz_number(directory, 0, 8); /* no comment, disk 0, no attributes */
    npz_number(directory, 0, 2);
    npz_number(directory, offset, 4);
    fwrite(name, 1, (size_t)length, directory);
    return EG_OK;
}

static void npz_end(FILE *f, const char *directory, size_t size, size_t n)
{
    uint64_t offset = (uint64_t)ftell(f);
    fwrite(directory, 1, size, f);
    npz_number(f, 0x06054b50, 4);
    npz_number(f, 0, 2 + 2);
    npz_number(f, n, 2);
    npz_number(f, n, 2);
    npz_number(f, size, 4);
    npz_number(f, offset, 4);
    npz_number(f, 0, 2);
}

eg_status eg_npz_save(const char *path, const eg_npz_array *arrays, size_t n)
{
    char *bytes = NULL, *list = NULL;
    size_t size = 0, list_size = 0;
    FILE *f = open_memstream(&bytes, &size), *directory = open_memstream(&list, &list_size);
    eg_status status = f && directory ? EG_OK : eg_fail(EG_ENOMEM, "%s: no memory", path);
    for (size_t i = 0; i < n && status == EG_OK; i++)
        status = npz_add(f, directory, &arrays[i]);
    if (directory && fclose(directory) != 0 && status == EG_OK)
        status = eg_fail(EG_ENOMEM, "%s: no memory", path);
    if (status == EG_OK)
        npz_end(f, list, list_size, n);
    if (f && fclose(f) != 0 && status == EG_OK)
        status = eg_fail(EG_ENOMEM, "%s: no memory", path);
    if (status == EG_OK)
        status = eg_file_write(path, &(eg_bytes){bytes, size}, 1);
    free(bytes);
    free(list);
    return status;
}
