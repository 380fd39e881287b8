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

int eg_verb_bench(int argc, char **argv);
int eg_verb_data(int argc, char **argv);
int eg_verb_compare(int argc, char **argv);
int eg_verb_eval(int argc, char **argv);
int eg_verb_generate(int argc, char **argv);
int eg_verb_help(int argc, char **argv);
int eg_verb_join(int argc, char **argv);
int eg_verb_list(int argc, char **argv);
int eg_verb_model(int argc, char **argv);
int eg_verb_pretrain(int argc, char **argv);
int eg_verb_run(int argc, char **argv);
int eg_verb_scenario(int argc, char **argv);
int eg_verb_serve(int argc, char **argv);
int eg_verb_train(int argc, char **argv);

extern const eg_verb eg_verb_export, eg_verb_report;

/* Says why, as "engram: <the error text>", and returns 1. */
int eg_cli_failed(void);
/* Says what is wrong with the call and which help to read, and returns 2. */
int eg_cli_usage(const char *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The exit code for a bad argument, after saying what is wrong: 2 if it is unknown or out of
 * range, 1 if this machine lacks it. */
int eg_cli_refused(const char *verb, eg_status s);

/* The exit code for a word that is no option, after saying so; of a verb that takes one `what`,
 * and has it, a second one is told apart. */
int eg_cli_unknown(const char *verb, const char *what, const char *one, const char *word);

/* Prints all verbs; one of them with its options, false if there is no such verb. */
void eg_cli_print_verbs(void);
bool eg_cli_print_verb(const char *name);

/* True when name is one of n known options. */
bool eg_cli_knows(const char *name, size_t n, const char *const *known);

/* Walks "--name value" and "--name" arguments: the value of an option that takes one. When it
 * is missing, says so and returns NULL. */
const char *eg_cli_value(const char *verb, int argc, char **argv, int *i);

/* The settings of --set that an experiment is to be read with, in the order given. */
enum { EG_CLI_MAX_SETTINGS = 64 };
typedef struct eg_cli_settings {
    const char *pairs[EG_CLI_MAX_SETTINGS]; /* each KEY=VALUE, borrowed */
    size_t n;
} eg_cli_settings;
/* Adds one. 0, or 2 after saying that they are too many. */
int eg_cli_add_setting(const char *verb, eg_cli_settings *settings, const char *pair);

/* The exit code for a run of a file that cannot be resolved, after saying why: 2 if --set or
 * --only (NULL: none) are to blame, 1 if the file is. */
int eg_cli_unresolved(const char *verb, const char *file, const char *only,
                      const eg_cli_settings *settings, eg_status s);

/* Adds one --set to those before it, as "K=V K=V"; false, after saying so: they are too many.
 */
enum { EG_CLI_SETS = 8192 };
bool eg_cli_add_set(const char *verb, char sets[EG_CLI_SETS], const char *more);

/* Whether a file can be written under this path, so that a mistake shows before the work that
 * fills it: EG_EIO if not. NULL is fine. */
eg_status eg_cli_check_output(const char *path);

/* Reads a seed, 0 to 2^63 - 1. When it is none, says so and returns 2, else 0. */
int eg_cli_seed(const char *verb, const char *text, uint64_t *out);

/* Sets an option of a component by KEY=VALUE. 0, or 2 after saying what is wrong. */
int eg_cli_set_option(const char *verb, const eg_component *of, void *self, const char *pair);
/* The same, for options that can be judged only later: EG_EINVAL. */
eg_status eg_cli_set_pair(const eg_component *of, void *self, const char *pair);

#endif
