/* sweep.c - many runs: one after the other or side by side, beside other processes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whoever works on a sweep walks its list and takes what is free: a run is taken by the lock of
 * its folder, so that processes, jobs of an array and machines with a common folder need not
 * know of one another.
 */
#include "cli.h"
#include "ranks.h"
#include "runner.h"
#include "stop.h"

#include <engram/log.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A run of the list, and where it goes; without an experiment: a folder to be read. */
typedef struct sweep_item {
    const eg_experiment *e;
    uint64_t seed;
    char folder[512];
    const char *path; /* of a folder that was given */
    bool done;
} sweep_item;

typedef struct sweep {
    const runner_options *o;
    runner_folders *folders;
    sweep_item *items; /* [n] */
    size_t n;
} sweep;

/* Everything of every source; out: [n], or NULL to count. */
static size_t sweep_list(const runner_options *o, sweep_item *out)
{
    size_t n = 0, number = 0;
    for (const runner_source *s = o->sources; s < o->sources + o->n_sources; s++) {
        if (!s->file && out)
            out[n].path = s->path;
        n += !s->file;
        for (size_t i = 0; i < s->n_runs; i++)
            for (size_t k = 0; k < o->seeds.n; k++) {
                if (o->share.n && number++ % o->share.n != o->share.k - 1)
                    continue;
                if (out)
                    out[n] = (sweep_item){.e = s->runs[i], .seed = o->seeds.list[k]};
                n++;
            }
    }
    return n;
}

static int sweep_open(const runner_options *o, runner_folders *folders, sweep *out)
{
    *out = (sweep){.o = o, .folders = folders, .n = sweep_list(o, NULL)};
    if (!(out->items = calloc(out->n + 1, sizeof *out->items))) {
        eg_fail(EG_ENOMEM, "no memory for %zu runs", out->n);
        return eg_cli_failed();
    }
    sweep_list(o, out->items);
    for (sweep_item *i = out->items; i < out->items + out->n; i++) {
        if (i->e && eg_experiment_folder(i->e, o->out, i->seed, i->folder) != EG_OK)
            return eg_cli_failed();
        i->done = !i->e || eg_run_is_finished(i->folder);
    }
    return 0;
}

/* One run, unless another process is at it. */
static int sweep_try(sweep *s, sweep_item *i)
{
    bool held = false;
    int code = runner_one(s->o, i->e, i->seed, s->folders, &held);
    i->done = code == 0 && !held;
    return code;
}

/* All that is free, from the item `first` on. */
static int sweep_pass(sweep *s, size_t first)
{
    int code = 0;
    for (size_t k = 0; k < s->n && code == 0; k++) {
        sweep_item *i = &s->items[(first + k) % s->n];
        if (!i->done)
            code = sweep_try(s, i);
    }
    return code;
}

static void sweep_sleep(long milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

/* What others have is waited for; what they leave unfinished is carried out here. */
static int sweep_wait(sweep *s)
{
    int code = stop_watch(!s->o->beside) == EG_OK ? 0 : eg_cli_failed();
    for (size_t k = 0; k < s->n && code == 0; k++)
        while (!s->items[k].done && code == 0) {
            code = stop_asked() ? 1 : sweep_try(s, &s->items[k]);
            if (!s->items[k].done && code == 0)
                sweep_sleep(200);
        }
    return code;
}

/* The life of job k: what is free, until nothing is. A terminal's Ctrl-C is for the parent, who
 * passes it on once; a parent that dies takes its jobs along. */
static int sweep_job(sweep *s, int k)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = stop_watch(false) == EG_OK ? sweep_pass(s, (size_t)k) : eg_cli_failed();
    return fflush(stdout) == 0 || code ? code : 1;
}

/* Waits for the jobs. A stop that is asked for, and the first job that fails, stop the others
 * after their rounds. */
