/* runner.c - runs of an experiment file one after the other, with progress, interruptible.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runner.h"
#include "cli.h"

#include <engram/graph.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Set by Ctrl-C; the run then ends at the next round, after a checkpoint. */
static volatile sig_atomic_t run_interrupted;

static void run_on_signal(int number)
{
    (void)number;
    run_interrupted = 1;
}

typedef struct run_screen {
    const char *label;
    uint64_t seed;
    bool bar, quiet;
    double shown; /* seconds at the last line */
} run_screen;

/* "23/200 [####......] 61.2 %, 12 s left" */
static void run_draw_bar(const run_screen *s, const eg_progress *p)
{
    enum { WIDTH = 30 };
    char bar[WIDTH + 1], accuracy[32] = "";
    int64_t full = p->round * WIDTH / p->n_rounds;
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[WIDTH] = 0;
    if (p->accuracy >= 0)
        snprintf(accuracy, sizeof accuracy, ", accuracy %.1f %%", 100 * p->accuracy);
    double left = p->seconds / (double)p->round * (double)(p->n_rounds - p->round);
    printf("\r%-14s seed %llu  [%s] %lld/%lld%s, %.0f s left \033[K", s->label,
           (unsigned long long)s->seed, bar, (long long)p->round, (long long)p->n_rounds,
           accuracy, left);
    if (p->round == p->n_rounds)
        printf("\n");
    fflush(stdout);
}

static bool run_show(void *context, const eg_progress *p)
{
    run_screen *s = context;
    bool last = p->round == p->n_rounds;
    if (!s->quiet && s->bar && (last || p->evaluated || p->seconds - s->shown > 0.1)) {
        run_draw_bar(s, p);
        s->shown = p->seconds;
    } else if (!s->quiet && !s->bar && (p->evaluated || last)) {
        printf("%s seed %llu round %lld/%lld loss %.4f accuracy %.2f %% %.1f s\n", s->label,
               (unsigned long long)s->seed, (long long)p->round, (long long)p->n_rounds,
               isfinite(p->loss) ? p->loss : 0, 100 * p->accuracy, p->seconds);
        fflush(stdout);
    }
    return !run_interrupted;
}

/* True when the folder's run has come to its end. */
static bool run_is_finished(const char *folder)
{
    char path[600];
    snprintf(path, sizeof path, "%s/summary.json", folder);
    return access(path, F_OK) == 0;
}

/* A run's own page; its absence is no reason to call the run failed. */
static void run_write_page(const char *folder)
{
    char path[600];
    snprintf(path, sizeof path, "%s/report.html", folder);
    if (eg_report_write(&folder, 1, NULL, 0, path) != EG_OK)
        fprintf(stderr, "engram: no report: %s\n", eg_error());
}

/* Carries out a run, new or resumed; at: the folder to resume, or NULL for the usual one. */
static int run_carry_out(const runner_options *o, const eg_experiment *e, uint64_t seed,
                         bool resume, const char *at, char folder[512])
{
    run_screen screen = {.label = eg_experiment_label(e),
                         .seed = seed,
                         .bar = isatty(STDOUT_FILENO),
                         .quiet = o->quiet};
    const eg_run_how how = {.seed = seed,
                            .workers = o->workers,
                            .out = o->out,
                            .data_dir = o->data_dir,
                            .resume = resume,
                            .folder = at,
                            .wire = o->wire,
                            .progress = run_show,
                            .context = &screen};
    bool stopped = false;
    if (eg_experiment_run(e, &how, folder, &stopped) != EG_OK)
        return eg_cli_failed();
    if (stopped) {
        printf("%sstopped after a checkpoint; 'engram run --resume %s' goes on\n",
               screen.bar ? "\n" : "", folder);
        return 1;
    }
    run_write_page(folder);
    return 0;
}

/* One label with one seed. */
static int run_one(const runner_options *o, const char *file, const char *label, uint64_t seed,
                   runner_folders *folders)
{
    eg_experiment *e;
    char folder[512] = "";
    if (eg_experiment_load(file, label, o->n_sets, o->sets, &e) != EG_OK)
        return eg_cli_failed();
    int code = eg_experiment_folder(e, o->out, seed, folder) == EG_OK ? 0 : eg_cli_failed();
    bool there = access(folder, F_OK) == 0;
    if (code == 0 && !((o->reuse || o->resume) && run_is_finished(folder)))
        code = run_carry_out(o, e, seed, o->resume || (o->reuse && there), NULL, folder);
    eg_experiment_free(e);
    return code ? code : runner_add(folders, folder);
}

static void run_catch_signals(void)
{
    struct sigaction on = {.sa_handler = run_on_signal};
    sigaction(SIGINT, &on, NULL);
    sigaction(SIGTERM, &on, NULL);
}

int runner_resume(const runner_options *o, const char *folder, runner_folders *folders)
{
    eg_experiment *e;
    uint64_t seed;
    char path[512];
    if (!o->resume)
        return eg_cli_usage(o->verb, "%s is a folder; --resume goes on with a run", folder);
    if (o->n_sets || o->only || o->seeded)
        return eg_cli_usage(o->verb, "a resumed run has its settings and its seed");
    if (eg_experiment_of_folder(folder, &e, &seed) != EG_OK)
        return eg_cli_failed();
    run_catch_signals();
    int code = run_carry_out(o, e, seed, true, folder, path);
    eg_experiment_free(e);
    return code ? code : runner_add(folders, path);
}

