/* engram/safetensors.h - named tensors in files that PyTorch and others read and write.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The format (huggingface/safetensors): eight bytes with the length of a JSON header,
 * little-endian; the header, {"name": {"dtype", "shape", "data_offsets"}, ...}, padded with
 * spaces; then the data, without holes. A reader trusts nothing: whatever it hands out has been
 * checked against the bytes that are there. Errors name the file and the tensor.
 */
#ifndef EG_SAFETENSORS_H
#define EG_SAFETENSORS_H

#include <engram/base.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The largest rank of a stored tensor. */
#define EG_STORED_RANK 8

// clang-format off
#define EG_STORED_MAP(X)    /* name in the file, bytes per element */ \
    X(F32,  4)                                                        \
    X(F64,  8)                                                        \
    X(F16,  2)                                                        \
    X(BF16, 2)                                                        \
    X(I64,  8)                                                        \
    X(I32,  4)                                                        \
    X(I16,  2)                                                        \
    X(I8,   1)                                                        \
    X(U64,  8)                                                        \
    X(U32,  4)                                                        \
    X(U16,  2)                                                        \
    X(U8,   1)                                                        \
    X(BOOL, 1)
// clang-format on

typedef enum eg_stored_type {
#define EG_STORED_ENUM(name, size) EG_STORED_##name,
    EG_STORED_MAP(EG_STORED_ENUM)
#undef EG_STORED_ENUM
} eg_stored_type;

/* A tensor as it stands in a file. */
typedef struct eg_stored {
    const char *name;
    eg_stored_type type;
    int rank; /* 0 is a scalar */
    int64_t dims[EG_STORED_RANK];
    const void *bytes; /* row-major, little-endian; need not be aligned */
    size_t n_bytes;    /* set by a reader; a writer computes it from type and dims */
} eg_stored;

/* One entry of the file's free text. */
typedef struct eg_stored_note {
    const char *key, *value;
} eg_stored_note;

/* What a file holds: tensors in the order of their data, and notes. */
typedef struct eg_tensors eg_tensors;

const char *eg_stored_type_text(eg_stored_type type); /* "F32" */

/* Reads a file. EG_ENOENT: it is not there; EG_EFORMAT: it breaks the format; EG_ENOTSUP: a
 * dtype or a rank that is not known here. Free with eg_tensors_free. */
eg_status eg_safetensors_load(const char *path, eg_tensors **out);

/* The same from memory, which must stay as it is for as long as *out lives. */
eg_status eg_safetensors_parse(const void *bytes, size_t n, eg_tensors **out);
void eg_tensors_free(eg_tensors *t); /* NULL is fine */

/* All that these give is borrowed from t. */
size_t eg_tensors_count(const eg_tensors *t);
const eg_stored *eg_tensors_at(const eg_tensors *t, size_t i);           /* i < count */
const eg_stored *eg_tensors_find(const eg_tensors *t, const char *name); /* or NULL */
const char *eg_tensors_note(const eg_tensors *t, const char *key);       /* or NULL */

/* Walks the notes; start with note->key NULL. */
bool eg_tensors_next_note(const eg_tensors *t, eg_stored_note *note);

/* Copies a tensor of exactly this shape into out, as floats: F32, or one I64 (a counter such as
 * num_batches_tracked). EG_ENOENT: no such tensor; EG_ESHAPE: it is [10, 20], not [20, 10];
 * EG_ENOTSUP: another type. */
eg_status eg_tensors_read(const eg_tensors *t, const char *name, int rank, const int64_t *dims,
                          float *out);

/* Brings a file of weights into the form that networks have: F16 and BF16 become F32, and
 * "module.", where every name begins with it (as torch.nn.DataParallel writes), is taken off.
 */
eg_status eg_tensors_simplify(eg_tensors *t);

/* EG_EINVAL, naming tensor and element, if an F32 tensor holds NaN or infinity. */
eg_status eg_tensors_check_finite(const eg_tensors *t);

/* Writes a file, in one step: after a crash it is the old one or the new one. The bytes are a
 * function of the arguments. Data is laid out by falling element size, else in the order given,
 * so that every tensor is aligned. EG_EINVAL: a name twice, or not UTF-8; a negative size. */
eg_status eg_safetensors_save(const char *path, const eg_stored *tensors, size_t n,
                              const eg_stored_note *notes, size_t n_notes);

/* What save writes, in memory; free() *out. */
eg_status eg_safetensors_pack(const eg_stored *tensors, size_t n, const eg_stored_note *notes,
                              size_t n_notes, unsigned char **out, size_t *n_out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
