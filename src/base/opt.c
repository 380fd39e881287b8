/* opt.c - option tables: defaults, one setter for files and flags, and their printed form.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base.h"

#include <engram/opt.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *opt_field(const eg_opt *o, void *self)
{
    return (char *)self + o->offset;
}

bool eg_name_equal(const char *name, const char *word)
{
    for (; *name && *word; name++, word++) {
        char c = *word == '-' ? '_' : *word;
        if (c == '+')
            c = 'p';
        if (c != *name)
            return false;
    }
    return *name == *word;
}

const eg_opt *eg_opts_find(const eg_opt *opts, const char *name)
{
    for (const eg_opt *o = opts; o && o->name; o++)
        if (eg_name_equal(o->name, name))
            return o;
    return NULL;
}

static eg_status opt_set_number(const eg_opt *o, void *field, const char *value)
{
    char *end;
    double v = strtod(value, &end);
    if (end == value || *end || !isfinite(v) || isspace((unsigned char)*value))
        return eg_fail(EG_EINVAL, "%s: '%s' is not a number", o->name, value);
    if (v < o->min || v > o->max)
        return eg_fail(EG_EINVAL, "%s: %s is outside [%g, %g]", o->name, value, o->min, o->max);
    if (o->type == EG_OPT_IS_REAL) {
        *(double *)field = v;
        return EG_OK;
    }
    errno = 0;
    long long whole = strtoll(value, &end, 10);
    if (*end) { /* 1e3 is a whole number too */
        if (v != floor(v) || fabs(v) > 0x1p53)
            return eg_fail(EG_EINVAL, "%s: '%s' is not a whole number", o->name, value);
        whole = (long long)v;
    } else if (errno == ERANGE) {
        return eg_fail(EG_EINVAL, "%s: %s is too large", o->name, value);
    }
    *(int64_t *)field = whole;
    return EG_OK;
}

static eg_status opt_refuse_list(const eg_opt *o, const char *value)
{
    return eg_fail(EG_EINVAL, "%s: '%s' is neither a number nor a list of up to %lld", o->name,
                   value, (long long)o->most);
}

static const char *opt_skip_blanks(const char *at)
{
    return at + strspn(at, " ");
}

/* Reads "0.5" or "[0.5, 0.4, 0.3]", the brackets left out or not. */
static eg_status opt_set_list(const eg_opt *o, eg_opt_list *field, const char *value)
{
    eg_opt_list list = {0};
    const char *at = opt_skip_blanks(value);
    bool bracket = *at == '[';
    EG_ASSERT(o->most <= EG_OPT_LIST_SIZE);
    at += bracket;
    while (list.n < o->most) {
        char *end;
        double v = strtod(at, &end);
        if (end == at || !isfinite(v))
            return opt_refuse_list(o, value);
        if (v < o->min || v > o->max)
            return eg_fail(EG_EINVAL, "%s: %g is outside [%g, %g]", o->name, v, o->min, o->max);
        list.value[list.n++] = v;
        at = opt_skip_blanks(end);
        if (*at != ',')
            break;
        at++;
    }
    if ((bracket && *at++ != ']') || *opt_skip_blanks(at))
        return opt_refuse_list(o, value);
    *field = list;
    return EG_OK;
}

/* The index of word in "a|b|c", or -1. */
static int opt_choice_index(const char *choices, const char *word)
{
    size_t n = strlen(word);
    int index = 0;
    for (const char *c = choices;; index++) {
        size_t length = strcspn(c, "|");
        if (length == n && n > 0 && strncmp(c, word, n) == 0)
            return index;
        if (c[length] == 0)
            return -1;
        c += length + 1;
    }
}

/* A word, or else a number. */
static eg_status opt_set_count(const eg_opt *o, void *field, const char *value)
{
    int index = opt_choice_index(o->choices, value);
    if (index < 0 && !isdigit((unsigned char)*value) && *value != '-' && *value != '+')
        return eg_fail(EG_EINVAL, "%s: '%s' is neither a number nor one of %s", o->name, value,
                       o->choices);
    if (index < 0)
        return opt_set_number(o, field, value);
    *(int64_t *)field = -index;
    return EG_OK;
}

