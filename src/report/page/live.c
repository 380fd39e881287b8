/* live.c - the pages of a folder of runs while these go on, for a browser of this machine.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every page is made when it is asked for, as it would be written. It then asks for /changed
 * with the number it was made at, which is answered when a log has grown since, and loads
 * itself again. A thread looks at the logs, so that runs of other processes are seen too.
 */
#include "report/page/page.h"

#include "io/http_server.h"

#include <engram/log.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { LIVE_WAIT_SECONDS = 25 };

struct eg_live {
    char folder[EG_RUN_PATH], url[64];
    eg_http_server *server;
    pthread_t watcher;
    bool watched;
    atomic_bool ends;
    atomic_llong changes; /* how often a log was seen to have grown */
};

/* The bytes of all logs, and how many there are, in one number that grows with either. */
static int64_t live_size(const eg_live *l)
{
    eg_run_folders f;
    int64_t sum = 0;
    if (eg_run_folders_find(l->folder, &f) != EG_OK)
        return 0;
    for (size_t i = 0; i < f.n; i++) {
        char path[EG_RUN_PATH];
        struct stat about;
        sum++;
        if (eg_run_file(f.list[i], EG_RUN_METRICS, path) == EG_OK && stat(path, &about) == 0)
            sum += about.st_size;
        sum += eg_run_is_finished(f.list[i]);
    }
    eg_run_folders_free(&f);
    return sum;
}

static void *live_watch(void *live)
{
    eg_live *l = live;
    const struct timespec pause = {.tv_nsec = 500000000};
    int64_t last = live_size(l);
    while (!atomic_load(&l->ends)) {
        nanosleep(&pause, NULL);
        int64_t now = live_size(l);
        if (now == last)
            continue;
        last = now;
        atomic_fetch_add(&l->changes, 1);
        eg_http_server_wake(l->server, -1);
    }
    return NULL;
}

/* "/demo.html": all runs of an experiment; "/demo-er-s0-1234abcd/report.html": one of them. */
static eg_status live_page(const eg_live *l, const char *path, long long number, char **out,
                           size_t *n)
{
    char name[EG_RUN_PATH], run[EG_RUN_PATH];
    const char *slash = strchr(path + 1, '/'), *end = strstr(path, ".html");
    if (strcmp(path, "/") == 0)
        return eg_index_print(l->folder, number, out, n);
    if (!end || end[5] || strstr(path, ".."))
        return eg_fail(EG_ENOENT, "there is no page %s", path);
    if (slash) {
        snprintf(name, sizeof name, "%.*s", (int)(slash - path - 1), path + 1);
        EG_TRY(eg_run_file(l->folder, name, run));
        const char *dir = run;
        return eg_page_print(&dir, 1, number, out, n);
    }
    snprintf(name, sizeof name, "%.*s", (int)(end - path - 1), path + 1);
    return eg_page_print_experiment(l->folder, name, number, out, n);
}

static void live_answer(void *context, const eg_http_request *r, eg_http_answer *out)
{
    eg_live *l = context;
    long long number = atomic_load(&l->changes);
    char *text;
    size_t n;
    out->code = 200;
    if (strcmp(r->path, "/changed") == 0) {
        out->code = r->number == number && !r->late ? 0 : 200;
        snprintf(out->text, sizeof out->text, "%lld", number);
    } else if (strcmp(r->method, "GET") != 0) {
        out->code = 405;
        snprintf(out->text, sizeof out->text, "only GET is answered");
    } else if (live_page(l, r->path, number, &text, &n) != EG_OK) {
        out->code = 404;
        snprintf(out->text, sizeof out->text, "%.500s", eg_error());
    } else if (eg_http_page_new((unsigned char *)text, n, &out->page) != EG_OK) {
        out->code = 500;
        snprintf(out->text, sizeof out->text, "%.500s", eg_error());
    }
}

eg_status eg_live_new(const char *folder, int port, eg_live **out)
{
    eg_live *l;
    char text[16];
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *l, &l));
    snprintf(l->folder, sizeof l->folder, "%s", folder);
    snprintf(text, sizeof text, "%d", port);
    eg_status s = eg_http_server_new(&(eg_http_listen){.host = "127.0.0.1",
                                                       .port = text,
                                                       .wait = LIVE_WAIT_SECONDS,
                                                       .handle = live_answer,
                                                       .context = l},
                                     &l->server);
    if (s == EG_OK && pthread_create(&l->watcher, NULL, live_watch, l) != 0)
        s = eg_fail(EG_EIO, "no thread to watch %s", folder);
    else
        l->watched = s == EG_OK;
    if (s != EG_OK) {
        eg_live_free(l);
        return s;
    }
    snprintf(l->url, sizeof l->url, "http://127.0.0.1:%d/", eg_http_server_port(l->server));
    *out = l;
    return EG_OK;
}

const char *eg_live_url(const eg_live *l)
{
    return l->url;
}

void eg_live_free(eg_live *l)
{
    if (!l)
        return;
    atomic_store(&l->ends, true);
    if (l->watched)
        pthread_join(l->watcher, NULL);
    eg_http_server_free(l->server);
    free(l);
}
