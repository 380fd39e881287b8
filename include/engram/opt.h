/* engram/opt.h - options: one table row holds name, default, range and help.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A component's options are fields of its state struct. From the rows come the defaults, the
 * setter that files and --set share, the errors, the help text and the resolved configuration:
 * nothing is said twice.
 */
#ifndef EG_OPT_H
#define EG_OPT_H

#include <engram/base.h>

#pragma GCC visibility push(default)

/* The room of a text option, and of any value when printed, the closing zero included. A list
 * of layers is the longest. */
#define EG_OPT_TEXT_SIZE 2048

typedef enum eg_opt_type {
    EG_OPT_IS_INT,    /* int64_t */
    EG_OPT_IS_REAL,   /* double */
    EG_OPT_IS_BOOL,   /* bool */
    EG_OPT_IS_TEXT,   /* char[EG_OPT_TEXT_SIZE] */
    EG_OPT_IS_CHOICE, /* int: the index of the chosen word */
    EG_OPT_IS_COUNT,  /* int64_t: a number from 1 on; or 0, -1, -2... for the words in turn */
} eg_opt_type;

typedef struct eg_opt {
    const char *name;
    const char *help;
    eg_opt_type type;
    size_t offset;       /* of the field, in bytes */
    double standard;     /* the default; of a choice its index, of a count as in its field */
    const char *text;    /* the default of a text */
    double min, max;     /* both ends allowed */
    const char *choices; /* "paper|release" */
} eg_opt;

// clang-format off
#define EG_OPT_INT(self, field, def, lo, hi, words) \
    {#field, words, EG_OPT_IS_INT, offsetof(self, field), def, NULL, lo, hi, NULL}
#define EG_OPT_REAL(self, field, def, lo, hi, words) \
    {#field, words, EG_OPT_IS_REAL, offsetof(self, field), def, NULL, lo, hi, NULL}
#define EG_OPT_BOOL(self, field, def, words) \
    {#field, words, EG_OPT_IS_BOOL, offsetof(self, field), def, NULL, 0, 1, NULL}
#define EG_OPT_TEXT(self, field, def, words) \
    {#field, words, EG_OPT_IS_TEXT, offsetof(self, field), 0, def, 0, 0, NULL}
#define EG_OPT_CHOICE(self, field, def, words, list) \
    {#field, words, EG_OPT_IS_CHOICE, offsetof(self, field), def, NULL, 0, 0, list}
#define EG_OPT_COUNT(self, field, def, hi, words, list) \
    {#field, words, EG_OPT_IS_COUNT, offsetof(self, field), def, NULL, 1, hi, list}
#define EG_OPT_END {NULL, NULL, EG_OPT_IS_INT, 0, 0, NULL, 0, 0, NULL}
// clang-format on

/* Fills every option field of self with its default. opts may be NULL: no options. */
void eg_opts_init(const eg_opt *opts, void *self);

/* Sets one option from text. EG_ENOENT: no such name; EG_EINVAL: not a value of the option's
 * type or outside its range ("lambda: -1 is outside [0, 1e+09]"). Dashes in name count as
 * underscores. */
eg_status eg_opts_set(const eg_opt *opts, void *self, const char *name, const char *value);

/* The row with this name, or NULL. */
const eg_opt *eg_opts_find(const eg_opt *opts, const char *name);

/* Writes the value in the form eg_opts_set reads. */
void eg_opt_print(const eg_opt *o, const void *self, char out[EG_OPT_TEXT_SIZE]);

/* Writes type, default and range: "real, 0.01, 0 to 1000". */
void eg_opt_describe(const eg_opt *o, char out[EG_OPT_TEXT_SIZE]);

/* True when a user's word names a component: "fed-a-gem" is fed_a_gem, "der++" is derpp. */
bool eg_name_equal(const char *name, const char *word);

#pragma GCC visibility pop

#endif
