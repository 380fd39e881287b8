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

int eg_verb_run(int argc, char **argv)
{
    return runner_verb(&(runner_options){.verb = "run", .out = "runs"}, argc, argv, run_all);
}
