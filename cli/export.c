/* export.c - `engram export`: a run's curves for other programs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/report.h>

#include <stdio.h>
#include <string.h>

typedef struct export_call {
    const char *run, *out, *format;
} export_call;

static const cli_option export_options[] = {
    CLI_FOLDER("RUN", NULL, export_call, run, NULL, .what = "a run folder", .needed = true),
    CLI_WORD("--format", "FORMAT", export_call, format, "tensorboard|csv|npz",
             "tensorboard: PATH is a folder for it; csv: one line per value; npz: arrays",
             .needed = true),
    CLI_FILE("--out", "PATH", export_call, out, "where they go", .needed = true),
    CLI_END,
};

static int export_run(int argc, char **argv)
{
    static const char *const names[] = {[EG_EXPORT_TENSORBOARD] = "tensorboard",
                                        [EG_EXPORT_CSV] = "csv",
                                        [EG_EXPORT_NPZ] = "npz"};
    export_call c = {0};
    int wrong = cli_parse(&eg_verb_export, argc, argv, &c);
    if (wrong)
        return wrong;
    int form = 0;
    while (strcmp(names[form], c.format) != 0)
        form++;
    if (eg_export_write(c.run, (eg_export_form)form, c.out) != EG_OK)
        return eg_cli_failed();
    printf("%s\n", c.out);
    return 0;
}

const eg_verb eg_verb_export = {
    .name = "export",
    .run = export_run,
    .usage = "RUN --format tensorboard|csv|npz --out PATH",
    .help = "write a run's curves for other programs",
    .options = export_options,
};
