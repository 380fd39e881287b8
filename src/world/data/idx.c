/* idx.c - reads IDX files and finds the four of a data set.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/idx.h"

#include "io/gz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No data set is larger; what announces more is damaged. */
#define IDX_MAX_SIZE ((size_t)1 << 36)

eg_status eg_idx_header(const char *name, const uint8_t *bytes, size_t n, eg_idx *out)
{
    *out = (eg_idx){0};
    if (n == 0)
        return eg_fail(EG_EFORMAT, "%s: the file is empty", name);
    if (n < 4 || bytes[0] || bytes[1] || (bytes[2] != 0x08 && bytes[2] != 0x0b) ||
        bytes[3] < 1 || bytes[3] > 4)
        return eg_fail(EG_EFORMAT, "%s: not an IDX file of bytes or shorts", name);
    out->n_dims = bytes[3];
    out->width = bytes[2] == 0x0b ? 2 : 1;
    out->head = 4 + 4 * (size_t)out->n_dims;
    if (n < out->head)
        return eg_fail(EG_EFORMAT, "%s: the file is cut short in its header", name);
    out->size = out->width;
    for (int i = 0; i < out->n_dims; i++) {
        const uint8_t *p = bytes + 4 + 4 * (size_t)i;
        uint32_t d = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
        if (d && out->size > IDX_MAX_SIZE / d)
            return eg_fail(EG_EFORMAT, "%s: the header announces too many elements", name);
        out->shape[i] = d;
        out->size *= d;
    }
    out->size += out->head;
    return EG_OK;
}

static eg_status idx_fits(const char *name, const eg_idx *idx, size_t n)
{
    if (n == idx->size)
        return EG_OK;
    return eg_fail(EG_EFORMAT, "%s: %zu bytes where the header announces %zu", name, n,
                   idx->size);
}

eg_status eg_idx_parse(const char *name, const uint8_t *bytes, size_t n, eg_idx *out)
{
    EG_TRY(eg_idx_header(name, bytes, n, out));
    return idx_fits(name, out, n);
}

eg_status eg_idx_read(const char *path, int n_dims, eg_idx *out, uint8_t **bytes)
{
    uint8_t head[EG_IDX_MAX_HEAD];
    size_t n;
    *bytes = NULL;
    EG_TRY(eg_gz_peek(path, sizeof head, head, &n));
    EG_TRY(eg_idx_header(path, head, n, out));
    if (out->n_dims != n_dims)
        return eg_fail(EG_EFORMAT, "%s: %d dimensions where %d are expected", path, out->n_dims,
                       n_dims);
    EG_TRY(eg_gz_load_behind(path, out->head, out->size, bytes, &n));
    eg_status s = idx_fits(path, out, n + out->head);
    if (s != EG_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return s;
}

static eg_status idx_labels(const char *path, const uint8_t *raw, int32_t first, eg_table *t)
{
    EG_TRY(eg_alloc((size_t)t->n, sizeof *t->y, &t->y));
    for (int64_t i = 0; i < t->n; i++) {
        t->y[i] = raw[i] - first;
        if (t->y[i] < 0 || t->y[i] >= t->classes)
            return eg_fail(EG_EFORMAT, "%s: label %d of image %lld is outside %d to %lld", path,
                           raw[i], (long long)i, first, (long long)t->classes - 1 + first);
    }
    return EG_OK;
}

eg_status eg_idx_table(const char *images, const char *labels, int32_t first_label,
                       int64_t classes, eg_table *out)
{
    eg_idx x, y;
    uint8_t *raw = NULL;
    EG_TRY(eg_idx_read(images, 3, &x, &out->u8));
    eg_status s = eg_idx_read(labels, 1, &y, &raw);
    if (s != EG_OK)
        goto done;
    out->n = x.shape[0];
    out->channels = 1;
    out->height = x.shape[1];
    out->width = x.shape[2];
    out->classes = classes;
    if (x.width != 1 || y.width != 1)
        s = eg_fail(EG_EFORMAT, "%s: shorts where bytes are expected",
                    x.width != 1 ? images : labels);
    else if (out->n < 1 || eg_table_sample(out) < 1)
        s = eg_fail(EG_EFORMAT, "%s: holds no images", images);
    else if (x.shape[0] != y.shape[0])
        s = eg_fail(EG_EFORMAT, "%s holds %lld images, but %s %lld labels", images,
                    (long long)x.shape[0], labels, (long long)y.shape[0]);
    else
        s = idx_labels(labels, raw, first_label, out);
done:
    free(raw);
    return s;
}

/* Fills names with every usual form: [prefix-](train|t10k|test)-(what)(-|.)idxN-ubyte. An error
 * names the first. */
static void idx_names(const eg_idx_set *set, eg_split split, const char *what, char room[8][96],
                      const char *names[9])
{
    static const char *const words[2][2] = {{"train", "train"}, {"t10k", "test"}};
    int n = 0;
    for (int named = set->strict; named < 2; named++)
        for (int w = 0; w < 2; w++)
            for (int dot = 0; dot < 2; dot++, n++) {
                snprintf(room[n], sizeof room[n], "%s%s%s-%s%cidx%c-ubyte",
                         named ? set->prefix : "", named ? "-" : "",
                         words[split][w ^ (int)set->strict], what, dot ? '.' : '-',
                         *what == 'i' ? '3' : '1');
                names[n] = room[n];
            }
    names[n] = NULL;
}

eg_status eg_idx_load(const eg_idx_set *set, const eg_origin *from, eg_split split,
                      eg_table *out)
{
    char room[8][96], images[EG_PATH_SIZE], labels[EG_PATH_SIZE];
    const char *names[9];
    idx_names(set, split, "images", room, names);
    EG_TRY(eg_find(from, &set->place, names, images));
    idx_names(set, split, "labels", room, names);
    EG_TRY(eg_find(from, &set->place, names, labels));
    return eg_idx_table(images, labels, set->first_label, set->classes, out);
}
