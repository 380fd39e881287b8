/* report.c - `engram report`: one page about one or several runs, or all of a folder's.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/log.h>
#include <engram/report.h>

#include <stdio.h>
#include <unistd.h>

typedef struct report_call {
    cli_texts runs;
    const char *out, *chart;
} report_call;

static const cli_option report_options[] = {
    CLI_TEXTS("RUN", NULL, report_call, runs, CLI_MOST_TEXTS, NULL, .what = "a run folder",
              .needed = true, .offer = CLI_OFFERS_FOLDERS),
    CLI_FILE("--out", "FILE.html", report_call, out,
             "where the page goes (" EG_RUN_REPORT "; of a single run: in its folder; of DIR: "
             "index.html in it)"),
    CLI_TEXT(
        "--chart", "NAME", report_call, chart,
        "write this chart alone, as FILE.svg: compare, bytes-accuracy, final, ...; of one run "
        "accuracy, matrix, loss, ...",
        .with = "--out"),
    CLI_END,
};

/* Whether a folder is none of a run but has some in it. */
static bool report_is_of_runs(const char *path)
{
    char log[EG_RUN_PATH];
    return eg_run_file(path, EG_RUN_METRICS, log) == EG_OK && access(log, F_OK) != 0 &&
           access(path, F_OK) == 0;
}

/* Of a folder of runs, the chart is about all of them. */
static int report_chart(const report_call *c)
{
    eg_run_folders f = {0};
    const char *const *runs = c->runs.list;
    size_t n = c->runs.n;
    if (n == 1 && eg_run_folders_find(runs[0], &f) == EG_OK) {
        runs = (const char *const *)f.list;
        n = f.n;
    }
    eg_status s = eg_report_chart(runs, n, c->chart, c->out);
    eg_run_folders_free(&f);
    if (s == EG_EINVAL)
        return eg_cli_refused("report", s);
    if (s != EG_OK)
        return eg_cli_failed();
    printf("%s\n", c->out);
    return 0;
}

static int report_run(int argc, char **argv)
{
    report_call c = {0};
    char path[EG_RUN_PATH];
    int wrong = cli_parse(&eg_verb_report, argc, argv, &c);
    if (wrong)
        return wrong;
    const char *out = c.out;
    if (c.chart)
        return report_chart(&c);
    if (c.runs.n == 1 && report_is_of_runs(c.runs.list[0])) {
        if (!out && eg_run_file(c.runs.list[0], "index.html", path) != EG_OK)
            return eg_cli_failed();
        out = out ? out : path;
        if (eg_report_write_all(c.runs.list[0], out) != EG_OK)
            return eg_cli_failed();
        printf("%s\n", out);
        return 0;
    }
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
    .usage = "RUN... [--out FILE.html]\n"
             "report DIR [--out FILE.html]",
    .help =
        "make a page about runs, or a page for each run in a folder and one that lists them",
    .options = report_options,
};
