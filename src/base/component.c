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
    const eg_component *c; /* copied: the array's own type differs from family to family */
    size_t k = 0;
    for (;; k++) {
        memcpy(&c, (const char *)f->members + k * sizeof c, sizeof c);
        if (!c || k == i)
            break;
    }
    return c || !f->added || i - k >= f->added->n ? c : f->added->list[i - k];
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

static size_t component_bytes(const eg_opt *o)
{
    switch (o->type) {
    case EG_OPT_IS_BOOL:
        return sizeof(bool);
    case EG_OPT_IS_TEXT:
        return EG_OPT_TEXT_SIZE;
    case EG_OPT_IS_CHOICE:
        return sizeof(int);
    case EG_OPT_IS_LIST:
        return sizeof(eg_opt_list);
    case EG_OPT_IS_INT:
    case EG_OPT_IS_REAL:
    case EG_OPT_IS_COUNT:
        return sizeof(int64_t);
    }
    return SIZE_MAX / 2; /* no type: it fits nowhere */
}

static bool component_is_name(const char *name)
{
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    return n > 0 && n < EG_NAME_SIZE && !name[n];
}

static eg_status component_check_option(const eg_opt *opts, const eg_opt *o, size_t size)
{
    bool ranged = o->type == EG_OPT_IS_INT || o->type == EG_OPT_IS_REAL;
    bool texted = o->type == EG_OPT_IS_TEXT || o->type == EG_OPT_IS_LIST;
    bool worded = o->type == EG_OPT_IS_CHOICE || o->type == EG_OPT_IS_COUNT;
    if (!component_is_name(o->name) || !o->help)
        return eg_fail(EG_EINVAL, "an option has no good name or no help");
    if (eg_opts_find(opts, o->name) != o)
        return eg_fail(EG_EINVAL, "option '%s' is there twice", o->name);
    if (o->offset > size || component_bytes(o) > size - o->offset)
        return eg_fail(EG_EINVAL, "option '%s' lies outside its struct of %zu bytes", o->name,
                       size);
    if (ranged && !(o->standard >= o->min && o->standard <= o->max))
        return eg_fail(EG_EINVAL, "option '%s': its default %g is outside [%g, %g]", o->name,
                       o->standard, o->min, o->max);
    if ((worded && !o->choices) || (texted && !o->text))
        return eg_fail(EG_EINVAL, "option '%s' has no words or no default", o->name);
    return EG_OK;
}

static eg_status component_check(const eg_component *c)
{
    if (!component_is_name(c->name))
        return eg_fail(EG_EINVAL, "the name '%.40s' is not 1 to %d of a-z, 0-9 and _",
                       c->name ? c->name : "", EG_NAME_SIZE - 1);
    if (!c->help)
        return eg_fail(EG_EINVAL, "'%s' has no help", c->name);
    for (const eg_opt *o = c->opts; o && o->name; o++)
        EG_TRY(eg_blame(component_check_option(c->opts, o, c->size), "'%s'", c->name));
    return EG_OK;
}

eg_status eg_family_add(const eg_family *f, const eg_component *c)
{
    EG_TRY(eg_blame(component_check(c), "a %s", f->singular));
    if (eg_family_find(f, c->name))
        return eg_fail(EG_EINVAL, "there is a %s '%s' already", f->singular, c->name);
    if (!f->added || f->added->n == EG_MAX_ADDED)
        return eg_fail(EG_EINVAL, "no more %s can be added", f->name);
    f->added->list[f->added->n++] = c;
    return EG_OK;
}
