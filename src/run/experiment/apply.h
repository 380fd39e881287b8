/* apply.h - settings of an experiment from nodes of its file, and from sweeps over them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A sweep holds what is set beyond a run's own settings: first what `sweep:` of the file and of
 * the run say, then the overrides "key=value". Of two that set one key the later counts. A
 * setting with several values makes a run for each, several such settings one for each
 * combination.
 */
#ifndef EG_APPLY_H
#define EG_APPLY_H

#include "base/base.h"
#include "io/yaml.h"
#include "run/experiment/experiment.h"

/* A child of the file's root or of a run's overrides: "train: {batch: 32}", "scale: 0.5". */
eg_status eg_apply_section(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *node);

/* A list of layers, entry by entry, which the setting "model.layers" takes as one text. */
eg_status eg_apply_layers(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *list,
                          const char *key);

/* The parts of a run: the name of a method, or a list of them. */
eg_status eg_apply_method(eg_experiment *e, const eg_yaml *y, const eg_yaml_node *method);

/* A setting and the values it has in turn. */
typedef struct eg_sweep_axis {
    const char *key;
    const eg_yaml_node *at; /* where it stands in a file; NULL: an override */
    size_t n;
    const char **values; /* [n]; numbers ascend */
} eg_sweep_axis;

typedef struct eg_sweep {
    eg_arena arena; /* of all texts */
    eg_sweep_axis *axes;
    size_t n, cap;
} eg_sweep;

void eg_sweep_fini(eg_sweep *s);

/* The mapping `sweep:`, {optimizer.lr: [0.1, 0.01], model: [cnn, mlp]}. */
eg_status eg_sweep_read(eg_sweep *s, const eg_yaml *y, const eg_yaml_node *mapping);

/* "key=value", or "key=value,value" for a setting that is neither a text nor a list itself. */
eg_status eg_sweep_override(eg_sweep *s, const char *pair);

/* How many combinations there are: at least one. EG_EINVAL: too many. */
eg_status eg_sweep_count(const eg_sweep *s, size_t *out);

/* The label of combination i, the first axis changing last: "label optimizer.lr=0.1". */
eg_status eg_sweep_label(const eg_sweep *s, size_t i, const char *label,
                         char out[EG_LABEL_SIZE]);

/* Sets all of combination i, names of components before their options. */
eg_status eg_sweep_apply(const eg_sweep *s, size_t i, const eg_yaml *y, eg_experiment *e);

#endif
