/* generator.c - the list of generators, and a machine of one kind.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/generator.h>

#include "base/base.h"
#include "engine/model/shelf.h"

#include <engram/op.h>

#include <stdio.h>
#include <stdlib.h>

#define X(name) extern const eg_generator_kind eg_generator_##name;
#include "list.inc"
#undef X

const eg_generator_kind *const eg_generator_kinds[] = {
#define X(name) &eg_generator_##name,
#include "list.inc"
#undef X
    NULL,
};
static eg_added generator_added;
const eg_family eg_generator_family = {"generators", "generator", eg_generator_kinds,
                                       &generator_added};

const eg_generator_kind *eg_generator_find(const char *word)
{
    return (const eg_generator_kind *)eg_family_find(&eg_generator_family, word);
}

eg_status eg_generator_add(eg_generator *m, const char *name, const eg_params *table)
{
    EG_ASSERT(m->n_learners < EG_MAX_LEARNERS);
    EG_TRY(eg_learner_new(table, &m->learners[m->n_learners]));
    m->names[m->n_learners++] = name;
    return EG_OK;
}

eg_status eg_generator_program(eg_generator *m, const char *key, eg_recorder record,
                               void *context, eg_program **out)
{
    return eg_shelf_program(m->shelf, key, record, context, out);
}

/* Records the drawing network once, so that its table is complete. */
static eg_status generator_fill_table(eg_generator *m)
{
    eg_graph *g;
    EG_TRY(eg_params_new(&m->drawing));
    EG_TRY(eg_graph_new(&g));
    eg_node *noise = eg_input(g, "noise", eg_dims(2, m->n_noise));
    m->kind->images(m->self, m, g, noise, eg_input(g, "labels", eg_dims(2)));
    eg_status s = eg_graph_status(g);
    eg_graph_free(g);
    return s;
}

static eg_status generator_make(eg_generator *m, const eg_generator_spec *spec)
{
    const eg_component *c = &m->kind->component;
    EG_TRY(eg_alloc(1, sizeof *m->shelf, &m->shelf));
    EG_TRY(eg_component_new(c, &m->self));
    EG_TRY(eg_opts_set_text(c->opts, m->self, spec->options ? spec->options : ""));
    EG_TRY(m->kind->open(m->self, m));
    EG_TRY(generator_fill_table(m));
    EG_TRY(eg_generator_add(m, "generator", m->drawing));
    return m->kind->prepare && !spec->draws_only ? m->kind->prepare(m->self, m) : EG_OK;
}

eg_status eg_generator_new(const eg_generator_spec *spec, eg_generator **out)
{
    *out = NULL;
    const eg_generator_kind *kind = eg_generator_find(spec->kind);
    if (!kind)
        return EG_ENOENT;
    eg_generator *m;
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    m->kind = kind;
    m->channels = spec->channels, m->height = spec->height, m->width = spec->width;
    m->classes = spec->classes;
    m->pixels = m->channels * m->height * m->width;
    eg_status s = generator_make(m, spec);
    if (s != EG_OK) {
        eg_generator_free(m);
        return eg_blame(s, "%s", kind->component.name);
    }
    *out = m;
    return EG_OK;
}

void eg_generator_free(eg_generator *m)
{
    if (!m)
        return;
    if (m->shelf)
        eg_shelf_fini(m->shelf);
    for (size_t i = 0; i < m->n_learners; i++)
        eg_learner_free(m->learners[i]);
    if (m->self && m->kind->fini)
        m->kind->fini(m->self);
    eg_params_free(m->drawing);
    free(m->shelf);
    free(m->self);
    free(m);
}

void eg_generator_init(eg_generator *m, uint64_t seed)
{
    for (size_t i = 0; i < m->n_learners; i++) {
        eg_learner *l = m->learners[i];
        eg_params_init(l->table, seed + i, l->param, l->state);
        if (l->optimizer)
            eg_optimizer_reset(l->optimizer);
    }
}

static eg_status generator_prefix(const eg_generator *m, size_t i, const char *prefix,
                                  char out[128])
{
    int n = snprintf(out, 128, "%s.%s", prefix, m->names[i]);
    return n < 128 ? EG_OK : eg_fail(EG_EINVAL, "the prefix '%.40s...' is too long", prefix);
}

static size_t generator_extent(const eg_generator *m, eg_generator_extent extent)
{
    return extent == EG_DRAWING_ALONE ? 1 : m->n_learners;
}

eg_status eg_generator_keep(const eg_generator *m, const char *prefix,
                            eg_generator_extent extent, eg_bundle *to)
{
    char name[128];
    for (size_t i = 0; i < generator_extent(m, extent); i++) {
        EG_TRY(generator_prefix(m, i, prefix, name));
        EG_TRY(eg_learner_keep(m->learners[i], name, to));
        if (extent == EG_WHOLE_GENERATOR && m->learners[i]->optimizer)
            EG_TRY(eg_learner_keep_optimizer(m->learners[i], name, to));
    }
    return EG_OK;
}

eg_status eg_generator_recall(eg_generator *m, const char *prefix, eg_generator_extent extent,
                              const eg_bundle *from, bool *found)
{
    char name[128];
    *found = false;
    for (size_t i = 0; i < generator_extent(m, extent); i++) {
        EG_TRY(generator_prefix(m, i, prefix, name));
        EG_TRY(eg_learner_recall(m->learners[i], name, from, found));
        if (!*found)
            return i == 0 ? EG_OK
                          : eg_fail(EG_EFORMAT, "the kept generator '%s' lacks its %s", prefix,
                                    m->names[i]);
        if (extent == EG_WHOLE_GENERATOR && m->learners[i]->optimizer)
            EG_TRY(eg_blame(eg_learner_recall_optimizer(m->learners[i], name, from),
                            "the kept generator '%s'", prefix));
    }
    return EG_OK;
}
