/* engram/exchange.h - bundles: what a client and the server tell each other.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A bundle is an ordered set of named tensors and an ordered set of named scalars, which are
 * doubles. Tensors are of floats; those of whole numbers (U32) or bytes (U8) are for messages
 * that no method sees, and are found by functions of their own. A bundle owns copies of all it
 * is given. Its byte form is safetensors: scalars are F64 tensors of rank 0, tensors F32, U32
 * or U8, the last behind the others. Bytes and back gives the same bits in the same order. One
 * thread at a time per bundle; different bundles are independent.
 */
#ifndef EG_EXCHANGE_H
#define EG_EXCHANGE_H

#include <engram/params.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_bundle eg_bundle;

typedef enum eg_bundle_type { EG_BUNDLE_F32, EG_BUNDLE_U32, EG_BUNDLE_U8 } eg_bundle_type;

eg_status eg_bundle_new(eg_bundle **out);
void eg_bundle_free(eg_bundle *b); /* NULL is fine */

/* The status of what filled a new bundle; if it is a failure, the bundle is freed:
 * EG_TRY(eg_bundle_filled(b, fill(b))). */
eg_status eg_bundle_filled(eg_bundle *b, eg_status filled);

/* Empties it, and keeps its memory for what is added next. */
void eg_bundle_clear(eg_bundle *b);

/* Adds a copy of a tensor, of a vector of n floats, of a number. A name is 1 to 200 printable
 * ASCII characters without '"' and '\'; EG_EINVAL: it is not, or it is there already. */
eg_status eg_bundle_add(eg_bundle *b, const char *name, eg_shape shape, const float *values);
eg_status eg_bundle_add_flat(eg_bundle *b, const char *name, const float *values, size_t n);
eg_status eg_bundle_scalar(eg_bundle *b, const char *name, double value);

/* Adds a tensor of zeros for the caller to fill, which saves a copy. *out is borrowed until b
 * is cleared or freed. */
eg_status eg_bundle_room(eg_bundle *b, const char *name, eg_shape shape, float **out);

/* The same of any type. */
eg_status eg_bundle_room_as(eg_bundle *b, eg_bundle_type type, const char *name, eg_shape shape,
                            void **out);

/* Adds copies of all entries of another bundle, not of what it rests on, whose names begin so.
 */
eg_status eg_bundle_copy(eg_bundle *b, const eg_bundle *from, const char *prefix);

/* A tensor's values, borrowed until b is cleared or freed, and their number (n may be NULL);
 * NULL, and 0, if there is no such tensor of floats, or of the type asked for. */
const float *eg_bundle_find(const eg_bundle *b, const char *name, size_t *n);
const void *eg_bundle_find_as(const eg_bundle *b, eg_bundle_type type, const char *name,
                              size_t *n);
/* The same of floats, not in what b rests on, for the caller to change. */
float *eg_bundle_values(eg_bundle *b, const char *name);

/* A scalar. False, and 0, if there is none of this name. */
bool eg_bundle_scalar_of(const eg_bundle *b, const char *name, double *out);

/* What must be there, for those who read records and messages: a tensor of just n values; one
 * whose values are whole numbers from 0 to most; a scalar that is such a number. EG_ENOENT,
 * EG_ESHAPE or EG_EINVAL, and one sentence that names it. */
eg_status eg_bundle_need(const eg_bundle *b, const char *name, size_t n, const float **out);
eg_status eg_bundle_need_counts(const eg_bundle *b, const char *name, size_t n, int64_t most,
                                const float **out);
eg_status eg_bundle_need_count(const eg_bundle *b, const char *name, int64_t most,
                               int64_t *out);

/* Lets b rest on another bundle: what is looked up by name and is not in b is looked up there.
 * Counts, walks and the byte form are b's alone. below is borrowed; NULL: on nothing. */
void eg_bundle_rest_on(eg_bundle *b, const eg_bundle *below);
const eg_bundle *eg_bundle_below(const eg_bundle *b); /* NULL: it rests on nothing */

/* One entry, for those who walk through all of them. Borrowed like a tensor's values. */
typedef struct eg_bundle_entry {
    const char *name;
    bool is_scalar;
    double scalar;       /* of a scalar */
    eg_bundle_type type; /* of a tensor */
    eg_shape shape;      /* likewise */
    const float *values; /* [n]; NULL: its type is another */
    const void *bytes;   /* of any type */
    size_t n;
} eg_bundle_entry;
size_t eg_bundle_n(const eg_bundle *b); /* scalars and tensors, in the order of the byte form */
void eg_bundle_at(const eg_bundle *b, size_t i, eg_bundle_entry *out);

/* The size of the byte form, header included, to the byte; it is computed, not built. */
size_t eg_bundle_bytes(const eg_bundle *b);

/* The byte form; free() *bytes. */
eg_status eg_bundle_pack(const eg_bundle *b, unsigned char **bytes, size_t *n);

/* A bundle from its byte form, which is checked and not kept. EG_EFORMAT: it breaks the format
 * or holds what no bundle can. */
eg_status eg_bundle_unpack(const void *bytes, size_t n, eg_bundle **out);

/* Whether b can stand where `like` is expected: every tensor of `like` is there with its type
 * and shape, every scalar is there, and no number of b is NaN or infinite. EG_ENOENT, EG_ESHAPE
 * or EG_EINVAL, and one sentence ("tensor 'delta': element 7 is NaN"). */
eg_status eg_bundle_check(const eg_bundle *b, const eg_bundle *like);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
