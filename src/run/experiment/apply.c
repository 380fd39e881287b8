/* apply.c - hands the values of an experiment file to the one setter: its sections, a run's
 * overrides, a model's list of layers, and the combinations of a sweep.
 * SPDX-License-Identifier: Apache-2.0
 *
 * YAML's list of layers becomes the text that the model reads: "[conv 8 k3, residual [relu]]".
 * The text so far is read after each entry, so that a mistake is told at its line and column.
 */
#include "run/experiment/apply.h"

#include "run/experiment/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of a value; of a list "[a, b]". */
static eg_status apply_text(const eg_yaml *y, const eg_yaml_node *node,
                            char out[EG_OPT_TEXT_SIZE])
{
    bool list = node->type == EG_YAML_SEQUENCE;
    size_t used = 0;
    for (const eg_yaml_node *c = list ? node->child : node; c; c = list ? c->next : NULL) {
        const char *text;
        EG_TRY(eg_yaml_text(y, c, &text));
        int n = snprintf(out + used, EG_OPT_TEXT_SIZE - used, "%s%s%s",
                         list && used == 0 ? "[" : "", text,
                         !list     ? ""
                         : c->next ? ", "
                                   : "]");
        if (n < 0 || (used += (size_t)n) >= EG_OPT_TEXT_SIZE)
            return eg_yaml_fail(y, c, EG_EINVAL, "more than %d characters",
                                EG_OPT_TEXT_SIZE - 1);
    }
    return used ? EG_OK : eg_yaml_fail(y, node, EG_EINVAL, "a value is wanted");
}

/* A value; of a setting that is numbers, or names of tensors, also a list. */
static eg_status apply_value(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *node,
                             const char *key)
{
    char list[EG_OPT_TEXT_SIZE];
    const char *text = list;
    const eg_opt *o =
        strncmp(key, "data.", 5) == 0 ? eg_opts_find(eg_settings_of_data, key + 5) : NULL;
    if (node->type == EG_YAML_SEQUENCE && strcmp(key, "model.layers") == 0)
        return eg_apply_layers(e, y, node, key);
    if ((o && o->type == EG_OPT_IS_LIST) || strcmp(key, "model.train") == 0)
        EG_TRY(apply_text(y, node, list));
    else
        EG_TRY(eg_yaml_text(y, node, &text));
    return eg_yaml_blame(y, node, eg_experiment_set(e, key, text));
}

/* When a child of a mapping is set: kind and name first, since the rest depends on them.
 * Options of a model may fit each other only when all are there, in whichever order they stand:
 * they are tried first, where a mistake counts for nothing yet, and then set. */
enum { APPLY_NAME, APPLY_TRY, APPLY_SET, APPLY_LISTS, APPLY_TURNS };

static bool apply_has_turn(const eg_yaml_node *c, bool model, int turn)
{
    if (strcmp(c->key, "kind") == 0 || strcmp(c->key, "name") == 0)
        return turn == APPLY_NAME;
    if (c->type != EG_YAML_SCALAR)
        return turn == APPLY_LISTS;
    return turn == APPLY_SET || (model && turn == APPLY_TRY);
}

/* Sets "prefix.key" for every child of a mapping but skip (NULL: none). */
static eg_status apply_mapping(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *mapping,
                               const char *prefix, const eg_yaml_node *skip)
{
    bool model = strcmp(prefix, "model") == 0;
    for (int turn = 0; turn < APPLY_TURNS; turn++)
        for (const eg_yaml_node *c = mapping->child; c; c = c->next) {
            char key[EG_OPT_TEXT_SIZE];
            if (!apply_has_turn(c, model, turn) || c == skip)
                continue;
            int n = snprintf(key, sizeof key, "%s.%s", prefix, c->key);
            if (n < 0 || (size_t)n >= sizeof key)
                return eg_yaml_fail(y, c, EG_EINVAL, "the key is too long");
            bool nested = c->type == EG_YAML_MAPPING && strcmp(key, "scenario.partition") == 0;
            eg_status s =
                nested ? apply_mapping(e, y, c, key, NULL) : apply_value(e, y, c, key);
            if (turn != APPLY_TRY)
                EG_TRY(s);
        }
    return EG_OK;
}

