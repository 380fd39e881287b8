/* folders.c - the run folders in a folder: found, described, and freed of what is not needed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/runs/group.h"

#include "io/disk.h"

#include <engram/log.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool folders_is_run(const char *path)
{
    char log[EG_RUN_PATH];
    return eg_run_file(path, EG_RUN_METRICS, log) == EG_OK && access(log, F_OK) == 0;
}

typedef struct folders_walk {
    const char *path;
    eg_run_folders *out;
    size_t cap;
} folders_walk;

static eg_status folders_add(folders_walk *w, const char *run)
{
    EG_TRY(eg_grow(&w->out->list, w->out->n, &w->cap, sizeof *w->out->list));
    w->out->list[w->out->n] = strdup(run);
    if (!w->out->list[w->out->n])
        return eg_fail(EG_ENOMEM, "%s: out of memory", run);
    w->out->n++;
    return EG_OK;
}

static eg_status folders_visit(void *to, const char *name)
{
    folders_walk *w = to;
    char run[EG_RUN_PATH];
    if (*name == '.')
        return EG_OK;
    EG_TRY(eg_run_file(w->path, name, run));
    return folders_is_run(run) ? folders_add(w, run) : EG_OK;
}

static int folders_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

eg_status eg_run_folders_find(const char *path, eg_run_folders *out)
{
    folders_walk w = {.path = path, .out = out};
    *out = (eg_run_folders){0};
    eg_status s =
        folders_is_run(path) ? folders_add(&w, path) : eg_disk_walk(path, folders_visit, &w);
    if (s == EG_OK && out->n == 0)
        s = eg_fail(EG_ENOENT, "%s: there is no run in this folder", path);
    if (s != EG_OK)
        eg_run_folders_free(out);
    else
        qsort(out->list, out->n, sizeof *out->list, folders_compare);
    return s;
}

void eg_run_folders_free(eg_run_folders *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->list[i]);
    free(f->list);
    *f = (eg_run_folders){0};
}

/* Adds up the bytes of a file or of all that a folder holds; really: and removes it. A link is
 * removed, not followed. */
static eg_status folders_remove(const char *path, bool really, int64_t *bytes)
{
    struct stat about;
    if (lstat(path, &about) != 0)
        return eg_fail(EG_EIO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(about.st_mode)) {
        *bytes += about.st_size;
        if (really && unlink(path) != 0)
            return eg_fail(EG_EIO, "%s: %s", path, strerror(errno));
        return EG_OK;
    }
    DIR *d = opendir(path);
    if (!d)
        return eg_fail(EG_EIO, "%s: %s", path, strerror(errno));
    eg_status s = EG_OK;
    for (struct dirent *e; s == EG_OK && (e = readdir(d));) {
        char inner[EG_RUN_PATH];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        s = eg_run_file(path, e->d_name, inner);
        if (s == EG_OK)
            s = folders_remove(inner, really, bytes);
    }
    closedir(d);
    if (s == EG_OK && really && rmdir(path) != 0)
        s = eg_fail(EG_EIO, "%s: %s", path, strerror(errno));
    return s;
}

eg_status eg_run_clean(const char *run_dir, bool really, int64_t *bytes)
{
    char path[EG_RUN_PATH];
    *bytes = 0;
    EG_TRY(eg_run_file(run_dir, EG_RUN_CHECKPOINT, path));
    if (!eg_run_is_finished(run_dir) || eg_run_is_busy(run_dir) || access(path, F_OK) != 0)
        return EG_OK;
    return folders_remove(path, really, bytes);
}

void eg_run_ending(const char *run_dir, char out[128])
{
    eg_run *r;
    *out = 0;
    if (eg_run_load(run_dir, &r) != EG_OK)
        return;
    eg_show_ends(out, &(eg_group){.run = &r, .n = 1});
    eg_run_free(r);
}

void eg_show_state(char out[64], const eg_run *r)
{
    int64_t round = r->log->n_round ? r->log->round[r->log->n_round - 1].round : 0;
    if (r->finished)
        snprintf(out, 64, r->log->stopped ? "ended early" : "finished");
    else
        snprintf(out, 64, "%s, %" PRId64 " of %" PRId64,
                 eg_run_is_busy(r->dir) ? "running" : "stopped", round, r->start->rounds);
}

void eg_show_age(char out[32], const eg_run *r)
{
    static const struct {
        double seconds;
        const char *one, *many;
    } units[] = {{86400, "day", "days"}, {3600, "hour", "hours"}, {60, "minute", "minutes"}};
    double age = difftime(time(NULL), 0) - r->changed;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double n = floor(age / units[i].seconds);
        if (n >= 1) {
            snprintf(out, 32, "%.0f %s", n, n < 2 ? units[i].one : units[i].many);
            return;
        }
    }
    snprintf(out, 32, "now");
}
