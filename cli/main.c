/* main.c - the program: finds the verb and hands it the arguments.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct main_verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage, *help;
} main_verb;

// clang-format off
static const main_verb main_verbs[] = {
    {"run", eg_verb_run,
     "FILE|NAME [--only LABEL] [--set KEY=VALUE]... [--seed N | --seeds A..B] [--workers N]\n"
     "       [--out DIR] [--resume] [--wire] [--data-dir DIR] [--isa NAME]\n"
     "       [--quiet | --json]\n"
     "       engram run --resume RUN",
     "run every method of an experiment file"},
    {"compare", eg_verb_compare,
     "FILE-OR-RUN... [--markdown | --json], and what run takes",
     "run what is missing and print the table"},
    {"report", eg_verb_report, "RUN... [--out FILE.html]", "make a page about runs"},
    {"train", eg_verb_train, "[--model NAME] [--epochs N] [--lr X] [--set 'KEY=VALUE ...']",
     "train one network on generated characters"},
    {"bench", eg_verb_bench, "[--peer torch] [--model NAME] [--batch N] [--seconds S] [--isa NAME] [--json]\n"
     "       engram bench --layers [--model NAME] [--batch N] | --data | --norms [--model NAME]",
     "measure training and evaluation speed"},
    {"model", eg_verb_model, "NAME [--input CxHxW] [--classes N] [--set 'KEY=VALUE ...'] [--seed N]\n"
     "       [--load FILE] [--save FILE]",
     "show a network's tensors; check or write a weight file"},
    {"data", eg_verb_data, "list [NAME] | check NAME | show NAME [--out FILE.png]\n"
     "       check and show take [--data-dir DIR] [--set KEY=VALUE] [--seed N]",
     "list, check and look at data sets"},
    {"scenario", eg_verb_scenario, "check|show|digest FILE [--out FILE.svg] [--seed N] [--real]",
     "prove, show or fingerprint who sees what when"},
    {"list",  eg_verb_list,  "methods|models|data|scenarios|partitioners|metrics|optimisers|ops",
     "list what there is"},
    {"help",  eg_verb_help,  "[NAME | --markdown]", "explain a verb or anything that is listed"},
};
// clang-format on

enum { MAIN_N_VERBS = sizeof main_verbs / sizeof *main_verbs };

int eg_cli_failed(void)
{
    fprintf(stderr, "engram: %s\n", eg_error());
    return 1;
}

int eg_cli_usage(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "engram %s: ", verb);
    vfprintf(stderr, format, args);
    fprintf(stderr, "; see 'engram help %s'\n", verb);
    va_end(args);
    return 2;
}

bool eg_cli_knows(const char *name, size_t n, const char *const *known)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}

const char *eg_cli_value(const char *verb, int argc, char **argv, int *i)
{
    if (*i + 1 < argc)
        return argv[++*i];
    eg_cli_usage(verb, "%s needs a value", argv[*i]);
    return NULL;
}

void eg_cli_print_verbs(void)
{
    printf(
        "engram - many devices keep learning new things together, and none of them forgets\n\n"
        "usage: engram VERB ...\n\n");
    for (int i = 0; i < MAIN_N_VERBS; i++)
        printf("  %-9s %s\n", main_verbs[i].name, main_verbs[i].help);
    printf("\nexit codes: 0 done, 1 failed, 2 called wrongly\n");
}

bool eg_cli_print_verb(const char *name)
{
    for (int i = 0; i < MAIN_N_VERBS; i++)
        if (strcmp(main_verbs[i].name, name) == 0) {
            printf("engram %s %s\n\n  %s\n", name, main_verbs[i].usage, main_verbs[i].help);
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        eg_cli_print_verbs();
        return 2;
    }
    const char *name =
        strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ? "help" : argv[1];
    for (int i = 0; i < MAIN_N_VERBS; i++)
        if (strcmp(main_verbs[i].name, name) == 0)
            return main_verbs[i].run(argc - 1, argv + 1);
    fprintf(stderr, "engram: there is no verb '%s'; see 'engram help'\n", argv[1]);
    return 2;
}
