/* params_file.c - a network's tensors in safetensors files, with PyTorch's names.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/params.h>
#include <engram/safetensors.h>

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

eg_status eg_params_save(const eg_params *p, const char *path, const float *value,
                         const float *state)
{
    size_t n = eg_params_n(p);
    eg_stored *list = calloc(n + 1, sizeof *list);
    if (!list)
        return eg_fail(EG_ENOMEM, "no memory for %zu tensors", n);
    for (size_t i = 0; i < n; i++) {
        const eg_param_info *t = eg_params_at(p, i);
        list[i] = (eg_stored){.name = t->name,
                              .type = EG_STORED_F32,
                              .rank = t->shape.rank,
                              .bytes = (t->trained ? value : state) + t->offset};
        memcpy(list[i].dims, t->shape.dim, sizeof t->shape.dim);
    }
    eg_status s = eg_safetensors_save(path, list, n, NULL, 0);
    free(list);
    return s;
}

/* A name the table does not know: one of PyTorch's counters is fine, anything else is not. */
static eg_status params_check_extra(const eg_params *p, const eg_stored *stored)
{
    const char *counter = ".num_batches_tracked";
    size_t n = strlen(stored->name), m = strlen(counter);
    if (n > m && strcmp(stored->name + n - m, counter) == 0)
        return EG_OK;
    for (size_t i = 0; i < eg_params_n(p); i++)
        if (strcmp(eg_params_at(p, i)->name, stored->name) == 0)
            return EG_OK;
    return eg_fail(EG_EINVAL, "the network has no tensor '%.80s'", stored->name);
}

static eg_status params_read(const eg_params *p, const char *path, const eg_tensors *file,
                             float *value, float *state)
{
    EG_TRY(eg_tensors_check_finite(file));
    for (size_t i = 0; i < eg_tensors_count(file); i++)
        EG_TRY(eg_blame(params_check_extra(p, eg_tensors_at(file, i)), "%s", path));
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        EG_TRY(eg_tensors_read(file, t->name, t->shape.rank, t->shape.dim,
                               (t->trained ? value : state) + t->offset));
    }
    return EG_OK;
}

eg_status eg_params_load(const eg_params *p, const char *path, float *value, float *state)
{
    eg_tensors *file = NULL;
    float *new_value = NULL, *new_state = NULL;
    eg_status s = eg_safetensors_load(path, &file);
    if (s != EG_OK)
        return s;
    if (s == EG_OK)
        s = eg_params_alloc(p, &new_value);
    if (s == EG_OK)
        s = eg_state_alloc(p, &new_state);
    if (s == EG_OK)
        s = params_read(p, path, file, new_value, new_state);
    if (s == EG_OK) { /* only now: a bad file changes nothing */
        memcpy(value, new_value, eg_params_length(p) * sizeof *value);
        if (eg_state_length(p))
            memcpy(state, new_state, eg_state_length(p) * sizeof *state);
    }
    eg_tensors_free(file);
    free(new_value);
    free(new_state);
    return s;
}
