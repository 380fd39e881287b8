/* runner_check.c - looks at every run that was asked for before the first one trains.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "ranks.h"
#include "runner.h"

#include <engram/log.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool check_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Whether --only wants a run by its label or by that of its sweep; found: one for each --only,
 * those that are there. */
static bool check_wants(const runner_options *o, const char *label, const char *sweep,
                        bool *found)
{
    bool wanted = o->only.n == 0;
    for (size_t k = 0; k < o->only.n; k++)
        if (strcmp(o->only.list[k], label) == 0 || strcmp(o->only.list[k], sweep) == 0)
            wanted = found[k] = true;
    return wanted;
}

/* Whether some run of a label's sweep may be wanted. */
static bool check_may_want(const runner_options *o, const char *sweep)
{
    size_t n = strlen(sweep);
    for (size_t k = 0; k < o->only.n; k++)
        if (strncmp(o->only.list[k], sweep, n) == 0 &&
            (!o->only.list[k][n] || o->only.list[k][n] == ' '))
            return true;
    return o->only.n == 0;
}

/* Without --resume no run may be there yet. */
static eg_status check_is_new(const runner_options *o, const char *file, const eg_experiment *e)
{
    if (o->reuse || o->resume || ranks_follows())
        return EG_OK;
    for (size_t k = 0; k < o->seeds.n; k++) {
        char folder[512];
        EG_TRY(eg_experiment_folder(e, o->out, o->seeds.list[k], folder));
        if (access(folder, F_OK) == 0)
            return eg_run_is_finished(folder)
                       ? eg_fail(
                             EG_EINVAL,
                             "%s: is there already, and finished: 'engram compare %s' shows "
                             "it, another --seed or --out makes another run",
                             folder, file)
                       : eg_fail(EG_EINVAL,
                                 "%s: is there already; --resume finishes what was stopped and "
                                 "starts what is missing",
                                 folder);
    }
    return EG_OK;
}

/* Takes over one run, if it is wanted. */
static int check_run(const runner_options *o, runner_source *source, eg_experiment *e)
{
    eg_experiment **more = realloc(source->runs, (source->n_runs + 1) * sizeof *more);
    if (!more) {
        eg_experiment_free(e);
        eg_fail(EG_ENOMEM, "no memory for %zu runs", source->n_runs);
        return eg_cli_failed();
    }
    source->runs = more;
    source->runs[source->n_runs++] = e;
    return check_is_new(o, source->path, e) == EG_OK ? 0 : eg_cli_failed();
}

/* Resolves all runs of a label, which are one unless a setting has several values. */
static int check_label(const runner_options *o, runner_source *source, const char *label,
                       bool *found)
{
    eg_experiments runs;
    eg_status s =
        eg_experiment_file_sweep(source->file, label, o->settings.n, o->settings.list, &runs);
    if (s != EG_OK)
        return eg_cli_unresolved_in(o->verb, source->file, label, &o->settings, s);
    int code = 0;
    for (size_t i = 0; i < runs.n && code == 0; i++)
        if (check_wants(o, eg_experiment_label(runs.list[i]), label, found)) {
            code = check_run(o, source, runs.list[i]);
            runs.list[i] = NULL; /* it is the source's now */
        }
    eg_experiments_free(&runs);
    return code;
}

/* What the file says of seeds, workers and folders, where the call says nothing. Of several
 * files all must say the same. A server's run has one seed. */
static int check_says(runner_options *o, const runner_source *source)
{
    const eg_file_says *says = eg_experiment_file_says(source->file);
    if (o->says && memcmp(says, eg_experiment_file_says(o->says->file), sizeof *says) != 0)
        return eg_cli_usage(o->verb,
                            "%s and %s differ in what they say of seeds, workers, threads "
                            "or out: run one file at a time",
                            o->says->path, source->path);
    o->says = source;
    if (*says->out && !o->placed)
        o->out = says->out;
    if (says->workers && !o->workers)
        o->workers = says->workers;
    if (says->threads && !o->threads)
        o->threads = says->threads;
    if (!*says->seeds || o->seeded || o->listen)
        return 0;
    return eg_blame(cli_ranges_read(says->seeds, &o->seeds), "%s: seeds", source->path) == EG_OK
               ? 0
               : eg_cli_failed();
}

