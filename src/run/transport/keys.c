/* keys.c - files of keys: read, made, added to and searched.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/keys.h"

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    KEYS_BYTES = 32,
    KEYS_LEAST = 16,
    KEYS_MAX_FILE = 1 << 26,
    KEYS_CODE_BYTES = 11,
    KEYS_CLIENTS = 1 << 24
};

#define KEYS_PUBLIC  "ed25519:"
#define KEYS_SECRET  "ed25519-secret:"
#define KEYS_CODE    "code:"
#define KEYS_REVOKED "revoked"

/* A line: "client key", or a key alone. */
typedef struct keys_line {
    int number;     /* from 1 */
    int64_t client; /* -1: it does not say */
    eg_key key;
} keys_line;

void eg_hex_print(const unsigned char *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

bool eg_hex_read(const char *text, unsigned char *out, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != 2 * n || strspn(text, digits) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)((strchr(digits, text[2 * i]) - digits) << 4 |
                                 (strchr(digits, text[2 * i + 1]) - digits));
    return true;
}

static bool keys_begins(const char *key, const char *with)
{
    return strncmp(key, with, strlen(with)) == 0;
}

eg_key_kind eg_key_kind_of(const char *key)
{
    return !*key                            ? EG_KEY_NONE
           : strcmp(key, KEYS_REVOKED) == 0 ? EG_KEY_REVOKED
           : keys_begins(key, KEYS_PUBLIC)  ? EG_KEY_PUBLIC
           : keys_begins(key, KEYS_SECRET)  ? EG_KEY_SECRET
           : keys_begins(key, KEYS_CODE)    ? EG_KEY_CODE
                                            : EG_KEY_WORD;
}

bool eg_key_read_public(const eg_key key, eg_secret out)
{
    return eg_key_kind_of(key) == EG_KEY_PUBLIC &&
           eg_hex_read(key + strlen(KEYS_PUBLIC), out, EG_SECRET);
}

bool eg_key_read_secret(const eg_key key, eg_identity *out)
{
    eg_secret seed;
    bool is = eg_key_kind_of(key) == EG_KEY_SECRET &&
              eg_hex_read(key + strlen(KEYS_SECRET), seed, EG_SECRET);
    if (is)
        eg_identity_of(seed, out);
    eg_wipe(seed, sizeof seed);
    return is;
}

void eg_key_print_public(const eg_secret public, eg_key out)
{
    int n = snprintf(out, EG_KEY, "%s", KEYS_PUBLIC);
    eg_hex_print(public, EG_SECRET, out + n);
}

/* The digest by which a file knows a code, and until when it is good. */
static bool keys_read_code(const eg_key key, eg_secret digest, int64_t *until)
{
    char hex[2 * EG_SECRET + 1];
    const char *at = key + strlen(KEYS_CODE), *mark = strchr(at, '@');
    if (!mark || mark - at != 2 * EG_SECRET ||
        strspn(mark + 1, "0123456789") != strlen(mark + 1) || strlen(mark + 1) > 18)
        return false;
    snprintf(hex, sizeof hex, "%.*s", 2 * EG_SECRET, at);
    *until = strtoll(mark + 1, NULL, 10);
    return eg_hex_read(hex, digest, EG_SECRET);
}