void eg_opts_init(const eg_opt *opts, void *self)
{
    for (const eg_opt *o = opts; o && o->name; o++) {
        void *field = opt_field(o, self);
        eg_status status;
        switch (o->type) {
        case EG_OPT_IS_INT:
        case EG_OPT_IS_COUNT:
            *(int64_t *)field = (int64_t)o->standard;
            break;
        case EG_OPT_IS_REAL:
            *(double *)field = o->standard;
            break;
        case EG_OPT_IS_BOOL:
            *(bool *)field = o->standard != 0;
            break;
        case EG_OPT_IS_TEXT:
            snprintf(field, EG_OPT_TEXT_SIZE, "%s", o->text);
            break;
        case EG_OPT_IS_CHOICE:
            *(int *)field = (int)o->standard;
            break;
        case EG_OPT_IS_LIST:
            status = opt_set_list(o, field, o->text);
            EG_ASSERT(status == EG_OK);
            break;
        }
    }
}

eg_status eg_opts_set(const eg_opt *opts, void *self, const char *name, const char *value)
{
    const eg_opt *o = eg_opts_find(opts, name);
    if (!o)
        return eg_fail(EG_ENOENT, "there is no option '%s'", name);
    void *field = opt_field(o, self);
    switch (o->type) {
    case EG_OPT_IS_INT:
    case EG_OPT_IS_REAL:
        return opt_set_number(o, field, value);
    case EG_OPT_IS_BOOL:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return eg_fail(EG_EINVAL, "%s: '%s' is neither true nor false", o->name, value);
        *(bool *)field = *value == 't';
        return EG_OK;
    case EG_OPT_IS_TEXT:
        if (strlen(value) >= EG_OPT_TEXT_SIZE)
            return eg_fail(EG_EINVAL, "%s: the text is longer than %d characters", o->name,
                           EG_OPT_TEXT_SIZE - 1);
        snprintf(field, EG_OPT_TEXT_SIZE, "%s", value);
        return EG_OK;
    case EG_OPT_IS_CHOICE: {
        int index = opt_choice_index(o->choices, value);
        if (index < 0)
            return eg_fail(EG_EINVAL, "%s: '%s' is none of %s", o->name, value, o->choices);
        *(int *)field = index;
        return EG_OK;
    }
    case EG_OPT_IS_COUNT:
        return opt_set_count(o, field, value);
    case EG_OPT_IS_LIST:
        return opt_set_list(o, field, value);
    }
    return EG_OK;
}

static const eg_opt *opt_find_real(const eg_opt *opts, const char *name)
{
    const eg_opt *o = eg_opts_find(opts, name);
    return o && o->type == EG_OPT_IS_REAL ? o : NULL;
}

eg_status eg_opts_set_real(const eg_opt *opts, void *self, const char *name, double value)
{
    const eg_opt *o = opt_find_real(opts, name);
    if (!o)
        return eg_fail(EG_ENOENT, "there is no option '%s' that is a real number", name);
    if (!(value >= o->min && value <= o->max))
        return eg_fail(EG_EINVAL, "%s: %g is outside [%g, %g]", o->name, value, o->min, o->max);
    *(double *)opt_field(o, self) = value;
    return EG_OK;
}

bool eg_opts_get_real(const eg_opt *opts, const void *self, const char *name, double *out)
{
    const eg_opt *o = opt_find_real(opts, name);
    *out = o ? *(const double *)((const char *)self + o->offset) : 0;
    return o != NULL;
}

static void opt_print_choice(const eg_opt *o, int index, char out[EG_OPT_TEXT_SIZE])
{
    const char *c = o->choices;
    while (index-- > 0)
        c += strcspn(c, "|") + 1;
    snprintf(out, EG_OPT_TEXT_SIZE, "%.*s", (int)strcspn(c, "|"), c);
}

static void opt_print_count(const eg_opt *o, int64_t v, char out[EG_OPT_TEXT_SIZE])
{
    if (v > 0)
        snprintf(out, EG_OPT_TEXT_SIZE, "%lld", (long long)v);
    else
        opt_print_choice(o, (int)-v, out);
}

/* The shortest decimal form that reads back as the same double. */
static void opt_print_real(double v, char out[EG_OPT_TEXT_SIZE])
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, EG_OPT_TEXT_SIZE, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            return;
    }
}

/* "0.5, 0.4, 0.3": far shorter than a text may be. */
static void opt_print_list(const eg_opt_list *list, char out[EG_OPT_TEXT_SIZE])
{
    size_t used = 0;
    for (int64_t i = 0; i < list->n; i++) {
        char value[EG_OPT_TEXT_SIZE];
        opt_print_real(list->value[i], value);
        used +=
            (size_t)snprintf(out + used, EG_OPT_TEXT_SIZE - used, "%s%s", i ? ", " : "", value);
    }
}

