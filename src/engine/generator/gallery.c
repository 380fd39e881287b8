/* gallery.c - drawing networks of one kind, gathered and written.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/generator/gallery.h"

#include "base/base.h"
#include "base/checksum.h"
#include "io/file.h"
#include "io/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GALLERY_NOTES = 6, GALLERY_NAME = 200 };

/* What all generators of a gallery have in common, as notes say it. */
typedef struct gallery_what {
    char kind[64], options[EG_OPT_TEXT_SIZE], shape[80], classes[24];
} gallery_what;

typedef struct gallery_tensor {
    char name[GALLERY_NAME];
    eg_shape shape;
} gallery_tensor;

struct eg_gallery {
    gallery_what what;
    int64_t channels, height, width, n_classes;
    char *path;
    int fd;        /* of a file without a name that has all values so far; -1: there are none */
    eg_sha256 sum; /* of names and values */
    gallery_tensor *tensors; /* [n_tensors] */
    size_t n_tensors, cap_tensors;
    eg_drawer *who; /* [n]: whose they are; all have as many tensors, of the same sizes */
    size_t n, cap;
    bool one; /* those of one client, or of the server, alone */
};

eg_status eg_gallery_new(const char *path, eg_gallery **out)
{
    eg_gallery *g;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *g, &g));
    g->fd = -1;
    eg_sha256_init(&g->sum);
    g->path = strdup(path);
    if (!g->path) {
        free(g);
        return eg_fail(EG_ENOMEM, "%s: no memory for a gallery", path);
    }
    *out = g;
    return EG_OK;
}

void eg_gallery_free(eg_gallery *g)
{
    if (!g)
        return;
    if (g->fd >= 0)
        close(g->fd);
    free(g->tensors);
    free(g->path);
    free(g->who);
    free(g);
}

size_t eg_gallery_n(const eg_gallery *g)
{
    return g->n;
}

void eg_gallery_want_one(eg_gallery *g)
{
    g->one = true;
}

bool eg_gallery_wants(const eg_gallery *g, int64_t client)
{
    return !g->one || g->n == 0 || g->who[0].client == client;
}

eg_drawer eg_gallery_at(const eg_gallery *g, size_t i)
{
    return g->who[i];
}

eg_drawer_name eg_drawer_prefix(eg_drawer who)
{
    eg_drawer_name name;
    char client[EG_DRAWER_NAME / 2] = "", label[EG_DRAWER_NAME / 2] = "";
    if (who.client >= 0)
        snprintf(client, sizeof client, "client%" PRId64 ".", who.client);
    if (who.label >= 0)
        snprintf(label, sizeof label, "class%" PRId64 ".", who.label);
    snprintf(name.text, sizeof name.text, "%s%s", client, label);
    return name;
}

static eg_status gallery_describe(const eg_generator *m, gallery_what *out)
{
    *out = (gallery_what){0};
    snprintf(out->kind, sizeof out->kind, "%s", m->kind->component.name);
    snprintf(out->shape, sizeof out->shape, "%" PRId64 "x%" PRId64 "x%" PRId64, m->channels,
             m->height, m->width);
    snprintf(out->classes, sizeof out->classes, "%" PRId64, m->classes);
    return eg_opts_print_text(m->kind->component.opts, m->self, sizeof out->options,
                              out->options);
}

/* What a gallery is of is what its first generator is of. */
static eg_status gallery_fits(eg_gallery *g, const eg_generator *m)
{
    gallery_what what;
    EG_TRY(gallery_describe(m, &what));
    if (g->n > 0 && memcmp(&what, &g->what, sizeof what) != 0)
        return eg_fail(EG_EINVAL,
                       "a file holds generators of one kind: %s with %s for %s, not %s with %s "
                       "for %s",
                       g->what.kind, g->what.options, g->what.shape, what.kind, what.options,
                       what.shape);
    g->what = what;
    g->channels = m->channels, g->height = m->height, g->width = m->width;
    g->n_classes = m->classes;
    return EG_OK;
}