int runner_run_file(const runner_options *o, const char *file, runner_folders *folders)
{
    eg_run_list runs;
    if (eg_run_list_load(file, &runs) != EG_OK)
        return eg_cli_failed();
    run_catch_signals();
    int code = 0;
    bool found = false;
    for (size_t i = 0; i < runs.n && code == 0; i++) {
        if (o->only && strcmp(o->only, runs.labels[i]) != 0)
            continue;
        found = true;
        for (uint64_t seed = o->first_seed; seed <= o->last_seed && code == 0; seed++)
            code = run_one(o, file, runs.labels[i], seed, folders);
    }
    if (!found && code == 0)
        code = eg_cli_usage(o->verb, "%s has no run '%s'", file, o->only);
    eg_run_list_free(&runs);
    return code;
}

int runner_add(runner_folders *folders, const char *path)
{
    if (folders->n == folders->cap) {
        size_t cap = folders->cap ? 2 * folders->cap : 16;
        char **more = realloc(folders->paths, cap * sizeof *more);
        if (!more) {
            eg_fail(EG_ENOMEM, "no memory for %zu runs", cap);
            return eg_cli_failed();
        }
        folders->paths = more;
        folders->cap = cap;
    }
    if (!(folders->paths[folders->n] = strdup(path))) {
        eg_fail(EG_ENOMEM, "no memory for a path");
        return eg_cli_failed();
    }
    folders->n++;
    return 0;
}

void runner_free(runner_folders *folders)
{
    for (size_t i = 0; i < folders->n; i++)
        free(folders->paths[i]);
    free(folders->paths);
}

int runner_compare(const runner_options *o, const char *file, const runner_folders *folders)
{
    eg_published *published = NULL;
    size_t n = 0;
    char *table = NULL, page[600];
    const char *const *paths = (const char *const *)folders->paths;
    eg_status s = file ? eg_published_load(file, &published, &n) : EG_OK;
    if (s == EG_OK)
        s = eg_compare_print(paths, folders->n, published, n, o->form, &table);
    if (s == EG_OK)
        printf("%s", table);
    if (s == EG_OK && o->form == EG_COMPARE_TEXT && file) {
        snprintf(page, sizeof page, "%s/report.html", o->out);
        s = eg_report_write(paths, folders->n, published, n, page);
        if (s == EG_OK)
            printf("\n%s\n", page);
    }
    free(table);
    eg_published_free(published, n);
    return s == EG_OK ? 0 : eg_cli_failed();
}

static int run_parse_seeds(const char *value, runner_options *o)
{
    char rest;
    unsigned long long a, b;
    o->seeded = true;
    if (sscanf(value, "%llu..%llu%c", &a, &b, &rest) == 2 && a <= b)
        o->first_seed = a, o->last_seed = b;
    else if (sscanf(value, "%llu%c", &a, &rest) == 1)
        o->first_seed = o->last_seed = a;
    else
        return eg_cli_usage(o->verb, "'%s' is neither a seed nor A..B", value);
    return 0;
}

static int run_parse_value(const char *name, const char *value, runner_options *o)
{
    char *end;
    if (strcmp(name, "--only") == 0) {
        o->only = value;
    } else if (strcmp(name, "--out") == 0) {
        o->out = value;
    } else if (strcmp(name, "--data-dir") == 0) {
        o->data_dir = value;
    } else if (strcmp(name, "--set") == 0) {
        if (o->n_sets == RUNNER_MAX)
            return eg_cli_usage(o->verb, "there are more than %d --set", RUNNER_MAX);
        o->sets[o->n_sets++] = value;
    } else if (strcmp(name, "--workers") == 0) {
        long n = strtol(value, &end, 10);
        if (n < 1 || n > 64 || *end)
            return eg_cli_usage(o->verb, "'%s' is no number of workers from 1 to 64", value);
        o->workers = (int)n;
    } else if (strcmp(name, "--isa") == 0) {
        return eg_isa_set(value) == EG_OK ? 0 : eg_cli_failed();
    } else {
        return run_parse_seeds(value, o);
    }
    return 0;
}

/* An option without a value; false: it is none. */
static bool run_parse_flag(const char *name, runner_options *o)
{
    bool compare = strcmp(o->verb, "compare") == 0;
    if (strcmp(name, "--quiet") == 0)
        o->quiet = true;
    else if (strcmp(name, "--wire") == 0)
        o->wire = true;
    else if (!compare && strcmp(name, "--resume") == 0)
        o->resume = true;
    else if (compare && strcmp(name, "--markdown") == 0)
        o->form = EG_COMPARE_MARKDOWN;
    else if (compare && strcmp(name, "--json") == 0)
        o->form = EG_COMPARE_JSON;
    else
        return false;
    return true;
}

int runner_parse(int argc, char **argv, runner_options *o)
{
    static const char *const known[] = {"--only", "--out",   "--data-dir", "--set",
                                        "--seed", "--seeds", "--workers",  "--isa"};
    for (int i = 1; i < argc; i++) {
        if (run_parse_flag(argv[i], o))
            continue;
        if (eg_cli_knows(argv[i], sizeof known / sizeof *known, known)) {
            const char *name = argv[i], *value = eg_cli_value(o->verb, argc, argv, &i);
            int wrong = value ? run_parse_value(name, value, o) : 2;
            if (wrong)
                return wrong;
        } else if (argv[i][0] == '-') {
            return eg_cli_usage(o->verb, "there is no option '%s'", argv[i]);
        } else if (o->n_files == RUNNER_MAX) {
            return eg_cli_usage(o->verb, "there are more than %d files", RUNNER_MAX);
        } else {
            o->files[o->n_files++] = argv[i];
        }
    }
    return o->n_files ? 0 : eg_cli_usage(o->verb, "an experiment file is needed");
}
