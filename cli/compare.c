/* compare.c - `engram compare`: runs what is missing of experiment files, and prints the table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "runner.h"

#include <engram/method.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARE_MOST_SHARES = 100000 };

/* "K/N". */
static eg_status compare_take_share(void *field, const char *value)
{
    char *end;
    unsigned long k = strtoul(value, &end, 10), n = 0;
    if (end > value && *end == '/')
        n = strtoul(end + 1, &end, 10);
    if (*value < '0' || *value > '9' || *end || k < 1 || k > n || n > COMPARE_MOST_SHARES)
        return eg_fail(EG_EINVAL, "'%s' is no share K/N with K from 1 to N", value);
    *(runner_share *)field = (runner_share){k, n};
    return EG_OK;
}

static eg_status compare_take_sort(void *field, const char *value)
{
    *(const char **)field = value;
    return eg_compare_check(&(eg_compare_how){.sort = value});
}

static eg_status compare_take_columns(void *field, const char *value)
{
    *(const char **)field = value;
    return eg_compare_check(&(eg_compare_how){.columns = value});
}

#define COMPARE_FORM(word, form_, text)                                                        \
    CLI_PICK(word, runner_options, table.form, eg_compare_form, form_, text)

static const cli_option compare_rows[] = {
    CLI_ALSO(runner_rows),
    CLI_ALSO(runner_transport_rows),
    CLI_INT("--jobs", "N", runner_options, jobs, 1, 64,
            "N runs side by side, each with its part of the cores; no result changes",
            .what = "jobs"),
    CLI_TAKEN("--share", "K/N", runner_options, share, runner_share, compare_take_share,
              "every N-th run, from the K-th on: for a job array"),
    CLI_FLAG("--finished", runner_options, finished,
             "show only what is finished already; nothing is run"),
    CLI_TITLE("The table:"),
    CLI_TAKEN("--sort", "COLUMN", runner_options, table.sort, const char *, compare_take_sort,
              "rows by label, seeds, acc_final, forgetting, seconds, ...: best first"),
    CLI_TAKEN("--columns", "A,B", runner_options, table.columns, const char *,
              compare_take_columns,
              "further columns: flops_clients, flops_server, server_seconds, acc_seen, "
              "client_mean, ..."),
    CLI_TEXT("--against", "LABEL", runner_options, table.against,
             "differences are to this row (the first), seed by seed, with p",
             .without = "--without"),
    CLI_MEMBER("--without", "PART", runner_options, table.without, eg_method_family,
               "or of each row with this part to the one without it"),
    CLI_FLAG("--published", runner_options, table.published,
             "only figures that the file's paper gives, each beside it, with how many of its "
             "deviations lie between"),
    CLI_FLAG("--all", runner_options, whole,
             "of a folder of experiment files: the table of all their papers as Markdown, of "
             "finished runs in --out and of what is on record in the folder",
             .with = "--published"),
    COMPARE_FORM("--markdown", EG_COMPARE_MARKDOWN, "the table as Markdown"),
    COMPARE_FORM("--latex", EG_COMPARE_LATEX, "as a LaTeX tabular"),
    COMPARE_FORM("--csv", EG_COMPARE_CSV, "as CSV, unrounded"),
    COMPARE_FORM("--json", EG_COMPARE_JSON, "as JSON, unrounded"),
    CLI_END,
};

static int compare_all(runner_options *o, runner_folders *folders)
{
    int code = runner_sweep(o, folders);
    if (code == 0 && folders->n == 0 && o->share.n) { /* there are more shares than runs */
        fprintf(stderr, "engram: share %zu/%zu has no run\n", o->share.k, o->share.n);
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

/* Nothing is run for the table of all papers. */
static int compare_papers(int argc, char **argv)
{
    runner_options o = {.out = "runs", .reuse = true};
    char *text;
    int code = cli_parse(&eg_verb_compare, argc, argv, &o);
    if (code == 0 && o.words.n != 1)
        code = eg_cli_usage("compare", "--all takes one folder of experiment files");
    if (code == 0 && eg_compare_all(o.words.list[0], o.out, &text) != EG_OK)
        code = eg_cli_failed();
    else if (code == 0) {
        fputs(text, stdout);
        free(text);
    }
    cli_ranges_free(&o.seeds);
    return code;
}

static int compare_run(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--all") == 0)
            return compare_papers(argc, argv);
    return runner_verb(&eg_verb_compare, &(runner_options){.out = "runs", .reuse = true}, argc,
                       argv, compare_all);
}

const eg_verb eg_verb_compare = {
    .name = "compare",
    .run = compare_run,
    .usage = "FILE|NAME|RUN... [options]",
    .help = "run what is missing and print the table",
    .details = "Runs that are finished are read; those that were stopped go on. A run that "
               "another process carries out at the moment is left to it, and waited for at the "
               "end.",
    .options = compare_rows,
};
