/* run.c - `engram run`: every run of an experiment file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "runner.h"

#include <stdio.h>
#include <sys/stat.h>

int eg_verb_run(int argc, char **argv)
{
    runner_options o = {.verb = "run", .out = "runs"};
    runner_folders folders = {0};
    int code = runner_parse(argc, argv, &o);
    if (code)
        return code;
    for (size_t i = 0; i < o.n_files && code == 0; i++) {
        struct stat about;
        bool folder = stat(o.files[i], &about) == 0 && S_ISDIR(about.st_mode);
        code = folder ? runner_resume(&o, o.files[i], &folders)
                      : runner_run_file(&o, o.files[i], &folders);
    }
    if (code == 0 && folders.n > 1 && !o.quiet)
        code = runner_compare(&o, o.files[0], &folders);
    for (size_t i = 0; code == 0 && folders.n == 1 && i < folders.n && !o.quiet; i++)
        printf("%s\n", folders.paths[i]);
    runner_free(&folders);
    return code;
}