/* One source of several: its name, or a mapping with it. */
static eg_status apply_source(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *node)
{
    const eg_yaml_node *name = node->type == EG_YAML_MAPPING ? eg_yaml_get(node, "name") : node;
    const char *text;
    if (!name)
        return eg_yaml_fail(y, node, EG_EINVAL, "data: the key 'name' is missing");
    EG_TRY(eg_yaml_text(y, name, &text));
    EG_TRY(eg_yaml_blame(y, name, eg_experiment_add_source(e, text)));
    return node == name ? EG_OK : apply_mapping(e, y, node, "data", name);
}

eg_status eg_apply_section(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *node)
{
    bool data = strcmp(node->key, "data") == 0;
    bool named = data || strcmp(node->key, "model") == 0 || strcmp(node->key, "optimizer") == 0;
    bool value = strcmp(node->key, "name") == 0 || eg_opts_find(eg_settings_of_all, node->key);
    named |= strcmp(node->key, "secure") == 0; /* its kind alone */
    if (value || (named && node->type == EG_YAML_SCALAR))
        return apply_value(e, y, node, node->key);
    if (node->type == EG_YAML_MAPPING)
        return apply_mapping(e, y, node, node->key, NULL);
    if (!data)
        return eg_yaml_fail(y, node, EG_EINVAL, "%s: a mapping is wanted, not a %s", node->key,
                            eg_yaml_type_name(node->type));
    eg_experiment_drop_sources(e);
    for (const eg_yaml_node *c = node->child; c; c = c->next)
        EG_TRY(apply_source(e, y, c));
    return EG_OK;
}

eg_status eg_apply_method(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *method)
{
    if (method->type == EG_YAML_SCALAR)
        return eg_yaml_blame(y, method, eg_experiment_add_part(e, method->text));
    for (const eg_yaml_node *c = method->child; c; c = c->next)
        EG_TRY(eg_yaml_blame(y, c, eg_experiment_add_part(e, c->text)));
    return EG_OK;
}

typedef struct layers_writer {
    const eg_yaml *y;
    char text[EG_OPT_TEXT_SIZE]; /* so far */
    size_t used;
    int open; /* brackets */
    size_t n; /* entries */
    eg_mark at[EG_MAX_LAYERS];
} layers_writer;

static eg_status layers_put(layers_writer *w, const eg_yaml_node *at, const char *text)
{
    size_t n = strlen(text);
    if (w->used + n + EG_MAX_LAYERS_DEPTH >= sizeof w->text)
        return eg_yaml_fail(w->y, at, EG_EINVAL,
                            "the list of layers is longer than %d characters",
                            EG_OPT_TEXT_SIZE - 1);
    memcpy(w->text + w->used, text, n + 1);
    w->used += n;
    return EG_OK;
}

/* Reads what there is, brackets closed, and notes where the new entries stand. */
static eg_status layers_read(layers_writer *w, const eg_yaml_node *at)
{
    eg_layer_list list;
    memset(w->text + w->used, ']', (size_t)w->open);
    w->text[w->used + (size_t)w->open] = 0;
    eg_status s = eg_yaml_blame(w->y, at, eg_layers_parse(w->text, &list));
    w->text[w->used] = 0;
    while (s == EG_OK && w->n < list.n)
        w->at[w->n++] = (eg_mark){at->line, at->column};
    return s;
}

static eg_status layers_list(layers_writer *w, const eg_yaml_node *list);

/* "conv 8 k3", or "residual: [...]". */
static eg_status layers_entry(layers_writer *w, const eg_yaml_node *node)
{
    const eg_yaml_node *inside = node->type == EG_YAML_MAPPING ? node->child : NULL;
    if (node->type == EG_YAML_SCALAR) {
        EG_TRY(layers_put(w, node, node->text));
        return layers_read(w, node);
    }
    if (!inside || node->n != 1 || strcmp(inside->key, "residual") != 0 ||
        inside->type != EG_YAML_SEQUENCE)
        return eg_yaml_fail(w->y, node, EG_EINVAL,
                            "a layer is a text, as 'conv 32 k3', or 'residual: [...]'");
    if (w->n < EG_MAX_LAYERS)
        w->at[w->n++] = (eg_mark){node->line, node->column};
    EG_TRY(layers_put(w, node, "residual "));
    return layers_list(w, inside);
}

static eg_status layers_list(layers_writer *w, const eg_yaml_node *list)
{
    if (w->open == EG_MAX_LAYERS_DEPTH)
        return eg_yaml_fail(w->y, list, EG_EINVAL, "residuals lie more than %d deep",
                            EG_MAX_LAYERS_DEPTH - 1);
    w->open++;
    EG_TRY(layers_put(w, list, "["));
    for (const eg_yaml_node *c = list->child; c; c = c->next) {
        EG_TRY(layers_put(w, c, c == list->child ? "" : ", "));
        EG_TRY(layers_entry(w, c));
    }
    w->open--;
    return layers_put(w, list, "]");
}

