/* manual.c - what there is to read about the verbs, made of their tables.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <stdio.h>
#include <string.h>

/* Options stand two blanks in; what they do begins in a column of its own. */
enum { MANUAL_COLUMN = 20, MANUAL_WIDTH = 92 };

const eg_verb *cli_verb(const char *name)
{
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        if (strcmp((*v)->name, name) == 0)
            return *v;
    return NULL;
}

/* Prints a text in lines of the manual's width, the first of which has `at` columns already;
 * the others begin in column `in`. */
static void manual_wrap(const char *text, int at, int in)
{
    while (*text) {
        int n = (int)strcspn(text, " \n");
        if (at > in && at + 1 + n > MANUAL_WIDTH) {
            printf("\n%*s", in, "");
            at = in;
        } else if (at > in) {
            putchar(' ');
            at++;
        }
        printf("%.*s", n, text);
        at += n;
        text += n;
        if (*text == '\n') {
            printf("\n%*s", text[1] ? in : 0, "");
            at = in;
        }
        text += *text != 0;
    }
    putchar('\n');
}

static void manual_option(void *context, const cli_option *o)
{
    bool *begun = context;
    char name[64];
    if (!o->help)
        return;
    printf("%s", !*begun || o->kind == CLI_IS_TITLE ? "\n" : "");
    *begun = true;
    if (o->kind == CLI_IS_TITLE) {
        manual_wrap(o->help, 0, 0);
        return;
    }
    int n = snprintf(name, sizeof name, "  %s%s%s", o->name, o->argument ? " " : "",
                     o->argument ? o->argument : "");
    printf("%s", name);
    if (n < MANUAL_COLUMN)
        printf("%*s", MANUAL_COLUMN - n, "");
    else
        printf("\n%*s", MANUAL_COLUMN, "");
    manual_wrap(o->help, MANUAL_COLUMN, MANUAL_COLUMN);
}

/* "usage: engram run FILE" and the verb's other calls below it. */
static void manual_usage(const eg_verb *v)
{
    const char *before = "usage: ";
    for (const char *line = v->usage; *line; before = "       ") {
        int n = (int)strcspn(line, "\n");
        if (*line == ' ')
            printf("%.*s\n", n, line);
        else
            printf("%s%s %s %.*s\n", before, cli_program, v->name, n, line);
        line += n + (line[n] != 0);
    }
}

/* What the environment says to the program. */
static const struct {
    const char *name, *help;
} manual_environment[] = {
    {"ENGRAM_DATA", "the folder of data sets, unless --data-dir names another"},
    {"ENGRAM_CACHE", "the folder of pre-trained encoders; else ~/.cache/engram"},
    {"ENGRAM_ISA",
     "hides better instruction sets than this one from the program and all that it "
     "starts: portable, plain, avx2 or avx512"},
    {"ENGRAM_PLUGINS", "plugins that every call loads, with colons between"},
    {"NO_COLOR", "if it is not empty, nothing is coloured"},
};

/* A text in roff: what would be its own is escaped. */
static void man_text(const char *text)
{
    if (*text == '.' || *text == '\'')
        printf("\\&");
    for (; *text; text++)
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else if (*text == '\n')
            printf("\n.br\n");
        else
            putchar(*text);
}

static void man_entry(const char *name, const char *argument, const char *help)
{
    printf(".TP\n\\fB");
    man_text(name);
    printf("\\fR");
    if (argument) {
        printf(" \\fI");
        man_text(argument);
        printf("\\fR");
    }
    putchar('\n');
    man_text(help);
    putchar('\n');
}

static void man_option(void *context, const cli_option *o)
{
    (void)context;
    if (o->help && o->kind == CLI_IS_TITLE) {
        printf(".PP\n");
        man_text(o->help);
        putchar('\n');
    } else if (o->help) {
        man_entry(o->name, o->argument, o->help);
    }
}

static void man_verb(const eg_verb *v)
{
    printf(".SS ");
    man_text(v->name);
    printf("\n");
    man_text(v->help);
    printf(".\n.PP\n.nf\n");
    for (const char *line = v->usage; *line;) {
        char call[256];
        size_t n = strcspn(line, "\n");
        snprintf(call, sizeof call, "%.*s", (int)n, line + strspn(line, " "));
        if (*line == ' ')
            printf("    ");
        else
            printf("\\fBengram %s\\fR ", v->name);
        man_text(call);
        putchar('\n');
        line += n + (line[n] != 0);
    }
    printf(".fi\n");
    if (v->details) {
        printf(".PP\n");
        man_text(v->details);
        putchar('\n');
    }
    cli_options_walk(v->options, man_option, NULL);
}

void cli_print_man(void)
{
    printf(".\\\" Made by `engram help --man`.\n"
           ".TH ENGRAM 1 \"\" \"engram %s\" \"User Commands\"\n"
           ".SH NAME\n"
           "engram \\- federated continual learning: many devices keep learning together\n"
           ".SH SYNOPSIS\n"
           ".B engram\n.I VERB\n\\&...\n"
           ".SH DESCRIPTION\n"
           "engram runs and compares methods of federated continual learning: many clients "
           "learn new things together, one after the other, and the methods keep them from "
           "forgetting. An experiment file says what is learned, by whom and how; run folders "
           "say what came out. The same program is the server of a fleet of devices, and each "
           "device.\n"
           ".SH VERBS\n",
           eg_version());
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        man_verb(*v);
    printf(".SH OPTIONS OF EVERY VERB\n");
    cli_options_walk(cli_common_rows, man_option, NULL);
    printf(".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof manual_environment / sizeof *manual_environment; i++)
        man_entry(manual_environment[i].name, NULL, manual_environment[i].help);
    printf(".SH FILES\n");
    man_entry("runs/", NULL,
              "run folders: config.yaml, metrics.jsonl, summary.json, model.safetensors, "
              "report.html, checkpoint/");
    man_entry("experiments/", NULL, "where experiment files are found by their names");
    man_entry("~/.local/share/engram", NULL, "data sets, unless ENGRAM_DATA names a folder");
    printf(".SH EXIT STATUS\n0 done, 1 failed (one sentence says why), 2 called wrongly.\n");
}

void eg_cli_print_verbs(void)
{
    printf("%s - many devices keep learning new things together, and none of them forgets\n\n"
           "usage: %s VERB ...\n\n",
           cli_program, cli_program);
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        printf("  %-9s %s\n", (*v)->name, (*v)->help);
    printf("\n`%s VERB --help` explains one; `%s --version` says which engram this is.\n"
           "exit codes: 0 done, 1 failed, 2 called wrongly\n",
           cli_program, cli_program);
}

bool eg_cli_print_verb(const char *name)
{
    const eg_verb *v = cli_verb(name);
    if (!v)
        return false;
    printf("%s %s - %s\n\n", cli_program, v->name, v->help);
    manual_usage(v);
    if (v->details) {
        printf("\n");
        manual_wrap(v->details, 0, 0);
    }
    bool begun = false;
    cli_verb_walk(v, manual_option, &begun);
    return true;
}
