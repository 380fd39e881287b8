/* apply.h - settings of an experiment from nodes of its file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_APPLY_H
#define EG_APPLY_H

#include "io/yaml.h"
#include "run/experiment/experiment.h"

/* A child of the file's root or of a run's overrides: "train: {batch: 32}", "scale: 0.5". */
eg_status eg_apply_section(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *node);

/* The text of a value; of a list "[a, b]". */
eg_status eg_apply_text(const eg_yaml *y, const eg_yaml_node *node, char out[EG_OPT_TEXT_SIZE]);

/* A list of layers, entry by entry, which the setting "model.layers" takes as one text. */
eg_status eg_apply_layers(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *list,
                          const char *key);

/* The parts of a run: the name of a method, or a list of them. */
eg_status eg_apply_method(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *method);

#endif
