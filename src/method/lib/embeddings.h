/* embeddings.h - a vector for each class: of its name, by a language model, in a file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_EMBEDDINGS_H
#define EG_EMBEDDINGS_H

#include <engram/base.h>

/* Reads a .npy of reals [classes or more, d] as floats [classes, d]; free() *out. With an empty
 * path: vectors of d standard normal numbers from a fixed stream, which know nothing of names.
 */
eg_status eg_embeddings_load(const char *path, int64_t classes, int64_t d, float **out);

/* How many numbers such a file has for a class. EG_EFORMAT, EG_ESHAPE: it is no such file. */
eg_status eg_embeddings_width(const char *path, int64_t *d);

#endif
