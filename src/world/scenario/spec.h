/* spec.h - a scenario's description read from nodes of an experiment file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SPEC_H
#define EG_SPEC_H

#include <engram/scenario.h>

#include "io/yaml.h"

/* The value of `scenario:`, a mapping with `kind`; that of `data:`, a name, a mapping with
 * `name`, or a list of these. */
eg_status eg_spec_load_scenario(eg_spec *spec, const eg_yaml *y, const eg_yaml_node *node);
eg_status eg_spec_load_data(eg_spec *spec, const eg_yaml *y, const eg_yaml_node *node);

#endif
