/* config.h - a mapping of a YAML file applied to an option table, by the setter --set uses too.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CONFIG_H
#define EG_CONFIG_H

#include <engram/opt.h>

#include "io/yaml.h"

/* Sets one option from one node, which must be a text. Unknown name, wrong type and value out
 * of range are errors with file, line and column. */
eg_status eg_config_set(const eg_yaml *y, const eg_yaml_node *node, const eg_opt *opts,
                        void *self);

/* Sets every child of a mapping, but those whose keys are in skip (a NULL-ended list or NULL).
 */
eg_status eg_config_apply(const eg_yaml *y, const eg_yaml_node *mapping, const eg_opt *opts,
                          void *self, const char *const *skip);

/* The text of a scalar node; anything else is an error that names the key. */
eg_status eg_config_text(const eg_yaml *y, const eg_yaml_node *node, const char **out);

#endif
