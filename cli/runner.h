/* runner.h - runs of an experiment file, as `run` and `compare` both carry them out.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_RUNNER_H
#define EG_CLI_RUNNER_H

#include <engram/report.h>

enum { RUNNER_MAX = 64, RUNNER_PATH = 600 };

typedef struct runner_options {
    const char *verb;
    const char *files[RUNNER_MAX]; /* experiment files, or for compare also run folders */
    size_t n_files;
    char found[RUNNER_MAX][RUNNER_PATH]; /* of those that were given by name */
    const char *only[RUNNER_MAX];        /* labels; none: every run */
    size_t n_only;
    const char *out, *data_dir;
    const char *sets[RUNNER_MAX];
    size_t n_sets;
    uint64_t first_seed, last_seed;
    bool seeded; /* a seed was given */
    int workers;
    bool resume, quiet, wire, json;
    bool reuse; /* compare's: as --resume, and folders are those of finished runs */
    eg_compare_form form;
} runner_options;

/* The folders of finished runs. */
typedef struct runner_folders {
    char **paths;
    size_t n, cap;
} runner_folders;

/* 0, or the exit code after saying what is wrong. */
int runner_parse(int argc, char **argv, runner_options *o);
/* Reads every file, run and setting, so that a mistake shows before anything trains. */
int runner_check(const runner_options *o);
bool runner_is_folder(const char *path);
bool runner_wants(const runner_options *o, const char *label); /* by --only */
/* Runs all of a file's runs and seeds; folders grow. What is there and finished is not run
 * again, what was stopped goes on. 0, or the exit code. */
int runner_run_file(const runner_options *o, const char *file, runner_folders *folders);
/* Goes on with the run in a folder, which was checked. */
int runner_resume(const runner_options *o, const char *folder, runner_folders *folders);
int runner_add(runner_folders *folders, const char *path);
void runner_free(runner_folders *folders);
/* Prints the table of all folders, with the published figures of file (NULL: none). */
int runner_compare(const runner_options *o, const char *file, const runner_folders *folders);

#endif
