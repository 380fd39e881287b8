/* list.c - `engram list` and `engram help`: what there is, printed from the tables themselves.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/model.h>
#include <engram/op.h>
#include <engram/optim.h>

#include <stdio.h>
#include <string.h>

void eg_cli_print_verbs(void);
bool eg_cli_print_verb(const char *name);

/* Prints a line of a list: plain or as a row of a Markdown table. */
static void list_line(const char *name, const char *help, bool markdown)
{
    printf(markdown ? "| `%s` | %s |\n" : "  %-22s %s\n", name, help);
}

static bool list_family(const char *family, bool markdown)
{
    if (strcmp(family, "ops") == 0)
        for (size_t i = 0; eg_op_name(i); i++)
            list_line(eg_op_name(i), eg_op_help(i), markdown);
    else if (strcmp(family, "models") == 0)
        for (size_t i = 0; eg_models[i]; i++)
            list_line(eg_models[i]->name, eg_models[i]->help, markdown);
    else if (strcmp(family, "optimisers") == 0)
        for (size_t i = 0; eg_optims[i]; i++)
            list_line(eg_optims[i]->name, eg_optims[i]->help, markdown);
    else
        return false;
    return true;
}

int eg_verb_list(int argc, char **argv)
{
    if (argc != 2)
        return eg_cli_usage("list", "one kind is needed: ops, models or optimisers");
    if (!list_family(argv[1], false))
        return eg_cli_usage("list", "'%s' is none of ops, models, optimisers", argv[1]);
    return 0;
}

static void list_options(const eg_opt *opts)
{
    char text[EG_OPT_TEXT_SIZE];
    for (const eg_opt *o = opts; o && o->name; o++) {
        eg_opt_describe(o, text);
        printf("  %-14s %s (%s)\n", o->name, o->help, text);
    }
}

/* One op, model or optimiser with its options. */
static bool list_explain(const char *name)
{
    for (size_t i = 0; eg_op_name(i); i++)
        if (eg_name_equal(eg_op_name(i), name)) {
            printf("op %s: %s\n", eg_op_name(i), eg_op_help(i));
            return true;
        }
    const eg_model *m = eg_model_find(name);
    if (m) {
        printf("model %s: %s\n", m->name, m->help);
        list_options(m->opts);
    }
    const eg_optim *o = eg_optim_find(name);
    if (o) {
        printf("optimiser %s: %s\n", o->name, o->help);
        list_options(o->opts);
    }
    return m || o;
}

static void list_markdown(void)
{
    static const char *const families[] = {"ops", "models", "optimisers"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        printf("## %s\n\n| name | what it is |\n|---|---|\n", families[i]);
        list_family(families[i], true);
        printf("\n");
    }
}

int eg_verb_help(int argc, char **argv)
{
    if (argc < 2) {
        eg_cli_print_verbs();
        return 0;
    }
    if (strcmp(argv[1], "--markdown") == 0) {
        list_markdown();
        return 0;
    }
    if (!eg_cli_print_verb(argv[1]) && !list_explain(argv[1]))
        return eg_cli_usage("help", "there is no verb, op, model or optimiser '%s'", argv[1]);
    return 0;
}
