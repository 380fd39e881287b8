/* settings.c - what tells groups of one label apart: the settings in which they differ.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/group.h"

#include "io/yaml.h"

#include <stdio.h>
#include <string.h>

enum { SETTINGS_SHOWN = 2, SETTINGS_VALUE = 16, SETTINGS_HASH = 8 };

/* config.yaml as a flat list: {"optimizer.lr", "0.1"}. */
typedef struct settings {
    eg_differing *list; /* [n] in the file's order */
    size_t n, cap;
    eg_arena *arena;
} settings;

static eg_status settings_add(settings *s, const char *key, const char *value)
{
    if (s->n == s->cap) { /* the old list stays in the arena, which is small and soon freed */
        size_t cap = s->cap ? 2 * s->cap : 64;
        eg_differing *list = eg_arena_alloc(s->arena, cap * sizeof *list);
        if (!list)
            return EG_ENOMEM;
        if (s->n > 0)
            memcpy(list, s->list, s->n * sizeof *list);
        s->list = list;
        s->cap = cap;
    }
    s->list[s->n++] = (eg_differing){.key = key, .value = value};
    return EG_OK;
}

static bool settings_plain(const eg_yaml_node *sequence)
{
    for (const eg_yaml_node *c = sequence->child; c; c = c->next)
        if (c->type != EG_YAML_SCALAR)
            return false;
    return true;
}

/* The name of a child. A sequence of one has no numbers, and `runs` holds this run only, so
 * that keys read as they are written after --set. */
static const char *settings_key(settings *s, const char *path, const eg_yaml_node *parent,
                                const eg_yaml_node *child, size_t number)
{
    if (child->key && strcmp(path, "runs") == 0)
        return child->key;
    if (child->key)
        return *path ? eg_arena_text(s->arena, "%s.%s", path, child->key) : child->key;
    return parent->n == 1 ? path : eg_arena_text(s->arena, "%s.%zu", path, number);
}

static eg_status settings_of_node(settings *s, const char *path, const eg_yaml_node *node)
{
    if (node->type == EG_YAML_SCALAR) {
        const char *key = eg_arena_text(s->arena, "%s", path);
        const char *value = eg_arena_text(s->arena, "%s", node->text);
        return key && value ? settings_add(s, key, value) : EG_ENOMEM;
    }
    if (node->type == EG_YAML_SEQUENCE && settings_plain(node)) {
        const char *all = "";
        for (const eg_yaml_node *c = node->child; c && all; c = c->next)
            all = eg_arena_text(s->arena, "%s%s%s", all, c == node->child ? "" : "+", c->text);
        const char *key = eg_arena_text(s->arena, "%s", path);
        return key && all ? settings_add(s, key, all) : EG_ENOMEM;
    }
    size_t number = 1;
    for (const eg_yaml_node *c = node->child; c; c = c->next, number++) {
        const char *key = settings_key(s, path, node, c, number);
        if (!key)
            return EG_ENOMEM;
        EG_TRY(settings_of_node(s, key, c));
    }
    return EG_OK;
}

/* A file that is missing or that cannot be read as YAML has no settings. */
static eg_status settings_read(settings *s, const eg_run *r)
{
    eg_yaml *y;
    if (!r->config || eg_yaml_parse(r->dir, r->config, strlen(r->config), &y) != EG_OK)
        return EG_OK;
    eg_status status = settings_of_node(s, "", eg_yaml_root(y));
    eg_yaml_free(y);
    return status;
}

eg_status eg_run_settings(eg_arena *a, const eg_run *r, const eg_differing **out, size_t *n)
{
    settings s = {.arena = a};
    EG_TRY(settings_read(&s, r));
    *out = s.list;
    *n = s.n;
    return EG_OK;
}

/* The value of a key; the same place is looked at first, for the files are much alike. */
static const char *settings_value(const settings *s, const char *key, size_t place)
{
    if (place < s->n && strcmp(s->list[place].key, key) == 0)
        return s->list[place].value;
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->list[i].key, key) == 0)
            return s->list[i].value;
    return NULL;
}

static bool settings_same_label(const eg_group *a, const eg_group *b)
{
    return strcmp(a->run[0]->start->name, b->run[0]->start->name) == 0 &&
           strcmp(a->run[0]->start->label, b->run[0]->start->label) == 0;
}

