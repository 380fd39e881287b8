/* main.c - the program: finds the verb and hands it the arguments.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "ranks.h"

#include <engram/graph.h>
#include <engram/plugin.h>
#include <engram/suggest.h>

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int eg_cli_failed(void)
{
    if (!ranks_say(eg_error()))
        fprintf(stderr, "engram: %s\n", eg_error());
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
        fprintf(stderr, "engram %s: %s; see 'engram help %s'\n", verb, text, verb);
    return 2;
}

int eg_cli_refused(const char *verb, eg_status s)
{
    return s == EG_EINVAL || s == EG_ENOENT ? eg_cli_usage(verb, "%s", eg_error())
                                            : eg_cli_failed();
}

bool eg_cli_join_sets(const char *verb, const cli_texts *settings, char out[EG_CLI_SETS])
{
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < settings->n && n < EG_CLI_SETS; i++)
        n +=
            (size_t)snprintf(out + n, EG_CLI_SETS - n, "%s%s", n ? " " : "", settings->list[i]);
    if (n < EG_CLI_SETS)
        return true;
    eg_cli_usage(verb, "--set: more than %d characters in all", EG_CLI_SETS - 1);
    return false;
}

/* A file is written beside its place and moved there, so that its folder must take files. */
eg_status eg_cli_check_output(const char *path)
{
    char folder[PATH_MAX];
    struct stat about;
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (!path)
        return EG_OK;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1,
             slash ? path : ".");
    if (stat(folder, &about) != 0 || access(folder, W_OK | X_OK) != 0)
        return eg_fail(EG_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (!S_ISDIR(about.st_mode) || !*path || (slash && !slash[1]))
        return eg_fail(EG_EIO, "'%s' is no name of a file", path);
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return eg_fail(EG_EIO, "%s: cannot be written: it is a folder", path);
    return EG_OK;
}

eg_status cli_take_isa(void *unused, const char *value)
{
    (void)unused;
    return eg_isa_set(value);
}

eg_status eg_cli_set_pair(const eg_component *of, void *self, const char *pair)
{
    const char *equals = strchr(pair, '=');
    char key[64];
    if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof key)
        return eg_fail(EG_EINVAL, "--set wants KEY=VALUE, not '%s'", pair);
    memcpy(key, pair, (size_t)(equals - pair));
    key[equals - pair] = 0;
    return eg_blame(eg_opts_set(of->opts, self, key, equals + 1), "%s", of->name);
}

static bool main_asks_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Plugins come before every other word, since what they bring may be named in any. */
static bool main_load_plugins(int argc, char **argv)
{
    static const char option[] = "--plugin";
    size_t n = sizeof option - 1;
    if (eg_plugin_load_all(getenv("ENGRAM_PLUGINS")) != EG_OK)
        return false;
    for (int i = 1; i < argc && argv[i]; i++) {
        bool here = strncmp(argv[i], option, n) == 0;
        const char *path = here && argv[i][n] == '='             ? argv[i] + n + 1
                           : here && !argv[i][n] && i + 1 < argc ? argv[i + 1]
                                                                 : NULL;
        if (path && eg_plugin_load(path) != EG_OK)
            return false;
    }
    return true;
}

static int main_run(int argc, char **argv)
{
    if (argc < 2) {
        eg_cli_print_verbs();
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("engram %s%s%s%s\n", eg_version(), *eg_commit() ? " (" : "", eg_commit(),
               *eg_commit() ? ")" : "");
        return 0;
    }
    const char *name = main_asks_help(argv[1]) ? "help" : argv[1];
    if (!main_load_plugins(argc, argv))
        return eg_cli_failed();
    for (int i = 2; i < argc; i++)
        if (main_asks_help(argv[i]) && eg_cli_print_verb(name))
            return 0;
    const char *isa = getenv("ENGRAM_ISA");
    if (isa && *isa && eg_isa_set(isa) != EG_OK) {
        fprintf(stderr, "engram: ENGRAM_ISA: %s\n", eg_error());
        return 2;
    }
    const eg_verb *verb = cli_verb(name);
    if (verb)
        return verb->run(argc - 1, argv + 1);
    eg_suggestion near = eg_suggest(name);
    for (const eg_verb *const *v = eg_verbs; *v; v++)
        eg_suggest_offer(&near, (*v)->name);
    fprintf(stderr, "engram: there is no verb '%s'%s; see 'engram help'\n", name,
            eg_suggest_words(&near));
    return 2;
}

/* Blocks of a megabyte and more go back to the system when they are freed. By itself glibc puts
 * those as large as the largest freed so far (up to 32 MB) among small ones, where they leave
 * holes: a run whose clients have many large records needed a third more memory. */
static void main_return_blocks(void)
{
#ifdef __GLIBC__
    enum { LARGE = 1 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
#endif
}

const eg_verb *const eg_verbs[] = {
#define X(name) &eg_verb_##name,
#include "verbs.inc"
#undef X
    NULL,
};

int main(int argc, char **argv)
{
    main_return_blocks();
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of its write */
    signal(SIGCHLD, SIG_DFL); /* ignored, as it may be inherited, it leaves none to wait for */
    int code = main_run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "engram: the output could not be written to stdout\n");
    return code ? code : 1;
}
