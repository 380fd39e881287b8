/* store.c - client states in files: what is put, read and committed. store_open.c opens it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The manifest is kept in memory as it will be written, in rows of one width, so that a commit
 * prints only the rows that changed: with 10,000 clients the rest is one write of 560 kB.
 */
#include "store/store_private.h"

#include "io/disk.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each step is a bijection, so that a change within one word always shows. */
uint64_t eg_store_sum(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 0x9e3779b97f4a7c15u ^ n;
    for (uint64_t word = 0; n > 0; word = 0) {
        size_t take = n < 8 ? n : 8;
        memcpy(&word, p, take);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
        p += take;
        n -= take;
    }
    return h;
}

void eg_store_path(const eg_store *s, int64_t client, int64_t version, char *out)
{
    if (client < 0)
        snprintf(out, s->path_size, "%s/server.%lld", s->dir, (long long)version);
    else
        snprintf(out, s->path_size, "%s/%lld/%lld.%lld", s->dir,
                 (long long)(client / STORE_GROUP), (long long)client, (long long)version);
}

eg_status eg_store_path_new(const eg_store *s, char **out)
{
    *out = malloc(s->path_size);
    return *out ? EG_OK : eg_fail(EG_ENOMEM, "%s: no memory for a path", s->dir);
}

void eg_store_print_row(eg_store *s, int64_t client)
{
    const store_entry *e = &s->entries[client + 1];
    char text[STORE_ROW + 8];
    int n = snprintf(text, sizeof text, "[%9lld,%9lld,%13zu,\"%016llx\"],\n", (long long)client,
                     (long long)e->version, e->n, (unsigned long long)e->sum);
    EG_ASSERT(n == STORE_ROW);
    memcpy(s->rows + (size_t)(client + 1) * STORE_ROW, text, STORE_ROW);
}

eg_status eg_store_reach(eg_store *s, int64_t client)
{
    if (client < -1 || client >= STORE_MAX_CLIENT)
        return eg_fail(EG_EINVAL, "%s: there is no client %lld", s->dir, (long long)client);
    while (s->n_entries <= (size_t)(client + 1)) {
        size_t cap = s->cap_entries;
        EG_TRY(eg_grow(&s->rows, s->n_entries, &s->cap_rows, STORE_ROW));
        EG_TRY(eg_grow(&s->entries, s->n_entries, &cap, sizeof *s->entries));
        s->cap_entries = cap;
        s->entries[s->n_entries] = (store_entry){0};
        eg_store_print_row(s, (int64_t)s->n_entries++ - 1);
    }
    return EG_OK;
}

const eg_json *eg_store_extra(const eg_store *s)
{
    return s->extra;
}

/* What is known of a client; nothing of one that was never put. */
static store_entry store_look(eg_store *s, int64_t client)
{
    store_entry e = {0};
    pthread_mutex_lock(&s->lock);
    if (client >= -1 && client < (int64_t)s->n_entries - 1)
        e = s->entries[client + 1];
    pthread_mutex_unlock(&s->lock);
    return e;
}

eg_status eg_store_get(eg_store *s, int64_t client, unsigned char **bytes, size_t *n)
{
    *bytes = NULL;
    *n = 0;
    store_entry e = store_look(s, client);
    if (e.version == 0)
        return eg_fail(EG_ENOENT, "%s: client %lld has no state yet", s->dir,
                       (long long)client);
    char *path;
    EG_TRY(eg_store_path_new(s, &path));
    eg_store_path(s, client, e.version, path);
    eg_status status = eg_file_read(path, STORE_MAX_STATE, bytes, n);
    if (status == EG_ENOENT)
        status = eg_fail(EG_EFORMAT, "%s: the file is missing", path);
    else if (status == EG_OK && *n != e.n)
        status = eg_fail(EG_EFORMAT, "%s: damaged: %zu bytes, not %zu", path, *n, e.n);
    else if (status == EG_OK && eg_store_sum(*bytes, *n) != e.sum)
        status = eg_fail(EG_EFORMAT, "%s: damaged: its checksum is another", path);
    if (status != EG_OK) {
        free(*bytes);
        *bytes = NULL;
        *n = 0;
    }
    free(path);
    return status;
}

/* A folder's entry is on disk when the folder is; a new folder's is in the store's own. */
static eg_status store_make_group(eg_store *s, int64_t client, char *path)
{
    if (client < 0)
        return EG_OK;
    snprintf(path, s->path_size, "%s/%lld", s->dir, (long long)(client / STORE_GROUP));
    return access(path, F_OK) == 0 ? EG_OK : eg_disk_make_folder(path);
}

