/* apply.c - walks sections of an experiment file and hands each value to the one setter.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/apply.h"

#include "io/yaml.h"
#include "run/experiment/sections.h"
#include "run/experiment/settings.h"

#include <stdio.h>
#include <string.h>

eg_status eg_apply_text(const eg_yaml *y, const eg_yaml_node *node, char out[EG_OPT_TEXT_SIZE])
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

/* A value; of a setting that is numbers also a list. */
static eg_status apply_value(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *node,
                             const char *key)
{
    char list[EG_OPT_TEXT_SIZE];
    const char *text = list;
    const eg_opt *o =
        strncmp(key, "data.", 5) == 0 ? eg_opts_find(eg_settings_of_data, key + 5) : NULL;
    if (node->type == EG_YAML_SEQUENCE && strcmp(key, "model.layers") == 0)
        return eg_apply_layers(e, y, node, key);
    if (o && o->type == EG_OPT_IS_LIST)
        EG_TRY(eg_apply_text(y, node, list));
    else
        EG_TRY(eg_yaml_text(y, node, &text));
    return eg_yaml_blame(y, node, eg_experiment_set(e, key, text));
}

/* Sets "prefix.key" for every child of a mapping but skip (NULL: none), kind and name first:
 * the rest depends on them. */
static eg_status apply_mapping(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *mapping,
                               const char *prefix, const eg_yaml_node *skip)
{
    for (int pass = 0; pass < 3; pass++)
        for (const eg_yaml_node *c = mapping->child; c; c = c->next) {
            bool first = strcmp(c->key, "kind") == 0 || strcmp(c->key, "name") == 0;
            int turn = first ? 0 : c->type == EG_YAML_SCALAR ? 1 : 2;
            char key[EG_OPT_TEXT_SIZE];
            if (turn != pass || c == skip)
                continue;
            int n = snprintf(key, sizeof key, "%s.%s", prefix, c->key);
            if (n < 0 || (size_t)n >= sizeof key)
                return eg_yaml_fail(y, c, EG_EINVAL, "the key is too long");
            if (c->type == EG_YAML_MAPPING && strcmp(key, "scenario.partition") == 0)
                EG_TRY(apply_mapping(e, y, c, key, NULL));
            else
                EG_TRY(apply_value(e, y, c, key));
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
    bool value = strcmp(node->key, "name") == 0 || strcmp(node->key, "scale") == 0;
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
