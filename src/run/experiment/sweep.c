/* sweep.c - the combinations of settings that have several values.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/sweep.h"

#include "run/experiment/apply.h"
#include "run/experiment/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEP_MOST = 1000 };

void eg_sweep_fini(eg_sweep *s)
{
    eg_arena_fini(&s->arena);
    free(s->axes);
    *s = (eg_sweep){0};
}

/* When a key's turn is: what a name replaces must be there before its options are set. */
static int sweep_turn(const char *key)
{
    if (strcmp(key, "scenario.partition") == 0)
        return 1;
    return strcmp(key, "data") == 0 || strcmp(key, "model") == 0 ||
                   strcmp(key, "optimizer") == 0 || strcmp(key, "scenario.kind") == 0
               ? 0
               : 2;
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
        EG_TRY(eg_apply_text(y, c, text));
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
    for (int turn = 0; turn < 3; turn++)
        for (size_t k = 0; k < s->n; k++) {
            const eg_sweep_axis *axis = &s->axes[k];
            if (sweep_turn(axis->key) != turn)
                continue;
            eg_status status = eg_experiment_set(e, axis->key, sweep_value(s, k, i));
            EG_TRY(axis->at ? eg_yaml_blame(y, axis->at, status)
                            : eg_blame(status, "--set %s", axis->key));
        }
    return EG_OK;
}
