/* option.c - reads the words of a call by the table of its verb.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "option.h"
#include "cli.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_ROWS = 96, OPTION_TEXT = 256 };

#define OPTION_ENDLESS 9e15 /* a bound that nobody needs to be told */

/* A call that is being read. */
typedef struct option_call {
    const eg_verb *verb;
    const cli_option *rows[OPTION_ROWS]; /* [n], those of tables within the table too */
    bool given[OPTION_ROWS];
    size_t n;
    const char *job; /* the verb's first word, if its table has jobs */
    char *self;
} option_call;

void cli_options_walk(const cli_option *rows, void (*each)(void *context, const cli_option *o),
                      void *context)
{
    for (const cli_option *o = rows; o && o->name; o++)
        if (o->kind == CLI_IS_ALSO)
            cli_options_walk(o->also, each, context);
        else
            each(context, o);
}

void cli_verb_walk(const eg_verb *verb, void (*each)(void *context, const cli_option *o),
                   void *context)
{
    cli_options_walk(verb->options, each, context);
    cli_options_walk(cli_common_rows, each, context);
}

static void option_gather(void *context, const cli_option *o)
{
    option_call *c = context;
    if (o->kind == CLI_IS_TITLE)
        return;
    assert(c->n < OPTION_ROWS);
    c->rows[c->n++] = o;
}

static bool option_is_named(const cli_option *o)
{
    return o->name[0] == '-';
}

/* Whether a word is one of a list "a|b" or "a b". */
static bool option_among(const char *list, const char *word, size_t n)
{
    for (size_t k; *list; list += k + (list[k] != 0)) {
        k = strcspn(list, "| ");
        if (k == n && strncmp(list, word, n) == 0)
            return true;
    }
    return false;
}

/* "a|b|c" or "a b c" as "a, b, c", with what stands between two words. */
static void option_list(const char *words, const char *between, char out[OPTION_TEXT])
{
    size_t n = 0;
    out[0] = 0;
    while (*words && n < OPTION_TEXT) {
        size_t k = strcspn(words, "| ");
        n += (size_t)snprintf(out + n, OPTION_TEXT - n, "%s%.*s", n ? between : "", (int)k,
                              words);
        words += k + (words[k] != 0);
    }
}

static size_t option_find(const option_call *c, const char *name, size_t length)
{
    for (size_t i = 0; i < c->n; i++)
        if (option_is_named(c->rows[i]) && strlen(c->rows[i]->name) == length &&
            strncmp(c->rows[i]->name, name, length) == 0)
            return i;
    return SIZE_MAX;
}

static eg_status option_whole(const cli_option *o, const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    bool digits =
        *value == '-' ? value[1] >= '0' && value[1] <= '9' : *value >= '0' && *value <= '9';
    *out = n;
    if (digits && !*end && !errno && (double)n >= o->least && (double)n <= o->most)
        return EG_OK;
    char most[32] = "on";
    if (o->most < OPTION_ENDLESS)
        snprintf(most, sizeof most, "to %.15g", o->most);
    return eg_fail(EG_EINVAL, "'%s' is no %s%s from %.15g %s", value,
                   o->what ? "number of " : "whole number", o->what ? o->what : "", o->least,
                   most);
}

static eg_status option_real(const cli_option *o, const char *value, double *out)
{
    char *end;
    double x = strtod(value, &end);
    *out = x;
    if (end > value && !*end && x >= o->least && x <= o->most)
        return EG_OK;
    return eg_fail(EG_EINVAL, "'%s' is no number%s%s from %g to %g", value,
                   o->what ? " of " : "", o->what ? o->what : "", o->least, o->most);
}

/* A number of a range. */
static eg_status option_number(const cli_option *o, const char *text, uint64_t *out)
{
    char *end;
    long long most = o->most > 0 ? (long long)o->most : INT64_MAX;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    *out = (uint64_t)n;
    if (*text >= '0' && *text <= '9' && !*end && !errno && n <= most)
        return EG_OK;
    return eg_fail(EG_EINVAL, "'%s' is no %s, a whole number from 0 to %lld", text,
                   o->what ? o->what : "seed", most);
}

/* Adds first to last, which no earlier item has; text is the item. */
static eg_status option_add_range(const cli_option *o, cli_ranges *r, uint64_t first,
                                  uint64_t last, const char *text)
{
    const char *what = o->what ? o->what : "seed";
    if (first > last)
        return eg_fail(EG_EINVAL, "'%s' ends before it begins", text);
    if (last - first >= CLI_MOST_NUMBERS - r->n)
        return eg_fail(EG_EINVAL, "'%s' makes more than %d numbers", text, CLI_MOST_NUMBERS);
    for (size_t i = 0; i < r->n; i++)
        if (r->list[i] >= first && r->list[i] <= last)
            return eg_fail(EG_EINVAL, "%s %llu is there twice", what,
                           (unsigned long long)r->list[i]);
    uint64_t *more = realloc(r->list, (r->n + (last - first) + 1) * sizeof *more);
    if (!more)
        return eg_fail(EG_ENOMEM, "no memory for %llu numbers",
                       (unsigned long long)(last - first + 1));
    r->list = more;
    for (uint64_t k = 0; k <= last - first; k++)
        r->list[r->n++] = first + k;
    return EG_OK;
}

