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
            printf("%sengram %s %.*s\n", before, v->name, n, line);
        line += n + (line[n] != 0);
    }
}

void eg_cli_print_verbs(void)
{
    printf(
        "engram - many devices keep learning new things together, and none of them forgets\n\n"
        "usage: engram VERB ...\n\n");
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        printf("  %-9s %s\n", (*v)->name, (*v)->help);
    printf(
        "\n`engram VERB --help` explains one; `engram --version` says which engram this is.\n"
        "exit codes: 0 done, 1 failed, 2 called wrongly\n");
}

bool eg_cli_print_verb(const char *name)
{
    const eg_verb *v = cli_verb(name);
    if (!v)
        return false;
    printf("engram %s - %s\n\n", v->name, v->help);
    manual_usage(v);
    if (v->details) {
        printf("\n");
        manual_wrap(v->details, 0, 0);
    }
    bool begun = false;
    cli_options_walk(v->options, manual_option, &begun);
    return true;
}
