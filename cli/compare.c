/* compare.c - `engram compare`: runs what is missing of experiment files, and prints the table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "runner.h"

#include <stdio.h>

static int compare_all(runner_options *o, runner_folders *folders)
{
    int code = runner_sweep(o, folders);
    if (code == 0 && folders->n == 0 && o->n_shares) { /* there are more shares than runs */
        fprintf(stderr, "engram: share %zu/%zu has no run\n", o->share, o->n_shares);
        return 0;
    }
    if (code == 0)
        code = runner_export(o, folders);
    if (code == 0) {
        runner_say_total(o, folders);
        code = runner_compare(o, folders);
    }
    return code;
}

int eg_verb_compare(int argc, char **argv)
{
    return runner_verb(&(runner_options){.verb = "compare", .out = "runs", .reuse = true}, argc,
                       argv, compare_all);
}
