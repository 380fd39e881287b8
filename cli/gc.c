/* gc.c - `engram gc`: frees the disk of what finished runs do not need any more.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/report.h>

#include <stdio.h>

typedef struct gc_call {
    const char *folder;
    bool look;
} gc_call;

static const cli_option gc_options[] = {
    CLI_FOLDER("DIR", NULL, gc_call, folder, NULL, .what = "a folder of runs"),
    CLI_FLAG("--dry-run", gc_call, look, "remove nothing, say only what would go"),
    CLI_END,
};

static int gc_run(int argc, char **argv)
{
    gc_call c = {.folder = "runs"};
    eg_run_folders f;
    int64_t all = 0;
    size_t n = 0;
    int wrong = cli_parse(&eg_verb_gc, argc, argv, &c);
    if (wrong)
        return wrong;
    if (eg_run_folders_find(c.folder, &f) != EG_OK)
        return eg_cli_failed();
    for (size_t i = 0; i < f.n && wrong == 0; i++) {
        int64_t bytes;
        wrong = eg_run_clean(f.list[i], !c.look, &bytes) == EG_OK ? 0 : eg_cli_failed();
        all += bytes;
        n += bytes > 0;
        if (bytes > 0)
            printf("%s: %.1f MB\n", f.list[i], (double)bytes * 1e-6);
    }
    eg_run_folders_free(&f);
    if (wrong == 0)
        printf("%.1f MB of checkpoints of %zu finished run%s %s\n", (double)all * 1e-6, n,
               n == 1 ? "" : "s", c.look ? "would go" : "removed");
    return wrong;
}

const eg_verb eg_verb_gc = {
    .name = "gc",
    .run = gc_run,
    .usage = "[DIR] [--dry-run]",
    .help = "remove the checkpoints of finished runs in a folder (runs)",
    .details = "A checkpoint is what a run needs to go on. Logs, models and pages stay.",
    .options = gc_options,
};
