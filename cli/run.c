/* run.c - `engram run`: every run of an experiment file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "runner.h"

#include <stdio.h>

static int run_all(runner_options *o, runner_folders *folders)
{
    int code = 0;
    eg_live *live = NULL;
    if (o->live >= 0 && eg_live_new(o->out, (int)o->live, &live) != EG_OK)
        return eg_cli_failed();
    if (live)
        fprintf(stderr, "engram: live on %s\n", eg_live_url(live));
    for (size_t i = 0; i < o->n_sources && code == 0; i++)
        code = runner_run(o, &o->sources[i], folders);
    if (code == 0)
        code = runner_export(o, folders);
    eg_live_free(live);
    bool table = code == 0 && !o->json;
    if (table)
        runner_say_total(o, folders);
    if (table && folders->n > 0)
        code = runner_compare(o, folders);
    if (table && folders->n == 1 && code == 0)
        printf("\n%s\n", folders->paths[0]);
    return code;
}

static int run_run(int argc, char **argv)
{
    return runner_verb(&eg_verb_run, &(runner_options){.out = "runs", .live = -1}, argc, argv,
                       run_all);
}

static const cli_option run_rows[] = {
    CLI_ALSO(runner_rows),
    CLI_ALSO(runner_transport_rows),
    CLI_ALSO(runner_resume_rows),
    CLI_FLAG("--replay", runner_options, replay,
             "of the folder of a finished run with devices: carry it out here, with those "
             "clients in each round who answered then, late answers too, and compare the bits",
             .without = "--resume"),
    CLI_INT(
        "--live", "PORT", runner_options, live, 0, 65535,
        "while runs go on, show their pages on 127.0.0.1 at this port (0: any that is free)",
        .what = "a port"),
    CLI_END,
};

const eg_verb eg_verb_run = {
    .name = "run",
    .run = run_run,
    .usage = "FILE|NAME [options]\n"
             "--resume RUN\n"
             "--replay RUN [--out DIR]",
    .help = "run every method of an experiment file",
    .details = "NAME is a file's name in experiments/, without .yaml, or an installed one's. "
               "`engram list settings` and `engram list methods` show what a file can set.",
    .options = run_rows,
};
