/* component.c - a component's state, and the search through a family.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/component.h>

#include "base/base.h"

#include <stdio.h>
#include <string.h>

eg_status eg_component_new(const eg_component *c, void **out)
{
    *out = NULL;
    EG_TRY(eg_blame(eg_alloc(1, c->size ? c->size : 1, out), "%s", c->name));
    eg_opts_init(c->opts, *out);
    return EG_OK;
}

eg_status eg_component_copy(const eg_component *c, const void *from, void **out)
{
    EG_TRY(eg_component_new(c, out));
    if (c->size)
        memcpy(*out, from, c->size);
    return EG_OK;
}

const eg_component *eg_family_at(const eg_family *f, size_t i)
{
    const eg_component
        *c; /* copied, since the array's own type differs from family to family */
    for (size_t k = 0;; k++) {
        memcpy(&c, (const char *)f->members + k * sizeof c, sizeof c);
        if (!c || k == i)
            return c;
    }
}

void eg_family_offer(const eg_family *f, eg_suggestion *s)
{
    const eg_component *c;
    for (size_t i = 0; (c = eg_family_at(f, i)); i++)
        eg_suggest_offer(s, c->name);
}

/* Says that a member is not there. */
static void component_miss(const eg_family *f, const char *word)
{
    char names[768] = "";
    const eg_component *c;
    eg_suggestion near = eg_suggest(word);
    eg_family_offer(f, &near);
    for (size_t i = 0; (c = eg_family_at(f, i)); i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", c->name);
    }
    if (*near.best)
        eg_fail(EG_ENOENT, "there is no %s '%s'%s", f->singular, word, eg_suggest_words(&near));
    else
        eg_fail(EG_ENOENT, "there is no %s '%.100s'; there are %s", f->singular, word, names);
}

const eg_component *eg_family_find(const eg_family *f, const char *word)
{
    const eg_component *c;
    for (size_t i = 0; (c = eg_family_at(f, i)); i++)
        if (eg_name_equal(c->name, word))
            return c;
    component_miss(f, word);
    return NULL;
}
