/* settings.h - how an experiment is put together: by its file's reader, key by key.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SETTINGS_H
#define EG_SETTINGS_H

#include "run/experiment/experiment.h"

typedef struct eg_section {
    eg_component component;
    size_t offset; /* of its struct in an eg_experiment */
    bool quiet;    /* not in the resolved text while all is as by default */
} eg_section;

/* What settings are called elsewhere; both NULL at the end. */
typedef struct eg_known_word {
    const char *word, *setting;
} eg_known_word;
extern const eg_known_word eg_known_words[];

/* The settings of the file that no component owns. */
extern const eg_section *const eg_sections[];  /* NULL at the end */
extern const eg_opt eg_settings_of_data[];     /* beside those of the data set */
extern const eg_opt eg_settings_of_model[];    /* beside those of the network */
extern const eg_opt eg_settings_of_all[];      /* at the top of the file */
extern const eg_opt eg_settings_of_pretrain[]; /* a section */

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
/* True if a comma belongs to the setting's value: it is a text, or a list of numbers. */
bool eg_setting_is_text(const char *key);
/* EG_EINVAL: too long, or characters that a line of text cannot have: config.yaml and the names
 * of folders must hold it. */
eg_status eg_setting_check_text(const char *name, const char *text, size_t room);
/* hint.c. EG_ENOENT of an unknown setting: adds to the error text what was meant, if that is
 * known. Every other status passes untouched. */
eg_status eg_setting_hint(eg_status s, const eg_experiment *e, const char *key);
/* What no single setting can tell: parts that exclude each other or lack something. */
eg_status eg_experiment_check(const eg_experiment *e);
/* Writes the resolved text and its hash. */
eg_status eg_experiment_resolve(eg_experiment *e);

#endif
