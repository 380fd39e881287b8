/* exhibits.c - a file of generators, read and checked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/generator/gallery.h"

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXHIBITS_NAME = 200, EXHIBITS_SIDE = 4096, EXHIBITS_CLASSES = 1 << 24 };

struct eg_exhibits {
    eg_tensors *file;
    eg_generator *machine;
    eg_drawer *who;    /* [n] */
    size_t *n_tensors; /* [n]: found of each */
    size_t n, cap, counts;
};

/* A note that must be there. */
static eg_status exhibits_note(const eg_tensors *file, const char *key, const char **out)
{
    *out = eg_tensors_note(file, key);
    return *out ? EG_OK
                : eg_fail(EG_EFORMAT, "it has no note '%s' that says what it draws", key);
}

static bool exhibits_within(int64_t v, int64_t most)
{
    return v >= 1 && v <= most;
}

/* What the file is of, by its notes. */
static eg_status exhibits_spec(const eg_tensors *file, eg_generator_spec *spec)
{
    const char *shape, *classes;
    char rest;
    *spec = (eg_generator_spec){.draws_only = true};
    EG_TRY(exhibits_note(file, "kind", &spec->kind));
    EG_TRY(exhibits_note(file, "options", &spec->options));
    EG_TRY(exhibits_note(file, "shape", &shape));
    EG_TRY(exhibits_note(file, "classes", &classes));
    if (sscanf(shape, "%" SCNd64 "x%" SCNd64 "x%" SCNd64 "%c", &spec->channels, &spec->height,
               &spec->width, &rest) != 3 ||
        !exhibits_within(spec->channels, EXHIBITS_SIDE) ||
        !exhibits_within(spec->height, EXHIBITS_SIDE) ||
        !exhibits_within(spec->width, EXHIBITS_SIDE))
        return eg_fail(EG_EFORMAT, "its note 'shape', '%.40s', is no CxHxW of images", shape);
    if (sscanf(classes, "%" SCNd64 "%c", &spec->classes, &rest) != 1 ||
        !exhibits_within(spec->classes, EXHIBITS_CLASSES))
        return eg_fail(EG_EFORMAT, "its note 'classes', '%.40s', is no number of classes",
                       classes);
    return EG_OK;
}

/* Reads "word12." at *text and moves it on; -1: it does not begin so. */
static int64_t exhibits_number(const char **text, const char *word)
{
    int64_t number;
    int used = 0;
    size_t n = strlen(word);
    if (strncmp(*text, word, n) != 0 || (*text)[n] < '0' || (*text)[n] > '9' ||
        sscanf(*text + n, "%9" SCNd64 ".%n", &number, &used) != 1 || used == 0)
        return -1;
    *text += n + (size_t)used;
    return number;
}

static const eg_param_info *exhibits_tensor(const eg_params *table, const char *name)
{
    for (size_t i = 0; i < eg_params_n(table); i++)
        if (strcmp(eg_params_at(table, i)->name, name) == 0)
            return eg_params_at(table, i);
    return NULL;
}

/* One more tensor of a drawer, who may be new. */
static eg_status exhibits_count(eg_exhibits *x, eg_drawer who)
{
    size_t i = x->n; /* those of one drawer mostly stand together */
    while (i > 0 && (x->who[i - 1].client != who.client || x->who[i - 1].label != who.label))
        i--;
    if (i == 0) {
        EG_TRY(eg_grow(&x->who, x->n, &x->cap, sizeof *x->who));
        EG_TRY(eg_grow(&x->n_tensors, x->n, &x->counts, sizeof *x->n_tensors));
        x->who[x->n] = who;
        x->n_tensors[x->n] = 0;
        i = ++x->n;
    }
    x->n_tensors[i - 1]++;
    return EG_OK;
}

static bool exhibits_fits(const eg_stored *s, const eg_param_info *t)
{
    bool fits = s->type == EG_STORED_F32 && s->rank == t->shape.rank;
    for (int i = 0; i < s->rank && fits; i++)
        fits = s->dims[i] == t->shape.dim[i];
    return fits;
}

