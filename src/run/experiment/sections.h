/* sections.h - the settings of an experiment file that no component owns.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SECTIONS_H
#define EG_SECTIONS_H

#include <engram/component.h>

typedef struct eg_section {
    eg_component component;
    size_t offset; /* of its struct in an eg_experiment */
} eg_section;

extern const eg_section *const eg_sections[];  /* NULL at the end */
extern const eg_opt eg_settings_of_data[];     /* beside those of the data set */
extern const eg_opt eg_settings_of_model[];    /* beside those of the network */
extern const eg_opt eg_settings_of_all[];      /* at the top of the file */
extern const eg_opt eg_settings_of_pretrain[]; /* a section */

#endif
