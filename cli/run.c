/* run.c - `engram run`: every run of an experiment file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "runner.h"

#include <stdio.h>

static int run_all(runner_options *o, runner_folders *folders)
{
    int code = 0;
    for (size_t i = 0; i < o->n_sources && code == 0; i++)
        code = runner_run(o, &o->sources[i], folders);
    if (code == 0)
        code = runner_export(o, folders);
    bool table = code == 0 && !o->json;
    if (table)
        runner_say_total(o, folders);
    if (table && folders->n > 0)
        code = runner_compare(o, folders);
    if (table && folders->n == 1 && code == 0)
        printf("\n%s\n", folders->paths[0]);
    return code;
}

static int run_run(int argc, char **argv)
{
    return runner_verb(&eg_verb_run, &(runner_options){.out = "runs"}, argc, argv, run_all);
}

static const cli_option run_rows[] = {
    CLI_ALSO(runner_rows),
    CLI_ALSO(runner_transport_rows),
    CLI_ALSO(runner_resume_rows),
    CLI_END,
};

const eg_verb eg_verb_run = {
    .name = "run",
    .run = run_run,
    .usage = "FILE|NAME [options]\n"
             "--resume RUN",
    .help = "run every method of an experiment file",
    .details = "NAME is a file's name in experiments/, without .yaml, or an installed one's. "
               "`engram list settings` and `engram list methods` show what a file can set.",
    .options = run_rows,
};
