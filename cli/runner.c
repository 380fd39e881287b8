/* runner.c - runs of an experiment file one after the other, with progress, interruptible.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runner.h"
#include "cli.h"
#include "ranks.h"
#include "screen.h"
#include "stop.h"

#include <engram/log.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool run_show(void *context, const eg_progress *p)
{
    screen_progress(context, p);
    return !stop_asked();
}

static void run_show_moment(void *context, const eg_moment *m)
{
    screen_moment(context, m);
}

static bool run_show_pretraining(void *context, const eg_pretraining *p)
{
    screen_pretraining(context, p);
    return !stop_asked();
}

static bool run_show_loading(void *context, int64_t done, int64_t all)
{
    screen_loading(context, done, all);
    return !stop_asked();
}

/* A run's own page; its absence is no reason to call the run failed. */
static void run_write_page(const char *folder)
{
    char path[EG_RUN_PATH];
    if (eg_run_file(folder, EG_RUN_REPORT, path) != EG_OK ||
        eg_report_write(&folder, 1, NULL, 0, NULL, path) != EG_OK)
        fprintf(stderr, "engram: no report: %s\n", eg_error());
}

/* Whether stdout is a terminal; what mpirun gives to a rank looks like one and may be a file.
 */
static bool run_on_terminal(void)
{
    return isatty(STDOUT_FILENO) && !ranks_cluster();
}

static screen_form run_form(const runner_options *o)
{
    screen_form form = run_on_terminal() && !o->beside ? SCREEN_BAR : SCREEN_LINES;
    return o->json ? SCREEN_JSON : o->quiet ? SCREEN_QUIET : form;
}

/* A run whose patience was over has fewer rounds than it was to have. */
static void run_say_ending(const screen *s, const char *folder)
{
    char text[128];
    eg_run_ending(folder, text);
    if (*text && (s->form == SCREEN_BAR || s->form == SCREEN_LINES))
        printf("%s %s\n", s->label, text);
}

static screen run_screen(const runner_options *o, const eg_experiment *e, uint64_t seed)
{
    return (screen){.form = run_form(o),
                    .label = eg_experiment_label(e),
                    .seed = seed,
                    .again = o->again,
                    .served = o->listen != NULL};
}

/* Carries out a run, new or resumed; at: the folder to resume, or NULL for the usual one. held:
 * as runner_one has it. */
