/* npy.h - NumPy's array files: .npy, and .npz, which is a zip of them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both are parsed from memory. Little-endian, either order of axes, at most 2^31 elements an
 * axis; the parser trusts nothing in the header.
 */
#ifndef EG_NPY_H
#define EG_NPY_H

#include "base/base.h"

#define EG_NPY_MAX_DIMS 8

/* Bytes that hold any header. */
enum { EG_NPY_HEAD = 1 << 16 };

typedef enum eg_npy_type {
    EG_NPY_U1, /* and truth values */
    EG_NPY_I1,
    EG_NPY_U2,
    EG_NPY_I2,
    EG_NPY_U4,
    EG_NPY_I4,
    EG_NPY_U8,
    EG_NPY_I8,
    EG_NPY_F2,
    EG_NPY_F4,
    EG_NPY_F8,
    EG_NPY_BYTES, /* texts of bytes, filled up with zeros */
    EG_NPY_TEXT,  /* texts of four bytes a character, likewise */
} eg_npy_type;

/* A view into the bytes that were parsed. */
typedef struct eg_npy {
    eg_npy_type type;
    size_t size;  /* bytes of an element */
    bool fortran; /* the first axis varies fastest */
    int n_dims;
    int64_t shape[EG_NPY_MAX_DIMS];
    size_t n;             /* elements */
    const uint8_t *bytes; /* of the first; not aligned */
} eg_npy;

/* Parses a .npy. name is for the error text. *out borrows bytes. */
eg_status eg_npy_parse(const char *name, const uint8_t *bytes, size_t n, eg_npy *out);

/* How many bytes the whole file must have, by the shape in its first n. */
eg_status eg_npy_measure(const char *name, const uint8_t *bytes, size_t n, size_t *out);

/* Whether elements are texts; whether they are whole numbers. */
bool eg_npy_is_text(const eg_npy *a);
bool eg_npy_is_whole(const eg_npy *a);

/* Element i, counted with the last axis fastest. A text is 0. */
double eg_npy_real(const eg_npy *a, size_t i);
int64_t eg_npy_whole(const eg_npy *a, size_t i); /* reals are cut */

/* Writes the text that element i is, in UTF-8, as far as it has room. */
void eg_npy_text(const eg_npy *a, size_t i, size_t room, char *out);

/* Unpacks the entry key.npy of a .npz. Free *out with free(). EG_ENOENT: no such entry. */
eg_status eg_npz_entry(const char *name, const uint8_t *bytes, size_t n, const char *key,
                       uint8_t **out, size_t *n_out);

/* Writes numbers in C order as a .npy, in one step. The machine is little-endian. */
eg_status eg_npy_save(const char *path, eg_npy_type type, int n_dims, const int64_t *shape,
                      const void *values);

/* An array to be written, of doubles in C order. */
typedef struct eg_npz_array {
    const char *name;
    int n_dims;
    int64_t shape[EG_NPY_MAX_DIMS];
    const double *values;
} eg_npz_array;

/* Writes arrays into one .npz, in one step. EG_EINVAL: it would have 4 GiB or more. */
eg_status eg_npz_save(const char *path, const eg_npz_array *arrays, size_t n);

#endif