static eg_status exhibits_take(eg_exhibits *x, const eg_stored *s)
{
    const char *counter = ".num_batches_tracked", *name = s->name;
    size_t n = strlen(name), m = strlen(counter);
    if (n > m && strcmp(name + n - m, counter) == 0) /* PyTorch's, of no use here */
        return EG_OK;
    eg_drawer who;
    char want[64];
    who.client = exhibits_number(&name, "client");
    who.label = exhibits_number(&name, "class");
    const eg_param_info *t = exhibits_tensor(x->machine->drawing, name);
    if (!t || strncmp(s->name, eg_drawer_prefix(who).text, (size_t)(name - s->name)) != 0)
        return eg_fail(EG_ESHAPE, "'%.80s' is no tensor of a %s", s->name,
                       x->machine->kind->component.name);
    if (who.label >= x->machine->classes)
        return eg_fail(EG_ESHAPE, "'%.80s' is of a class that is not among its %" PRId64,
                       s->name, x->machine->classes);
    eg_shape_print(t->shape, want);
    if (!exhibits_fits(s, t))
        return eg_fail(EG_ESHAPE, "'%.80s' is not F32 %s", s->name, want);
    return exhibits_count(x, who);
}

static eg_status exhibits_check(eg_exhibits *x)
{
    eg_generator_spec spec;
    EG_TRY(exhibits_spec(x->file, &spec));
    EG_TRY(eg_generator_new(&spec, &x->machine));
    for (size_t i = 0; i < eg_tensors_count(x->file); i++)
        EG_TRY(exhibits_take(x, eg_tensors_at(x->file, i)));
    if (x->n == 0)
        return eg_fail(EG_ESHAPE, "it holds no generator");
    const eg_params *table = x->machine->drawing;
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; x->n_tensors[i] < eg_params_n(table) && k < eg_params_n(table);
             k++) {
            char name[EXHIBITS_NAME];
            snprintf(name, sizeof name, "%s%s", eg_drawer_prefix(x->who[i]).text,
                     eg_params_at(table, k)->name);
            if (!eg_tensors_find(x->file, name))
                return eg_fail(EG_ESHAPE, "'%s' is missing", name);
        }
    return EG_OK;
}

static eg_status exhibits_new(eg_tensors *file, const char *path, eg_exhibits **out)
{
    eg_exhibits *x = calloc(1, sizeof *x);
    if (!x) {
        eg_tensors_free(file);
        return eg_fail(EG_ENOMEM, "no memory for generators");
    }
    x->file = file;
    eg_status s = exhibits_check(x);
    if (s != EG_OK && path)
        eg_blame(s, "%s", path);
    if (s == EG_OK)
        s = eg_tensors_check_finite(file); /* it names the file itself */
    if (s == EG_OK)
        *out = x;
    else
        eg_exhibits_free(x);
    return s;
}

eg_status eg_exhibits_open(const char *path, eg_exhibits **out)
{
    eg_tensors *file;
    *out = NULL;
    EG_TRY(eg_safetensors_load(path, &file));
    return exhibits_new(file, path, out);
}

eg_status eg_exhibits_parse(const void *bytes, size_t n, eg_exhibits **out)
{
    eg_tensors *file;
    *out = NULL;
    EG_TRY(eg_safetensors_parse(bytes, n, &file));
    return exhibits_new(file, NULL, out);
}

void eg_exhibits_free(eg_exhibits *x)
{
    if (!x)
        return;
    eg_generator_free(x->machine);
    eg_tensors_free(x->file);
    free(x->who);
    free(x->n_tensors);
    free(x);
}

size_t eg_exhibits_n(const eg_exhibits *x)
{
    return x->n;
}

eg_drawer eg_exhibits_at(const eg_exhibits *x, size_t i)
{
    return x->who[i];
}

const char *eg_exhibits_note(const eg_exhibits *x, const char *key)
{
    return eg_tensors_note(x->file, key);
}

eg_status eg_exhibits_show(eg_exhibits *x, size_t i, eg_generator **out)
{
    eg_learner *l = x->machine->learners[0];
    for (size_t k = 0; k < eg_params_n(l->table); k++) {
        const eg_param_info *t = eg_params_at(l->table, k);
        char name[EXHIBITS_NAME];
        snprintf(name, sizeof name, "%s%s", eg_drawer_prefix(x->who[i]).text, t->name);
        EG_TRY(eg_tensors_read(x->file, name, t->shape.rank, t->shape.dim,
                               (t->trained ? l->param : l->state) + t->offset));
    }
    *out = x->machine;
    return EG_OK;
}
