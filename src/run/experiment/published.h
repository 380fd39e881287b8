/* published.h - the figures of papers in an experiment file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PUBLISHED_H
#define EG_PUBLISHED_H

#include <engram/experiment.h>

#include "io/yaml.h"

typedef struct eg_figures {
    eg_published *list; /* [n], texts borrowed from the document; free() it */
    size_t n, cap;
} eg_figures;

/* Adds the figures of a run: {metric: [mean, sd], metric: mean}, in percent. */
eg_status eg_figures_read(eg_figures *to, const eg_yaml *y, const eg_yaml_node *published,
                          const char *label);

#endif
