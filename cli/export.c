/* export.c - `engram export`: a run's curves for other programs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/report.h>

#include <stdio.h>
#include <string.h>

typedef struct export_call {
    cli_texts runs;
    const char *out, *format;
} export_call;

static const cli_option export_options[] = {
    CLI_TEXTS("RUN", NULL, export_call, runs, CLI_MOST_TEXTS, NULL, .what = "a run folder",
              .needed = true),
    CLI_WORD(
        "--format", "FORMAT", export_call, format, "tensorboard|csv|npz|settings",
        "tensorboard: PATH is a folder for it; csv: one line per value; npz: arrays; "
        "settings: CSV with one line per setting; of several runs the tables have all, and of "
        "the others PATH is a folder with one entry per run",
        .needed = true),
    CLI_FILE("--out", "PATH", export_call, out, "where they go", .needed = true),
    CLI_END,
};

static int export_run(int argc, char **argv)
{
    static const char *const names[] = {[EG_EXPORT_TENSORBOARD] = "tensorboard",
                                        [EG_EXPORT_CSV] = "csv",
                                        [EG_EXPORT_NPZ] = "npz",
                                        [EG_EXPORT_SETTINGS] = "settings"};
    export_call c = {0};
    int wrong = cli_parse(&eg_verb_export, argc, argv, &c);
    if (wrong)
        return wrong;
    int form = 0;
    while (strcmp(names[form], c.format) != 0)
        form++;
    eg_run_folders f = {0};
    const char *const *runs = c.runs.list;
    size_t n = c.runs.n;
    if (n == 1 && eg_run_folders_find(runs[0], &f) == EG_OK) {
        runs = (const char *const *)f.list;
        n = f.n;
    }
    eg_status s = n == 1 ? eg_export_write(runs[0], (eg_export_form)form, c.out)
                         : eg_export_all(runs, n, (eg_export_form)form, c.out);
    eg_run_folders_free(&f);
    if (s != EG_OK)
        return eg_cli_failed();
    printf("%s\n", c.out);
    return 0;
}

const eg_verb eg_verb_export = {
    .name = "export",
    .run = export_run,
    .usage = "RUN... --format tensorboard|csv|npz|settings --out PATH\n"
             "export DIR --format ... --out PATH",
    .help = "write the curves of runs for other programs",
    .options = export_options,
};