void eg_opt_print(const eg_opt *o, const void *self, char out[EG_OPT_TEXT_SIZE])
{
    const void *field = (const char *)self + o->offset;
    switch (o->type) {
    case EG_OPT_IS_INT:
        snprintf(out, EG_OPT_TEXT_SIZE, "%lld", (long long)*(const int64_t *)field);
        break;
    case EG_OPT_IS_REAL:
        opt_print_real(*(const double *)field, out);
        break;
    case EG_OPT_IS_BOOL:
        snprintf(out, EG_OPT_TEXT_SIZE, "%s", *(const bool *)field ? "true" : "false");
        break;
    case EG_OPT_IS_TEXT:
        snprintf(out, EG_OPT_TEXT_SIZE, "%s", (const char *)field);
        break;
    case EG_OPT_IS_CHOICE:
        opt_print_choice(o, *(const int *)field, out);
        break;
    case EG_OPT_IS_COUNT:
        opt_print_count(o, *(const int64_t *)field, out);
        break;
    case EG_OPT_IS_LIST:
        opt_print_list(field, out);
        break;
    }
}

void eg_opt_describe(const eg_opt *o, char out[EG_OPT_TEXT_SIZE])
{
    char chosen[EG_OPT_TEXT_SIZE];
    switch (o->type) {
    case EG_OPT_IS_INT:
    case EG_OPT_IS_REAL:
        snprintf(out, EG_OPT_TEXT_SIZE, "%s, %.10g, %.10g to %.10g",
                 o->type == EG_OPT_IS_INT ? "integer" : "real", o->standard, o->min, o->max);
        break;
    case EG_OPT_IS_BOOL:
        snprintf(out, EG_OPT_TEXT_SIZE, "%s, true or false",
                 o->standard != 0 ? "true" : "false");
        break;
    case EG_OPT_IS_TEXT:
        snprintf(out, EG_OPT_TEXT_SIZE, "text, '%.200s'", o->text);
        break;
    case EG_OPT_IS_CHOICE:
        opt_print_choice(o, (int)o->standard, chosen);
        snprintf(out, EG_OPT_TEXT_SIZE, "%.100s, one of %.140s", chosen, o->choices);
        break;
    case EG_OPT_IS_COUNT:
        opt_print_count(o, (int64_t)o->standard, chosen);
        snprintf(out, EG_OPT_TEXT_SIZE, "%.100s, one of %.140s, or a number up to %.10g",
                 chosen, o->choices, o->max);
        break;
    case EG_OPT_IS_LIST:
        snprintf(out, EG_OPT_TEXT_SIZE, "1 to %lld reals, '%.140s', %.10g to %.10g",
                 (long long)o->most, o->text, o->min, o->max);
        break;
    }
}

/* The length of the first "name=value": up to a blank that no bracket encloses. */
static size_t opt_text_pair_length(const char *text)
{
    size_t n = 0;
    for (int depth = 0; text[n] && (depth > 0 || text[n] != ' '); n++)
        depth += (text[n] == '[') - (text[n] == ']');
    return n;
}

static eg_status opt_text_set_pair(const eg_opt *opts, void *self, const char *text,
                                   size_t length)
{
    char pair[2 * EG_OPT_TEXT_SIZE];
    if (length >= sizeof pair)
        return eg_fail(EG_EINVAL, "'%.40s...' is longer than %zu characters", text,
                       sizeof pair - 1);
    snprintf(pair, sizeof pair, "%.*s", (int)length, text);
    char *value = strchr(pair, '=');
    if (!value)
        return eg_fail(EG_EINVAL, "'%s' is not name=value", pair);
    *value++ = 0;
    return eg_opts_set(opts, self, pair, value);
}

eg_status eg_opts_set_text(const eg_opt *opts, void *self, const char *text)
{
    while (*(text += strspn(text, " "))) {
        size_t length = opt_text_pair_length(text);
        EG_TRY(opt_text_set_pair(opts, self, text, length));
        text += length;
    }
    return EG_OK;
}

eg_status eg_opts_print_text(const eg_opt *opts, const void *self, size_t room, char *out)
{
    size_t used = 0;
    out[0] = 0;
    for (const eg_opt *o = opts; o && o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, self, value);
        bool list = o->type == EG_OPT_IS_LIST; /* with blanks in it */
        int n = snprintf(out + used, room - used, "%s%s=%s%s%s", used ? " " : "", o->name,
                         list ? "[" : "", value, list ? "]" : "");
        if (n < 0 || (size_t)n >= room - used)
            return eg_fail(EG_EINVAL, "the options are longer than %zu characters", room - 1);
        used += (size_t)n;
    }
    return EG_OK;
}
