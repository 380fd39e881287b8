/* runner_parse.c - the options of run, compare and serve, and where their experiments are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "ranks.h"
#include "runner.h"

#include <engram/method.h>
#include <engram/transport.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "none", "task", or a number of rounds. */
static eg_status run_take_sheets(void *field, const char *value)
{
    int64_t *sheets = field;
    char *end;
    long n = strtol(value, &end, 10);
    bool none = strcmp(value, "none") == 0, task = strcmp(value, "task") == 0;
    if (!none && !task && (n < 1 || n > 1000000 || *end))
        return eg_fail(EG_EINVAL, "'%s' is not none, task or a number of rounds", value);
    *sheets = none ? -1 : task ? 0 : n;
    return EG_OK;
}

const cli_option runner_rows[] = {
    CLI_TEXTS("FILE", NULL, runner_options, words, RUNNER_MAX, NULL,
              .what = "an experiment file", .needed = true, .offer = CLI_OFFERS_EXPERIMENTS),
    CLI_TEXTS("--only", "LABEL", runner_options, only, RUNNER_MAX,
              "run this label of the file alone; may be repeated"),
    CLI_SETTINGS(runner_options, settings,
                 "change a setting: optimizer.lr=0.05, scale=0.1, re-fed.size=500; "
                 "optimizer.lr=0.05,0.1 makes one run per value"),
    CLI_RANGES("--seed", "N", runner_options, seeds, 0, "random seed (0)"),
    CLI_RANGES("--seeds", "A,B..C", runner_options, seeds, 0,
               "one run for each of these seeds"),
    CLI_INT("--workers", "N", runner_options, workers, 1, 64,
            "threads that train clients (one per core); no result changes", .what = "workers"),
    CLI_INT("--threads", "N", runner_options, threads, 1, 64,
            "threads that compute together for each of these (1, and those of workers that "
            "have no client); no result changes",
            .what = "threads"),
    CLI_FOLDER("--out", "DIR", runner_options, out, "where run folders go (runs)"),
    CLI_DATA_DIR(runner_options, data_dir),
    CLI_ISA,
    CLI_FOLDER("--tensorboard", "DIR", runner_options, tensorboard,
               "at the end write the curves of each run into a folder of its own in there"),
    CLI_TAKEN("--sheets", "N", runner_options, sheets, int64_t, run_take_sheets,
              "pictures of what a method draws: every N rounds and at task ends; task: at task "
              "ends alone (the usual); none; no result changes",
              .words = "task|none"),
    CLI_FLAG("--force", runner_options, force,
             "go on with a run though the data or the program have changed since its start; "
             "its log then says that bits may differ"),
    CLI_FLAG("--quiet", runner_options, quiet, "show no progress"),
    CLI_END,
};

const cli_option runner_transport_rows[] = {
    CLI_MEMBER("--transport", "NAME", runner_options, transport, eg_transport_family,
               "how turns reach clients: threads (the usual), or processes, which share no "
               "memory and get bytes alone; no result changes"),
    CLI_FLAG("--mpi", runner_options, mpi,
             "join other ranks; not needed where mpirun starts engram itself"),
    CLI_END,
};

const cli_option runner_resume_rows[] = {
    CLI_FLAG("--resume", runner_options, resume,
             "finish runs that were stopped and start what is missing; of a run folder: go on "
             "with that run"),
    CLI_FLAG("--json", runner_options, json, "show progress as JSON, one object per line",
             .without = "--quiet"),
    CLI_END,
};

/* The seed of a call that names none. */
static int run_add_seed(runner_options *o)
{
    o->seeded = o->seeds.n > 0;
    if (o->seeded)
        return 0;
    if (eg_alloc(1, sizeof *o->seeds.list, &o->seeds.list) != EG_OK)
        return eg_cli_failed();
    o->seeds.n = 1;
    return 0;
}

int runner_parse(const eg_verb *verb, int argc, char **argv, runner_options *o)
{
    const char *usual = o->out;
    int code = cli_parse(verb, argc, argv, o);
    if (code)
        return code;
    o->placed = o->out != usual;
    if (o->replay && !o->placed)
        o->out = "replays"; /* beside other runs it would be one of their seeds */
    if (o->mpi)
        o->transport = "mpi";
    if (o->force && !o->resume && !o->reuse)
        return eg_cli_usage(o->verb, "--force is for runs that go on: it takes --resume");
    o->quiet |= o->table.form != EG_COMPARE_TEXT; /* nothing but the table on stdout */
    if (ranks_cluster() && (o->jobs > 1 || (o->transport && strcmp(o->transport, "mpi") != 0)))
        return eg_cli_usage(o->verb, "mpirun and %s exclude each other",
                            o->jobs > 1 ? "--jobs" : "another transport than mpi");
    code = run_add_seed(o);
    for (; o->n_sources < o->words.n && code == 0; o->n_sources++) {
        runner_source *source = &o->sources[o->n_sources];
        source->path = cli_find_experiment(o->words.list[o->n_sources], source->found);
        code = source->path ? 0 : eg_cli_failed();
    }
    return code;
}
