/* completion.c - what a shell offers behind `engram`, made of the verbs' tables.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The scripts hold every word themselves, so that a press of the key starts no program.
 */
#include "cli.h"
#include "family.h"

#include <engram/experiment.h>
#include <engram/method.h>
#include <engram/optim.h>

#include <stdio.h>
#include <string.h>

/* Each word of a list "a|b", blanks between. */
static void completion_words(const char *list)
{
    for (; *list; list++)
        putchar(*list == '|' ? ' ' : *list);
}

static void completion_members(const eg_family *f)
{
    const eg_component *c;
    for (size_t i = 0; (c = eg_family_at(f, i)); i++)
        printf("%s%s", i ? " " : "", c->name);
}

/* "train.epochs=" for the options of every member, under its own name or another. */
static void completion_keys(const eg_family *f, const char *name)
{
    const eg_component *c;
    for (size_t i = 0; (c = eg_family_at(f, i)); i++)
        for (const eg_opt *o = c->opts; o && o->name; o++)
            printf("%s.%s= ", name ? name : c->name, o->name);
}

/* What a file can set, but for the options that depend on its data, model and scenario. */
static void completion_settings(void)
{
    printf("scale= ");
    completion_keys(&eg_optim_family, "optimizer");
    completion_keys(&eg_setting_family, NULL);
    completion_keys(&eg_method_family, NULL);
}

static void completion_names(void)
{
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        printf("%s ", (*v)->name);
    for (const cli_family *f = cli_families; f->family; f++) {
        completion_members(f->family);
        putchar(' ');
    }
}

/* What may stand for a value, as words; nothing where only files, or nothing, can be offered.
 */
static void completion_values(const cli_option *o)
{
    if (o->family)
        completion_members(o->family);
    else if (o->words)
        completion_words(o->words);
    else if (o->offer == CLI_OFFERS_SETTINGS)
        completion_settings();
    else if (o->offer == CLI_OFFERS_NAMES)
        completion_names();
    else if (o->offer == CLI_OFFERS_FAMILIES)
        for (const cli_family *f = cli_families; f->family; f++)
            printf("%s ", f->family->name);
}

static bool completion_is_named(const cli_option *o)
{
    return o->name[0] == '-';
}

/* What else completes it. */
static const char *completion_kind(const cli_option *o)
{
    return o->offer == CLI_OFFERS_EXPERIMENTS                           ? "experiments"
           : o->kind == CLI_IS_FOLDER || o->offer == CLI_OFFERS_FOLDERS ? "folders"
           : o->kind == CLI_IS_FILE || o->offer == CLI_OFFERS_FILES     ? "files"
           : o->offer == CLI_OFFERS_SETTINGS                            ? "keys"
                                                                        : "words";
}

static void completion_job(void *context, const cli_option *o)
{
    (void)context;
    if (o->kind == CLI_IS_JOB)
        printf("%s ", o->name);
}

static void bash_option(void *context, const cli_option *o)
{
    (void)context;
    if (completion_is_named(o))
        printf("%s ", o->name);
}

static void bash_value(void *context, const cli_option *o)
{
    (void)context;
    if (!completion_is_named(o) || !o->argument)
        return;
    printf("        %s) kind=%s words=\"", o->name, completion_kind(o));
    completion_values(o);
    printf("\" ;;\n");
}

static void bash_place(void *context, const cli_option *o)
{
    (void)context;
    if (completion_is_named(o) || o->kind == CLI_IS_JOB || o->kind == CLI_IS_TITLE)
        return;
    if (o->with)
        printf("        [[ ' %s ' != *\" ${COMP_WORDS[2]} \"* ]] ||", o->with);
    printf("        kind=%s words+=\"", completion_kind(o));
    completion_values(o);
    printf("\"\n");
}

static void bash_find_job(void *context, const cli_option *o)
{
    bool *found = context;
    *found |= o->kind == CLI_IS_JOB;
}

static void bash_verb(const eg_verb *v)
{
    bool jobs = false;
    cli_options_walk(v->options, bash_find_job, &jobs);
    printf("    %s)\n        options=\"", v->name);
    cli_verb_walk(v, bash_option, NULL);
    printf("\" words=\"");
    cli_options_walk(v->options, completion_job, NULL);
    printf("\" kind=words\n%s",
           jobs ? "        if [[ $COMP_CWORD -gt 2 ]]; then words=\n" : "");
    cli_options_walk(v->options, bash_place, NULL);
    printf("%s", jobs ? "        fi\n" : "");
    printf("        case $before in\n");
    cli_verb_walk(v, bash_value, NULL);
    printf("        *) [[ $word != -* ]] || kind=words words=$options ;;\n"
           "        esac ;;\n");
}

