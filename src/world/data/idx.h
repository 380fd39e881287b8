/* idx.h - the IDX form of MNIST and its kin: a header of big-endian sizes, then the bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_IDX_H
#define EG_IDX_H

#include "world/data/find.h"

#define EG_IDX_MAX_HEAD 20

typedef struct eg_idx {
    int n_dims;
    int64_t shape[4];
    size_t width; /* bytes per element: 1, or 2 for big-endian shorts */
    size_t head;  /* bytes before the first */
    size_t size;  /* of the whole file */
} eg_idx;

/* Reads the header from the first n bytes of a file; name is for the error text. */
eg_status eg_idx_header(const char *name, const uint8_t *bytes, size_t n, eg_idx *out);

/* Header and size of a file in memory: what it announces is what it holds. */
eg_status eg_idx_parse(const char *name, const uint8_t *bytes, size_t n, eg_idx *out);

/* Loads a file, plain or .gz; *bytes, without the header, is freed with free(). */
eg_status eg_idx_read(const char *path, int n_dims, eg_idx *out, uint8_t **bytes);

/* Loads an images file and a labels file into a table of n images. */
eg_status eg_idx_table(const char *images, const char *labels, int32_t first_label,
                       int64_t classes, eg_table *out);

/* A data set of four files, <prefix>-train-images-idx3-ubyte and so on. */
typedef struct eg_idx_set {
    eg_place place;
    const char *prefix;  /* may be missing in the names, unless strict */
    bool strict;         /* the prefix tells sets of one folder apart */
    int32_t first_label; /* which number means class 0 */
    int64_t classes;
} eg_idx_set;

eg_status eg_idx_load(const eg_idx_set *set, const eg_origin *from, eg_split split,
                      eg_table *out);

#endif