/* "A" or "A..B". */
static eg_status option_range(const cli_option *o, char *item, cli_ranges *r)
{
    char *dots = strstr(item, "..");
    uint64_t first, last;
    if (dots)
        *dots = 0;
    EG_TRY(option_number(o, item, &first));
    last = first;
    if (dots)
        EG_TRY(option_number(o, dots + 2, &last));
    if (dots)
        *dots = '.';
    return option_add_range(o, r, first, last, item);
}

/* Items with commas between; they come in place of those of an earlier option. */
static eg_status option_ranges(const cli_option *o, const char *value, cli_ranges *r)
{
    r->n = 0;
    for (const char *at = value;;) {
        char item[64];
        size_t n = strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", (int)n, at);
        if (n >= sizeof item)
            return eg_fail(EG_EINVAL, "'%s...' is no %s", item, o->what ? o->what : "seed");
        EG_TRY(option_range(o, item, r));
        if (!at[n])
            return EG_OK;
        at += n + 1;
    }
}

eg_status cli_ranges_read(const char *text, cli_ranges *out)
{
    static const cli_option seeds = {.name = "seeds"};
    return option_ranges(&seeds, text, out);
}

void cli_ranges_free(cli_ranges *r)
{
    free(r->list);
    *r = (cli_ranges){0};
}

static eg_status option_text(const cli_option *o, const char *value, const char **out)
{
    char list[OPTION_TEXT];
    const eg_component *member;
    *out = value;
    if (!*value && o->kind != CLI_IS_TEXT)
        return eg_fail(EG_EINVAL, "an empty text is no name of a %s",
                       o->kind == CLI_IS_FOLDER ? "folder" : "file");
    if (o->kind == CLI_IS_WORD && !option_among(o->words, value, strlen(value))) {
        option_list(o->words, ", ", list);
        return eg_fail(EG_EINVAL, "'%s' is none of %s", value, list);
    }
    if (o->kind != CLI_IS_MEMBER)
        return EG_OK;
    if (!(member = eg_family_find(o->family, value)))
        return EG_ENOENT;
    *out = member->name;
    return EG_OK;
}

static eg_status option_append(const cli_option *o, const char *value, cli_texts *list)
{
    size_t most = o->most < CLI_MOST_TEXTS ? (size_t)o->most : CLI_MOST_TEXTS;
    if (list->n == most)
        return eg_fail(EG_EINVAL, "there are more than %zu", most);
    list->list[list->n++] = value;
    return EG_OK;
}

/* Puts a value into its field. The field's type is known from the row's macro. */
static eg_status option_store(const option_call *c, const cli_option *o, const char *value)
{
    void *field = c->self + o->offset;
    switch (o->kind) {
    case CLI_IS_FLAG:
        *(bool *)field = true;
        return EG_OK;
    case CLI_IS_PICK:
        memcpy(field, &o->value, sizeof o->value);
        return EG_OK;
    case CLI_IS_JOB:
        *(const char **)field = o->name;
        return EG_OK;
    case CLI_IS_INT:
        return option_whole(o, value, field);
    case CLI_IS_REAL:
        return option_real(o, value, field);
    case CLI_IS_SEED:
        return option_number(o, value, field);
    case CLI_IS_RANGES:
        return option_ranges(o, value, field);
    case CLI_IS_TEXTS:
        return option_append(o, value, field);
    case CLI_IS_TAKEN:
        return o->take(field, value);
    default:
        return option_text(o, value, field);
    }
}

/* Stores a value. 0, or the exit code after saying what is wrong with it. */
static int option_take(option_call *c, size_t i, const char *value)
{
    const cli_option *o = c->rows[i];
    c->given[i] = true;
    eg_status s = eg_blame(option_store(c, o, value), "%s", o->name);
    return s == EG_OK ? 0 : eg_cli_refused(c->verb->name, s);
}

/* What is offered for a word that is no option of this verb. */
static int option_unknown(const option_call *c, const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (const eg_verb *const *v = eg_verbs; *v; v++) {
        option_call other = {.verb = *v};
        cli_verb_walk(*v, option_gather, &other);
        if (option_find(&other, name, strlen(name)) != SIZE_MAX)
            return eg_cli_usage(c->verb->name, "there is no option '%s', but '%s %s' has it",
                                name, cli_program, (*v)->name);
    }
    eg_suggestion near = eg_suggest(name);
    for (size_t i = 0; i < c->n; i++)
        if (option_is_named(c->rows[i]))
            eg_suggest_offer(&near, c->rows[i]->name);
    return eg_cli_usage(c->verb->name, "there is no option '%s'%s", word,
                        eg_suggest_words(&near));
}