static int run_carry_out(const runner_options *o, const eg_experiment *e,
                         const eg_run_how *chosen, char folder[512], runner_folders *folders,
                         bool *held)
{
    screen shown = run_screen(o, e, chosen->seed);
    eg_run_how how = *chosen;
    how.workers = (int)o->workers, how.threads = (int)o->threads, how.out = o->out,
    how.data_dir = o->data_dir;
    how.transport = o->transport, how.listen = o->listen, how.force = o->force,
    how.sheets = o->sheets;
    how.progress = run_show, how.moment = run_show_moment, how.loading = run_show_loading,
    how.pretraining = run_show_pretraining, how.say = screen_say;
    how.context = &shown;
    how.cluster = o->beside ? NULL : ranks_cluster();
    bool stopped = false;
    double since = eg_seconds();
    int code = how.cluster ? ranks_run(o, e, how.seed) : 0;
    if (code)
        return code;
    eg_status s = stop_watch(!o->beside);
    if (s == EG_OK)
        s = eg_experiment_run(e, &how, folder, &stopped);
    if (s == EG_EBUSY && held) {
        *held = true;
        return 0;
    }
    if (s != EG_OK && held && eg_run_is_finished(folder))
        return 0; /* by another process, between the look and the lock */
    if (folders->n_run++ == 0)
        folders->since = since;
    if (s != EG_OK)
        return eg_cli_failed();
    if (stopped) {
        screen_stopped(&shown, folder);
        return 1;
    }
    screen_finished(&shown, folder);
    run_say_ending(&shown, folder);
    run_write_page(folder);
    return 0;
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

int runner_one(const runner_options *o, const eg_experiment *e, uint64_t seed,
               runner_folders *folders, bool *held)
{
    char folder[512] = "";
    if (eg_experiment_folder(e, o->out, seed, folder) != EG_OK)
        return eg_cli_failed();
    bool resume = (o->reuse || o->resume) && access(folder, F_OK) == 0;
    if (resume && eg_run_is_finished(folder)) {
        screen shown = run_screen(o, e, seed);
        screen_finished(&shown, folder);
        return 0;
    }
    if (held && eg_run_is_busy(folder)) { /* before its data is read */
        *held = true;
        return 0;
    }
    return run_carry_out(o, e, &(eg_run_how){.seed = seed, .resume = resume}, folder, folders,
                         held);
}

int runner_run(const runner_options *o, const runner_source *source, runner_folders *folders)
{
    char path[512];
    int code = 0;
    if (!source->file) {
        const eg_run_how how = {.seed = source->seed,
                                .resume = !o->replay,
                                .replay = o->replay ? source->path : NULL,
                                .folder = o->replay ? NULL : source->path};
        code = run_carry_out(o, source->runs[0], &how, path, folders, NULL);
        if (code == 0 && o->replay && !o->json)
            printf("%s: the replay has the same bits\n", source->path);
        return code ? code : runner_add(folders, path);
    }
    for (size_t i = 0; i < source->n_runs; i++)
        for (size_t k = 0; k < o->seeds.n && code == 0; k++) {
            code = runner_one(o, source->runs[i], o->seeds.list[k], folders, NULL);
            if (code == 0 &&
                eg_experiment_folder(source->runs[i], o->out, o->seeds.list[k], path) != EG_OK)
                code = eg_cli_failed();
            if (code == 0)
                code = runner_add(folders, path);
        }
    return code;
}

/* A row by its name, as cli_options_walk finds it. */
typedef struct run_row {
    const char *name;
    const cli_option *found;
} run_row;

static void run_match(void *context, const cli_option *row)
{
    run_row *r = context;
    if (strcmp(row->name, r->name) == 0)
        r->found = row;
}

/* A word as a shell takes it. */
static void run_add_word(char *out, size_t room, const char *word)
{
    size_t n = strlen(out), length = strlen(word);
    bool plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "-_=+.,:/@") == length &&
                 length > 0;
    snprintf(out + n, room - n, plain ? " %s" : " '%s'", word);
}

/* The options that a run which goes on is to be given again: its settings it has itself. */
static void run_keep_words(const eg_verb *verb, int argc, char **argv, runner_options *o)
{
    static const char *const kept[] = {"--only", "--seed",   "--seeds", "--set",
                                       "--out",  "--resume", "--force"};
    for (int i = 1; i < argc; i++) {
        run_row row = {argv[i], NULL};
        cli_options_walk(verb->options, run_match, &row);
        bool again = row.found != NULL && argv[i][0] == '-';
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            again &= strcmp(argv[i], kept[k]) != 0;
        if (again)
            run_add_word(o->again, sizeof o->again, argv[i]);
        if (row.found && row.found->argument && i + 1 < argc && ++i && again)
            run_add_word(o->again, sizeof o->again, argv[i]);
    }
}

/* 1, with a sentence each, if there are runs that learned nothing; folders that were only to be
 * compared may have any. */
static int run_judge(const runner_options *o, const runner_folders *folders)
{
    int code = 0;
    bool ran = o->resume;
    for (size_t i = 0; i < o->n_sources; i++)
        ran |= o->sources[i].file != NULL;
    for (size_t i = 0; ran && i < folders->n; i++)
        if (eg_run_check_progress(folders->paths[i]) != EG_OK)
            code = eg_cli_failed();
    return code;
}

int runner_verb(const eg_verb *verb, runner_options *o, int argc, char **argv,
                int (*all)(runner_options *o, runner_folders *folders))
{
    runner_folders folders = {0};
    int code = ranks_open(argc, argv);
    if (code)
        return code;
    o->verb = verb->name;
    run_keep_words(verb, argc, argv, o);
    code = runner_parse(verb, argc, argv, o);
    if (code == 0)
        code = runner_check(o);
    if (code == 0)
        code = ranks_follows() ? ranks_follow(o) : all(o, &folders);
    if (code == 0)
        code = run_judge(o, &folders);
    runner_free(&folders);
    runner_options_free(o);
    return ranks_close(code);
}

