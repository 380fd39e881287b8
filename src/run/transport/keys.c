/* keys.c - files of keys: read, made and searched.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/keys.h"

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEYS_BYTES = 32, KEYS_LEAST = 16, KEYS_MAX_FILE = 1 << 26 };

/* A line: "client key", or a key alone. */
typedef struct keys_line {
    int number;     /* from 1 */
    int64_t client; /* -1: it does not say */
    eg_key key;
} keys_line;

static bool keys_is_good(const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i < n; i++)
        if (word[i] <= ' ' || word[i] > '~')
            return false;
    return n >= KEYS_LEAST && n < EG_KEY;
}

/* Takes one line apart; *is: it has something. */
static eg_status keys_parse(const char *path, char *text, keys_line *out, bool *is)
{
    char *rest = NULL, *end;
    text[strcspn(text, "#")] = 0;
    const char *first = strtok_r(text, " \t\r", &rest),
               *second = strtok_r(NULL, " \t\r", &rest);
    *is = first != NULL;
    if (!first)
        return EG_OK;
    out->client = -1;
    if (second) {
        errno = 0;
        long long client = strtoll(first, &end, 10);
        if (errno || *end || client < 0)
            return eg_fail(EG_EFORMAT, "%s: line %d: '%.40s' is no client", path, out->number,
                           first);
        out->client = client;
    }
    const char *key = second ? second : first;
    if (!keys_is_good(key) || strtok_r(NULL, " \t\r", &rest))
        return eg_fail(EG_EFORMAT, "%s: line %d: a key is one word of %d to %d characters",
                       path, out->number, KEYS_LEAST, EG_KEY - 1);
    memset(out->key, 0, sizeof out->key); /* to the end, since keys are compared to there */
    memcpy(out->key, key, strlen(key));
    return EG_OK;
}

/* Calls visit with every line that has something. */
static eg_status keys_walk(const char *path, eg_status (*visit)(void *to, const keys_line *l),
                           void *to)
{
    unsigned char *bytes;
    size_t n;
    struct stat file;
    EG_TRY(eg_file_read(path, KEYS_MAX_FILE, &bytes, &n));
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_mode & (S_IRWXG | S_IRWXO)) {
        free(bytes);
        return eg_fail(EG_EINVAL,
                       "%s: others than its owner can get at the keys in it: chmod 600", path);
    }
    keys_line line = {0};
    char *at = (char *)bytes, *next;
    eg_status s =
        memchr(bytes, 0, n) ? eg_fail(EG_EFORMAT, "%s: is no file of keys", path) : EG_OK;
    for (; at && s == EG_OK; at = next) {
        bool is;
        next = strchr(at, '\n');
        if (next)
            *next++ = 0;
        line.number++;
        s = keys_parse(path, at, &line, &is);
        if (s == EG_OK && is)
            s = visit(to, &line);
    }
    free(bytes);
    return s;
}

typedef struct keys_table {
    const char *path;
    int64_t n;
    eg_key *keys; /* [n]; "": not there yet */
} keys_table;

static eg_status keys_enter(void *to, const keys_line *l)
{
    const keys_table *t = to;
    if (l->client < 0)
        return eg_fail(EG_EFORMAT, "%s: line %d does not say whose key it is", t->path,
                       l->number);
    if (l->client >= t->n)
        return EG_OK; /* of a larger federation */
    if (*t->keys[l->client])
        return eg_fail(EG_EFORMAT, "%s: line %d: client %lld has a key already", t->path,
                       l->number, (long long)l->client);
    memcpy(t->keys[l->client], l->key, sizeof(eg_key));
    return EG_OK;
}

eg_status eg_keys_load(const char *path, int64_t n, eg_key *keys)
{
    keys_table t = {path, n, keys};
    EG_TRY(keys_walk(path, keys_enter, &t));
    for (int64_t i = 0; i < n; i++)
        if (!*keys[i])
            return eg_fail(EG_ENOENT, "%s: there is no key of client %lld", path, (long long)i);
    return EG_OK;
}

typedef struct keys_search {
    int64_t client;
    bool found;
    char *key;
} keys_search;

static eg_status keys_look(void *to, const keys_line *l)
{
    keys_search *s = to;
    if (!s->found && (l->client == s->client || l->client < 0)) {
        memcpy(s->key, l->key, sizeof(eg_key));
        s->found = true;
    }
    return EG_OK;
}

eg_status eg_keys_find(const char *path, int64_t client, eg_key out)
{
    keys_search s = {.client = client, .key = out};
    EG_TRY(keys_walk(path, keys_look, &s));
    return s.found ? EG_OK
                   : eg_fail(EG_ENOENT, "%s: there is no key of client %lld", path,
                             (long long)client);
}

static eg_status keys_draw(eg_key out)
{
    unsigned char bytes[KEYS_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return eg_fail(EG_EIO, "the system has no random numbers for a key");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return EG_OK;
}

static eg_status keys_write(int fd, const char *path, int64_t n)
{
    static const char head[] =
        "# Keys of devices: each gets its own line, as a file, and nobody else's.\n";
    EG_TRY(eg_file_put(fd, path, (eg_bytes){head, sizeof head - 1}));
    for (int64_t i = 0; i < n; i++) {
        eg_key key;
        char line[EG_KEY + 32];
        EG_TRY(keys_draw(key));
        int length = snprintf(line, sizeof line, "%lld %s\n", (long long)i, key);
        EG_TRY(eg_file_put(fd, path, (eg_bytes){line, (size_t)length}));
    }
    return fsync(fd) == 0 ? EG_OK : eg_file_fail(path, "cannot be brought to disk");
}

eg_status eg_keys_make(const char *path, int64_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return eg_file_fail(path, "cannot be created");
    eg_status s = keys_write(fd, path, n);
    close(fd);
    if (s != EG_OK)
        unlink(path);
    return s;
}

bool eg_keys_equal(const eg_key mine, const char *told)
{
    size_t n = strlen(told);
    unsigned differs = n != strlen(mine);
    for (size_t i = 0; i < EG_KEY - 1; i++)
        differs |= (unsigned)(mine[i] ^ (i < n ? told[i] : 0));
    return differs == 0 && *mine;
}
