/* settings.h - how an experiment is put together: by its file's reader, key by key.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SETTINGS_H
#define EG_SETTINGS_H

#include <engram/transform.h>

#include "run/experiment/experiment.h"

eg_status eg_experiment_new(eg_experiment **out);
/* Parts come first, then settings; a data source's name before its options. */
eg_status eg_experiment_add_part(eg_experiment *e, const char *word);
eg_status eg_experiment_add_source(eg_experiment *e, const char *word);
void eg_experiment_drop_sources(eg_experiment *e);
/* Another network in place of the one there was, whose options go with it. */
eg_status eg_experiment_set_model(eg_experiment *e, const char *word);
/* "optimizer.lr" = "0.1"; "data", "model" or "optimizer" alone is the name, and replaces what
 * there was. */
eg_status eg_experiment_set(eg_experiment *e, const char *key, const char *value);
/* The optimiser's "name", which is set first, or one of its options. */
eg_status eg_experiment_set_optimizer(eg_experiment *e, const char *name, const char *value);
/* True if a comma belongs to the setting's value: it is a text, or a list of numbers. */
bool eg_setting_is_text(const char *key);
/* EG_EINVAL: too long, or characters that a line of text cannot have: config.yaml and the names
 * of folders must hold it. */
eg_status eg_setting_check_text(const char *name, const char *text, size_t room);
/* What no single setting can tell: parts that exclude each other or lack something. */
eg_status eg_experiment_check(const eg_experiment *e);
/* The means and deviations of the data's options, into a transform. */
eg_status eg_experiment_norm(const eg_data_opts *o, eg_transform *how);
/* Writes the resolved text and its hash. */
eg_status eg_experiment_resolve(eg_experiment *e);

#endif
