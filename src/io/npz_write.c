/* npz_write.c - writes arrays of doubles as an .npz: a zip of .npy files, not compressed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/npy.h"

#include "io/file.h"
#include "io/gz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* An array as a .npy: its magic, a dictionary padded to an even place, its values. */
static void npz_array(FILE *f, const eg_npz_array *a)
{
    char head[256];
    int n = snprintf(head, sizeof head, "{'descr': '<f8', 'fortran_order': False, 'shape': (");
    for (int d = 0; d < a->n_dims; d++)
        n += snprintf(head + n, sizeof head - (size_t)n, "%" PRId64 ", ", a->shape[d]);
    n += snprintf(head + n, sizeof head - (size_t)n, "), }");
    size_t whole = eg_round_up((size_t)n + 11, NPZ_ALIGN) - 10; /* with the line end */
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    npz_number(f, whole, 2);
    fprintf(f, "%-*s\n", (int)whole - 1, head);
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
