/* family.h - every family of components, and what lists and help say beside its members.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_FAMILY_H
#define EG_CLI_FAMILY_H

#include <engram/component.h>

typedef struct cli_family {
    const eg_family *family;
    const eg_opt *(*shared)(void); /* options that every member has, or NULL */
    const char *(*formula)(const eg_component *one); /* NULL: they have none */
    bool file;       /* the members are an experiment file's sections, listed with their keys */
    const char *key; /* where a file has a member's options: "model"; "": under its own name;
                        NULL: it has none */
} cli_family;

extern const cli_family cli_families[]; /* family is NULL at the end */

#endif
