/* rig.c - what a device computes with, and whether its data have grown since.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/device.h"

#include "base/checksum.h"
#include "io/disk.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { RIG_DEPTH = 4, RIG_TASK = 4096 }; /* folders within folders; bytes of a file `task` */

eg_status eg_rig_new(const eg_experiment *e, const eg_origin *from, const char *store,
                     eg_rig **out)
{
    eg_rig *r;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *r, &r));
    eg_status s = eg_experiment_equip(e, from, &r->feed, &r->agreed, &r->net);
    if (s == EG_OK) {
        r->open = true; /* even half open it is to be closed */
        s = eg_worker_open(e, &r->feed, r->net, &r->agreed, store, &r->worker);
        r->worker.apart = true;
    }
    if (s == EG_OK)
        *out = r;
    else
        eg_rig_free(r);
    return s;
}

void eg_rig_free(eg_rig *r)
{
    if (!r)
        return;
    if (r->open)
        eg_worker_close(&r->worker);
    eg_net_free(r->net);
    eg_feed_close(&r->feed);
    free(r);
}

int64_t eg_rig_n_samples(const eg_rig *r)
{
    int64_t n = 0;
    for (size_t i = 0; i < r->feed.n_sources; i++)
        n += r->feed.train[i].n;
    return n;
}

/* A walk through files. */
typedef struct rig_walk {
    const char *path;
    int depth;
    uint64_t sum; /* of what each file is like, whatever their order */
    double newest;
} rig_walk;

static void rig_look(const char *path, const char *name, int depth, rig_walk *to);

static eg_status rig_visit(void *to, const char *name)
{
    rig_walk *w = to;
    char path[EG_HOME_PATH];
    int n = snprintf(path, sizeof path, "%s/%s", w->path, name);
    bool task = w->depth == RIG_DEPTH && strcmp(name, "task") == 0; /* no data */
    if (*name != '.' && !task && n < (int)sizeof path)
        rig_look(path, name, w->depth - 1, w);
    return EG_OK;
}

static void rig_look(const char *path, const char *name, int depth, rig_walk *to)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return;
    if (S_ISDIR(about.st_mode) && depth > 0) {
        rig_walk within = {.path = path, .depth = depth, .newest = to->newest};
        (void)eg_disk_walk(path, rig_visit, &within);
        to->sum += within.sum;
        to->newest = within.newest;
    } else if (S_ISREG(about.st_mode)) {
        const int64_t is[3] = {about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
        double changed = (double)is[1] + 1e-9 * (double)is[2];
        to->sum += eg_checksum(eg_checksum(1, name, strlen(name)), is, sizeof is);
        to->newest = changed > to->newest ? changed : to->newest;
    }
}

bool eg_data_stamp(const char *path, uint64_t *out)
{
    struct timespec now;
    rig_walk w = {0};
    rig_look(path, "", RIG_DEPTH, &w);
    clock_gettime(CLOCK_REALTIME, &now);
    *out = w.sum;
    return w.sum && (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - w.newest >= 1;
}

uint64_t eg_data_task(const char *path)
{
    char file[EG_HOME_PATH];
    unsigned char *bytes;
    size_t n;
    int length = snprintf(file, sizeof file, "%s/task", path);
    if (length >= (int)sizeof file || eg_file_read(file, RIG_TASK, &bytes, &n) != EG_OK)
        return 0;
    uint64_t is = eg_checksum(1, bytes, n);
    free(bytes);
    return is;
}