void runner_free(runner_folders *folders)
{
    for (size_t i = 0; i < folders->n; i++)
        free(folders->paths[i]);
    free(folders->paths);
}

void runner_say_total(const runner_options *o, const runner_folders *folders)
{
    if (folders->n_run > 1)
        screen_total(run_form(o), folders->n_run, eg_seconds() - folders->since);
}

int runner_export(const runner_options *o, const runner_folders *folders)
{
    const char *const *paths = (const char *const *)folders->paths;
    if (o->tensorboard &&
        eg_export_all(paths, folders->n, EG_EXPORT_TENSORBOARD, o->tensorboard) != EG_OK)
        return eg_cli_failed();
    return 0;
}

/* The figures of all files, each with the name of its experiment; *files: how many there are.
 * free() the list. */
static eg_status run_figures(const runner_options *o, eg_published **out, size_t *n,
                             size_t *files)
{
    *out = NULL;
    *n = *files = 0;
    for (const runner_source *s = o->sources; s < o->sources + o->n_sources; s++) {
        size_t more = 0;
        const eg_published *list =
            s->file ? eg_experiment_file_published(s->file, &more) : NULL;
        *files += s->file != NULL;
        if (more == 0 || s->n_runs == 0)
            continue;
        eg_published *longer = realloc(*out, (*n + more) * sizeof *longer);
        if (!longer)
            return eg_fail(EG_ENOMEM, "no memory for published figures");
        *out = longer;
        for (size_t i = 0; i < more; i++) {
            longer[*n] = list[i];
            longer[(*n)++].name = eg_experiment_name(s->runs[0]);
        }
    }
    return EG_OK;
}

/* A share of the runs may lack the row that its others are held against. Its runs are carried
 * out without differences: they still count in the table over all shares. */
static void run_drop_reference(const runner_options *o, const runner_folders *folders,
                               eg_compare_how *how)
{
    const char *const *paths = (const char *const *)folders->paths;
    if (!o->share.n || !(how->against || how->without) ||
        eg_compare_foresee(how, paths, folders->n, NULL, 0) != EG_EINVAL)
        return;
    fprintf(stderr, "engram: no differences: %s in this share\n", eg_error());
    how->against = how->without = NULL;
}

/* The page of a comparison is named by its experiment, so that those of two can lie in one
 * folder; that of several at once is the report. */
static eg_status run_page(const runner_options *o, char page[EG_RUN_PATH])
{
    char name[EG_RUN_PATH];
    const char *one = NULL;
    bool many = false;
    for (const runner_source *s = o->sources; s < o->sources + o->n_sources; s++) {
        const char *its = s->file && s->n_runs ? eg_experiment_name(s->runs[0]) : NULL;
        many |= its && one && strcmp(its, one) != 0;
        one = its ? its : one;
    }
    snprintf(name, sizeof name, "%s.html", one ? one : "");
    return eg_run_file(o->out, one && !many ? name : EG_RUN_REPORT, page);
}

int runner_compare(const runner_options *o, const runner_folders *folders)
{
    size_t n, files;
    eg_published *published;
    char *table = NULL, page[EG_RUN_PATH];
    const char *const *paths = (const char *const *)folders->paths;
    eg_compare_how how = o->table;
    how.width = run_on_terminal() ? screen_width() : 0;
    how.colour = run_on_terminal() && screen_has_colour();
    run_drop_reference(o, folders, &how);
    eg_status s = run_figures(o, &published, &n, &files);
    if (s == EG_OK)
        s = eg_compare_print(paths, folders->n, published, n, &how, &table);
    if (s == EG_OK)
        printf("%s", table);
    bool alone = folders->n == 1 && !o->reuse; /* it has a page of its own */
    if (s == EG_OK && how.form == EG_COMPARE_TEXT && files && !alone) {
        /* The table is what was asked for; a folder that cannot be written has it too. */
        if (run_page(o, page) == EG_OK &&
            eg_report_write(paths, folders->n, published, n, &how, page) == EG_OK)
            printf("\n%s\n", page);
        else
            fprintf(stderr, "engram: no report: %s\n", eg_error());
    }
    free(published);
    free(table);
    return s == EG_OK ? 0 : eg_cli_failed();
}
