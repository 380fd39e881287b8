/* runs.c - `engram runs`: the runs in a folder, one line each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/report.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct runs_call {
    const char *folder;
} runs_call;

static const cli_option runs_options[] = {
    CLI_FOLDER("DIR", NULL, runs_call, folder, NULL, .what = "a folder of runs"),
    CLI_END,
};

static int runs_run(int argc, char **argv)
{
    runs_call c = {.folder = "runs"};
    char *text;
    int wrong = cli_parse(&eg_verb_runs, argc, argv, &c);
    if (wrong)
        return wrong;
    if (eg_runs_print(c.folder, &text) != EG_OK)
        return eg_cli_failed();
    fputs(text, stdout);
    free(text);
    return 0;
}

const eg_verb eg_verb_runs = {
    .name = "runs",
    .run = runs_run,
    .usage = "[DIR]",
    .help = "list the runs in a folder (runs): label, seed, state, accuracy, age",
    .options = runs_options,
};
