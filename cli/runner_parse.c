/* runner_parse.c - the options of `run` and `compare`, and where their experiments are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "ranks.h"
#include "runner.h"

#include <engram/graph.h>
#include <engram/method.h>
#include <engram/suggest.h>
#include <engram/transport.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_MOST_SEEDS = 100000 };

/* Adds first to last, which no earlier item has; text is the item. */
static int run_add_seeds(runner_options *o, uint64_t first, uint64_t last, const char *text)
{
    if (first > last)
        return eg_cli_usage(o->verb, "'%s' ends before it begins", text);
    if (last - first >= RUN_MOST_SEEDS - o->n_seeds)
        return eg_cli_usage(o->verb, "'%s' makes more than %d seeds", text, RUN_MOST_SEEDS);
    for (size_t i = 0; i < o->n_seeds; i++)
        if (o->seeds[i] >= first && o->seeds[i] <= last)
            return eg_cli_usage(o->verb, "seed %llu is there twice",
                                (unsigned long long)o->seeds[i]);
    uint64_t *more = realloc(o->seeds, (o->n_seeds + (last - first) + 1) * sizeof *more);
    if (!more) {
        eg_fail(EG_ENOMEM, "no memory for the seeds");
        return eg_cli_failed();
    }
    o->seeds = more;
    for (uint64_t k = 0; k <= last - first; k++)
        o->seeds[o->n_seeds++] = first + k;
    return 0;
}

static int run_parse_transport(const char *value, runner_options *o)
{
    const eg_component *transport = eg_family_find(&eg_transport_family, value);
    if (!transport)
        return eg_cli_usage(o->verb, "%s", eg_error());
    o->transport = transport->name;
    return 0;
}

/* "A" or "A..B". */
static int run_parse_seed(runner_options *o, char *item)
{
    char *dots = strstr(item, "..");
    uint64_t first, last;
    if (dots)
        *dots = 0;
    int code = eg_cli_seed(o->verb, item, &first);
    last = first;
    if (code == 0 && dots)
        code = eg_cli_seed(o->verb, dots + 2, &last);
    if (dots)
        *dots = '.';
    return code ? code : run_add_seeds(o, first, last, item);
}

/* Items with commas between; they come in place of those of an earlier option. */
static int run_parse_seeds(const char *value, runner_options *o)
{
    int code = 0;
    o->seeded = true;
    o->n_seeds = 0;
    for (const char *at = value; code == 0;) {
        char item[64];
        size_t n = strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", (int)n, at);
        code = n < sizeof item ? run_parse_seed(o, item)
                               : eg_cli_usage(o->verb, "'%s...' is no seed", item);
        if (!at[n])
            break;
        at += n + 1;
    }
    return code;
}

/* "K/N". */
static int run_parse_share(const char *value, runner_options *o)
{
    char *end;
    unsigned long k = strtoul(value, &end, 10), n = 0;
    if (end > value && *end == '/')
        n = strtoul(end + 1, &end, 10);
    if (*value < '0' || *value > '9' || *end || k < 1 || k > n || n > RUN_MOST_SEEDS)
        return eg_cli_usage(o->verb, "'%s' is no share K/N with K from 1 to N", value);
    o->share = k, o->n_shares = n;
    return 0;
}

/* A number from 1 to 64. */
static int run_parse_count(const char *value, const char *of, const runner_options *o, int *out)
{
    char *end;
    long n = strtol(value, &end, 10);
    if (n < 1 || n > 64 || *end)
        return eg_cli_usage(o->verb, "'%s' is no number of %s from 1 to 64", value, of);
    *out = (int)n;
    return 0;
}

/* "none", "task", or a number of rounds. */
static int run_parse_sheets(const char *value, runner_options *o)
{
    char *end;
    long n = strtol(value, &end, 10);
    bool none = strcmp(value, "none") == 0, task = strcmp(value, "task") == 0;
    if (!none && !task && (n < 1 || n > 1000000 || *end))
        return eg_cli_usage(o->verb, "--sheets: '%s' is not none, task or a number of rounds",
                            value);
    o->sheets = none ? -1 : task ? 0 : n;
    return 0;
}

