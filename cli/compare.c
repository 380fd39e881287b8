/* compare.c - `engram compare`: runs what is missing of experiment files, and prints the table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "runner.h"

int eg_verb_compare(int argc, char **argv)
{
    runner_options o = {.verb = "compare", .out = "runs", .reuse = true};
    runner_folders folders = {0};
    const char *file = NULL;
    int code = runner_parse(argc, argv, &o);
    if (code == 0)
        code = runner_check(&o);
    o.quiet |= o.form != EG_COMPARE_TEXT; /* nothing but the table on stdout */
    for (size_t i = 0; i < o.n_files && code == 0; i++) {
        bool folder = runner_is_folder(o.files[i]);
        if (!folder)
            file = o.files[i];
        code = folder ? runner_add(&folders, o.files[i])
                      : runner_run_file(&o, o.files[i], &folders);
    }
    if (code == 0)
        code = runner_compare(&o, file, &folders);
    runner_free(&folders);
    return code;
}
