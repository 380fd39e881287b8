/* new.c - `engram new`: writes a part of one's own to begin with, as a plugin.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct new_call {
    const char *job, *word, *out;
    char name[EG_NAME_SIZE]; /* the word as C has it */
} new_call;

static const cli_option new_rows[] = {
    CLI_JOB("method", new_call, job, "a method: hooks of clients and server"),
    CLI_JOB("data", new_call, job, "a data set"),
    CLI_JOB("model", new_call, job, "a network"),
    CLI_JOB("metric", new_call, job, "a function of a run's accuracies"),
    CLI_TEXT("NAME", NULL, new_call, word, NULL, .what = "a name", .needed = true),
    CLI_TITLE("Options:"),
    CLI_FOLDER("--out", "DIR", new_call, out, "the folder to make (NAME)"),
    CLI_END,
};

/* The files of cli/skeleton, in which "mine" stands for the name. */
static const struct {
    const char *file, *text;
} new_skeletons[] = {
#include "skeletons.inc"
};

/* Writes a text with the name in place of "mine". */
static eg_status new_write(const new_call *c, const char *text, const char *file)
{
    static const char mine[] = "mine";
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", c->out, file);
    FILE *to = fopen(path, "wx");
    if (!to)
        return eg_fail(EG_EIO, "%s: cannot be written: %s", path, strerror(errno));
    for (const char *at = text; *at;) {
        const char *next = strstr(at, mine);
        size_t n = next ? (size_t)(next - at) : strlen(at);
        fprintf(to, "%.*s%s", (int)n, at, next ? c->name : "");
        at += n + (next ? sizeof mine - 1 : 0);
    }
    if (fclose(to) != 0)
        return eg_fail(EG_EIO, "%s: cannot be written: %s", path, strerror(errno));
    printf("%s\n", path);
    return EG_OK;
}

static eg_status new_write_all(const new_call *c)
{
    char source[64], example[64], file[64];
    snprintf(source, sizeof source, "%s.c", c->job);
    snprintf(example, sizeof example, "%s.yaml", c->job);
    for (size_t i = 0; i < sizeof new_skeletons / sizeof *new_skeletons; i++) {
        const char *of = new_skeletons[i].file, *ending = strrchr(of, '.');
        bool both = strcmp(of, "CMakeLists.txt") == 0;
        if (!both && strcmp(of, source) != 0 && strcmp(of, example) != 0)
            continue;
        snprintf(file, sizeof file, "%s%s", both ? "CMakeLists" : c->name, ending);
        EG_TRY(new_write(c, new_skeletons[i].text, file));
    }
    return EG_OK;
}

static int new_run(int argc, char **argv)
{
    new_call c = {0};
    int wrong = cli_parse(&eg_verb_new, argc, argv, &c);
    if (wrong)
        return wrong;
    size_t n = strspn(c.word, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    if (n == 0 || c.word[n] || n >= EG_NAME_SIZE || strchr("-0123456789", *c.word))
        return eg_cli_usage("new", "'%s' is no name of up to %d letters a-z, digits and dashes",
                            c.word, EG_NAME_SIZE - 1);
    for (size_t i = 0; i < n; i++)
        c.name[i] = c.word[i];
    for (char *dash; (dash = strchr(c.name, '-'));)
        *dash = '_';
    c.out = c.out ? c.out : c.word;
    if (mkdir(c.out, 0777) != 0) {
        eg_fail(EG_EIO, "%s: the folder cannot be made: %s", c.out, strerror(errno));
        return eg_cli_failed();
    }
    return new_write_all(&c) == EG_OK ? 0 : eg_cli_failed();
}

const eg_verb eg_verb_new = {
    .name = "new",
    .run = new_run,
    .usage = "method|data|model|metric NAME [--out DIR]",
    .help = "write a part of one's own to begin with",
    .details =
        "What is written is a whole plugin: a source file with comments, a CMake file, and "
        "a small experiment that its test runs. Every verb loads the plugin with --plugin.",
    .options = new_rows,
};
