/* cifar.c - reads CIFAR's records.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/cifar.h"

#include "io/gz.h"

#include <stdlib.h>
#include <string.h>

/* SVHN with its extra images, the largest set in this form, has 604,388. */
#define CIFAR_MAX_RECORDS ((size_t)1 << 20)

eg_status eg_cifar_parse(const char *name, const uint8_t *bytes, size_t n,
                         const eg_cifar_form *form, eg_table *out)
{
    size_t record = form->labels + EG_CIFAR_PIXELS, more = n / record;
    if (n == 0)
        return eg_fail(EG_EFORMAT, "%s: the file is empty", name);
    if (n % record)
        return eg_fail(EG_EFORMAT, "%s: %zu bytes are not a whole number of %zu-byte records",
                       name, n, record);
    size_t old = (size_t)out->n, all = old + more;
    uint8_t *u8 = realloc(out->u8, all * EG_CIFAR_PIXELS);
    out->u8 = u8 ? u8 : out->u8;
    int32_t *y = realloc(out->y, all * sizeof *y);
    out->y = y ? y : out->y;
    if (!u8 || !y)
        return eg_fail(EG_ENOMEM, "%s: cannot allocate %zu images", name, all);
    for (size_t i = 0; i < more; i++) {
        const uint8_t *r = bytes + i * record;
        y[old + i] = r[form->use];
        if (y[old + i] >= form->classes)
            return eg_fail(EG_EFORMAT, "%s: label %d of image %zu is outside 0 to %lld", name,
                           y[old + i], i, (long long)form->classes - 1);
        memcpy(u8 + (old + i) * EG_CIFAR_PIXELS, r + form->labels, EG_CIFAR_PIXELS);
    }
    out->n = (int64_t)all;
    out->channels = 3;
    out->height = out->width = 32;
    out->classes = form->classes;
    return EG_OK;
}

eg_status eg_cifar_read(const char *path, const eg_cifar_form *form, eg_table *out)
{
    uint8_t *bytes;
    size_t n;
    EG_TRY(eg_gz_load(path, CIFAR_MAX_RECORDS * (form->labels + EG_CIFAR_PIXELS), &bytes, &n));
    eg_status s = eg_cifar_parse(path, bytes, n, form, out);
    free(bytes);
    return s;
}