static int check_file(runner_options *o, runner_source *source, bool *found)
{
    const char *label;
    if (o->replay)
        return eg_cli_usage(o->verb,
                            "--replay is for the folder of a finished run, and %s is a "
                            "file",
                            source->path);
    if (eg_experiment_file_open(source->path, &source->file) != EG_OK)
        return eg_cli_failed();
    int code = check_says(o, source);
    for (size_t i = 0; code == 0 && (label = eg_experiment_file_label(source->file, i)); i++)
        if (check_may_want(o, label))
            code = check_label(o, source, label, found);
    return code;
}

/* A run's folder that is to go on. */
static int check_folder(const runner_options *o, runner_source *source)
{
    if (!o->resume && !o->replay)
        return eg_cli_usage(o->verb, "%s is a folder; --resume goes on with a run",
                            source->path);
    if (o->settings.n || o->only.n || o->seeded)
        return eg_cli_usage(o->verb, "a %s run has its settings and its seed",
                            o->resume ? "resumed" : "replayed");
    if (!(source->runs = calloc(1, sizeof *source->runs))) {
        eg_fail(EG_ENOMEM, "no memory for a run");
        return eg_cli_failed();
    }
    eg_status s = o->replay
                      ? eg_experiment_of_run(source->path, source->runs, &source->seed)
                      : eg_experiment_of_folder(source->path, source->runs, &source->seed);
    if (s != EG_OK)
        return eg_cli_failed();
    source->n_runs = 1;
    return 0;
}

/* Says that no file has this run; of a single file, which runs there are. */
static int check_no_run(const runner_options *o, const char *label)
{
    eg_experiment *none = NULL;
    if (o->n_sources > 1)
        return eg_cli_usage(o->verb, "there is no run '%s' in any of the files", label);
    eg_status s = eg_experiment_file_resolve(o->sources[0].file, label, 0, NULL, &none);
    eg_experiment_free(none);
    return s == EG_OK ? eg_cli_usage(o->verb, "%s: there is no run '%s' in the sweep",
                                     o->sources[0].path, label)
                      : eg_cli_refused(o->verb, s);
}

/* Whether some run that will be there has a part; folders are read later. */
static bool check_has_part(const runner_options *o, const char *part)
{
    bool some = false;
    for (const runner_source *s = o->sources; s < o->sources + o->n_sources; s++) {
        some |= !s->file;
        for (size_t i = 0; i < s->n_runs && !some; i++)
            some = eg_experiment_has_part(s->runs[i], part);
    }
    return some;
}

/* Whether there will be a row to hold the others against. */
static int check_reference(const runner_options *o)
{
    size_t n_dirs = 0, n = 0;
    const char *dirs[RUNNER_SOURCES];
    const eg_experiment **runs;
    for (const runner_source *s = o->sources; s < o->sources + o->n_sources; s++)
        n += s->n_runs;
    if (eg_alloc(n + 1, sizeof *runs, &runs) != EG_OK)
        return eg_cli_failed();
    n = 0;
    for (const runner_source *s = o->sources; s < o->sources + o->n_sources; s++) {
        if (!s->file)
            dirs[n_dirs++] = s->path;
        for (size_t i = 0; i < s->n_runs; i++)
            runs[n++] = s->runs[i];
    }
    eg_status status = eg_compare_foresee(&o->table, dirs, n_dirs, runs, n);
    free(runs);
    if (status == EG_EINVAL)
        return eg_cli_usage(o->verb, "%s: %s", o->table.without ? "--without" : "--against",
                            eg_error());
    return status == EG_OK ? 0 : eg_cli_failed();
}

/* Whether a paper has a figure for a run of the source that is wanted. */
static bool check_has_figure(const runner_source *s)
{
    size_t n;
    const eg_published *list = eg_experiment_file_published(s->file, &n);
    for (size_t i = 0; i < s->n_runs; i++)
        for (size_t k = 0; k < n; k++)
            if (eg_published_fits(&list[k], eg_experiment_label(s->runs[i])))
                return true;
    return false;
}

static int check_published(const runner_options *o)
{
    bool some = false;
    for (const runner_source *s = o->sources; s < o->sources + o->n_sources && !some; s++)
        some = s->file && check_has_figure(s);
    return some ? 0
                : eg_cli_usage(o->verb, "--published: no run of %s%s has published figures",
                               o->n_sources == 1 ? o->sources[0].path : "these files",
                               o->only.n ? " that is wanted" : "");
}

