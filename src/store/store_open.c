/* store_open.c - opens a store: reads its manifest, removes what is not in it, checks the rest.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/store_private.h"

#include "io/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static eg_status store_new(const char *dir, eg_store **out)
{
    eg_store *s = calloc(1, sizeof *s);
    if (!s || !(s->dir = strdup(dir))) {
        free(s);
        return eg_fail(EG_ENOMEM, "%s: no memory for a store", dir);
    }
    s->path_size = strlen(dir) + 64;
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return EG_OK;
}

void eg_store_free(eg_store *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    eg_json_free(s->extra);
    free(s->entries);
    free(s->rows);
    free(s->fresh);
    free(s->dir);
    free(s);
}

/* One row: [client, version, bytes, "sum"]. Version 0 stands for no state. Rows are in order,
 * the server's first. */
static eg_status store_read_row(eg_store *s, int64_t client, const eg_json *row)
{
    int64_t number[3];
    const char *text;
    char *end;
    if (eg_json_kind_of(row) != EG_JSON_ARRAY || eg_json_count(row) != 4)
        return eg_fail(EG_EFORMAT, "a row is no array of four");
    for (size_t i = 0; i < 3; i++)
        EG_TRY(eg_json_int(eg_json_at(row, i), &number[i]));
    EG_TRY(eg_json_text(eg_json_at(row, 3), &text));
    uint64_t sum = strtoull(text, &end, 16);
    if (*end || number[0] != client || number[1] < 0 || number[1] > STORE_MAX_VERSION ||
        number[2] < 0 || number[2] > STORE_MAX_STATE)
        return eg_fail(EG_EFORMAT, "the row of client %lld is wrong", (long long)client);
    EG_TRY(eg_store_reach(s, client));
    s->entries[client + 1] = (store_entry){number[1], number[1], (size_t)number[2], sum};
    eg_store_print_row(s, client);
    return EG_OK;
}

static eg_status store_read_manifest(eg_store *s, const eg_json *manifest)
{
    const eg_json *v, *extra, *rows;
    int64_t version;
    char *text;
    size_t n;
    EG_TRY(eg_json_need(manifest, "version", EG_JSON_INT, &v));
    EG_TRY(eg_json_int(v, &version));
    if (version != 1)
        return eg_fail(EG_ENOTSUP, "version %lld of the format is not known",
                       (long long)version);
    EG_TRY(eg_json_need(manifest, "extra", EG_JSON_OBJECT, &extra));
    EG_TRY(eg_json_need(manifest, "clients", EG_JSON_ARRAY, &rows));
    for (size_t i = 0; i < eg_json_count(rows); i++)
        EG_TRY(store_read_row(s, (int64_t)i - 1, eg_json_at(rows, i)));
    EG_TRY(eg_json_print(extra, 0, &text, &n));
    eg_status status = eg_json_parse(text, n, &s->extra);
    free(text);
    return status;
}

/* A walk through the store's folder, or through one of its groups. */
typedef struct store_sweep {
    const eg_store *s;
    const char *group; /* "3", or NULL in the store's own folder */
    char *path;        /* room for one */
} store_sweep;

static bool store_is_number(const char *text, size_t n)
{
    return n > 0 && n < 16 && strspn(text, "0123456789") >= n;
}

/* Whether name is "<client>.<version>" or "server.<version>", and which. */
static bool store_parse_name(const char *name, int64_t *client, int64_t *version)
{
    const char *dot = strchr(name, '.');
    if (!dot || !store_is_number(dot + 1, strlen(dot + 1)))
        return false;
    bool server = strncmp(name, "server.", 7) == 0;
    if (!server && !store_is_number(name, (size_t)(dot - name)))
        return false;
    *client = server ? -1 : strtoll(name, NULL, 10);
    *version = strtoll(dot + 1, NULL, 10);
    return true;
}

/* Removes a file that is the store's, but not the manifest's; all others are not ours. */
static eg_status store_sweep_file(void *to, const char *name)
{
    const store_sweep *w = to;
    int64_t client, version;
    size_t n = strlen(name);
    bool temporary = !w->group && strncmp(name, STORE_MANIFEST ".", 14) == 0 && n > 4 &&
                     strcmp(name + n - 4, ".tmp") == 0;
    bool state = store_parse_name(name, &client, &version);
    if (state && client < (int64_t)w->s->n_entries - 1 &&
        w->s->entries[client + 1].version == version)
        return EG_OK;
    if (n < 60 && (temporary || state)) {
        snprintf(w->path, w->s->path_size + 64, "%s/%s%s%s", w->s->dir,
                 w->group ? w->group : "", w->group ? "/" : "", name);
        unlink(w->path);
    }
    return EG_OK;
}

static eg_status store_sweep_all(void *to, const char *name)
{
    store_sweep *w = to;
    if (!store_is_number(name, strlen(name)))
        return store_sweep_file(w, name);
    snprintf(w->path, w->s->path_size + 64, "%s/%s", w->s->dir, name);
    store_sweep inner = {w->s, name, w->path};
    return eg_disk_walk(w->path, store_sweep_file, &inner);
}

/* Reads every state once. */
static eg_status store_check(eg_store *s)
{
    for (int64_t client = -1; client < (int64_t)s->n_entries - 1; client++) {
        unsigned char *bytes;
        size_t n;
        if (s->entries[client + 1].version == 0)
            continue;
        EG_TRY(eg_store_get(s, client, &bytes, &n));
        free(bytes);
    }
    return EG_OK;
}

static eg_status store_load(eg_store *s, bool resume, char *path)
{
    EG_TRY(eg_disk_make_folder(s->dir));
    snprintf(path, s->path_size, "%s/%s", s->dir, STORE_MANIFEST);
    bool committed = access(path, F_OK) == 0;
    if (committed && !resume)
        return eg_fail(EG_EINVAL, "%s: holds a checkpoint already", s->dir);
    if (committed) {
        eg_json *manifest;
        EG_TRY(eg_json_load(path, &manifest));
        eg_status status = eg_blame(store_read_manifest(s, manifest), "%s", path);
        eg_json_free(manifest);
        if (status != EG_OK)
            return status == EG_ENOMEM || status == EG_ENOTSUP ? status : EG_EFORMAT;
    }
    store_sweep sweep = {s, NULL, path};
    EG_TRY(eg_disk_walk(s->dir, store_sweep_all, &sweep));
    return store_check(s);
}

eg_status eg_store_open(const char *dir, bool resume, eg_store **out)
{
    eg_store *s = NULL;
    *out = NULL;
    EG_TRY(store_new(dir, &s));
    char *path = malloc(s->path_size + 64);
    eg_status status =
        path ? store_load(s, resume, path) : eg_fail(EG_ENOMEM, "%s: no memory", dir);
    free(path);
    if (status == EG_OK)
        *out = s;
    else
        eg_store_free(s);
    return status;
}