/* Enters a version whose file is written. Gives the version that nothing needs any more. */
static eg_status store_enter(eg_store *s, int64_t client, store_entry e, int64_t *old)
{
    pthread_mutex_lock(&s->lock);
    *old = 0;
    eg_status status = eg_store_reach(s, client);
    if (status == EG_OK)
        status = eg_grow(&s->fresh, s->n_fresh, &s->cap_fresh, sizeof *s->fresh);
    if (status == EG_OK) {
        store_entry *at = &s->entries[client + 1];
        if (at->version != at->committed)
            *old = at->version;
        else
            s->fresh[s->n_fresh++] = client;
        e.committed = at->committed;
        *at = e;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

eg_status eg_store_put(eg_store *s, int64_t client, const void *bytes, size_t n)
{
    if (client < -1 || client >= STORE_MAX_CLIENT || n > (size_t)STORE_MAX_STATE)
        return eg_fail(EG_EINVAL, "%s: no state of %zu bytes for client %lld", s->dir, n,
                       (long long)client);
    char *path;
    int64_t old = 0;
    EG_TRY(eg_store_path_new(s, &path));
    store_entry e = {
        .version = store_look(s, client).version + 1, .n = n, .sum = eg_store_sum(bytes, n)};
    eg_status status = store_make_group(s, client, path);
    eg_store_path(s, client, e.version, path);
    if (status == EG_OK)
        status = eg_file_create(path, &(eg_bytes){bytes, n}, 1);
    if (status == EG_OK) {
        status = store_enter(s, client, e, &old);
        if (status != EG_OK)
            unlink(path);
    }
    if (old > 0) { /* put and replaced between two commits */
        eg_store_path(s, client, old, path);
        unlink(path);
    }
    free(path);
    return status;
}

static int store_compare(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* Lists the fresh files, their folders (once each: fresh is sorted) and the store's own. */
static eg_status store_list(const eg_store *s, char **paths, size_t *n)
{
    int64_t group = -1;
    for (size_t i = 0; i < s->n_fresh; i++) {
        int64_t client = s->fresh[i];
        EG_TRY(eg_store_path_new(s, &paths[*n]));
        eg_store_path(s, client, s->entries[client + 1].version, paths[(*n)++]);
        if (client < 0 || client / STORE_GROUP == group)
            continue;
        group = client / STORE_GROUP;
        EG_TRY(eg_store_path_new(s, &paths[*n]));
        snprintf(paths[(*n)++], s->path_size, "%s/%lld", s->dir, (long long)group);
    }
    EG_TRY(eg_store_path_new(s, &paths[*n]));
    snprintf(paths[(*n)++], s->path_size, "%s", s->dir);
    return EG_OK;
}

static eg_status store_sync(eg_store *s)
{
    size_t n = 0;
    if (s->n_fresh == 0)
        return EG_OK;
    qsort(s->fresh, s->n_fresh, sizeof *s->fresh, store_compare);
    char **paths = calloc(2 * s->n_fresh + 1, sizeof *paths);
    if (!paths)
        return eg_fail(EG_ENOMEM, "%s: no memory for %zu paths", s->dir, 2 * s->n_fresh + 1);
    eg_status status = store_list(s, paths, &n);
    if (status == EG_OK)
        status = eg_disk_sync(paths, n);
    for (size_t i = 0; i < 2 * s->n_fresh + 1; i++)
        free(paths[i]);
    free(paths);
    return status;
}

static eg_status store_write_manifest(eg_store *s, const char *extra, size_t n_extra)
{
    char *path;
    EG_TRY(eg_store_path_new(s, &path));
    snprintf(path, s->path_size, "%s/%s", s->dir, STORE_MANIFEST);
    for (size_t i = 0; i < s->n_fresh; i++)
        eg_store_print_row(s, s->fresh[i]);
    static const char head[] = "{\"version\":1,\"extra\":", middle[] = ",\"clients\":[\n",
                      tail[] = "\n]}\n";
    const eg_bytes parts[] = {
        {head, sizeof head - 1},
        {extra, n_extra},
        {middle, sizeof middle - 1},
        {s->rows, s->n_entries ? s->n_entries * STORE_ROW - 2 : 0}, /* no comma at the end */
        {tail, sizeof tail - 1},
    };
    eg_status status = eg_file_write(path, parts, sizeof parts / sizeof *parts);
    free(path);
    return status;
}

/* The manifest stands: the versions before have had their day. One that cannot be deleted now
 * is deleted by the next open. */
static eg_status store_retire(eg_store *s)
{
    char *path;
    EG_TRY(eg_store_path_new(s, &path));
    for (size_t i = 0; i < s->n_fresh; i++) {
        store_entry *e = &s->entries[s->fresh[i] + 1];
        eg_store_path(s, s->fresh[i], e->committed, path);
        if (e->committed > 0)
            unlink(path);
        e->committed = e->version;
    }
    s->n_fresh = 0;
    free(path);
    return EG_OK;
}

eg_status eg_store_commit(eg_store *s, const eg_json *extra)
{
    EG_ASSERT(extra && eg_json_kind_of(extra) == EG_JSON_OBJECT);
    char *text;
    size_t n;
    eg_json *copy = NULL;
    EG_TRY(eg_json_print(extra, 0, &text, &n));
    eg_status status = eg_json_parse(text, n, &copy);
    if (status == EG_OK)
        status = store_sync(s);
    if (status == EG_OK)
        status = store_write_manifest(s, text, n);
    free(text);
    if (status != EG_OK) {
        eg_json_free(copy);
        return status;
    }
    eg_json_free(s->extra);
    s->extra = copy;
    return store_retire(s);
}
