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
    const char *file = NULL; /* for the published figures */
    for (size_t i = 0; i < o.n_files && code == 0; i++) {
        bool folder = runner_is_folder(o.files[i]);
        if (!folder && !file)
            file = o.files[i];
        code = folder ? runner_resume(&o, o.files[i], &folders)
                      : runner_run_file(&o, o.files[i], &folders);
    }
    bool table = code == 0 && !o.quiet && !o.json;
    if (table && folders.n > 1)
        code = runner_compare(&o, file, &folders);
    else if (table && folders.n == 1)
        printf("%s\n", folders.paths[0]);
    runner_free(&folders);
    return code;
}
