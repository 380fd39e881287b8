/* config.c - YAML nodes through the option setter, with their place put before its errors.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/config.h"

eg_status eg_config_text(const eg_yaml *y, const eg_yaml_node *node, const char **out)
{
    if (node->type != EG_YAML_SCALAR)
        return eg_yaml_fail(y, node, EG_EINVAL, "%s: a value is wanted, not a %s",
                            node->key ? node->key : "entry", eg_yaml_type_name(node->type));
    *out = node->text;
    return EG_OK;
}

eg_status eg_config_set(const eg_yaml *y, const eg_yaml_node *node, const eg_opt *opts,
                        void *self)
{
    if (!eg_opts_find(opts, node->key))
        return eg_yaml_fail(y, node, EG_ENOENT, "there is no option '%s'", node->key);
    const char *text = NULL;
    EG_TRY(eg_config_text(y, node, &text));
    return eg_yaml_blame(y, node, eg_opts_set(opts, self, node->key, text));
}

static bool config_listed(const char *key, const char *const *list)
{
    for (; list && *list; list++)
        if (eg_name_equal(*list, key))
            return true;
    return false;
}

eg_status eg_config_apply(const eg_yaml *y, const eg_yaml_node *mapping, const eg_opt *opts,
                          void *self, const char *const *skip)
{
    if (mapping->type != EG_YAML_MAPPING)
        return eg_yaml_fail(y, mapping, EG_EINVAL, "%s: a mapping is wanted, not a %s",
                            mapping->key ? mapping->key : "file",
                            eg_yaml_type_name(mapping->type));
    for (const eg_yaml_node *c = mapping->child; c; c = c->next)
        if (!config_listed(c->key, skip))
            EG_TRY(eg_config_set(y, c, opts, self));
    return EG_OK;
}
