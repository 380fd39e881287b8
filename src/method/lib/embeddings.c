/* embeddings.c - reads vectors of class names, or makes some that mean nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/embeddings.h"

#include "base/base.h"
#include "io/file.h"
#include "io/npy.h"

#include <engram/rng.h>

#include <math.h>
#include <stdlib.h>

enum { EMBEDDINGS_BYTES = 1 << 28 };

/* What a method's files draw is a function of these alone: every client has the same. */
static const uint64_t embeddings_seed = 20240601;

/* A file's bytes, to be freed, and what they say. */
static eg_status embeddings_open(const char *path, unsigned char **bytes, eg_npy *out)
{
    size_t n;
    EG_TRY(eg_file_read(path, EMBEDDINGS_BYTES, bytes, &n));
    eg_status s = eg_npy_parse(path, *bytes, n, out);
    bool reals = s == EG_OK && (out->type == EG_NPY_F4 || out->type == EG_NPY_F8);
    if (s == EG_OK && (!reals || out->n_dims != 2 || out->shape[1] < 1))
        s = eg_fail(EG_ESHAPE, "%s: not a matrix of reals with a row for each class", path);
    if (s != EG_OK)
        free(*bytes);
    return s;
}

eg_status eg_embeddings_width(const char *path, int64_t *d)
{
    unsigned char *bytes;
    eg_npy file;
    EG_TRY(embeddings_open(path, &bytes, &file));
    *d = file.shape[1];
    free(bytes);
    return EG_OK;
}

static eg_status embeddings_copy(const char *path, const eg_npy *file, int64_t classes,
                                 int64_t d, float *out)
{
    if (file->shape[0] < classes || file->shape[1] != d)
        return eg_fail(EG_ESHAPE, "%s: [%lld, %lld] for %lld classes of %lld numbers", path,
                       (long long)file->shape[0], (long long)file->shape[1], (long long)classes,
                       (long long)d);
    for (size_t i = 0; i < (size_t)(classes * d); i++) {
        out[i] = (float)eg_npy_real(file, i);
        if (!isfinite(out[i]))
            return eg_fail(EG_EINVAL, "%s: number %zu is not finite", path, i);
    }
    return EG_OK;
}

eg_status eg_embeddings_load(const char *path, int64_t classes, int64_t d, float **out)
{
    unsigned char *bytes;
    eg_npy file;
    EG_TRY(eg_alloc((size_t)(classes * d), sizeof **out, out));
    if (!path[0]) {
        eg_rng rng = eg_rng_at(embeddings_seed, 0, 0, EG_FOR_LAYER);
        for (int64_t i = 0; i < classes * d; i++)
            (*out)[i] = (float)eg_rng_normal(&rng);
        return EG_OK;
    }
    eg_status s = embeddings_open(path, &bytes, &file);
    if (s == EG_OK) {
        s = embeddings_copy(path, &file, classes, d, *out);
        free(bytes);
    }
    if (s != EG_OK) {
        free(*out);
        *out = NULL;
    }
    return s;
}
