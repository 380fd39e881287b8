/* runner.h - runs of an experiment file, as `run` and `compare` both carry them out.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_RUNNER_H
#define EG_CLI_RUNNER_H

#include "cli.h"

#include <engram/report.h>

enum { RUNNER_MAX = 64 };

/* A file or folder that was given, and what is to be run of it. */
typedef struct runner_source {
    const char *path;
    char found[CLI_PATH]; /* the path, if it was given by name */
    /* Read by runner_check. */
    eg_experiment_file *file; /* NULL: a run folder */
    eg_experiment **runs;     /* [n_runs] */
    size_t n_runs;
    uint64_t seed; /* of a run folder that is resumed */
} runner_source;

/* The k-th of n shares of all runs, from 1; zeroed: all of them. */
typedef struct runner_share {
    size_t k, n;
} runner_share;

enum { RUNNER_SOURCES = 1024 }; /* a folder of runs is many */

typedef struct runner_options {
    const char *verb;
    cli_texts words;                       /* the files and folders as they were given */
    runner_source sources[RUNNER_SOURCES]; /* what they are */
    size_t n_sources;
    cli_texts only; /* labels; none: every run */
    const char *out, *data_dir, *tensorboard;
    cli_texts settings;
    cli_ranges seeds;
    bool seeded;               /* a seed was given */
    bool placed;               /* --out was given */
    const runner_source *says; /* the first file that says how it is carried out; NULL: none */
    bool mpi;
    int64_t workers, threads; /* 0: not said */
    int64_t jobs;             /* compare's: runs side by side; 0: one after the other */
    runner_share share;       /* compare's */
    bool beside; /* others do the same beside this process: runs are its own, no bar */
    bool resume, replay, force, quiet, json;
    const char *transport; /* NULL: the usual one */
    char again[1024]; /* the options with which a stopped run goes on, each after a blank */
    const eg_listen *listen; /* serve's: how devices reach it */
    int64_t live;            /* run's: the port where pages are shown; below 0: they are not */
    int64_t sheets;          /* as eg_run_how has it */
    bool whole;              /* compare's: the table of all papers */
    bool finished;           /* compare's: nothing is carried out */
    bool reuse;           /* compare's: as --resume, and folders are those of finished runs */
    eg_compare_how table; /* how it is printed */
} runner_options;

/* The folders of finished runs. */
typedef struct runner_folders {
    char **paths;
    size_t n, cap;
    size_t n_run; /* those that were carried out, not only read */
    double since; /* eg_seconds() when the first of these began */
} runner_folders;

/* Rows of all these verbs; of those that choose a transport; of those that make new runs. */
extern const cli_option runner_rows[], runner_transport_rows[], runner_resume_rows[];

/* A verb from its words to its exit code: what is asked for is checked, then `all` is called,
 * or, on a rank that follows, what rank 0 orders is done. The struct that the verb's table
 * fills begins with *o. */
int runner_verb(const eg_verb *verb, runner_options *o, int argc, char **argv,
                int (*all)(runner_options *o, runner_folders *folders));
/* 0, or the exit code after saying what is wrong. */
int runner_parse(const eg_verb *verb, int argc, char **argv, runner_options *o);
/* Reads every file, run and setting, each once, so that a mistake shows before anything trains.
 */
int runner_check(runner_options *o);
void runner_options_free(runner_options *o);
/* Carries out a source of `run`: all runs and seeds of a file, or the run of a folder that goes
 * on; folders grow. What is there and finished is not run again; with --resume, what was
 * stopped goes on. 0, or the exit code. */
int runner_run(const runner_options *o, const runner_source *source, runner_folders *folders);
/* Carries out one run, unless it is finished. *held: another process is at it, and nothing was
 * done; held may be NULL, and this is a failure then. */
int runner_one(const runner_options *o, const eg_experiment *e, uint64_t seed,
               runner_folders *folders, bool *held);
/* Carries out all that is missing, for compare, in some order, beside others that may do the
 * same at the moment; folders are all there are, in the order of the files. */
int runner_sweep(const runner_options *o, runner_folders *folders);
/* On a rank that follows: carries out what is free of a sweep, from number `first` on. */
int runner_help(const runner_options *o, size_t first);
int runner_add(runner_folders *folders, const char *path);
void runner_free(runner_folders *folders);
/* Says how long the runs took that were carried out, if there were several. */
void runner_say_total(const runner_options *o, const runner_folders *folders);
/* Writes their curves for TensorBoard, if that is wanted. 0, or the exit code. */
int runner_export(const runner_options *o, const runner_folders *folders);
/* Prints the table of all folders, with the published figures of the files, and writes their
 * page; a single new run has written its own. */
int runner_compare(const runner_options *o, const runner_folders *folders);

#endif
