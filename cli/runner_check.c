/* runner_check.c - looks at every run that was asked for before the first one trains.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool runner_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

bool runner_wants(const runner_options *o, const char *label)
{
    for (size_t i = 0; i < o->n_only; i++)
        if (strcmp(o->only[i], label) == 0)
            return true;
    return o->n_only == 0;
}

/* Without --resume no run may be there yet. */
static eg_status check_is_new(const runner_options *o, const char *file, const eg_experiment *e)
{
    if (o->reuse || o->resume)
        return EG_OK;
    for (uint64_t seed = o->first_seed; seed <= o->last_seed; seed++) {
        char folder[512];
        EG_TRY(eg_experiment_folder(e, o->out, seed, folder));
        if (access(folder, F_OK) == 0)
            return eg_fail(EG_EINVAL,
                           "%s: is there already; --resume finishes what was stopped and "
                           "starts what is missing, 'engram compare %s' shows the table",
                           folder, file);
    }
    return EG_OK;
}

/* Loads one run. What fails with --set alone is a wrong call. */
static int check_run(const runner_options *o, const char *file, const char *label)
{
    eg_experiment *e, *plain = NULL;
    eg_status s = eg_experiment_load(file, label, o->n_sets, o->sets, &e);
    if (s == EG_OK) {
        s = check_is_new(o, file, e);
        eg_experiment_free(e);
        return s == EG_OK ? 0 : eg_cli_failed();
    }
    char why[1024];
    snprintf(why, sizeof why, "%s", eg_error());
    bool wrong = o->n_sets && eg_experiment_load(file, label, 0, NULL, &plain) == EG_OK;
    eg_experiment_free(plain);
    eg_fail(s, "%s", why);
    return wrong ? eg_cli_refused(o->verb, s) : eg_cli_failed();
}

/* The runs that are wanted of a file; found: [n_only], the labels that are there. */
static int check_runs(const runner_options *o, const char *file, const eg_run_list *runs,
                      bool *found)
{
    int code = 0;
    for (size_t i = 0; i < runs->n && code == 0; i++) {
        for (size_t k = 0; k < o->n_only; k++)
            found[k] |= strcmp(o->only[k], runs->labels[i]) == 0;
        if (runner_wants(o, runs->labels[i]))
            code = check_run(o, file, runs->labels[i]);
    }
    return code;
}

static int check_file(const runner_options *o, const char *file, bool *found)
{
    eg_run_list runs;
    eg_published *published;
    size_t n;
    if (eg_published_load(file, &published, &n) != EG_OK)
        return eg_cli_failed();
    eg_published_free(published, n);
    if (eg_run_list_load(file, &runs) != EG_OK)
        return eg_cli_failed();
    int code = check_runs(o, file, &runs, found);
    eg_run_list_free(&runs);
    return code;
}

/* A run's folder that is to go on. */
static int check_folder(const runner_options *o, const char *folder)
{
    eg_experiment *e;
    uint64_t seed;
    if (!o->resume)
        return eg_cli_usage(o->verb, "%s is a folder; --resume goes on with a run", folder);
    if (o->n_sets || o->n_only || o->seeded)
        return eg_cli_usage(o->verb, "a resumed run has its settings and its seed");
    if (eg_experiment_of_folder(folder, &e, &seed) != EG_OK)
        return eg_cli_failed();
    eg_experiment_free(e);
    return 0;
}

int runner_check(const runner_options *o)
{
    bool found[RUNNER_MAX] = {false};
    int code = 0;
    for (size_t i = 0; i < o->n_files && code == 0; i++) {
        if (!runner_is_folder(o->files[i]))
            code = check_file(o, o->files[i], found);
        else if (!o->reuse)
            code = check_folder(o, o->files[i]);
    }
    for (size_t k = 0; k < o->n_only && code == 0; k++)
        if (!found[k])
            code = eg_cli_usage(o->verb, "there is no run '%s' in %s", o->only[k],
                                o->n_files == 1 ? o->files[0] : "any of the files");
    return code;
}
