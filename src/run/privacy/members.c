/* members.c - whose identity is whose.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/privacy/members.h"

#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_BYTES = 1 << 26, MEMBERS_CACHE = 4096 };
static const char members_public[] = "ed25519:", members_secret[] = "ed25519-secret:";

typedef struct members_one {
    int64_t client;
    eg_secret public;
} members_one;

struct eg_members {
    bool simulated;
    uint64_t seed;
    size_t n, cap;
    members_one *list; /* [n], by client; of a simulation [MEMBERS_CACHE], those asked last */
    bool known;        /* whose secret */
    int64_t me;
    eg_identity identity; /* is this */
};

eg_status eg_members_simulate(uint64_t seed, eg_members **out)
{
    EG_TRY(eg_alloc(1, sizeof **out, out));
    **out = (eg_members){.simulated = true, .seed = seed};
    eg_status s = eg_alloc(MEMBERS_CACHE, sizeof *(*out)->list, &(*out)->list);
    for (size_t i = 0; s == EG_OK && i < MEMBERS_CACHE; i++)
        (*out)->list[i].client = -1;
    if (s != EG_OK) {
        eg_members_free(*out);
        *out = NULL;
    }
    return s;
}

void eg_members_free(eg_members *m)
{
    if (!m)
        return;
    eg_wipe(&m->identity, sizeof m->identity);
    free(m->list);
    free(m);
}

static void members_simulate_one(const eg_members *m, int64_t client, eg_identity *out)
{
    eg_secret seed;
    const eg_piece_of pieces[] = {{&m->seed, sizeof m->seed}, {&client, sizeof client}};
    eg_digest("engram simulated client", pieces, 2, seed);
    eg_identity_of(seed, out);
}

static int members_order(const void *a, const void *b)
{
    int64_t x = ((const members_one *)a)->client, y = ((const members_one *)b)->client;
    return (x > y) - (x < y);
}

bool eg_members_find(const void *members, int64_t client, eg_secret out)
{
    const eg_members *m = members;
    members_one wanted = {.client = client}, *found;
    if (m->simulated && client >= 0) { /* a key costs as much as a signature */
        found = &m->list[client % MEMBERS_CACHE];
        if (found->client != client) {
            eg_identity identity;
            members_simulate_one(m, client, &identity);
            memcpy(found->public, identity.public, EG_SECRET);
            found->client = client;
        }
    } else {
        found = m->n ? bsearch(&wanted, m->list, m->n, sizeof wanted, members_order) : NULL;
    }
    if (found)
        memcpy(out, found->public, EG_SECRET);
    return found != NULL;
}

bool eg_members_identity(const eg_members *m, int64_t client, eg_identity *out)
{
    if (m->simulated)
        members_simulate_one(m, client, out);
    else if (m->known && m->me == client)
        *out = m->identity;
    return m->simulated || (m->known && m->me == client);
}

eg_status eg_members_become(eg_members *m, int64_t client, const eg_identity *identity)
{
    eg_secret public;
    if (!eg_members_find(m, client, public))
        return eg_fail(EG_EINVAL, "client %lld is not in the members file", (long long)client);
    if (!eg_same(public, identity->public, EG_SECRET))
        return eg_fail(EG_EINVAL,
                       "the members file has another key for client %lld than this "
                       "device's",
                       (long long)client);
    m->known = true, m->me = client, m->identity = *identity;
    return EG_OK;
}

eg_status eg_members_check(const eg_members *m, int64_t n)
{
    eg_secret public;
    for (int64_t i = 0; i < n; i++)
        if (!eg_members_find(m, i, public))
            return eg_fail(EG_ENOENT, "the members file lacks client %lld", (long long)i);
    return EG_OK;
}

static int members_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static bool members_read_hex(const char *text, eg_secret out)
{
    for (size_t i = 0; i < EG_SECRET; i++) {
        int high = members_digit(text[2 * i]);
        int low = high < 0 ? -1 : members_digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        out[i] = (unsigned char)(16 * high + low);
    }
    return !text[2 * EG_SECRET];
}

