/* client.c - the program engram-client: a device, and nothing else, for small machines.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "ranks.h"

#include <engram/graph.h>

#include <stdio.h>
#include <string.h>

const char cli_program[] = "engram-client";

const cli_option cli_common_rows[] = {CLI_END}; /* a static program opens no plugins */

bool ranks_say(const char *text)
{
    (void)text; /* there are no ranks here */
    return false;
}

static const cli_option version_rows[] = {CLI_END};
static const eg_verb version_verb;

static int version_run(int argc, char **argv)
{
    int wrong = cli_parse(&version_verb, argc, argv, NULL);
    if (wrong)
        return wrong;
    cli_print_version();
    printf("instruction set: %s\n", eg_isa_name());
    return 0;
}

static const eg_verb version_verb = {
    .name = "version",
    .run = version_run,
    .usage = "",
    .help = "which engram this is, and what it computes with",
    .options = version_rows,
};

const eg_verb *const eg_verbs[] = {&eg_verb_join, &eg_verb_predict, &version_verb, NULL};

static int client_run(int argc, char **argv)
{
    if (argc < 2 || cli_asks_help(argv[1]) || strcmp(argv[1], "help") == 0) {
        if (argc < 3 || !eg_cli_print_verb(argv[2]))
            eg_cli_print_verbs();
        return argc < 2 ? 2 : 0;
    }
    for (int i = 2; i < argc; i++)
        if (cli_asks_help(argv[i]) && eg_cli_print_verb(argv[1]))
            return 0;
    const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    return cli_run_verb(name, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    return cli_process(client_run, argc, argv);
}
