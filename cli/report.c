/* report.c - `engram report`: one page about one or several runs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/log.h>
#include <engram/report.h>

#include <stdio.h>
#include <string.h>

enum { REPORT_MAX = 256 };

int eg_verb_report(int argc, char **argv)
{
    const char *runs[REPORT_MAX], *out = NULL;
    size_t n = 0;
    char path[EG_RUN_PATH];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--out") == 0) {
            if (!(out = eg_cli_value("report", argc, argv, &i)))
                return 2;
        } else if (argv[i][0] == '-') {
            return eg_cli_usage("report", "there is no option '%s'", argv[i]);
        } else if (n == REPORT_MAX) {
            return eg_cli_usage("report", "there are more than %d runs", REPORT_MAX);
        } else {
            runs[n++] = argv[i];
        }
    }
    if (n == 0)
        return eg_cli_usage("report", "a run folder is needed");
    if (!out) {
        if (n == 1 && eg_run_file(runs[0], EG_RUN_REPORT, path) != EG_OK)
            return eg_cli_failed();
        out = n == 1 ? path : EG_RUN_REPORT;
    }
    if (eg_report_write(runs, n, NULL, 0, NULL, out) != EG_OK)
        return eg_cli_failed();
    printf("%s\n", out);
    return 0;
}
