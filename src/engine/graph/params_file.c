/* params_file.c - a network's tensors in safetensors files, with PyTorch's names.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/params.h>
#include <engram/safetensors.h>

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

eg_status eg_params_save_beside(const eg_params *p, const char *path, const float *value,
                                const float *state, const eg_stored *beside, size_t n_beside,
                                const eg_stored_note *notes, size_t n_notes)
{
    size_t n = eg_params_n(p);
    eg_stored *list = calloc(n + n_beside + 1, sizeof *list);
    if (!list)
        return eg_fail(EG_ENOMEM, "no memory for %zu tensors", n + n_beside);
    for (size_t i = 0; i < n; i++) {
        const eg_param_info *t = eg_params_at(p, i);
        list[i] = (eg_stored){.name = t->name,
                              .type = EG_STORED_F32,
                              .rank = t->shape.rank,
                              .bytes = eg_param_values(t, value, state)};
        memcpy(list[i].dims, t->shape.dim, sizeof t->shape.dim);
    }
    if (n_beside > 0)
        memcpy(list + n, beside, n_beside * sizeof *beside);
    eg_status s = eg_safetensors_save(path, list, n + n_beside, notes, n_notes);
    free(list);
    return s;
}

eg_status eg_params_save(const eg_params *p, const char *path, const float *value,
                         const float *state, const eg_stored_note *notes, size_t n_notes)
{
    return eg_params_save_beside(p, path, value, state, NULL, 0, notes, n_notes);
}

/* Whether the network uses a tensor of a file, or passes over it: one that stands beside, or
 * one of PyTorch's counters. */
static bool params_knows(const eg_params *p, const eg_params_wish *w, const char *name)
{
    const char *counter = ".num_batches_tracked";
    size_t n = strlen(name), m = strlen(counter);
    bool known = (n > m && strcmp(name + n - m, counter) == 0) ||
                 strncmp(name, EG_BESIDE, strlen(EG_BESIDE)) == 0;
    for (size_t i = 0; w->passes && w->passes[i] && !known; i++)
        known = strncmp(name, w->passes[i], strlen(w->passes[i])) == 0;
    for (size_t i = 0; i < eg_params_n(p) && !known; i++)
        known = strcmp(eg_params_at(p, i)->name, name) == 0;
    return known;
}

enum { PARAMS_NAMED = 8 };

/* What does not fit, as one text: the first few by name. */
typedef struct params_misfits {
    size_t n, used;
    char text[700];
} params_misfits;

static void params_misfit(params_misfits *m, const char *name, const char *why)
{
    if (m->n++ >= PARAMS_NAMED || m->used + 1 >= sizeof m->text)
        return;
    int n = snprintf(m->text + m->used, sizeof m->text - m->used, "%s'%.60s' %s",
                     m->used ? ", " : "", name, why);
    m->used += n > 0 ? (size_t)n : 0;
    m->used = m->used < sizeof m->text ? m->used : sizeof m->text - 1;
}

static bool params_fits(const eg_param_info *t, const eg_stored *s, eg_take take)
{
    bool fits = s->rank == t->shape.rank;
    for (int i = 0; i < s->rank && fits; i++)
        fits = s->dims[i] == t->shape.dim[i] ||
               (i == 0 && take == EG_TAKE_ROWS && s->dims[0] > t->shape.dim[0]);
    return fits;
}

/* Whether the wish's own way makes a tensor of another shape fit; or makes it, into out. */
static bool params_refit(const eg_params_wish *w, const eg_param_info *t, const eg_stored *s,
                         float *out)
{
    const eg_fit fit = {
        .from = eg_shape_of(s->rank <= EG_MAX_RANK ? s->rank : 0, s->dims),
        .to = t->shape,
        .values = s->bytes,
        .out = out,
    };
    return w->fit && s->rank <= EG_MAX_RANK && s->type == EG_STORED_F32 &&
           w->fit(w->context, t->name, &fit);
}

static eg_take params_take(const eg_params_wish *w, size_t i)
{
    return w->take ? w->take[i] : EG_TAKE_ALL;
}

/* Notes a tensor of the network that cannot be taken from the file. */
static void params_compare(params_misfits *m, const eg_tensors *file, const eg_param_info *t,
                           eg_take take, const eg_params_wish *wish)
{
    const eg_stored *s = eg_tensors_find(file, t->name);
    char why[200], want[64], have[64] = "of another rank";
    if (!s) {
        params_misfit(m, t->name, "is missing");
    } else if (!params_fits(t, s, take) && !params_refit(wish, t, s, NULL)) {
        eg_shape_print(t->shape, want);
        if (s->rank <= EG_MAX_RANK)
            eg_shape_print(eg_shape_of(s->rank, s->dims), have);
        snprintf(why, sizeof why, "is %s, not %s%s", have, want,
                 take == EG_TAKE_ROWS ? " or of more rows" : "");
        params_misfit(m, t->name, why);
    } else if (s->type != EG_STORED_F32) {
        snprintf(why, sizeof why, "holds %s, not F32", eg_stored_type_text(s->type));
        params_misfit(m, t->name, why);
    }
}

static eg_status params_check(const eg_params *p, const char *path, const eg_tensors *file,
                              const eg_params_wish *wish)
{
    params_misfits wrong = {0};
    EG_TRY(eg_tensors_check_finite(file));
    for (size_t i = 0; i < eg_params_n(p); i++)
        if (params_take(wish, i) != EG_TAKE_NONE)
            params_compare(&wrong, file, eg_params_at(p, i), params_take(wish, i), wish);
    for (size_t i = 0; i < eg_tensors_count(file) && !wish->extra; i++)
        if (!params_knows(p, wish, eg_tensors_at(file, i)->name))
            params_misfit(&wrong, eg_tensors_at(file, i)->name, "is none of the network's");
    if (wrong.n == 0)
        return EG_OK;
    return eg_fail(EG_ESHAPE, "%s: %zu tensor%s not fit: %s%s", path, wrong.n,
                   wrong.n > 1 ? "s do" : " does", wrong.text,
                   wrong.n > PARAMS_NAMED ? ", ..." : "");
}

eg_status eg_params_start(const eg_params *p, const char *path, const eg_params_wish *wish,
                          float *value, float *state)
{
    eg_tensors *file;
    EG_TRY(eg_safetensors_load(path, &file));
    eg_status s = eg_tensors_simplify(file);
    if (s == EG_OK)
        s = params_check(p, path, file, wish); /* a bad file changes nothing */
    for (size_t i = 0; i < eg_params_n(p) && s == EG_OK; i++) {
        const eg_param_info *t = eg_params_at(p, i);
        if (params_take(wish, i) == EG_TAKE_NONE)
            continue;
        const eg_stored *from = eg_tensors_find(file, t->name);
        EG_ASSERT(from != NULL); /* it was compared */
        float *to = eg_param_place(t, value, state);
        if (params_fits(t, from, params_take(wish, i)))
            memcpy(to, from->bytes, t->size * sizeof *to); /* the first rows stand first */
        else
            params_refit(wish, t, from, to);
    }
    for (size_t i = 0; i < eg_tensors_count(file) && s == EG_OK && wish->extra; i++)
        if (!params_knows(p, wish, eg_tensors_at(file, i)->name))
            wish->extra(wish->told, eg_tensors_at(file, i)->name);
    eg_tensors_free(file);
    return s;
}

eg_status eg_params_load(const eg_params *p, const char *path, float *value, float *state)
{
    return eg_params_start(p, path, &(eg_params_wish){0}, value, state);
}