void cli_print_bash(void)
{
    printf("# Completion of engram's words for bash, made by `engram help --bash`.\n"
           "_engram()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local kind=words words= options= file\n"
           "    COMPREPLY=()\n"
           "    [[ $COMP_CWORD -gt 1 ]] || before= COMP_WORDS[1]=\n"
           "    case ${COMP_WORDS[1]} in\n"
           "    '') words=\"");
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        printf("%s ", (*v)->name);
    printf("--help --version\" ;;\n");
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        bash_verb(*v);
    printf(
        "    esac\n"
        "    case $kind in\n"
        "    files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\") "
        ";;\n"
        "    folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\") "
        ";;\n"
        "    experiments)\n"
        "        compopt -o filenames\n"
        "        for file in experiments/*.yaml; do\n"
        "            [[ ! -e $file ]] || file=${file##*/} words+=\" ${file%%.yaml}\"\n"
        "        done\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"\n"
        "            compgen -W \"$words\" -- \"$word\") ;;\n"
        "    keys) compopt -o nospace; mapfile -t COMPREPLY < <(compgen -W \"$words\" -- "
        "\"$word\") ;;\n"
        "    *) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\") ;;\n"
        "    esac\n"
        "} && complete -F _engram engram\n");
}

/* A text within '...', where brackets and colons would mean something. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            putchar('\\');
        printf(*text == '\'' ? "'\\''" : "%c", *text);
    }
}

/* ":LABEL:" and what completes a value. */
static void zsh_value(const cli_option *o)
{
    const char *kind = completion_kind(o);
    putchar(':');
    zsh_text(o->argument ? o->argument : o->name);
    if (strcmp(kind, "experiments") == 0) {
        printf(":_engram_experiments");
    } else if (strcmp(kind, "folders") == 0) {
        printf(":_files -/");
    } else if (strcmp(kind, "files") == 0) {
        printf(":_files");
    } else {
        bool keys = strcmp(kind, "keys") == 0; /* the value follows without a blank */
        printf(keys ? ": compadd -S \"\" -- " : ":(");
        completion_values(o);
        printf(keys ? "" : ")");
    }
}

static void zsh_option(void *context, const cli_option *o)
{
    const eg_verb **jobs_of = context; /* NULL: they are there already */
    /* zsh takes one rest of words for all jobs: that of a single job is not completed. */
    bool of_one_job = !completion_is_named(o) && o->with && !strchr(o->with, ' ');
    if (o->kind == CLI_IS_TITLE || (o->kind == CLI_IS_JOB && !*jobs_of) || of_one_job)
        return;
    printf(" \\\n            '");
    if (o->kind == CLI_IS_JOB) {
        printf("1:what to do:(");
        cli_options_walk((*jobs_of)->options, completion_job, NULL);
        putchar(')');
        *jobs_of = NULL;
    } else if (completion_is_named(o)) {
        printf("%s%s[", o->kind == CLI_IS_TEXTS ? "*" : "", o->name);
        zsh_text(o->help ? o->help : "");
        putchar(']');
        if (o->argument)
            zsh_value(o);
    } else {
        printf("*:");
        zsh_value(o);
    }
    putchar('\'');
}

void cli_print_zsh(void)
{
    printf("#compdef engram\n# Completion of engram's words for zsh, made by `engram help "
           "--zsh`.\n"
           "_engram_experiments()\n{\n"
           "    compadd -- experiments/*.yaml(N:t:r)\n    _files\n}\n\n"
           "_engram()\n{\n    local -a verbs=(");
    for (const eg_verb *const *v = eg_verbs; *v; v++) {
        printf("\n        '%s:", (*v)->name);
        zsh_text((*v)->help);
        putchar('\'');
    }
    printf(")\n"
           "    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n    "
           "fi\n"
           "    shift words\n    (( CURRENT-- ))\n"
           "    case $words[1] in\n");
    for (const eg_verb *const *v = eg_verbs; *v; v++) {
        const eg_verb *jobs_of = *v;
        printf("    %s)\n        _arguments", (*v)->name);
        cli_verb_walk(*v, zsh_option, &jobs_of);
        printf(" ;;\n");
    }
    printf("    esac\n}\n\n_engram \"$@\"\n");
}