static eg_status gallery_add_tensor(eg_gallery *g, const char *prefix, const eg_param_info *t,
                                    const float *values)
{
    EG_TRY(eg_grow(&g->tensors, g->n_tensors, &g->cap_tensors, sizeof *g->tensors));
    gallery_tensor *to = &g->tensors[g->n_tensors];
    snprintf(to->name, sizeof to->name, "%s%s", prefix, t->name);
    to->shape = t->shape;
    for (size_t i = 0; i < g->n_tensors; i++)
        if (strcmp(g->tensors[i].name, to->name) == 0)
            return eg_fail(EG_EINVAL, "'%s' is in the gallery already", to->name);
    EG_TRY(eg_file_put(g->fd, g->path, (eg_bytes){values, t->size * sizeof *values}));
    eg_sha256_add(&g->sum, to->name, strlen(to->name) + 1);
    eg_sha256_add(&g->sum, values, t->size * sizeof *values);
    g->n_tensors++;
    return EG_OK;
}

eg_status eg_gallery_add(eg_gallery *g, const eg_generator *m, eg_drawer who)
{
    const eg_learner *l = m->learners[0];
    if (!eg_gallery_wants(g, who.client))
        return EG_OK;
    EG_TRY(gallery_fits(g, m));
    EG_TRY(eg_grow(&g->who, g->n, &g->cap, sizeof *g->who));
    if (g->fd < 0)
        EG_TRY(eg_file_open_scratch(g->path, &g->fd));
    for (size_t i = 0; i < eg_params_n(l->table); i++) {
        const eg_param_info *t = eg_params_at(l->table, i);
        EG_TRY(gallery_add_tensor(g, eg_drawer_prefix(who).text, t,
                                  (t->trained ? l->param : l->state) + t->offset));
    }
    g->who[g->n++] = who;
    return EG_OK;
}

eg_status eg_gallery_machine(const eg_gallery *g, eg_generator **out)
{
    return eg_generator_new(&(eg_generator_spec){.kind = g->what.kind,
                                                 .options = g->what.options,
                                                 .channels = g->channels,
                                                 .height = g->height,
                                                 .width = g->width,
                                                 .classes = g->n_classes,
                                                 .draws_only = true},
                            out);
}

eg_status eg_gallery_show(const eg_gallery *g, size_t i, eg_generator *m)
{
    const eg_learner *l = m->learners[0];
    size_t size = 0, at;
    for (size_t k = 0; k < eg_params_n(l->table); k++)
        size += eg_params_at(l->table, k)->size * sizeof(float);
    at = i * size;
    for (size_t k = 0; k < eg_params_n(l->table); k++) {
        const eg_param_info *t = eg_params_at(l->table, k);
        float *to = (t->trained ? l->param : l->state) + t->offset;
        EG_TRY(eg_file_get_scratch(g->fd, g->path, (int64_t)at, to, t->size * sizeof *to));
        at += t->size * sizeof *to;
    }
    return EG_OK;
}

void eg_gallery_digest(const eg_gallery *g, char out[65])
{
    unsigned char digest[32];
    eg_sha256 h = g->sum; /* which goes on */
    eg_sha256_end(&h, digest);
    eg_sha256_text(digest, out);
}

static eg_status gallery_write(const eg_gallery *g, const eg_stored_note *notes, size_t n_notes,
                               eg_stored *list)
{
    for (size_t i = 0; i < g->n_tensors; i++) {
        const gallery_tensor *t = &g->tensors[i];
        list[i] = (eg_stored){.name = t->name, .type = EG_STORED_F32, .rank = t->shape.rank};
        memcpy(list[i].dims, t->shape.dim, sizeof t->shape.dim);
    }
    return eg_safetensors_save_from(g->fd, g->path, list, g->n_tensors, notes, n_notes);
}

eg_status eg_gallery_save(const eg_gallery *g, const eg_stored_note *notes, size_t n_notes)
{
    const eg_stored_note own[GALLERY_NOTES] = {
        {"kind", g->what.kind},       {"options", g->what.options}, {"shape", g->what.shape},
        {"classes", g->what.classes}, {"version", eg_version()},    {"commit", eg_commit()},
    };
    eg_stored_note *all;
    eg_stored *list = NULL;
    EG_TRY(eg_alloc(GALLERY_NOTES + n_notes, sizeof *all, &all));
    memcpy(all, own, sizeof own);
    if (n_notes > 0)
        memcpy(all + GALLERY_NOTES, notes, n_notes * sizeof *notes);
    eg_status s = eg_alloc(g->n_tensors + 1, sizeof *list, &list);
    if (s == EG_OK)
        s = gallery_write(g, all, GALLERY_NOTES + n_notes, list);
    free(list);
    free(all);
    return s;
}
