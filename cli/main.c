/* main.c - the program: finds the verb and hands it the arguments.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "ranks.h"

#include <engram/plugin.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static eg_status main_take_plugin(void *unused, const char *value)
{
    (void)unused;
    return eg_plugin_load(value); /* main has loaded it already, before any other word */
}

const cli_option cli_common_rows[] = {
    {.name = "--plugin",
     .argument = "FILE.so",
     .kind = CLI_IS_TAKEN,
     .take = main_take_plugin,
     .offer = CLI_OFFERS_FILES,
     .help =
         "methods, data sets, networks and the like from outside; may be repeated; those of "
         "ENGRAM_PLUGINS come first"},
    CLI_END,
};

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
        cli_print_version();
        return 0;
    }
    const char *name = cli_asks_help(argv[1]) ? "help" : argv[1];
    if (!main_load_plugins(argc, argv))
        return eg_cli_failed();
    for (int i = 2; i < argc; i++)
        if (cli_asks_help(argv[i]) && eg_cli_print_verb(name))
            return 0;
    return cli_run_verb(name, argc - 1, argv + 1);
}

const eg_verb *const eg_verbs[] = {
#define X(name) &eg_verb_##name,
#include "verbs.inc"
#undef X
    NULL,
};

const char cli_program[] = "engram";

int main(int argc, char **argv)
{
    return cli_process(main_run, argc, argv);
}