static bool settings_equal(const char *a, const char *b) /* NULL: the key is missing */
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* How many values the groups of i's label have for i's setting k; one if all agree. */
static size_t settings_values(const eg_groups *g, const settings *all, size_t i, size_t k)
{
    const char *key = all[i].list[k].key;
    size_t n = 0;
    for (size_t j = 0; j < g->n; j++) {
        if (!settings_same_label(&g->group[i], &g->group[j]))
            continue;
        const char *value = settings_value(&all[j], key, k);
        bool seen = false;
        for (size_t before = 0; before < j && !seen; before++)
            seen = settings_same_label(&g->group[i], &g->group[before]) &&
                   settings_equal(value, settings_value(&all[before], key, k));
        n += !seen;
    }
    return n;
}

/* "optimizer.lr=0.05, er.batch=32, …". */
static eg_status settings_suffix(eg_groups *g, eg_group *group)
{
    const char *text = "";
    for (size_t i = 0; i < group->n_differing && i < SETTINGS_SHOWN && text; i++) {
        const eg_differing *d = &group->differing[i];
        size_t shown = eg_show_begin(d->value, SETTINGS_VALUE);
        text = eg_arena_text(&g->arena, "%s%s%s=%.*s%s", text, i ? ", " : "", d->key,
                             (int)shown, d->value, d->value[shown] ? "…" : "");
    }
    if (text && group->n_differing > SETTINGS_SHOWN)
        text = eg_arena_text(&g->arena, "%s, …", text);
    group->apart = text;
    return text ? EG_OK : EG_ENOMEM;
}

static eg_status settings_of_group(eg_groups *g, const settings *all, size_t i)
{
    eg_group *group = &g->group[i];
    eg_differing *list = eg_arena_alloc(&g->arena, (all[i].n + 1) * sizeof *list);
    if (!list)
        return EG_ENOMEM;
    group->differing = list;
    for (size_t k = 0; k < all[i].n; k++) {
        eg_differing s = all[i].list[k];
        s.n_values = settings_values(g, all, i, k);
        if (s.n_values == 1)
            continue;
        size_t at = group->n_differing++;
        for (; at > 0 && list[at - 1].n_values < s.n_values; at--)
            list[at] = list[at - 1];
        list[at] = s;
    }
    return settings_suffix(g, group);
}

/* What every run has of its own. */
static bool settings_is_name(const char *key)
{
    return strcmp(key, "label") == 0 || strcmp(key, "method") == 0;
}

eg_status eg_groups_between(eg_arena *a, const eg_group *one, const eg_group *other,
                            const char **keys, size_t *n)
{
    settings mine = {.arena = a}, theirs = {.arena = a};
    EG_TRY(settings_read(&mine, one->run[0]));
    EG_TRY(settings_read(&theirs, other->run[0]));
    *keys = "";
    *n = 0;
    for (size_t k = 0; k < mine.n && *keys; k++) {
        const char *key = mine.list[k].key, *value = settings_value(&theirs, key, k);
        if (settings_is_name(key) || !value || strcmp(value, mine.list[k].value) == 0)
            continue;
        *keys = eg_arena_text(a, "%s%s%s", *keys, (*n)++ ? ", " : "", key);
    }
    return *keys ? EG_OK : EG_ENOMEM;
}

static bool settings_alone(const eg_groups *g, size_t i)
{
    for (size_t j = 0; j < g->n; j++)
        if (j != i && settings_same_label(&g->group[i], &g->group[j]))
            return false;
    return true;
}

/* Whether what is shown of i's settings tells it from the others of its label. */
static bool settings_tell(const eg_groups *g, size_t i)
{
    if (!*g->group[i].apart)
        return false;
    for (size_t j = 0; j < g->n; j++)
        if (j != i && settings_same_label(&g->group[i], &g->group[j]) &&
            strcmp(g->group[i].apart, g->group[j].apart) == 0)
            return false;
    return true;
}

eg_status eg_groups_tell_apart(eg_groups *g)
{
    settings *all = eg_arena_alloc(&g->arena, g->n * sizeof *all);
    bool *told = eg_arena_alloc(&g->arena, g->n * sizeof *told);
    if (!all || !told)
        return EG_ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        all[i].arena = &g->arena;
        g->group[i].apart = "";
        if (!settings_alone(g, i))
            EG_TRY(settings_read(&all[i], g->group[i].run[0]));
    }
    for (size_t i = 0; i < g->n; i++)
        if (!settings_alone(g, i))
            EG_TRY(settings_of_group(g, all, i));
    for (size_t i = 0; i < g->n; i++)
        told[i] = settings_alone(g, i) || settings_tell(g, i);
    for (size_t i = 0; i < g->n; i++)
        if (!told[i]) {
            g->group[i].apart = eg_arena_text(&g->arena, "%.*s", SETTINGS_HASH,
                                              g->group[i].run[0]->start->config_sha256);
            if (!g->group[i].apart)
                return EG_ENOMEM;
        }
    return EG_OK;
}
