/* compare.c - `engram compare`: runs what is missing of experiment files, and prints the table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "runner.h"

int eg_verb_compare(int argc, char **argv)
{
    runner_options o = {.verb = "compare", .out = "runs", .reuse = true};
    runner_folders folders = {0};
    const eg_experiment_file *file = NULL; /* for the published figures */
    int code = runner_parse(argc, argv, &o);
    if (code == 0)
        code = runner_check(&o);
    o.quiet |= o.table.form != EG_COMPARE_TEXT; /* nothing but the table on stdout */
    for (size_t i = 0; i < o.n_sources && code == 0; i++)
        file = o.sources[i].file ? o.sources[i].file : file;
    if (code == 0)
        code = runner_sweep(&o, &folders);
    if (code == 0)
        code = runner_export(&o, &folders);
    if (code == 0) {
        runner_say_total(&o, &folders);
        code = runner_compare(&o, file, &folders);
    }
    runner_free(&folders);
    runner_options_free(&o);
    return code;
}
