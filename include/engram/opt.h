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
#ifdef __cplusplus
extern "C" {
#endif

/* The room of a text option, and of any value when printed, the closing zero included. A list
 * of layers is the longest. */
#define EG_OPT_TEXT_SIZE 2048
#define EG_OPT_LIST_SIZE 16

/* The value of a list option. */
typedef struct eg_opt_list {
    int64_t n; /* at least 1 */
    double value[EG_OPT_LIST_SIZE];
} eg_opt_list;

typedef enum eg_opt_type {
    EG_OPT_IS_INT,    /* int64_t */
    EG_OPT_IS_REAL,   /* double */
    EG_OPT_IS_BOOL,   /* bool */
    EG_OPT_IS_TEXT,   /* char[EG_OPT_TEXT_SIZE] */
    EG_OPT_IS_CHOICE, /* int: the index of the chosen word */
    EG_OPT_IS_COUNT,  /* int64_t: a number from 1 on; or 0, -1, -2... for the words in turn */
    EG_OPT_IS_LIST,   /* eg_opt_list: one number or several */
} eg_opt_type;

typedef struct eg_opt {
    const char *name;
    const char *help;
    eg_opt_type type;
    size_t offset;       /* of the field, in bytes */
    double standard;     /* the default; of a choice its index, of a count as in its field */
    const char *text;    /* the default of a text or a list */
    double min, max;     /* both ends allowed; of every number of a list */
    const char *choices; /* "paper|release" */
    int64_t most;        /* numbers a list may hold, up to EG_OPT_LIST_SIZE */
} eg_opt;

/* A row for a field of the struct `self`; the _AS forms give a name that is not the field's. */
// clang-format off
#define EG_OPT_INT_AS(word, self, field, def, lo, hi, words) \
    {.name = word, .help = words, .type = EG_OPT_IS_INT, .offset = offsetof(self, field), \
     .standard = def, .min = lo, .max = hi}
#define EG_OPT_REAL_AS(word, self, field, def, lo, hi, words) \
    {.name = word, .help = words, .type = EG_OPT_IS_REAL, .offset = offsetof(self, field), \
     .standard = def, .min = lo, .max = hi}
#define EG_OPT_CHOICE_AS(word, self, field, def, words, list) \
    {.name = word, .help = words, .type = EG_OPT_IS_CHOICE, .offset = offsetof(self, field), \
     .standard = def, .choices = list}
#define EG_OPT_INT(self, field, def, lo, hi, words) \
    EG_OPT_INT_AS(#field, self, field, def, lo, hi, words)
#define EG_OPT_REAL(self, field, def, lo, hi, words) \
    EG_OPT_REAL_AS(#field, self, field, def, lo, hi, words)
#define EG_OPT_CHOICE(self, field, def, words, list) \
    EG_OPT_CHOICE_AS(#field, self, field, def, words, list)
#define EG_OPT_BOOL(self, field, def, words) \
    {.name = #field, .help = words, .type = EG_OPT_IS_BOOL, .offset = offsetof(self, field), \
     .standard = def, .max = 1}
#define EG_OPT_TEXT(self, field, def, words) \
    {.name = #field, .help = words, .type = EG_OPT_IS_TEXT, .offset = offsetof(self, field), \
     .text = def}
#define EG_OPT_COUNT(self, field, def, hi, words, list) \
    {.name = #field, .help = words, .type = EG_OPT_IS_COUNT, .offset = offsetof(self, field), \
     .standard = def, .min = 1, .max = hi, .choices = list}
#define EG_OPT_LIST(self, field, longest, def, lo, hi, words) \
    {.name = #field, .help = words, .type = EG_OPT_IS_LIST, .offset = offsetof(self, field), \
     .text = def, .min = lo, .max = hi, .most = longest}
#define EG_OPT_END {.name = NULL}
// clang-format on

/* Fills every option field of self with its default. opts may be NULL: no options. */
void eg_opts_init(const eg_opt *opts, void *self);

/* Sets one option from text. EG_ENOENT: no such name; EG_EINVAL: not a value of the option's
 * type or outside its range ("lambda: -1 is outside [0, 1e+09]"). Dashes in name count as
 * underscores. */
eg_status eg_opts_set(const eg_opt *opts, void *self, const char *name, const char *value);

/* Sets every "name=value" of a text, blanks between. A value in brackets may have blanks
 * itself: "layers=[conv 8 k3, relu] init=he". */
eg_status eg_opts_set_text(const eg_opt *opts, void *self, const char *text);

/* Writes all options as eg_opts_set_text takes them. EG_EINVAL: they need more room. */
eg_status eg_opts_print_text(const eg_opt *opts, const void *self, size_t room, char *out);

/* The row with this name, or NULL. */
const eg_opt *eg_opts_find(const eg_opt *opts, const char *name);

/* The same for a real option, without a detour over text. EG_ENOENT: there is none. */
eg_status eg_opts_set_real(const eg_opt *opts, void *self, const char *name, double value);
/* The value of a real option; false, and 0, if there is none of this name. */
bool eg_opts_get_real(const eg_opt *opts, const void *self, const char *name, double *out);

/* Writes the value in the form eg_opts_set reads. */
void eg_opt_print(const eg_opt *o, const void *self, char out[EG_OPT_TEXT_SIZE]);

/* Writes type, default and range: "real, 0.01, 0 to 1000". */
void eg_opt_describe(const eg_opt *o, char out[EG_OPT_TEXT_SIZE]);

/* True when a user's word names a component: "fed-a-gem" is fed_a_gem, "der++" is derpp. */
bool eg_name_equal(const char *name, const char *word);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
