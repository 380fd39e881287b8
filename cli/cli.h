/* cli.h - the verbs of the program: one function each, in a file of its own.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A verb gets the arguments from its own name on and returns the exit code: 0 done, 1 failed,
 * 2 called wrongly. Results go to stdout, one sentence about a failure to stderr.
 */
#ifndef EG_CLI_H
#define EG_CLI_H

#include "option.h"

#include <engram/component.h>

#define X(name) extern const eg_verb eg_verb_##name;
#include "verbs.inc"
#undef X

/* Rows that several verbs have. */
// clang-format off
#define CLI_SETTINGS(self, field, ...) \
    CLI_TEXTS("--set", "KEY=VALUE", self, field, 64, __VA_ARGS__, .offer = CLI_OFFERS_SETTINGS)
#define CLI_DATA_DIR(self, field) \
    CLI_FOLDER("--data-dir", "DIR", self, field, \
               "where data sets are (else ENGRAM_DATA, else ~/.local/share/engram)")
#define CLI_ISA \
    {.name = "--isa", .argument = "NAME", .kind = CLI_IS_TAKEN, .take = cli_take_isa, \
     .words = "portable|plain|avx2|avx512", \
     .help = "avx512, avx2, plain, or portable, which has the same bits on\n" \
             "every kind of machine (the best that this machine has)"}
#define CLI_THREADS \
    {.name = "--threads", .argument = "N", .kind = CLI_IS_TAKEN, .take = cli_take_threads, \
     .help = "threads that compute together (1); no result changes"}
// clang-format on
eg_status cli_take_isa(void *unused, const char *value);
eg_status cli_take_threads(void *unused, const char *value);

/* The program's name, as its errors begin. */
extern const char cli_program[];

/* A whole process: its beginning, `run`, and whether its output got out; the exit code. */
int cli_process(int (*run)(int argc, char **argv), int argc, char **argv);
/* Runs the verb of this name, whose words begin with it; the exit code. */
int cli_run_verb(const char *name, int argc, char **argv);
bool cli_asks_help(const char *word);
void cli_print_version(void);

/* Says why, as "engram: <the error text>", and returns 1. */
int eg_cli_failed(void);
/* Says what is wrong with the call and which help to read, and returns 2. */
int eg_cli_usage(const char *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The exit code for a bad argument, after saying what is wrong: 2 if it is unknown or out of
 * range, 1 if this machine lacks it. */
int eg_cli_refused(const char *verb, eg_status s);

/* Prints all verbs; one of them with its options, false if there is no such verb. */
void eg_cli_print_verbs(void);
bool eg_cli_print_verb(const char *name);

/* Prints the manual page, in roff, and what shells read to complete words. */
void cli_print_man(void);
void cli_print_bash(void);
void cli_print_zsh(void);

/* The file that a word names: itself, or the experiment of this name in experiments/ or where
 * the program is installed. NULL: there is none, and the error text says where was looked. */
enum { CLI_PATH = 600 };
const char *cli_find_experiment(const char *word, char room[CLI_PATH]);

/* Prints every experiment there is by name, with the first sentence of its file. */
void cli_list_experiments(void);

/* The exit code for a run of a file that cannot be resolved, after saying why: 2 if --set or
 * --only (NULL: none) are to blame, 1 if the file is. */
int eg_cli_unresolved(const char *verb, const char *path, const char *label,
                      const cli_texts *settings, eg_status s);
/* The same of a file that is open: a pipe is read only once. */
struct eg_experiment_file; /* engram/experiment.h */
int eg_cli_unresolved_in(const char *verb, const struct eg_experiment_file *file,
                         const char *label, const cli_texts *settings, eg_status s);

/* All of --set as one text "K=V K=V"; false, after saying so: they are too long. */
enum { EG_CLI_SETS = 8192 };
bool eg_cli_join_sets(const char *verb, const cli_texts *settings, char out[EG_CLI_SETS]);

/* Whether a file can be written under this path, so that a mistake shows before the work that
 * fills it: EG_EIO if not. NULL is fine. */
eg_status eg_cli_check_output(const char *path);

/* Sets an option of a component by KEY=VALUE. EG_EINVAL, EG_ENOENT. */
eg_status eg_cli_set_pair(const eg_component *of, void *self, const char *pair);

#endif
