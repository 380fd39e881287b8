/* hello.c - devices and ranks say what they have, and are refused if it does not fit.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run has the same bits everywhere only if configuration, data, scenario, instruction set and
 * program are the same; on ranks it works only if clients' records, which are files, are seen
 * by all. Both are cheap to know before the first round, and dear to find out later.
 */
#include "run/transport/hello.h"

#include "io/disk.h"
#include "run/experiment/feed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MEET_PATH = 1280, MEET_LOOKS = 60, MEET_LOOK_MS = 50 };

/* Whose concern a text is. */
enum { HELLO_PROGRAM = 1, HELLO_DATA = 2, HELLO_CONFIG = 4 };

/* The texts, by name. */
static const struct {
    const char *name, *what;
    size_t offset;
    unsigned of;
} hello_texts[] = {
    {"version", "program version", offsetof(eg_hello, version), HELLO_PROGRAM},
    {"isa", "instruction set", offsetof(eg_hello, isa), HELLO_PROGRAM},
    {"config", "configuration", offsetof(eg_hello, config), HELLO_CONFIG},
    {"labels", "set of labels", offsetof(eg_hello, labels), HELLO_DATA},
    {"pixels", "set of pixels", offsetof(eg_hello, pixels), HELLO_DATA},
    {"scenario", "scenario", offsetof(eg_hello, scenario), HELLO_DATA},
};

enum { HELLO_TEXTS = sizeof hello_texts / sizeof *hello_texts };

static char *hello_text(eg_hello *h, size_t i)
{
    return (char *)h + hello_texts[i].offset;
}

static const char *hello_read(const eg_hello *h, size_t i)
{
    return (const char *)h + hello_texts[i].offset;
}

eg_status eg_hello_fill(const eg_site *site, bool own_data, eg_hello *out)
{
    eg_fingerprint print;
    eg_fingerprint_take(site->feed, &print);
    *out = (eg_hello){.protocol = EG_PROTOCOL,
                      .classes = eg_net_spec_of(site->net)->classes,
                      .params = (int64_t)eg_params_length(eg_net_params(site->net)),
                      .own_data = own_data};
    snprintf(out->version, EG_HELLO_TEXT, "%s %s", print.version, print.commit);
    snprintf(out->isa, EG_HELLO_TEXT, "%s", print.isa);
    snprintf(out->config, EG_HELLO_TEXT, "%s", site->e->sha256);
    snprintf(out->labels, EG_HELLO_TEXT, "%s", print.labels);
    snprintf(out->pixels, EG_HELLO_TEXT, "%s", print.pixels);
    return eg_scenario_digest(site->feed->scenario, out->scenario);
}

/* Whether a device tells a text, and is asked for it. */
static bool hello_is_told(const eg_hello *h, size_t i)
{
    return hello_texts[i].of == HELLO_PROGRAM ||
           (hello_texts[i].of == HELLO_DATA && !h->own_data);
}

eg_status eg_hello_put(const eg_hello *h, eg_json *to)
{
    EG_TRY(eg_json_set(to, "protocol", eg_json_of_int(h->protocol)));
    EG_TRY(eg_json_set(to, "classes", eg_json_of_int(h->classes)));
    EG_TRY(eg_json_set(to, "params", eg_json_of_int(h->params)));
    EG_TRY(eg_json_set(to, "own_data", eg_json_of_bool(h->own_data)));
    for (size_t i = 0; i < HELLO_TEXTS; i++)
        if (hello_is_told(h, i))
            EG_TRY(eg_json_set(to, hello_texts[i].name, eg_json_of_text(hello_read(h, i))));
    return EG_OK;
}

static eg_status hello_get_text(const eg_json *from, const char *name, char *out)
{
    const eg_json *value;
    const char *text;
    EG_TRY(eg_json_need(from, name, EG_JSON_TEXT, &value));
    EG_TRY(eg_json_text(value, &text));
    int n = snprintf(out, EG_HELLO_TEXT, "%s", text);
    return n < EG_HELLO_TEXT ? EG_OK : eg_fail(EG_EFORMAT, "'%s' is too long", name);
}

