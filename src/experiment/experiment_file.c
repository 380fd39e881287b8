/* experiment_file.c - an experiment file: its settings, its runs and what they override.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "experiment/settings.h"

#include "io/config.h"
#include "io/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys every file may have that are no method's name. */
static const char *const file_keys[] = {"name",   "scale", "data",   "model", "scenario",
                                        "memory", "train", "server", "eval",  "runs"};

/* A list of numbers as the text its option takes: "[0.5, 0.4]". */
static eg_status file_set_list(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *node,
                               const char *key)
{
    char list[EG_OPT_TEXT_SIZE] = "[";
    size_t used = 1;
    for (const eg_yaml_node *c = node->child; c; c = c->next) {
        const char *text;
        EG_TRY(eg_config_text(y, c, &text));
        int n = snprintf(list + used, sizeof list - used, "%s%s", text, c->next ? ", " : "]");
        if (n < 0 || (used += (size_t)n) >= sizeof list)
            return eg_yaml_fail(y, c, EG_EINVAL, "the list is too long");
    }
    return eg_yaml_blame(y, node, eg_experiment_set(e, key, list));
}

static eg_status file_set(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *node,
                          const char *key)
{
    const char *text;
    if (node->type == EG_YAML_SEQUENCE &&
        (strcmp(key, "data.mean") == 0 || strcmp(key, "data.std") == 0))
        return file_set_list(e, y, node, key);
    EG_TRY(eg_config_text(y, node, &text));
    return eg_yaml_blame(y, node, eg_experiment_set(e, key, text));
}

/* Sets "prefix.key" for every text in a mapping, kind and name first: the rest depends on them.
 */
static eg_status file_set_all(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *mapping,
                              const char *prefix)
{
    for (int pass = 0; pass < 3; pass++)
        for (const eg_yaml_node *c = mapping->child; c; c = c->next) {
            bool first = strcmp(c->key, "kind") == 0 || strcmp(c->key, "name") == 0;
            int turn = first ? 0 : c->type == EG_YAML_SCALAR ? 1 : 2;
            char key[EG_OPT_TEXT_SIZE];
            if (turn != pass)
                continue;
            int n = snprintf(key, sizeof key, "%s.%s", prefix, c->key);
            if (n < 0 || (size_t)n >= sizeof key)
                return eg_yaml_fail(y, c, EG_EINVAL, "the key is too long");
            if (c->type == EG_YAML_MAPPING)
                EG_TRY(file_set_all(e, y, c, key));
            else
                EG_TRY(file_set(e, y, c, key));
        }
    return EG_OK;
}

static eg_status file_apply(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *node)
{
    if (node->type == EG_YAML_MAPPING)
        return file_set_all(e, y, node, node->key);
    if (node->type == EG_YAML_SCALAR)
        return file_set(e, y, node, node->key);
    if (strcmp(node->key, "data") != 0)
        return eg_yaml_fail(y, node, EG_EINVAL, "'%s' cannot be a list", node->key);
    for (const eg_yaml_node *c = node->child; c; c = c->next)
        EG_TRY(c->type == EG_YAML_MAPPING ? file_set_all(e, y, c, "data")
                                          : file_set(e, y, c, "data"));
    return EG_OK;
}

static bool file_knows(const char *key)
{
    for (size_t i = 0; i < sizeof file_keys / sizeof *file_keys; i++)
        if (strcmp(file_keys[i], key) == 0)
            return true;
    return eg_method_find(key) != NULL;
}

/* The base settings; methods' options last, when the parts are known. */
static eg_status file_apply_base(eg_experiment *e, const eg_yaml *y)
{
    for (const eg_yaml_node *c = eg_yaml_root(y)->child; c; c = c->next) {
        if (!file_knows(c->key))
            return eg_yaml_fail(y, c, EG_EINVAL, "there is no key '%s'", c->key);
        if (strcmp(c->key, "runs") != 0)
            EG_TRY(file_apply(e, y, c));
    }
    return EG_OK;
}