/* A part of methods, by the name that runs write down. */
static int run_parse_without(const char *value, runner_options *o)
{
    const eg_component *part = eg_family_find(&eg_method_family, value);
    if (!part)
        return eg_cli_usage(o->verb, "--without: %s", eg_error());
    o->table.without = part->name;
    return 0;
}

static int run_parse_value(const char *name, const char *value, runner_options *o)
{
    if (strcmp(name, "--only") == 0) {
        if (o->n_only == RUNNER_MAX)
            return eg_cli_usage(o->verb, "there are more than %d --only", RUNNER_MAX);
        o->only[o->n_only++] = value;
    } else if (strcmp(name, "--out") == 0) {
        if (!*value)
            return eg_cli_usage(o->verb, "--out needs the name of a folder");
        o->out = value;
    } else if (strcmp(name, "--tensorboard") == 0) {
        o->tensorboard = value;
    } else if (strcmp(name, "--data-dir") == 0) {
        o->data_dir = value;
    } else if (strcmp(name, "--set") == 0) {
        return eg_cli_add_setting(o->verb, &o->settings, value);
    } else if (strcmp(name, "--workers") == 0) {
        return run_parse_count(value, "workers", o, &o->workers);
    } else if (strcmp(name, "--jobs") == 0) {
        return run_parse_count(value, "jobs", o, &o->jobs);
    } else if (strcmp(name, "--share") == 0) {
        return run_parse_share(value, o);
    } else if (strcmp(name, "--sort") == 0 || strcmp(name, "--columns") == 0) {
        const char **to = strcmp(name, "--sort") == 0 ? &o->table.sort : &o->table.columns;
        *to = value;
        eg_status s = eg_compare_check(&o->table);
        return s == EG_OK ? 0 : eg_cli_refused(o->verb, s);
    } else if (strcmp(name, "--against") == 0) {
        o->table.against = value;
    } else if (strcmp(name, "--without") == 0) {
        return run_parse_without(value, o);
    } else if (strcmp(name, "--isa") == 0) {
        eg_status s = eg_isa_set(value);
        return s == EG_OK ? 0 : eg_cli_refused(o->verb, s);
    } else if (strcmp(name, "--sheets") == 0) {
        return run_parse_sheets(value, o);
    } else if (strcmp(name, "--transport") == 0) {
        return run_parse_transport(value, o);
    } else {
        return run_parse_seeds(value, o);
    }
    return 0;
}

/* How compare's table is printed; false: it is no form. */
static bool run_parse_form(const char *name, eg_compare_form *out)
{
    static const struct {
        const char *name;
        eg_compare_form form;
    } forms[] = {{"--markdown", EG_COMPARE_MARKDOWN},
                 {"--latex", EG_COMPARE_LATEX},
                 {"--csv", EG_COMPARE_CSV},
                 {"--json", EG_COMPARE_JSON}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, name) == 0) {
            *out = forms[i].form;
            return true;
        }
    return false;
}

/* An option without a value; false: it is none. */
static bool run_parse_flag(const char *name, runner_options *o)
{
    bool compare = strcmp(o->verb, "compare") == 0;
    if (strcmp(name, "--quiet") == 0)
        o->quiet = true;
    else if (strcmp(name, "--force") == 0)
        o->force = true;
    else if (strcmp(name, "--mpi") == 0)
        o->transport = "mpi";
    else if (!compare && strcmp(name, "--json") == 0)
        o->json = true;
    else if (!compare && strcmp(name, "--resume") == 0)
        o->resume = true;
    else if (compare && strcmp(name, "--published") == 0)
        o->table.published = true;
    else if (compare && strcmp(name, "--finished") == 0)
        o->finished = true;
    else
        return compare && run_parse_form(name, &o->table.form);
    return true;
}

/* "<prefix>/share/engram/experiments" of a program in "<prefix>/bin"; "" if it is not known. */
static void run_shared_folder(char out[RUNNER_PATH])
{
    static const char share[] = "/share/engram/experiments";
    ssize_t n = readlink("/proc/self/exe", out, RUNNER_PATH - sizeof share - 1);
    out[n > 0 ? n : 0] = 0;
    for (int up = 0; up < 2 && *out; up++) {
        char *slash = strrchr(out, '/');
        if (slash)
            *slash = 0;
    }
    if (*out)
        memcpy(out + strlen(out), share, sizeof share);
}