/* "--name value", "--name=value" or "--name" at argv[*at]; *at moves to its last word. */
static int option_named(option_call *c, int argc, char **argv, int *at)
{
    const char *word = argv[*at];
    size_t length = strcspn(word, "="), i = option_find(c, word, length);
    if (i == SIZE_MAX)
        return option_unknown(c, word);
    bool valued = c->rows[i]->argument != NULL;
    if (!valued && word[length])
        return eg_cli_usage(c->verb->name, "%s takes no value", c->rows[i]->name);
    if (!valued || word[length])
        return option_take(c, i, valued ? word + length + 1 : NULL);
    if (*at + 1 >= argc)
        return eg_cli_usage(c->verb->name, "%s needs a value", c->rows[i]->name);
    return option_take(c, i, argv[++*at]);
}

/* The first word of a verb that has jobs. */
static int option_job(option_call *c, const char *word)
{
    char list[OPTION_TEXT] = "";
    eg_suggestion near = eg_suggest(word);
    for (size_t i = 0; i < c->n; i++) {
        if (c->rows[i]->kind != CLI_IS_JOB)
            continue;
        if (strcmp(c->rows[i]->name, word) == 0) {
            c->job = word;
            return option_take(c, i, NULL);
        }
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", c->rows[i]->name);
        eg_suggest_offer(&near, c->rows[i]->name);
    }
    if (!*word)
        return eg_cli_usage(c->verb->name, "one of these is needed: %s", list);
    return eg_cli_usage(c->verb->name, "'%s' is none of %s%s", word, list,
                        eg_suggest_words(&near));
}

static bool option_has_jobs(const option_call *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->rows[i]->kind == CLI_IS_JOB)
            return true;
    return false;
}

/* Whether an option, or the job that is done, is one of a row's list "check show". */
static bool option_goes_with(const option_call *c, const char *list)
{
    if (*list != '-')
        return c->job && option_among(list, c->job, strlen(c->job));
    size_t i = option_find(c, list, strlen(list));
    return i != SIZE_MAX && c->given[i];
}

/* An argument that is given by its place: the first that is not there yet or may be repeated.
 */
static int option_placed(option_call *c, const char *word)
{
    const cli_option *last = NULL;
    if (!c->job && option_has_jobs(c))
        return option_job(c, word);
    for (size_t i = 0; i < c->n; i++) {
        const cli_option *o = c->rows[i];
        if (option_is_named(o) || o->kind == CLI_IS_JOB ||
            (o->with && !option_goes_with(c, o->with)))
            continue;
        if (!c->given[i] || o->kind == CLI_IS_TEXTS)
            return option_take(c, i, word);
        last = o;
    }
    if (!last)
        return eg_cli_usage(c->verb->name, "'%s' is one word too many", word);
    return eg_cli_usage(c->verb->name, "one %s at a time: '%s' or '%s'",
                        last->what ? last->what + strcspn(last->what, " ") + 1 : last->name,
                        *(const char **)(void *)(c->self + last->offset), word);
}

/* What is missing, and what does not go together. */
static int option_check(option_call *c)
{
    char with[OPTION_TEXT];
    const char *verb = c->verb->name;
    if (!c->job && option_has_jobs(c))
        return option_job(c, "");
    for (size_t i = 0; i < c->n; i++) {
        const cli_option *o = c->rows[i];
        bool fits = !o->with || option_goes_with(c, o->with);
        if (c->given[i] && !fits) {
            option_list(o->with, " or ", with);
            return eg_cli_usage(verb, "%s belongs to %s", o->name, with);
        }
        if (c->given[i] && o->without && option_goes_with(c, o->without))
            return eg_cli_usage(verb, "%s and %s exclude each other", o->name, o->without);
        if (!c->given[i] && o->needed && fits)
            return eg_cli_usage(verb, "%s%s%s is needed", o->what ? o->what : o->name,
                                o->argument && !o->what ? " " : "",
                                o->argument && !o->what ? o->argument : "");
    }
    return 0;
}

int cli_parse(const eg_verb *verb, int argc, char **argv, void *self)
{
    option_call c = {.verb = verb, .self = self};
    bool plain = false; /* what follows are no options */
    cli_verb_walk(verb, option_gather, &c);
    for (int i = 1; i < argc; i++) {
        bool named = !plain && argv[i][0] == '-' && argv[i][1];
        int code = 0;
        if (!plain && strcmp(argv[i], "--") == 0)
            plain = true;
        else
            code = named ? option_named(&c, argc, argv, &i) : option_placed(&c, argv[i]);
        if (code)
            return code;
    }
    return option_check(&c);
}
