/* net_file.c - nets in safetensors files: notes that say what net it is; first values of one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base.h"
#include "engine/model/net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NET_NOTES = 9 }; /* the last two of a net with a graft alone */

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
    char options[EG_NET_OPTIONS], graft[EG_NET_OPTIONS] = "", input[80], classes[24], side[24];
    const eg_graft *of = eg_net_graft(net);
    size_t n_own = NET_NOTES - (of->of ? 0 : 2);
    if (of->of)
        EG_TRY(eg_opts_print_text(of->of->opts, of->options, sizeof graft, graft));
    EG_TRY(eg_model_print(eg_net_model(net), eg_net_options(net), sizeof options, options));
    const int64_t *x = eg_net_input(net);
    snprintf(input, sizeof input, "%" PRId64 "x%" PRId64 "x%" PRId64, x[0], x[1], x[2]);
    snprintf(classes, sizeof classes, "%" PRId64, s->classes);
    snprintf(side, sizeof side, "%" PRId64, s->side);
    const eg_stored_note own[NET_NOTES] = {
        {"network", s->model},    {"options", options},
        {"input", input},         {"classes", classes},
        {"side", side},           {"version", eg_version()},
        {"commit", eg_commit()},  {"graft", of->of ? of->of->name : ""},
        {"graft_options", graft},
    };
    eg_stored_note *all;
    EG_TRY(eg_alloc(NET_NOTES + n_notes, sizeof *all, &all));
    memcpy(all, own, n_own * sizeof *own);
    if (n_notes > 0)
        memcpy(all + n_own, notes, n_notes * sizeof *notes);
    eg_status status = eg_params_save_beside(eg_net_params(net), path, value, state, beside,
                                             n_beside, all, n_own + n_notes);
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
    const char *graft = eg_tensors_note(file, "graft");
    *out = NULL;
    if (graft)
        return eg_fail(EG_ENOTSUP, "its network has parts of the method '%.40s'", graft);
    return eg_net_of_notes_grafted(file, NULL, out);
}

eg_status eg_net_of_notes_grafted(const eg_tensors *file, const eg_graft *graft, eg_net **out)
{
    eg_net_spec spec = {0};
    *out = NULL;
    EG_TRY(net_note(file, "network", &spec.model));
    EG_TRY(net_note(file, "options", &spec.options));
    EG_TRY(net_numbers(file, &spec));
    return eg_net_new_grafted(&spec, graft, out);
}

/* Whether a tensor is of the net's graft. */
static bool net_is_grafted(const eg_net *net, const char *tensor)
{
    const eg_component *of = eg_net_graft(net)->of;
    size_t n = of ? strlen(of->name) : 0;
    return of && strncmp(tensor, of->name, n) == 0 && tensor[n] == '.';
}

/* Names that are left out, as far as there is room. */
typedef struct net_left {
    char *text;
    size_t room, used;
} net_left;

static void net_leave_out(void *told, const char *name)
{
    net_left *left = told;
    size_t rest = left->room - left->used;
    if (left->used + 5 >= left->room) /* the dots are there */
        return;
    int n = snprintf(left->text + left->used, rest, "%s'%.60s'", left->used ? ", " : "", name);
    if (n < 0 || (size_t)n + 6 >= rest)
        n = snprintf(left->text + left->used, rest, "%s", rest > 5 ? ", ..." : ""),
        left->room = left->used + (size_t)n;
    left->used += (size_t)n;
}

static eg_status net_take(const eg_net *net, const char *path, eg_take head, net_left *left,
                          float *value, float *state)
{
    const eg_params *p = eg_net_params(net);
    size_t first, side, n = eg_params_n(p);
    eg_take *take;
    eg_net_heads(net, &first, &side);
    EG_TRY(eg_alloc(n + 1, sizeof *take, &take));
    for (size_t i = first; i < n; i++)
        take[i] = i >= side ? EG_TAKE_NONE : head;
    for (size_t i = 0; i < first; i++)
        if (net_is_grafted(net, eg_params_at(p, i)->name))
            take[i] = EG_TAKE_NONE;
    const eg_model *m = eg_net_model(net);
    const eg_params_wish wish = {.take = take,
                                 .fit = m->fit,
                                 .context = eg_net_options(net),
                                 .passes = m->passes,
                                 .extra = left ? net_leave_out : NULL,
                                 .told = left};
    eg_status s = eg_params_start(p, path, &wish, value, state);
    free(take);
    return s;
}

/* The same; if the head alone is in the way, this is said. Nothing was changed then, and the
 * copies that are tried on go. */
static eg_status net_start(const eg_net *net, const char *path, eg_take head, net_left *left,
                           float *value, float *state)
{
    char why[1024];
    float *scratch = NULL, *scratch_state = NULL;
    eg_status s = net_take(net, path, head, left, value, state);
    if (s != EG_ESHAPE || head == EG_TAKE_NONE)
        return s;
    snprintf(why, sizeof why, "%s", eg_error());
    bool fits = eg_params_alloc(eg_net_params(net), &scratch) == EG_OK &&
                eg_state_alloc(eg_net_params(net), &scratch_state) == EG_OK &&
                net_take(net, path, EG_TAKE_NONE, NULL, scratch, scratch_state) == EG_OK;
    free(scratch);
    free(scratch_state);
    return eg_fail(s, "%s%s", why,
                   fits ? "; all but the last layer fits: model.head: fresh draws that one"
                        : "");
}

eg_status eg_net_start(const eg_net *net, const char *path, eg_take head, float *value,
                       float *state)
{
    return net_start(net, path, head, NULL, value, state);
}

eg_status eg_net_start_loosely(const eg_net *net, const char *path, eg_take head, float *value,
                               float *state, size_t room, char *left)
{
    net_left names = {left, room, 0};
    left[0] = 0;
    return net_start(net, path, head, &names, value, state);
}
