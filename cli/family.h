/* family.h - every family of components in one form, for lists and help.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_FAMILY_H
#define EG_CLI_FAMILY_H

#include <engram/opt.h>

typedef struct cli_member {
    const char *name, *help;
    const char *formula; /* of a metric, else NULL */
    const eg_opt *opts;  /* NULL: none */
} cli_member;

typedef struct cli_family {
    const char *plural, *singular;
    bool (*at)(size_t i, cli_member *out); /* the i-th member; false past the last */
    const eg_opt *(*shared)(void);         /* options that every member has; NULL: none */
    bool file; /* the members are an experiment file's sections, listed with their keys */
} cli_family;

extern const cli_family cli_families[]; /* plural is NULL at the end */

#endif