static bool keys_is_good(const char *word)
{
    size_t n = strlen(word);
    eg_secret bytes;
    eg_identity who;
    int64_t until;
    eg_key key;
    for (size_t i = 0; i < n; i++)
        if (word[i] <= ' ' || word[i] > '~')
            return false;
    if (n >= EG_KEY)
        return false;
    snprintf(key, sizeof key, "%s", word);
    switch (eg_key_kind_of(key)) {
    case EG_KEY_REVOKED:
        return true;
    case EG_KEY_PUBLIC:
        return eg_key_read_public(key, bytes);
    case EG_KEY_CODE:
        return keys_read_code(key, bytes, &until);
    case EG_KEY_SECRET:
        return eg_key_read_secret(key, &who);
    default:
        return n >= KEYS_LEAST;
    }
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
        return eg_fail(EG_EFORMAT,
                       "%s: line %d: a key is one word of %d to %d characters, or what engram "
                       "key and enrol write",
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

/* The last line counts, but for a second word: whoever wrote that has mistaken the number. */
static eg_status keys_enter(void *to, const keys_line *l)
{
    const keys_table *t = to;
    eg_key_kind is = eg_key_kind_of(l->key);
    if (l->client < 0)
        return eg_fail(EG_EFORMAT, "%s: line %d does not say whose key it is", t->path,
                       l->number);
    if (is == EG_KEY_SECRET)
        return eg_fail(EG_EFORMAT,
                       "%s: line %d is a device's secret key, and the server has "
                       "its public one alone",
                       t->path, l->number);
    if (l->client >= t->n)
        return EG_OK; /* of a larger federation */
    if (is == EG_KEY_WORD && eg_key_kind_of(t->keys[l->client]) == EG_KEY_WORD)
        return eg_fail(EG_EFORMAT, "%s: line %d: client %lld has a key already", t->path,
                       l->number, (long long)l->client);
    memcpy(t->keys[l->client], l->key, sizeof(eg_key));
    return EG_OK;
}

eg_status eg_keys_load(const char *path, int64_t n, eg_key *keys)
{
    keys_table t = {path, n, keys};
    memset(keys, 0, (size_t)n * sizeof *keys);
    return keys_walk(path, keys_enter, &t);
}

typedef struct keys_search {
    int64_t client, is;
    bool found, several;
    char *key;
} keys_search;

static eg_status keys_look(void *to, const keys_line *l)
{
    keys_search *s = to;
    s->several |= s->found && s->client < 0;
    if (!s->found && (s->client < 0 || l->client == s->client || l->client < 0)) {
        memcpy(s->key, l->key, sizeof(eg_key));
        s->is = l->client;
        s->found = true;
    }
    return EG_OK;
}

eg_status eg_keys_find(const char *path, int64_t client, int64_t *is, eg_key out)
{
    keys_search s = {.client = client, .key = out};
    EG_TRY(keys_walk(path, keys_look, &s));
    *is = client < 0 ? s.is : client;
    if (s.several || (s.found && *is < 0))
        return eg_fail(EG_EINVAL, "%s does not say which client this is (--client)", path);
    if (!s.found && client < 0)
        return eg_fail(EG_ENOENT, "%s: there is no key in it", path);
    return s.found ? EG_OK
                   : eg_fail(EG_ENOENT, "%s: there is no key of client %lld", path,
                             (long long)client);
}

static void keys_draw(eg_key out)
{
    unsigned char bytes[KEYS_BYTES];
    eg_random(bytes, sizeof bytes);
    eg_hex_print(bytes, sizeof bytes, out);
}

static eg_status keys_write(int fd, const char *path, int64_t n)
{
    static const char head[] =
        "# Keys of devices: each gets its own line, as a file, and nobody else's.\n";
    EG_TRY(eg_file_put(fd, path, (eg_bytes){head, sizeof head - 1}));
    for (int64_t i = 0; i < n; i++) {
        eg_key key;
        char line[EG_KEY + 32];
        keys_draw(key);
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

/* A line more. One that was not ended, by hand, is ended first. */
static eg_status keys_append(const char *path, int64_t client, const char *key)
{
    char line[EG_KEY + 32], last = '\n';
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return eg_file_fail(path, "cannot be written");
    off_t end = lseek(fd, 0, SEEK_END);
    bool cut = end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';
    int n = snprintf(line, sizeof line, "%s%lld %s\n", cut ? "\n" : "", (long long)client, key);
    eg_status s = eg_file_put(fd, path, (eg_bytes){line, (size_t)n});
    if (s == EG_OK && fsync(fd) != 0)
        s = eg_file_fail(path, "cannot be brought to disk");
    close(fd);
    return s;
}

static eg_status keys_count(void *to, const keys_line *l)
{
    int64_t *n = to;
    *n = l->client >= *n && l->client < KEYS_CLIENTS ? l->client + 1 : *n;
    return EG_OK;
}

/* All that a file says, by client; a file that is not there says nothing. */
static eg_status keys_load_all(const char *path, bool must, int64_t *n, eg_key **out)
{
    *n = 0, *out = NULL;
    if (!must && access(path, F_OK) != 0)
        return EG_OK;
    EG_TRY(keys_walk(path, keys_count, n));
    EG_TRY(eg_alloc((size_t)*n, sizeof **out, out));
    eg_status s = eg_keys_load(path, *n, *out);
    if (s != EG_OK) {
        free(*out);
        *out = NULL;
    }
    return s;
}

eg_status eg_keys_add(const char *path, int64_t client, const char *public_key)
{
    eg_secret bytes;
    eg_key key = {0};
    if (strlen(public_key) < sizeof key)
        snprintf(key, sizeof key, "%s", public_key);
    if (!eg_key_read_public(key, bytes))
        return eg_fail(EG_EINVAL, "'%.80s' is no public key (ed25519:...)", public_key);
    return keys_append(path, client, key);
}

eg_status eg_keys_revoke(const char *path, int64_t client)
{
    int64_t n;
    eg_key *keys;
    EG_TRY(keys_load_all(path, true, &n, &keys));
    eg_key_kind is = client < n ? eg_key_kind_of(keys[client]) : EG_KEY_NONE;
    free(keys);
    if (is == EG_KEY_NONE || is == EG_KEY_REVOKED)
        return eg_fail(EG_ENOENT, "%s: client %lld has no key to be revoked", path,
                       (long long)client);
    return keys_append(path, client, KEYS_REVOKED);
}

static void keys_digest(const char *code, eg_secret out)
{
    eg_digest("engram code", &(eg_piece_of){code, strlen(code)}, 1, out);
}

eg_status eg_keys_invite(const char *path, int64_t client, double seconds, char code[EG_KEY])
{
    unsigned char drawn[KEYS_CODE_BYTES];
    eg_secret digest;
    eg_key key, *keys;
    int64_t n;
    EG_TRY(keys_load_all(path, false, &n, &keys));
    for (int64_t i = 0; client < 0; i++)
        client = i >= n || !*keys[i] ? i : -1;
    eg_key_kind is = client < n ? eg_key_kind_of(keys[client]) : EG_KEY_NONE;
    free(keys);
    if (is == EG_KEY_WORD || is == EG_KEY_PUBLIC)
        return eg_fail(EG_EBUSY, "%s: client %lld has a key; engram key revoke comes first",
                       path, (long long)client);
    eg_random(drawn, sizeof drawn);
    int at = snprintf(code, EG_KEY, "%lld-", (long long)client);
    eg_hex_print(drawn, sizeof drawn, code + at);
    keys_digest(code, digest);
    at = snprintf(key, sizeof key, "%s", KEYS_CODE);
    eg_hex_print(digest, sizeof digest, key + at);
    at += 2 * EG_SECRET;
    snprintf(key + at, sizeof key - (size_t)at, "@%lld",
             (long long)time(NULL) + (long long)seconds);
    return keys_append(path, client, key);
}

int64_t eg_key_code_client(const char *code)
{
    char *end;
    if (*code < '0' || *code > '9' || strlen(code) >= EG_KEY)
        return -1;
    errno = 0;
    long long client = strtoll(code, &end, 10);
    return errno || *end != '-' || strlen(end + 1) != 2 * (size_t)KEYS_CODE_BYTES ? -1 : client;
}

bool eg_key_is_code(const eg_key key, const char *code, bool *late)
{
    eg_secret wanted, has;
    int64_t until;
    *late = false;
    if (eg_key_kind_of(key) != EG_KEY_CODE || !keys_read_code(key, wanted, &until))
        return false;
    keys_digest(code, has);
    bool is = eg_same(wanted, has, sizeof has);
    *late = is && time(NULL) > until;
    return is && !*late;
}

eg_status eg_key_new(const char *path, int64_t client, char public_key[EG_KEY])
{
    eg_identity who;
    char line[EG_KEY + 32] = "";
    int at = client < 0 ? 0 : snprintf(line, sizeof line, "%lld ", (long long)client);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return eg_file_fail(path, "cannot be created");
    eg_identity_new(&who);
    at += snprintf(line + at, sizeof line - (size_t)at, "%s", KEYS_SECRET);
    eg_hex_print(who.seed, sizeof who.seed, line + at);
    at = (int)strlen(line);
    snprintf(line + at, sizeof line - (size_t)at, "\n");
    eg_key_print_public(who.public, public_key);
    eg_status s = eg_file_put(fd, path, (eg_bytes){line, strlen(line)});
    if (s == EG_OK && fsync(fd) != 0)
        s = eg_file_fail(path, "cannot be brought to disk");
    eg_wipe(&who, sizeof who);
    eg_wipe(line, sizeof line);
    close(fd);
    if (s != EG_OK)
        unlink(path);
    return s;
}

eg_status eg_key_public(const char *path, int64_t *client, char public_key[EG_KEY])
{
    eg_key key = {0};
    eg_identity who;
    keys_search s = {.client = -1, .is = -1, .key = key};
    EG_TRY(keys_walk(path, keys_look, &s));
    *client = s.is;
    bool is = s.found && !s.several && eg_key_read_secret(key, &who);
    eg_wipe(key, sizeof key);
    if (!is)
        return eg_fail(EG_ENOENT, "%s: there is no secret key of a device in it", path);
    eg_key_print_public(who.public, public_key);
    eg_wipe(&who, sizeof who);
    return EG_OK;
}

eg_status eg_keys_list(const char *path,
                       eg_status (*visit)(void *context, const eg_keys_row *row), void *context)
{
    int64_t n;
    eg_key *keys;
    EG_TRY(keys_load_all(path, true, &n, &keys));
    eg_status s = EG_OK;
    for (int64_t i = 0; i < n && s == EG_OK; i++) {
        eg_secret digest;
        eg_keys_row row = {.client = i, .kind = eg_key_kind_of(keys[i])};
        if (row.kind == EG_KEY_PUBLIC)
            row.public_key = keys[i];
        if (row.kind == EG_KEY_CODE)
            keys_read_code(keys[i], digest, &row.until);
        if (row.kind != EG_KEY_NONE)
            s = visit(context, &row);
    }
    free(keys);
    return s;
}
