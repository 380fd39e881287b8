/* net_file.c - nets in safetensors files: notes that say what net it is; first values of one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base.h"
#include "engine/model/net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NET_NOTES = 7 };

eg_status eg_net_save(const eg_net *net, const char *path, const float *value,
                      const float *state, const eg_stored_note *notes, size_t n_notes)
{
    return eg_net_save_beside(net, path, value, state, NULL, 0, notes, n_notes);
}

eg_status eg_net_save_beside(const eg_net *net, const char *path, const float *value,
                             const float *state, const eg_stored *beside, size_t n_beside,
                             const eg_stored_note *notes, size_t n_notes)
{
    const eg_net_spec *s = eg_net_spec_of(net);
    char options[EG_NET_OPTIONS], input[80], classes[24], side[24];
    EG_TRY(eg_model_print(eg_net_model(net), eg_net_options(net), sizeof options, options));
    snprintf(input, sizeof input, "%" PRId64 "x%" PRId64 "x%" PRId64, s->channels, s->height,
             s->width);
    snprintf(classes, sizeof classes, "%" PRId64, s->classes);
    snprintf(side, sizeof side, "%" PRId64, s->side);
    const eg_stored_note own[NET_NOTES] = {
        {"network", s->model},   {"options", options}, {"input", input},
        {"classes", classes},    {"side", side},       {"version", eg_version()},
        {"commit", eg_commit()},
    };
    eg_stored_note *all;
    EG_TRY(eg_alloc(NET_NOTES + n_notes, sizeof *all, &all));
    memcpy(all, own, sizeof own);
    if (n_notes > 0)
        memcpy(all + NET_NOTES, notes, n_notes * sizeof *notes);
    eg_status status = eg_params_save_beside(eg_net_params(net), path, value, state, beside,
                                             n_beside, all, NET_NOTES + n_notes);
    free(all);
    return status;
}

/* A note that must be there. */
static eg_status net_note(const eg_tensors *file, const char *key, const char **out)
{
    *out = eg_tensors_note(file, key);
    return *out ? EG_OK : eg_fail(EG_EFORMAT, "it has no note '%s' that says what it is", key);
}

static eg_status net_numbers(const eg_tensors *file, eg_net_spec *spec)
{
    const char *input, *classes, *side;
    char rest;
    EG_TRY(net_note(file, "input", &input));
    EG_TRY(net_note(file, "classes", &classes));
    EG_TRY(net_note(file, "side", &side));
    if (sscanf(input, "%" SCNd64 "x%" SCNd64 "x%" SCNd64 "%c", &spec->channels, &spec->height,
               &spec->width, &rest) != 3)
        return eg_fail(EG_EFORMAT, "its note 'input', '%.40s', is not CxHxW", input);
    if (sscanf(classes, "%" SCNd64 "%c", &spec->classes, &rest) != 1)
        return eg_fail(EG_EFORMAT, "its note 'classes', '%.40s', is no number", classes);
    if (sscanf(side, "%" SCNd64 "%c", &spec->side, &rest) != 1)
        return eg_fail(EG_EFORMAT, "its note 'side', '%.40s', is no number", side);
    return EG_OK;
}

eg_status eg_net_of_notes(const eg_tensors *file, eg_net **out)
{
    eg_net_spec spec = {0};
    *out = NULL;
    EG_TRY(net_note(file, "network", &spec.model));
    EG_TRY(net_note(file, "options", &spec.options));
    EG_TRY(net_numbers(file, &spec));
    return eg_net_new(&spec, out);
}

eg_status eg_net_start(const eg_net *net, const char *path, eg_take head, float *value,
                       float *state)
{
    const eg_params *p = eg_net_params(net);
    size_t first, side, n = eg_params_n(p);
    eg_take *take;
    eg_net_heads(net, &first, &side);
    EG_TRY(eg_alloc(n + 1, sizeof *take, &take));
    for (size_t i = first; i < n; i++)
        take[i] = i >= side ? EG_TAKE_NONE : head;
    eg_status s = eg_params_start(p, path, take, value, state);
    free(take);
    return s;
}
