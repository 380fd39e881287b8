/* start.c - weights that a run starts from, and the hash that keeps them the same.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/start.h"

#include "base/sha256.h"
#include "io/file.h"
#include "run/experiment/sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_MAX_FILE ((size_t)1 << 42)

eg_status eg_start_set_weights(eg_start_opts *o, const char *path)
{
    if (*path && access(path, R_OK) != 0)
        return eg_fail(EG_EINVAL, "weights: there is no file '%s' to read", path);
    return eg_opts_set(eg_settings_of_model, o, "weights", path);
}

eg_status eg_start_settle(eg_start_opts *o)
{
    unsigned char *bytes;
    size_t n;
    uint8_t digest[32];
    char text[65];
    if (!*o->weights)
        return EG_OK;
    EG_TRY(eg_blame(eg_file_read(o->weights, START_MAX_FILE, &bytes, &n), "weights"));
    eg_sha256_of(bytes, n, digest);
    free(bytes);
    eg_sha256_text(digest, text);
    if (*o->weights_sha256 && strcmp(o->weights_sha256, text) != 0)
        return eg_fail(EG_EINVAL, "weights: %s has the SHA-256 %.8s..., not %.8s...",
                       o->weights, text, o->weights_sha256);
    return eg_opts_set(eg_settings_of_model, o, "weights_sha256", text);
}

eg_status eg_start_fill(const eg_start_opts *o, const eg_net *net, uint64_t seed, float *value,
                        float *state)
{
    eg_params_init(eg_net_params(net), seed, value, state);
    return *o->weights ? eg_net_start(net, o->weights, (eg_take)o->head, value, state) : EG_OK;
}
