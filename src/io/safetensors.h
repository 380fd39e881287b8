/* safetensors.h - what the reader and the writer of safetensors share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_SAFETENSORS_H
#define EG_SRC_SAFETENSORS_H

#include <engram/safetensors.h>

#include "base/base.h"

/* The format's own bound on the header. */
#define EG_SAFETENSORS_MAX_HEADER 100000000

#define EG_SAFETENSORS_NOTES "__metadata__"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the data of safetensors is little-endian, and is handed out as it stands"
#endif

size_t eg_stored_type_size(eg_stored_type type);

/* As eg_safetensors_save, with the data in an open file instead of in memory: that of all
 * tensors, which are of one type, in their order, without holes, from the file's beginning on.
 */
eg_status eg_safetensors_save_from(int fd, const char *path, const eg_stored *tensors, size_t n,
                                   const eg_stored_note *notes, size_t n_notes);

/* The bytes that type and dims make. EG_ESHAPE: negative, or more than memory can hold;
 * EG_ENOTSUP: a rank outside [0, EG_STORED_RANK]. */
eg_status eg_stored_size(const eg_stored *t, size_t *out);

/* The name in a form fit for an error text: short, and without control characters. */
typedef struct eg_stored_label {
    char text[96];
} eg_stored_label;
eg_stored_label eg_stored_label_of(const char *name);

#endif