static eg_status hello_get_all(const eg_json *from, eg_hello *out)
{
    const eg_json *protocol, *classes, *params, *own;
    *out = (eg_hello){0};
    EG_TRY(eg_json_need(from, "protocol", EG_JSON_INT, &protocol));
    EG_TRY(eg_json_need(from, "classes", EG_JSON_INT, &classes));
    EG_TRY(eg_json_need(from, "params", EG_JSON_INT, &params));
    EG_TRY(eg_json_need(from, "own_data", EG_JSON_BOOL, &own));
    EG_TRY(eg_json_int(protocol, &out->protocol));
    EG_TRY(eg_json_int(classes, &out->classes));
    EG_TRY(eg_json_int(params, &out->params));
    EG_TRY(eg_json_bool(own, &out->own_data));
    for (size_t i = 0; i < HELLO_TEXTS; i++)
        if (hello_is_told(out, i))
            EG_TRY(hello_get_text(from, hello_texts[i].name, hello_text(out, i)));
    return EG_OK;
}

eg_status eg_hello_get(const eg_json *from, eg_hello *out)
{
    return hello_get_all(from, out) == EG_OK
               ? EG_OK
               : eg_fail(EG_EFORMAT, "this is no hello: %s", eg_error());
}

static eg_status hello_compare_network(const eg_hello *server, const eg_hello *device)
{
    if (device->classes != server->classes || device->params != server->params)
        return eg_fail(EG_EINVAL,
                       "its data make a network of %lld outputs and %lld weights, the server's "
                       "one of %lld and %lld",
                       (long long)device->classes, (long long)device->params,
                       (long long)server->classes, (long long)server->params);
    return EG_OK;
}

/* Whether what the texts say of these concerns is the same. */
static eg_status hello_alike(const eg_hello *mine, const char *me, const eg_hello *theirs,
                             const char *them, unsigned of)
{
    for (size_t i = 0; i < HELLO_TEXTS; i++)
        if (hello_texts[i].of & of &&
            strncmp(hello_read(mine, i), hello_read(theirs, i), EG_HELLO_TEXT) != 0)
            return eg_fail(EG_EINVAL, "%s has another %s than %s: %.24s, not %.24s", them,
                           hello_texts[i].what, me, hello_read(theirs, i), hello_read(mine, i));
    return EG_OK;
}

eg_status eg_hello_compare(const eg_hello *server, const eg_hello *device, bool mixed)
{
    char why[256];
    if (device->protocol != server->protocol)
        return eg_fail(EG_EINVAL, "it speaks version %lld of the protocol, the server %lld",
                       (long long)device->protocol, (long long)server->protocol);
    if (device->own_data != server->own_data)
        return eg_fail(EG_EINVAL, device->own_data
                                      ? "it has data of its own, and the server deals out data "
                                        "that all have (serve without --own-data)"
                                      : "the server wants devices with data of their own "
                                        "(join with --own-data)");
    EG_TRY(hello_compare_network(server, device));
    if (!mixed && hello_alike(server, "the server", device, "it", HELLO_PROGRAM) != EG_OK) {
        snprintf(why, sizeof why, "%s", eg_error());
        return eg_fail(EG_EINVAL, "%s; a server with --mixed takes it", why);
    }
    return hello_alike(server, "the server", device, "it", device->own_data ? 0 : HELLO_DATA);
}

/* What a rank says. */
typedef struct meet_hello {
    eg_hello has;
    int64_t workers;
} meet_hello;

static eg_status meet_fill(const eg_site *site, meet_hello *out)
{
    *out = (meet_hello){.workers = site->n_workers};
    return eg_hello_fill(site, false, &out->has);
}

static eg_status meet_compare(eg_cluster *c, int rank, const meet_hello *mine,
                              const meet_hello *other)
{
    char me[EG_MPI_TEXT + 32], them[EG_MPI_TEXT + 32];
    snprintf(me, sizeof me, "rank 0 on %s", eg_cluster_host(c, 0));
    snprintf(them, sizeof them, "rank %d on %s", rank, eg_cluster_host(c, rank));
    return hello_alike(&mine->has, me, &other->has, them,
                       HELLO_PROGRAM | HELLO_DATA | HELLO_CONFIG);
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
