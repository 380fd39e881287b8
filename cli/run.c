/* run.c - `engram run`: every run of an experiment file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "runner.h"

#include <stdio.h>

int eg_verb_run(int argc, char **argv)
{
    runner_options o = {.verb = "run", .out = "runs"};
    runner_folders folders = {0};
    int code = runner_parse(argc, argv, &o);
    if (code == 0)
        code = runner_check(&o);
    const eg_experiment_file *file = NULL; /* for the published figures */
    for (size_t i = 0; i < o.n_sources && code == 0; i++) {
        file = file ? file : o.sources[i].file;
        code = runner_run(&o, &o.sources[i], &folders);
    }
    if (code == 0)
        code = runner_export(&o, &folders);
    bool table = code == 0 && !o.json;
    if (table)
        runner_say_total(&o, &folders);
    if (table && folders.n > 0)
        code = runner_compare(&o, file, &folders);
    if (table && folders.n == 1 && code == 0)
        printf("\n%s\n", folders.paths[0]);
    runner_free(&folders);
    runner_options_free(&o);
    return code;
}
