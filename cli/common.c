/* common.c - what every program of verbs does: its words, its errors, its beginning and end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "ranks.h"

#include <engram/graph.h>
#include <engram/suggest.h>

#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int eg_cli_failed(void)
{
    if (!ranks_say(eg_error()))
        fprintf(stderr, "%s: %s\n", cli_program, eg_error());
    return 1;
}

int eg_cli_usage(const char *verb, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!ranks_say(text))
        fprintf(stderr, "%s %s: %s; see '%s help %s'\n", cli_program, verb, text, cli_program,
                verb);
    return 2;
}

int eg_cli_refused(const char *verb, eg_status s)
{
    return s == EG_EINVAL || s == EG_ENOENT ? eg_cli_usage(verb, "%s", eg_error())
                                            : eg_cli_failed();
}

eg_status cli_take_isa(void *unused, const char *value)
{
    (void)unused;
    return eg_isa_set(value);
}

eg_status cli_take_threads(void *unused, const char *value)
{
    (void)unused;
    char *end;
    long n = strtol(value, &end, 10);
    if (*end || n < 1 || n > 64)
        return eg_fail(EG_EINVAL, "'%.20s' is no number of threads from 1 to 64", value);
    return eg_threads_begin((int)n);
}

bool cli_asks_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

void cli_print_version(void)
{
    printf("%s %s%s%s%s\n", cli_program, eg_version(), *eg_commit() ? " (" : "", eg_commit(),
           *eg_commit() ? ")" : "");
}

int cli_run_verb(const char *name, int argc, char **argv)
{
    const char *isa = getenv("ENGRAM_ISA");
    if (isa && *isa && eg_isa_set(isa) != EG_OK) {
        fprintf(stderr, "%s: ENGRAM_ISA: %s\n", cli_program, eg_error());
        return 2;
    }
    const eg_verb *verb = cli_verb(name);
    if (verb)
        return verb->run(argc, argv);
    eg_suggestion near = eg_suggest(name);
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        eg_suggest_offer(&near, (*v)->name);
    fprintf(stderr, "%s: there is no verb '%s'%s; see '%s help'\n", cli_program, name,
            eg_suggest_words(&near), cli_program);
    return 2;
}

/* Blocks of a megabyte and more go back to the system when they are freed. By itself glibc puts
 * those as large as the largest freed so far (up to 32 MB) among small ones, where they leave
 * holes: a run whose clients have many large records needed a third more memory. */
static void cli_return_blocks(void)
{
#ifdef __GLIBC__
    enum { LARGE = 1 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
#endif
}

int cli_process(int (*run)(int argc, char **argv), int argc, char **argv)
{
    cli_return_blocks();
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of its write */
    signal(SIGCHLD, SIG_DFL); /* ignored, as it may be inherited, it leaves none to wait for */
    int code = run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "%s: the output could not be written to stdout\n", cli_program);
    return code ? code : 1;
}