/* What the table wants must be there once the runs are, or they would be made for nothing. */
static int check_table(const runner_options *o)
{
    int code = o->table.published ? check_published(o) : 0;
    if (code)
        return code;
    if (o->table.without && o->table.against)
        return eg_cli_usage(o->verb, "--against and --without exclude each other");
    if (o->table.without && !check_has_part(o, o->table.without))
        return eg_cli_usage(o->verb, "--without: no run that is compared has the part '%s'",
                            o->table.without);
    return o->table.without || o->table.against ? check_reference(o) : 0;
}

/* A finished run's folder, which compare only reads. */
static int check_read(const runner_source *source)
{
    char path[EG_RUN_PATH];
    eg_status s = eg_run_file(source->path, EG_RUN_CONFIG, path);
    if (s == EG_OK && access(path, F_OK) != 0)
        s = eg_fail(EG_ENOENT, "%s: is no run's folder, it has no " EG_RUN_CONFIG,
                    source->path);
    return s == EG_OK ? 0 : eg_cli_failed();
}

/* Every run would be there twice, which shows only in the table. */
static int check_twice(const runner_options *o)
{
    struct stat a, b;
    for (size_t i = 0; i < o->n_sources; i++)
        for (size_t k = 0; k < i && stat(o->sources[i].path, &a) == 0; k++)
            if (stat(o->sources[k].path, &b) == 0 && a.st_dev == b.st_dev &&
                a.st_ino == b.st_ino)
                return eg_cli_usage(o->verb, "%s is given twice", o->sources[i].path);
    return 0;
}

/* What chooses among the runs of files has nothing to choose from if only folders are given. */
static int check_choice(const runner_options *o)
{
    bool files = false;
    for (size_t i = 0; i < o->n_sources; i++)
        files |= !check_is_folder(o->sources[i].path);
    const char *option = o->settings.n ? "--set"
                         : o->seeded   ? "--seeds"
                         : o->only.n   ? "--only"
                                       : NULL;
    if (files || !o->reuse || !option)
        return 0;
    return eg_cli_usage(o->verb, "%s is for experiment files; a run's folder is read as it is",
                        option);
}

/* To compare, a folder of runs is all that are finished in it: the first in its place, the
 * others behind the rest. */
static int check_expand(runner_options *o, runner_source *folder)
{
    eg_run_folders f;
    runner_source *to = folder;
    int code = 0;
    if (eg_run_folders_find(folder->path, &f) != EG_OK)
        return 0; /* what it is instead is said later */
    bool itself = strcmp(f.list[0], folder->path) == 0;
    for (size_t i = 0; !itself && i < f.n && code == 0; i++) {
        if (!eg_run_is_finished(f.list[i]))
            continue;
        if (!to && o->n_sources == RUNNER_SOURCES) {
            code = eg_cli_usage(o->verb, "there are more than %d runs", RUNNER_SOURCES);
            break;
        }
        runner_source *s = to ? to : &o->sources[o->n_sources++];
        snprintf(s->found, sizeof s->found, "%s", f.list[i]);
        s->path = s->found;
        to = NULL;
    }
    eg_run_folders_free(&f);
    return code;
}

int runner_check(runner_options *o)
{
    bool found[RUNNER_MAX] = {false};
    int code = 0;
    for (size_t i = 0, n = o->n_sources; o->reuse && i < n && code == 0; i++)
        if (check_is_folder(o->sources[i].path))
            code = check_expand(o, &o->sources[i]);
    if (code == 0)
        code = check_twice(o);
    if (code == 0)
        code = check_choice(o);
    for (size_t i = 0; i < o->n_sources && code == 0; i++) {
        if (!check_is_folder(o->sources[i].path))
            code = check_file(o, &o->sources[i], found);
        else
            code = o->reuse ? check_read(&o->sources[i]) : check_folder(o, &o->sources[i]);
    }
    for (size_t k = 0; k < o->only.n && code == 0; k++)
        if (!found[k])
            code = check_no_run(o, o->only.list[k]);
    return code == 0 ? check_table(o) : code;
}

void runner_options_free(runner_options *o)
{
    for (runner_source *s = o->sources; s < o->sources + o->n_sources; s++) {
        for (size_t i = 0; i < s->n_runs; i++)
            eg_experiment_free(s->runs[i]);
        free(s->runs);
        eg_experiment_file_free(s->file);
    }
    cli_ranges_free(&o->seeds);
}