static eg_status file_add_parts(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *method)
{
    if (method->type == EG_YAML_SCALAR)
        return eg_yaml_blame(y, method, eg_experiment_add_part(e, method->text));
    for (const eg_yaml_node *c = method->child; c; c = c->next) {
        const char *text;
        EG_TRY(eg_config_text(y, c, &text));
        EG_TRY(eg_yaml_blame(y, c, eg_experiment_add_part(e, text)));
    }
    return EG_OK;
}

/* Finds a run and checks its keys; label NULL: the first. */
static eg_status file_find_run(const eg_yaml *y, const char *label, const eg_yaml_node **out)
{
    const eg_yaml_node *runs = eg_yaml_get(eg_yaml_root(y), "runs");
    if (!runs || runs->type != EG_YAML_SEQUENCE || !runs->n)
        return eg_yaml_fail(y, runs ? runs : eg_yaml_root(y), runs ? EG_EINVAL : EG_ENOENT,
                            "the file has no list 'runs'");
    for (const eg_yaml_node *r = runs->child; r; r = r->next) {
        const eg_yaml_node *name = eg_yaml_get(r, "label");
        if (!name || !name->text || !*name->text)
            return eg_yaml_fail(y, r, EG_EINVAL, "a run needs a label");
        if (!eg_yaml_get(r, "method"))
            return eg_yaml_fail(y, r, EG_EINVAL, "the run '%s' needs a method", name->text);
        if (!label || strcmp(label, name->text) == 0) {
            *out = r;
            return EG_OK;
        }
    }
    return eg_fail(EG_ENOENT, "%s: there is no run '%s'", eg_yaml_name(y), label);
}

static eg_status file_apply_run(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *run)
{
    for (const eg_yaml_node *c = run->child; c; c = c->next) {
        if (strcmp(c->key, "label") == 0)
            snprintf(e->label, sizeof e->label, "%s", c->text ? c->text : "");
        else if (strcmp(c->key, "overrides") == 0)
            for (const eg_yaml_node *o = c->child; o; o = o->next)
                EG_TRY(file_apply(e, y, o));
        else if (strcmp(c->key, "method") != 0 && strcmp(c->key, "published") != 0)
            return eg_yaml_fail(y, c, EG_EINVAL, "a run has no key '%s'", c->key);
    }
    return EG_OK;
}

static eg_status file_override(eg_experiment *e, const char *pair)
{
    char key[EG_OPT_TEXT_SIZE];
    const char *equals = strchr(pair, '=');
    if (!equals || (size_t)(equals - pair) >= sizeof key)
        return eg_fail(EG_EINVAL, "--set: '%s' is not key=value", pair);
    snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
    return eg_blame(eg_experiment_set(e, key, equals + 1), "--set %s", key);
}

static eg_status file_resolve(eg_experiment *e, const eg_yaml *y, const char *label, size_t n,
                              const char *const *overrides)
{
    const eg_yaml_node *run = NULL;
    EG_TRY(file_find_run(y, label, &run));
    EG_ASSERT(run != NULL);
    EG_TRY(file_add_parts(e, y, eg_yaml_get(run, "method")));
    EG_TRY(file_apply_base(e, y));
    EG_TRY(file_apply_run(e, y, run));
    for (size_t i = 0; i < n; i++)
        EG_TRY(file_override(e, overrides[i]));
    if (!e->name[0] || e->n_sources == 0)
        return eg_fail(EG_EINVAL, "%s: the key '%s' is missing", eg_yaml_name(y),
                       e->name[0] ? "data" : "name");
    EG_TRY(eg_yaml_blame(y, run, eg_experiment_check(e)));
    return eg_experiment_resolve(e);
}

eg_status eg_experiment_load(const char *path, const char *label, size_t n,
                             const char *const *overrides, eg_experiment **out)
{
    *out = NULL;
    eg_yaml *y;
    eg_experiment *e = NULL;
    EG_TRY(eg_yaml_load(path, &y));
    eg_status s = eg_experiment_new(&e);
    if (s == EG_OK)
        s = file_resolve(e, y, label, n, overrides);
    eg_yaml_free(y);
    if (s == EG_OK)
        *out = e;
    else
        eg_experiment_free(e);
    return s;
}