/* The place of a client in the list, which is not sorted yet; n: it is not there. */
static size_t members_place(const eg_members *m, int64_t client)
{
    size_t i = 0;
    while (i < m->n && m->list[i].client != client)
        i++;
    return i;
}

/* "3 ed25519:0123...": that key is the client's from now on. "3 WORD": it has none. */
static eg_status members_take_line(eg_members *m, char *line)
{
    char *rest = NULL, *end;
    line[strcspn(line, "#")] = 0;
    const char *first = strtok_r(line, " \t\r", &rest), *key = strtok_r(NULL, " \t\r", &rest);
    if (!first)
        return EG_OK;
    long long client = strtoll(first, &end, 10);
    if (*end || *first < '0' || *first > '9' || strlen(first) > 15 || !key ||
        strtok_r(NULL, " \t\r", &rest))
        return eg_fail(EG_EFORMAT, "a client's number and its key are wanted");
    size_t at = members_place(m, client);
    if (strncmp(key, members_public, sizeof members_public - 1) != 0) {
        if (at < m->n)
            m->list[at] = m->list[--m->n];
        return EG_OK;
    }
    if (at == m->n) {
        EG_TRY(eg_grow(&m->list, m->n, &m->cap, sizeof *m->list));
        m->list[m->n++].client = client;
    }
    return members_read_hex(key + sizeof members_public - 1, m->list[at].public)
               ? EG_OK
               : eg_fail(EG_EFORMAT, "a public key is %s and 64 hexadecimal digits",
                         members_public);
}

static eg_status members_read(eg_members *m, char *text)
{
    size_t number = 1;
    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        EG_TRY(eg_blame(members_take_line(m, line), "line %zu", number));
    }
    if (m->n)
        qsort(m->list, m->n, sizeof *m->list, members_order);
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < i; k++)
            if (eg_same(m->list[i].public, m->list[k].public, EG_SECRET))
                return eg_fail(EG_EFORMAT, "clients %lld and %lld have one key",
                               (long long)m->list[k].client, (long long)m->list[i].client);
    return EG_OK;
}

/* The device's file: "ed25519-secret:" and 64 digits somewhere in it. */
eg_status eg_members_become_file(eg_members *m, int64_t client, const char *path)
{
    unsigned char *bytes;
    size_t n;
    eg_identity identity;
    eg_secret seed;
    char hex[2 * EG_SECRET + 1] = "";
    EG_TRY(eg_file_read(path, MEMBERS_BYTES, &bytes, &n));
    const char *at = strstr((const char *)bytes, members_secret);
    if (at)
        snprintf(hex, sizeof hex, "%s", at + sizeof members_secret - 1);
    bool good = at && members_read_hex(hex, seed);
    eg_wipe(bytes, n);
    free(bytes);
    eg_wipe(hex, sizeof hex);
    if (!good)
        return eg_fail(EG_EFORMAT, "%s: there is no secret key in it (%s and 64 digits)", path,
                       members_secret);
    eg_identity_of(seed, &identity);
    eg_wipe(seed, sizeof seed);
    eg_status s = eg_members_become(m, client, &identity);
    eg_wipe(&identity, sizeof identity);
    return s;
}

eg_status eg_members_load(const char *path, eg_members **out)
{
    unsigned char *bytes;
    size_t n;
    char *text;
    *out = NULL;
    EG_TRY(eg_file_read(path, MEMBERS_BYTES, &bytes, &n));
    eg_status s = eg_alloc(n + 1, 1, &text);
    if (s == EG_OK) {
        memcpy(text, bytes, n);
        s = eg_alloc(1, sizeof **out, out);
    }
    free(bytes);
    EG_TRY(s);
    s = eg_blame(memchr(text, 0, n) ? eg_fail(EG_EFORMAT, "it is not a text")
                                    : members_read(*out, text),
                 "%s", path);
    free(text);
    if (s != EG_OK) {
        eg_members_free(*out);
        *out = NULL;
    }
    return s;
}
