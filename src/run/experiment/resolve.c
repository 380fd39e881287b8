/* resolve.c - an experiment as a text in which every setting stands, and the hash of it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text is YAML that any reader understands alike: numbers and truth values are plain, what
 * a user wrote as text is quoted, and mappings are nested.
 */
#include "run/experiment/settings.h"

#include "base/sha256.h"
#include "run/experiment/sections.h"
#include "run/experiment/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Within quotes a quote is written twice. */
static void resolve_quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++)
        fprintf(to, *text == '\'' ? "''" : "%c", *text);
    fputc('\'', to);
}

/* A number as eg_opt_print gives it. Many readers take 1e-07 for a text, but 1.0e-07 for what
 * it is. */
static void resolve_number(FILE *to, const char *number)
{
    size_t n = strcspn(number, "e");
    bool point = !number[n] || memchr(number, '.', n);
    fprintf(to, "%.*s%s%s", (int)n, number, point ? "" : ".0", number + n);
}

/* A component's name or a choice: plain, unless a reader would take it for something else. */
static void resolve_word(FILE *to, const char *word)
{
    static const char *const taken[] = {"y",   "n",    "yes",   "no",   "on",
                                        "off", "true", "false", "null", "nan"};
    bool plain = *word >= 'a' && *word <= 'z' &&
                 !word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-")];
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        plain &= strcmp(taken[i], word) != 0;
    if (plain)
        fputs(word, to);
    else
        resolve_quoted(to, word);
}

/* "0.5, 0.4": a list; "0.5": a number. */
static void resolve_numbers(FILE *to, const char *list)
{
    bool several = strchr(list, ',') != NULL;
    fputs(several ? "[" : "", to);
    while (*list) {
        char number[EG_OPT_TEXT_SIZE];
        size_t n = strcspn(list, ",");
        snprintf(number, sizeof number, "%.*s", (int)n, list);
        resolve_number(to, number);
        list += n;
        if (*list) {
            fputs(", ", to);
            list += strspn(list, ", ");
        }
    }
    fputs(several ? "]" : "", to);
}

/* The options of a component or a section, one a line. */
static void resolve_rows(FILE *to, const eg_opt *opts, const void *self)
{
    for (const eg_opt *o = opts; o && o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, self, value);
        fprintf(to, "  %s: ", o->name);
        bool counted = o->type == EG_OPT_IS_COUNT && *value >= '0' && *value <= '9';
        if (o->type == EG_OPT_IS_INT || o->type == EG_OPT_IS_REAL || counted)
            resolve_number(to, value);
        else if (o->type == EG_OPT_IS_BOOL)
            fputs(value, to);
        else if (o->type == EG_OPT_IS_CHOICE || o->type == EG_OPT_IS_COUNT)
            resolve_word(to, value);
        else if (o->type == EG_OPT_IS_LIST)
            resolve_numbers(to, value);
        else
            resolve_quoted(to, value);
        fputc('\n', to);
    }
}

static void resolve_section(FILE *to, const char *name, const eg_opt *opts, const void *self)
{
    if (opts && opts->name)
        fprintf(to, "%s:\n", name);
    resolve_rows(to, opts, self);
}

/* The sources; how images are prepared stands with the first. */
static void resolve_data(FILE *to, const eg_experiment *e)
{
    fputs("data:\n", to);
    for (size_t i = 0; i < e->n_sources; i++) {
        fprintf(to, "- name: %s\n", e->sets[i]->component.name);
        resolve_rows(to, e->sets[i]->component.opts, e->set_options[i]);
        if (i == 0)
            resolve_rows(to, eg_settings_of_data, &e->data);
    }
}

/* A setting of the scenario. A value's form tells its type; its one text, the angles of turns,
 * is a number too if it looks like one. Those of the partition come last, its name first. */
static void resolve_scenario_row(void *context, const char *name, const char *value)
{
    static const char inner[] = "partition.";
    FILE *to = context;
    char *end;
    bool first = strcmp(name, "partition") == 0;
    if (first)
        fputs("  partition:\n    kind: ", to);
    else if (strncmp(name, inner, sizeof inner - 1) == 0)
        fprintf(to, "    %s: ", name + sizeof inner - 1);
    else
        fprintf(to, "  %s: ", name);
    (void)strtod(value, &end);
    if (end != value && !*end)
        resolve_number(to, value);
    else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        fputs(value, to);
    else
        resolve_word(to, value);
    fputc('\n', to);
}

static void resolve_scenario(FILE *to, const eg_experiment *e)
{
    fputs("scenario:\n", to);
    eg_spec_each(e->spec, resolve_scenario_row, to);
}

static void resolve_part_name(void *to, const eg_method *m, const void *options)
{
    (void)options;
    fprintf(to, "  - %s\n", m->component.name);
}

static void resolve_part(void *to, const eg_method *m, const void *options)
{
    resolve_section(to, m->component.name, m->component.opts, options);
}

static void resolve_run(FILE *to, const eg_experiment *e)
{
    fputs("runs:\n- label: ", to);
    resolve_quoted(to, e->label);
    fputs("\n  method:\n", to);
    eg_parts_each(&e->parts, resolve_part_name, to);
}

/* An experiment file again, with one run and every setting, which resolves to itself. */
static void resolve_write(FILE *to, const eg_experiment *e)
{
    char scale[EG_OPT_TEXT_SIZE];
    fputs("name: ", to);
    resolve_quoted(to, e->name);
    eg_opt_print(eg_settings_of_all, e, scale);
    fputs("\nscale: ", to);
    resolve_number(to, scale);
    fputc('\n', to);
    resolve_data(to, e);
    fprintf(to, "model:\n  name: %s\n", e->model->component.name);
    resolve_rows(to, e->model->component.opts, e->model_options);
    resolve_rows(to, eg_settings_of_model, &e->start);
    resolve_scenario(to, e);
    fprintf(to, "optimizer:\n  name: %s\n", e->optimizer.kind->component.name);
    resolve_rows(to, e->optimizer.kind->component.opts, e->optimizer.options);
    for (const eg_section *const *s = eg_sections; *s; s++)
        resolve_section(to, (*s)->component.name, (*s)->component.opts,
                        (const char *)e + (*s)->offset);
    eg_parts_each(&e->parts, resolve_part, to);
    resolve_run(to, e);
}

eg_status eg_experiment_resolve(eg_experiment *e)
{
    size_t n = 0;
    uint8_t digest[32];
    EG_TRY(eg_model_print(e->model, e->model_options, sizeof e->net_options, e->net_options));
    EG_TRY(eg_start_settle(&e->start));
    EG_TRY(eg_spec_hold_out(e->spec, e->data.validation));
    FILE *to = open_memstream(&e->resolved, &n);
    if (!to)
        return eg_fail(EG_ENOMEM, "no memory for the resolved experiment");
    resolve_write(to, e);
    bool failed = ferror(to) != 0;
    if (fclose(to) != 0 || failed)
        return eg_fail(EG_ENOMEM, "no memory for the resolved experiment");
    eg_sha256_of(e->resolved, n, digest);
    eg_sha256_text(digest, e->sha256);
    return EG_OK;
}