/* Adds a run's label, which no earlier run has. */
static eg_status file_add_label(const eg_yaml *y, const eg_yaml_node *run, eg_run_list *out)
{
    const eg_yaml_node *name = eg_yaml_get(run, "label");
    if (!name || !name->text || !*name->text)
        return eg_yaml_fail(y, run, EG_EINVAL, "a run needs a label");
    for (size_t i = 0; i < out->n; i++)
        if (strcmp(out->labels[i], name->text) == 0)
            return eg_yaml_fail(y, name, EG_EINVAL, "the label '%s' is there twice",
                                name->text);
    if (!(out->labels[out->n] = strdup(name->text)))
        return eg_fail(EG_ENOMEM, "no memory for a label");
    out->n++;
    return EG_OK;
}

eg_status eg_run_list_load(const char *path, eg_run_list *out)
{
    *out = (eg_run_list){0};
    eg_yaml *y;
    const eg_yaml_node *run;
    EG_TRY(eg_yaml_load(path, &y));
    eg_status s = file_find_run(y, NULL, &run);
    const eg_yaml_node *runs = eg_yaml_get(eg_yaml_root(y), "runs");
    if (s == EG_OK)
        s = eg_alloc(runs->n, sizeof *out->labels, &out->labels);
    for (run = s == EG_OK ? runs->child : NULL; run && s == EG_OK; run = run->next)
        s = file_add_label(y, run, out);
    eg_yaml_free(y);
    if (s != EG_OK)
        eg_run_list_free(out);
    return s;
}

void eg_run_list_free(eg_run_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->labels[i]);
    free(list->labels);
    *list = (eg_run_list){0};
}

/* One "metric: [mean, sd]" or "metric: mean", in percent. */
static eg_status file_published(const eg_yaml *y, const eg_yaml_node *node, const char *label,
                                eg_published *out)
{
    double values[2] = {0, -1};
    const eg_yaml_node *at = node->type == EG_YAML_SEQUENCE ? node->child : node;
    for (int i = 0; at && i < 2; i++, at = node->type == EG_YAML_SEQUENCE ? at->next : NULL) {
        char *end;
        if (!at->text || !*at->text)
            return eg_yaml_fail(y, at, EG_EINVAL, "a published figure is a number");
        values[i] = strtod(at->text, &end) / 100;
        if (*end)
            return eg_yaml_fail(y, at, EG_EINVAL, "'%s' is no number", at->text);
    }
    *out = (eg_published){strdup(label), strdup(node->key), values[0], values[1]};
    return out->label && out->metric ? EG_OK : eg_fail(EG_ENOMEM, "no memory for a figure");
}

static eg_status file_all_published(const eg_yaml *y, eg_published **out, size_t *n)
{
    const eg_yaml_node *runs = eg_yaml_get(eg_yaml_root(y), "runs");
    size_t cap = 0;
    for (const eg_yaml_node *r = runs ? runs->child : NULL; r; r = r->next) {
        const eg_yaml_node *label = eg_yaml_get(r, "label");
        const eg_yaml_node *figures = eg_yaml_get(r, "published");
        for (const eg_yaml_node *c = figures ? figures->child : NULL; c; c = c->next) {
            EG_TRY(eg_grow(out, *n, &cap, sizeof **out));
            (*out)[*n] = (eg_published){0};
            EG_TRY(
                file_published(y, c, label && label->text ? label->text : "", &(*out)[(*n)++]));
        }
    }
    return EG_OK;
}

eg_status eg_published_load(const char *path, eg_published **out, size_t *n)
{
    eg_yaml *y;
    *out = NULL;
    *n = 0;
    EG_TRY(eg_yaml_load(path, &y));
    eg_status s = file_all_published(y, out, n);
    eg_yaml_free(y);
    if (s != EG_OK) {
        eg_published_free(*out, *n);
        *out = NULL;
        *n = 0;
    }
    return s;
}

void eg_published_free(eg_published *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((char *)(uintptr_t)list[i].label);
        free((char *)(uintptr_t)list[i].metric);
    }
    free(list);
}