static int sweep_join(pid_t *jobs, int n)
{
    int code = 0;
    bool told = false;
    for (int left = n; left > 0;) {
        int status;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended < 0 && errno != EINTR) {
            eg_fail(EG_EIO, "%d jobs cannot be waited for: %s", left, strerror(errno));
            return eg_cli_failed();
        }
        for (int k = 0; k < n && ended > 0; k++)
            if (jobs[k] == ended) {
                jobs[k] = 0;
                left--;
                code = status == 0 ? code : 1;
                if (WIFSIGNALED(status) && !told) /* else it was not ready to stop in order */
                    fprintf(stderr, "engram: a job was ended by signal %d\n", WTERMSIG(status));
            }
        for (int k = 0; k < n && !told && (code || stop_asked()); k++)
            if (jobs[k])
                kill(jobs[k], SIGTERM);
        told |= code || stop_asked();
        if (ended <= 0)
            sweep_sleep(10);
    }
    return stop_asked() ? 1 : code;
}

/* Carries out what is missing on as many processes as were asked for, before this one has
 * threads. */
static int sweep_jobs(sweep *s, size_t n_missing)
{
    pid_t jobs[64];
    runner_options o = *s->o;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n = (size_t)o.jobs < n_missing ? (int)o.jobs : (int)n_missing, started = 0, code = 0;
    long each = cores / n / (o.threads ? o.threads : 1);
    o.beside = true;
    if (!o.workers)
        o.workers = each > 1 ? each : 1;
    s->folders->since = eg_seconds();
    fflush(stdout);
    for (; started < n && code == 0; started++) {
        if ((jobs[started] = fork()) == 0) {
            s->o = &o;
            _exit(sweep_job(s, started));
        }
        if (jobs[started] < 0) {
            eg_fail(EG_ENOMEM, "no process for a job: %s", strerror(errno));
            code = eg_cli_failed();
            break;
        }
    }
    if (stop_watch(true) != EG_OK)
        code = eg_cli_failed();
    int joined = sweep_join(jobs, started);
    s->folders->n_run = n_missing;
    return code ? code : joined;
}

static size_t sweep_missing(const sweep *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->n; k++)
        n += !s->items[k].done;
    return n;
}

int runner_help(const runner_options *o, size_t first)
{
    sweep s;
    runner_options own = *o;
    runner_folders folders = {0};
    own.beside = true;
    own.workers = own.workers ? own.workers : 1;
    int code = sweep_open(&own, &folders, &s);
    if (code == 0)
        code = sweep_pass(&s, first);
    free(s.items);
    return code;
}

/* Leaves out what is not finished; at least one run must be, unless a share has none. */
static int sweep_keep_finished(sweep *s)
{
    size_t n = 0, all = s->n;
    for (size_t k = 0; k < all; k++)
        if (s->items[k].done)
            s->items[n++] = s->items[k];
    s->n = n;
    if (n == 0 && all > 0) {
        eg_fail(EG_ENOENT, "none of the %zu runs is finished in %s", all, s->o->out);
        return eg_cli_failed();
    }
    if (n < all)
        fprintf(stderr, "engram: %zu of %zu runs are not finished and left out\n", all - n,
                all);
    return 0;
}

/* With more runs than ranks each rank carries out runs of its own; this one begins with the
 * first. */
static int sweep_ranks(sweep *s, runner_options *own)
{
    *own = *s->o;
    own->beside = true;
    own->workers = own->workers ? own->workers : 1;
    s->o = own;
    return ranks_sweep();
}

int runner_sweep(const runner_options *o, runner_folders *folders)
{
    sweep s;
    runner_options own;
    int code = sweep_open(o, folders, &s);
    if (code == 0 && o->finished)
        code = sweep_keep_finished(&s);
    size_t n_missing = code ? 0 : sweep_missing(&s);
    if (n_missing > 1 && o->jobs > 1) {
        code = sweep_jobs(&s, n_missing);
        for (size_t k = 0; k < s.n; k++)
            s.items[k].done |= eg_run_is_finished(s.items[k].folder);
    } else if (ranks_size() > 1 && n_missing > (size_t)ranks_size()) {
        code = sweep_ranks(&s, &own);
    }
    if (code == 0)
        code = sweep_pass(&s, 0);
    if (code == 0)
        code = sweep_wait(&s);
    for (size_t k = 0; k < s.n && code == 0; k++)
        code = runner_add(folders, s.items[k].path ? s.items[k].path : s.items[k].folder);
    free(s.items);
    return code;
}
