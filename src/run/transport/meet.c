/* meet.c - ranks say what they are about to run, and look for a file that rank 0 has made.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run has the same bits on all ranks only if configuration, data, scenario, instruction set
 * and program are the same, and it works only if clients' records, which are files, are seen by
 * all. Both are cheap to know before the first round, and dear to find out later.
 */
#include "run/transport/meet.h"

#include "io/disk.h"
#include "run/experiment/fingerprint.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MEET_TEXT = 80, MEET_PATH = 1280, MEET_LOOKS = 60, MEET_LOOK_MS = 50 };

/* What must be the same everywhere, by name. */
enum { MEET_VERSION, MEET_CONFIG, MEET_DATA, MEET_SCENARIO, MEET_ISA, MEET_N };

static const char *const meet_names[MEET_N] = {"program version", "configuration", "data",
                                               "scenario", "instruction set"};

typedef struct meet_hello {
    char about[MEET_N][MEET_TEXT];
    int64_t workers;
} meet_hello;

static eg_status meet_fill(const eg_site *site, meet_hello *out)
{
    eg_fingerprint print;
    char digest[65];
    eg_fingerprint_take(site->feed, &print);
    EG_TRY(eg_scenario_digest(site->feed->scenario, digest));
    *out = (meet_hello){.workers = site->n_workers};
    snprintf(out->about[MEET_VERSION], MEET_TEXT, "%s %s", print.version, print.commit);
    snprintf(out->about[MEET_CONFIG], MEET_TEXT, "%s", site->e->sha256);
    snprintf(out->about[MEET_DATA], MEET_TEXT, "%s%s", print.pixels, print.labels);
    snprintf(out->about[MEET_SCENARIO], MEET_TEXT, "%s", digest);
    snprintf(out->about[MEET_ISA], MEET_TEXT, "%s", print.isa);
    return EG_OK;
}

/* A digest is a few digits in a sentence. */
static eg_status meet_compare(eg_cluster *c, int rank, const meet_hello *mine,
                              const meet_hello *other)
{
    for (int i = 0; i < MEET_N; i++)
        if (strncmp(mine->about[i], other->about[i], MEET_TEXT) != 0)
            return eg_fail(EG_EINVAL,
                           "rank %d on %s has another %s than rank 0 on %s: %.12s, not %.12s",
                           rank, eg_cluster_host(c, rank), meet_names[i], eg_cluster_host(c, 0),
                           other->about[i], mine->about[i]);
    return EG_OK;
}

/* Waits for a frame of this kind; others are of a run before. */
static eg_status meet_wait(eg_cluster *c, eg_cluster_kind kind, eg_cluster_frame *out)
{
    for (;;) {
        EG_TRY(eg_cluster_pump(c));
        while (eg_cluster_take(c, out)) {
            if (out->kind == kind)
                return EG_OK;
            free(out->bytes);
        }
        eg_cluster_nap(c);
    }
}

/* The folder in which the run's folder is, or will be. */
static void meet_place(const eg_site *site, char out[MEET_PATH])
{
    snprintf(out, MEET_PATH, "%s", site->store);
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(out, '/');
        if (slash && slash > out)
            *slash = 0;
        else
            snprintf(out, MEET_PATH, slash ? "/" : ".");
    }
}

static eg_status meet_hear_all(eg_cluster *c, const meet_hello *mine, int *workers)
{
    for (int n = 1; n < eg_cluster_size(c); n++) {
        eg_cluster_frame f;
        meet_hello other;
        EG_TRY(meet_wait(c, EG_CLUSTER_HELLO, &f));
        bool whole = f.n == sizeof other;
        if (whole)
            memcpy(&other, f.bytes, sizeof other);
        free(f.bytes);
        if (!whole)
            return eg_fail(EG_EFORMAT, "rank %d on %s is of another program version", f.from,
                           eg_cluster_host(c, f.from));
        EG_TRY(meet_compare(c, f.from, mine, &other));
        workers[f.from] = (int)other.workers;
    }
    return EG_OK;
}

static eg_status meet_show(eg_cluster *c, const char *name)
{
    for (int r = 1; r < eg_cluster_size(c); r++)
        EG_TRY(eg_cluster_post_bytes(c, r, EG_CLUSTER_TOKEN, name, strlen(name)));
    for (int n = 1; n < eg_cluster_size(c); n++) {
        eg_cluster_frame f;
        EG_TRY(meet_wait(c, EG_CLUSTER_SEEN, &f));
        free(f.bytes);
    }
    return EG_OK;
}

/* Makes a file that nobody else has, has all others look for it, and removes it. */
static eg_status meet_token(const eg_site *site)
{
    char place[MEET_PATH], name[64], path[MEET_PATH + 80];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    meet_place(site, place);
    bool was = access(place, F_OK) == 0;
    snprintf(name, sizeof name, ".engram-%ld-%lld-%ld", (long)getpid(), (long long)now.tv_sec,
             now.tv_nsec);
    snprintf(path, sizeof path, "%s/%s", place, name);
    EG_TRY(eg_disk_make_folder(place));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return eg_fail(EG_EIO, "%s: a file cannot be made there", place);
    close(fd);
    eg_status s = meet_show(site->cluster, name);
    unlink(path);
    if (!was)
        rmdir(place); /* it is made again with the first run in it */
    return s;
}

eg_status eg_meet_all(const eg_site *site, int *workers)
{
    meet_hello mine;
    EG_TRY(meet_fill(site, &mine));
    workers[0] = site->n_workers;
    if (eg_cluster_size(site->cluster) == 1)
        return EG_OK;
    EG_TRY(meet_hear_all(site->cluster, &mine, workers));
    return meet_token(site);
}

/* Whether the file is seen; other machines' files may take a moment to appear. */
static bool meet_look(const char *place, const char *name, size_t n)
{
    char path[MEET_PATH + 80];
    snprintf(path, sizeof path, "%s/%.*s", place, (int)(n < 64 ? n : 63), name);
    for (int i = 0; i < MEET_LOOKS; i++) {
        if (access(path, F_OK) == 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = MEET_LOOK_MS * 1000000}, NULL);
    }
    return false;
}

eg_status eg_meet_server(const eg_site *site)
{
    meet_hello mine;
    eg_cluster_frame f;
    char place[MEET_PATH];
    EG_TRY(meet_fill(site, &mine));
    EG_TRY(eg_cluster_post_bytes(site->cluster, 0, EG_CLUSTER_HELLO, &mine, sizeof mine));
    EG_TRY(meet_wait(site->cluster, EG_CLUSTER_TOKEN, &f));
    meet_place(site, place);
    bool seen = meet_look(place, (const char *)f.bytes, f.n);
    free(f.bytes);
    if (!seen)
        return eg_fail(EG_EIO,
                       "the folder '%s' is not the one that rank 0 sees: --out must be on a "
                       "file system that all ranks share",
                       place);
    return eg_cluster_post_bytes(site->cluster, 0, EG_CLUSTER_SEEN, NULL, 0);
}