/* What is no file may be the name of an experiment: here, or where the program is installed. */
static int run_find(runner_source *source)
{
    const char *word = source->path;
    char shared[RUNNER_PATH], *path = source->found;
    if (access(word, F_OK) == 0)
        return 0;
    run_shared_folder(shared);
    const char *const folders[] = {"experiments", shared};
    size_t length = strlen(word);
    bool whole = length > 5 && strcmp(word + length - 5, ".yaml") == 0;
    const char *ending = whole ? "" : ".yaml";
    for (int k = 0; k < 2; k++) {
        int n = snprintf(path, RUNNER_PATH, "%s/%s%s", folders[k], word, ending);
        if (*folders[k] && n > 0 && n < RUNNER_PATH && access(path, F_OK) == 0) {
            source->path = path;
            return 0;
        }
    }
    eg_fail(EG_ENOENT, "there is no '%s': no such file, nor %s%s in experiments or in %s", word,
            word, ending, *shared ? shared : "the program's folder");
    return eg_cli_failed();
}

static const char *const run_values[] = {
    "--tensorboard", "--only",    "--out",     "--data-dir",  "--set",    "--seed",
    "--seeds",       "--workers", "--isa",     "--transport", "--sheets", "--sort",
    "--columns",     "--against", "--without", "--jobs",      "--share"};

enum { RUN_COMPARES = 6 }; /* the last ones are compare's alone */

static size_t run_n_values(const runner_options *o)
{
    return sizeof run_values / sizeof *run_values -
           (strcmp(o->verb, "compare") == 0 ? 0 : RUN_COMPARES);
}

static int run_unknown_option(const runner_options *o, const char *word)
{
    static const char *const flags[] = {"--quiet",     "--mpi",      "--json",  "--resume",
                                        "--force",     "--markdown", "--latex", "--csv",
                                        "--published", "--finished"};
    eg_suggestion near = eg_suggest(word);
    for (size_t i = 0; i < run_n_values(o); i++)
        eg_suggest_offer(&near, run_values[i]);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        runner_options scratch = {.verb = o->verb};
        if (run_parse_flag(flags[i], &scratch))
            eg_suggest_offer(&near, flags[i]);
    }
    return eg_cli_usage(o->verb, "there is no option '%s'%s", word, eg_suggest_words(&near));
}

int runner_parse(int argc, char **argv, runner_options *o)
{
    for (int i = 1; i < argc; i++) {
        if (run_parse_flag(argv[i], o))
            continue;
        if (eg_cli_knows(argv[i], run_n_values(o), run_values)) {
            const char *name = argv[i], *value = eg_cli_value(o->verb, argc, argv, &i);
            int wrong = value ? run_parse_value(name, value, o) : 2;
            if (wrong)
                return wrong;
        } else if (argv[i][0] == '-') {
            return run_unknown_option(o, argv[i]);
        } else if (o->n_sources == RUNNER_MAX) {
            return eg_cli_usage(o->verb, "there are more than %d files", RUNNER_MAX);
        } else {
            o->sources[o->n_sources++].path = argv[i];
        }
    }
    if (o->quiet && o->json)
        return eg_cli_usage(o->verb, "--quiet and --json exclude each other");
    if (o->force && !o->resume && !o->reuse)
        return eg_cli_usage(o->verb, "--force is for runs that go on: it takes --resume");
    o->quiet |= o->table.form != EG_COMPARE_TEXT; /* nothing but the table on stdout */
    if (ranks_cluster() && (o->jobs > 1 || (o->transport && strcmp(o->transport, "mpi") != 0)))
        return eg_cli_usage(o->verb, "mpirun and %s exclude each other",
                            o->jobs > 1 ? "--jobs" : "another transport than mpi");
    if (!o->n_sources)
        return eg_cli_usage(o->verb, "an experiment file is needed");
    int code = o->seeded ? 0 : run_add_seeds(o, 0, 0, "0");
    for (size_t i = 0; i < o->n_sources && code == 0; i++)
        code = run_find(&o->sources[i]);
    return code;
}