eg_status eg_apply_layers(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *list,
                          const char *key)
{
    layers_writer w = {.y = y};
    EG_TRY(layers_list(&w, list));
    EG_TRY(eg_yaml_blame(y, list, eg_experiment_set(e, key, w.text)));
    snprintf(e->layers_file, sizeof e->layers_file, "%s", eg_yaml_name(y));
    memcpy(e->layers_at, w.at, sizeof w.at);
    e->layers = (eg_marks){.file = e->layers_file, .n = w.n, .at = e->layers_at};
    return EG_OK;
}

enum { SWEEP_MOST = 1000 };

void eg_sweep_fini(eg_sweep *s)
{
    eg_arena_fini(&s->arena);
    free(s->axes);
    *s = (eg_sweep){0};
}

/* When a key's turn is: what a name replaces must be there before its options are set. Options
 * of a model have one before, where a mistake counts for nothing yet, as in a mapping. */
static int sweep_turn(const char *key)
{
    if (strcmp(key, "scenario.partition") == 0)
        return 1;
    return strcmp(key, "data") == 0 || strcmp(key, "model") == 0 ||
                   strcmp(key, "optimizer") == 0 || strcmp(key, "scenario.kind") == 0
               ? 0
               : 3;
}

/* The shorter name of a setting that has two. */
static const char *sweep_key(const char *key)
{
    static const char *const pairs[][2] = {{"data.name", "data"},
                                           {"model.name", "model"},
                                           {"optimizer.name", "optimizer"},
                                           {"scenario.partition.kind", "scenario.partition"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i][0], key) == 0)
            return pairs[i][1];
    return key;
}

/* A new axis with room for n values, in place of an earlier one with its key. */
static eg_status sweep_add(eg_sweep *s, const char *key, size_t n, eg_sweep_axis **out)
{
    size_t kept = 0;
    key = sweep_key(key);
    for (size_t i = 0; i < s->n; i++)
        if (!eg_yaml_same_key(s->axes[i].key, key))
            s->axes[kept++] = s->axes[i];
    s->n = kept;
    EG_TRY(eg_grow(&s->axes, s->n, &s->cap, sizeof *s->axes));
    eg_sweep_axis *axis = &s->axes[s->n];
    *axis = (eg_sweep_axis){.key = eg_arena_text(&s->arena, "%s", key),
                            .values = eg_arena_alloc(&s->arena, n * sizeof *axis->values)};
    if (!axis->key || !axis->values)
        return EG_ENOMEM;
    s->n++;
    *out = axis;
    return EG_OK;
}

static eg_status sweep_add_value(eg_sweep *s, eg_sweep_axis *axis, const char *text, size_t n)
{
    const char *value = eg_arena_text(&s->arena, "%.*s", (int)n, text);
    if (!value)
        return EG_ENOMEM;
    axis->values[axis->n++] = value;
    return EG_OK;
}

static bool sweep_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end;
}

static int sweep_compare(const void *a, const void *b)
{
    double x, y;
    sweep_number(*(const char *const *)a, &x);
    sweep_number(*(const char *const *)b, &y);
    return (x > y) - (x < y);
}

/* Numbers come in ascending order; nothing may be there twice. */
static eg_status sweep_sort(eg_sweep_axis *axis)
{
    bool numbers = true;
    double x, y;
    for (size_t i = 0; i < axis->n; i++)
        numbers &= sweep_number(axis->values[i], &x);
    if (numbers)
        qsort(axis->values, axis->n, sizeof *axis->values, sweep_compare);
    for (size_t i = 0; i < axis->n; i++)
        for (size_t k = 0; k < i; k++) {
            bool same = numbers ? sweep_number(axis->values[i], &x) &&
                                      sweep_number(axis->values[k], &y) && x == y
                                : strcmp(axis->values[i], axis->values[k]) == 0;
            if (same)
                return eg_fail(EG_EINVAL, "%s: %s is there twice", axis->key, axis->values[i]);
        }
    return EG_OK;
}

