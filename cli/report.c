/* report.c - `engram report`: one page about one or several runs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/log.h>
#include <engram/report.h>

#include <stdio.h>

typedef struct report_call {
    cli_texts runs;
    const char *out;
} report_call;

static const cli_option report_options[] = {
    CLI_TEXTS("RUN", NULL, report_call, runs, CLI_MOST_TEXTS, NULL, .what = "a run folder",
              .needed = true, .offer = CLI_OFFERS_FOLDERS),
    CLI_FILE("--out", "FILE.html", report_call, out,
             "where the page goes (" EG_RUN_REPORT "; of a single run: in its folder)"),
    CLI_END,
};

static int report_run(int argc, char **argv)
{
    report_call c = {0};
    char path[EG_RUN_PATH];
    int wrong = cli_parse(&eg_verb_report, argc, argv, &c);
    if (wrong)
        return wrong;
    const char *out = c.out;
    if (!out) {
        bool alone = c.runs.n == 1;
        if (alone && eg_run_file(c.runs.list[0], EG_RUN_REPORT, path) != EG_OK)
            return eg_cli_failed();
        out = alone ? path : EG_RUN_REPORT;
    }
    if (eg_report_write(c.runs.list, c.runs.n, NULL, 0, NULL, out) != EG_OK)
        return eg_cli_failed();
    printf("%s\n", out);
    return 0;
}

const eg_verb eg_verb_report = {
    .name = "report",
    .run = report_run,
    .usage = "RUN... [--out FILE.html]",
    .help = "make a page about runs",
    .options = report_options,
};