/* One key of `sweep:` with a value or a list of them. */
static eg_status sweep_read_axis(eg_sweep *s, const eg_yaml *y, const eg_yaml_node *node)
{
    eg_sweep_axis *axis = NULL;
    bool list = node->type == EG_YAML_SEQUENCE;
    if (node->type == EG_YAML_MAPPING || (list && node->n == 0))
        return eg_yaml_fail(y, node, EG_EINVAL,
                            "a sweep has settings with their dots and lists of values: "
                            "{optimizer.lr: [0.1, 0.01]}");
    EG_TRY(sweep_add(s, node->key, list ? node->n : 1, &axis));
    axis->at = node;
    for (const eg_yaml_node *c = list ? node->child : node; c; c = list ? c->next : NULL) {
        char text[EG_OPT_TEXT_SIZE];
        EG_TRY(apply_text(y, c, text));
        EG_TRY(sweep_add_value(s, axis, text, strlen(text)));
    }
    return eg_yaml_blame(y, node, sweep_sort(axis));
}

eg_status eg_sweep_read(eg_sweep *s, const eg_yaml *y, const eg_yaml_node *mapping)
{
    if (mapping->type != EG_YAML_MAPPING)
        return eg_yaml_fail(y, mapping, EG_EINVAL, "sweep: a mapping is wanted, not a %s",
                            eg_yaml_type_name(mapping->type));
    for (const eg_yaml_node *c = mapping->child; c; c = c->next)
        EG_TRY(sweep_read_axis(s, y, c));
    return EG_OK;
}

eg_status eg_sweep_override(eg_sweep *s, const char *pair)
{
    char key[EG_OPT_TEXT_SIZE];
    const char *equals = strchr(pair, '=');
    size_t length = equals ? (size_t)(equals - pair) : 0, n = 1;
    if (length == 0 || length >= sizeof key)
        return eg_fail(EG_EINVAL, "--set: '%s' is not key=value", pair);
    snprintf(key, sizeof key, "%.*s", (int)length, pair);
    bool whole = eg_setting_is_text(key);
    for (const char *c = equals; *c; c++)
        n += *c == ',' && !whole;
    eg_sweep_axis *axis = NULL;
    EG_TRY(sweep_add(s, key, n, &axis));
    const char *at = equals + 1;
    for (size_t i = 0; i < n; i++) {
        size_t size = whole ? strlen(at) : strcspn(at, ",");
        EG_TRY(sweep_add_value(s, axis, at, size));
        at += size + 1;
    }
    return eg_blame(sweep_sort(axis), "--set");
}

eg_status eg_sweep_count(const eg_sweep *s, size_t *out)
{
    *out = 1;
    for (size_t i = 0; i < s->n; i++) {
        if (s->axes[i].n > SWEEP_MOST / *out)
            return eg_fail(EG_EINVAL, "the sweep has more than %d combinations", SWEEP_MOST);
        *out *= s->axes[i].n;
    }
    return EG_OK;
}

/* The value of an axis in combination i. */
static const char *sweep_value(const eg_sweep *s, size_t axis, size_t i)
{
    for (size_t k = s->n; --k > axis;)
        i /= s->axes[k].n;
    return s->axes[axis].values[i % s->axes[axis].n];
}

eg_status eg_sweep_label(const eg_sweep *s, size_t i, const char *label,
                         char out[EG_LABEL_SIZE])
{
    int n = snprintf(out, EG_LABEL_SIZE, "%s", label);
    for (size_t k = 0; k < s->n && n < EG_LABEL_SIZE; k++)
        if (s->axes[k].n > 1)
            n += snprintf(out + n, EG_LABEL_SIZE - (size_t)n, " %s=%s", s->axes[k].key,
                          sweep_value(s, k, i));
    return n < EG_LABEL_SIZE ? EG_OK
                             : eg_fail(EG_EINVAL,
                                       "the label '%s' with the values of its "
                                       "sweep is longer than %d characters",
                                       label, EG_LABEL_SIZE - 1);
}

eg_status eg_sweep_apply(const eg_sweep *s, size_t i, const eg_yaml *y, eg_experiment *e)
{
    for (int turn = 0; turn < 4; turn++)
        for (size_t k = 0; k < s->n; k++) {
            const eg_sweep_axis *axis = &s->axes[k];
            bool tried = turn == 2 && strncmp(axis->key, "model.", 6) == 0;
            if (sweep_turn(axis->key) != turn && !tried)
                continue;
            eg_status status = eg_experiment_set(e, axis->key, sweep_value(s, k, i));
            if (tried)
                continue;
            EG_TRY(axis->at ? eg_yaml_blame(y, axis->at, status)
                            : eg_blame(status, "--set %s", axis->key));
        }
    return EG_OK;
}
