/* secure_group.c - what both roles of secure aggregation know of an exchange.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/privacy/secure_group.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP_HEAD = 4 + 4 + 8 + 2 * EG_SECRET + 4 }; /* bytes before the clients */
static const unsigned char group_magic[4] = {'E', 'G', 'S', 1};
const char eg_secure_of_b[] = "engram share of b", eg_secure_of_mask[] = "engram share of mask";
const char *const eg_secure_step_names[EG_SECURE_N_STEPS] = {"keys",   "shares", "opened",
                                                             "masked", "check",  "unmask"};

size_t eg_secure_threshold(size_t n)
{
    return 2 * n / 3 + 1;
}

/* Even, so that as many stand on either side of the circle. */
size_t eg_secure_neighbours(size_t n)
{
    size_t log = 0, k;
    while ((size_t)1 << log < n)
        log++;
    k = 16 + 8 * log;
    return n <= EG_SECURE_MANY || k >= n - 1 ? n - 1 : k;
}

static void group_write(uint64_t value, size_t n, unsigned char *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t group_read(const unsigned char *in, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)in[i] << 8 * i;
    return value;
}

eg_status eg_secure_group_alloc(eg_secure_group *g, size_t n)
{
    *g = (eg_secure_group){.n = n};
    eg_status s = eg_alloc(n, sizeof *g->clients, &g->clients);
    if (s == EG_OK)
        s = eg_alloc(n, 1, &g->keyed);
    if (s == EG_OK)
        s = eg_alloc(n, sizeof *g->keys, &g->keys);
    return s == EG_OK ? eg_alloc(n, sizeof *g->places, &g->places) : s;
}

void eg_secure_group_fini(eg_secure_group *g)
{
    free(g->clients);
    free(g->keyed);
    free(g->keys);
    free(g->places);
    *g = (eg_secure_group){0};
}

eg_status eg_secure_group_put(const eg_secure_of *of, const int64_t *clients, size_t n,
                              eg_blob *out)
{
    *out = (eg_blob){.n = GROUP_HEAD + 8 * n};
    EG_TRY(eg_alloc(out->n, 1, &out->bytes));
    unsigned char *at = out->bytes;
    memcpy(at, group_magic, 4);
    group_write(of->exchange, 4, at + 4);
    group_write((uint64_t)of->round, 8, at + 8);
    memcpy(at + 16, of->run, EG_SECRET);
    eg_random(at + 16 + EG_SECRET, EG_SECRET); /* so that no exchange is like an earlier one */
    group_write(n, 4, at + 16 + 2 * EG_SECRET);
    for (size_t i = 0; i < n; i++)
        group_write((uint64_t)clients[i], 8, at + GROUP_HEAD + 8 * i);
    return EG_OK;
}

static eg_status group_take_clients(eg_secure_group *g, const unsigned char *in)
{
    for (size_t i = 0; i < g->n; i++) {
        g->clients[i] = (int64_t)group_read(in + 8 * i, 8);
        if (g->clients[i] < 0 || (i > 0 && g->clients[i] <= g->clients[i - 1]))
            return eg_fail(EG_EFORMAT, "its clients are not in order, each once");
    }
    return EG_OK;
}

eg_status eg_secure_group_take(eg_secure_group *g, const eg_secure_of *of, const void *in,
                               size_t n)
{
    const unsigned char *at = in;
    size_t count = n >= GROUP_HEAD ? (size_t)group_read(at + 16 + 2 * EG_SECRET, 4) : 0;
    *g = (eg_secure_group){0};
    if (n < GROUP_HEAD || memcmp(at, group_magic, 4) != 0 || n != GROUP_HEAD + 8 * count)
        return eg_fail(EG_EFORMAT, "this does not say who is in the exchange");
    if (count < EG_SECURE_LEAST || count > EG_SECURE_MOST)
        return eg_fail(EG_EFORMAT, "%zu clients are too few or too many to hide among", count);
    if (memcmp(at + 16, of->run, EG_SECRET) != 0 || group_read(at + 4, 4) != of->exchange ||
        group_read(at + 8, 8) != (uint64_t)of->round)
        return eg_fail(EG_EFORMAT, "this is of another run, round or exchange");
    EG_TRY(eg_secure_group_alloc(g, count));
    eg_status s = group_take_clients(g, at + GROUP_HEAD);
    if (s == EG_OK)
        eg_digest("engram setting", &(eg_piece_of){in, n}, 1, g->digest);
    else
        eg_secure_group_fini(g);
    return s;
}

/* Where one stands on the circle: by a digest that follows from all keys, which nobody chooses
 * alone. */
typedef struct group_rank {
    eg_secret digest;
    uint32_t number;
} group_rank;

static int group_order(const void *a, const void *b)
{
    return memcmp(((const group_rank *)a)->digest, ((const group_rank *)b)->digest, EG_SECRET);
}

static void group_root(eg_secure_group *g)
{
    const eg_piece_of pieces[] = {
        {g->digest, EG_SECRET}, {g->keyed, g->n}, {g->keys, g->n * sizeof *g->keys}};
    eg_digest("engram root", pieces, 3, g->root);
}

eg_status eg_secure_group_close(eg_secure_group *g)
{
    group_rank *ranks;
    EG_TRY(eg_alloc(g->n, sizeof *ranks, &ranks));
    group_root(g);
    g->n_keyed = 0;
    for (size_t i = 0; i < g->n; i++) {
        if (!g->keyed[i])
            continue;
        group_rank *r = &ranks[g->n_keyed++];
        r->number = (uint32_t)i;
        const eg_piece_of pieces[] = {{g->root, EG_SECRET}, {&r->number, sizeof r->number}};
        eg_digest("engram circle", pieces, 2, r->digest);
    }
    qsort(ranks, g->n_keyed, sizeof *ranks, group_order);
    for (size_t i = 0; i < g->n_keyed; i++)
        g->places[ranks[i].number] = (uint32_t)i;
    free(ranks);
    size_t k = eg_secure_neighbours(g->n);
    g->reach = k < g->n - 1 && k < g->n_keyed - 1 ? k / 2 : 0;
    return EG_OK;
}

bool eg_secure_holds(const eg_secure_group *g, size_t u, size_t v)
{
    size_t a = g->places[u], b = g->places[v], far = a > b ? a - b : b - a;
    return g->reach == 0 || far <= g->reach || g->n_keyed - far <= g->reach;
}

size_t eg_secure_needed(const eg_secure_group *g)
{
    return eg_secure_threshold(eg_secure_neighbours(g->n) + 1);
}

size_t eg_secure_count(const unsigned char *set, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += set[i];
    return count;
}

size_t eg_secure_bits(size_t n)
{
    return (n + 7) / 8;
}

void eg_secure_put_set(const unsigned char *set, size_t n, unsigned char *out)
{
    memset(out, 0, eg_secure_bits(n));
    for (size_t i = 0; i < n; i++)
        out[i / 8] = (unsigned char)(out[i / 8] | (set[i] ? 1 : 0) << i % 8);
}

bool eg_secure_take_set(const unsigned char *in, size_t n, unsigned char *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = in[i / 8] >> i % 8 & 1;
    return n % 8 == 0 || in[n / 8] >> n % 8 == 0;
}

void eg_secure_keys_digest(const eg_secure_group *g, size_t u, const eg_secure_keys *k,
                           eg_secret out)
{
    const eg_piece_of pieces[] = {{g->digest, EG_SECRET},
                                  {&g->clients[u], sizeof *g->clients},
                                  {k, offsetof(eg_secure_keys, by)}};
    eg_digest("engram keys", pieces, 3, out);
}

void eg_secure_dealt_digest(const eg_secure_group *g, size_t u, size_t v,
                            const eg_secure_dealt *d, eg_secret out)
{
    const eg_piece_of pieces[] = {{g->root, EG_SECRET},
                                  {&g->clients[u], sizeof *g->clients},
                                  {&g->clients[v], sizeof *g->clients},
                                  {d, offsetof(eg_secure_dealt, by)}};
    eg_digest("engram dealt", pieces, 4, out);
}

void eg_secure_list_digest(const eg_secure_group *g, const unsigned char *opened,
                           const unsigned char *list, eg_secret out)
{
    const eg_piece_of pieces[] = {{g->root, EG_SECRET}, {opened, g->n}, {list, g->n}};
    eg_digest("engram list", pieces, 3, out);
}

void eg_secure_hash_b(const eg_secure_group *g, const eg_secret b, eg_secret out)
{
    const eg_piece_of pieces[] = {{g->digest, EG_SECRET}, {b, EG_SECRET}};
    eg_digest("engram b", pieces, 2, out);
}

void eg_secure_key_of(const eg_secret scalar, eg_secret out)
{
    eg_digest("engram mask key", &(eg_piece_of){scalar, EG_SECRET}, 1, out);
}

void eg_secure_tag(const eg_secure_group *g, const char *purpose, size_t of, size_t holder,
                   const eg_secret share, unsigned char out[EG_SECURE_TAG])
{
    eg_secret whole;
    const eg_piece_of pieces[] = {{g->digest, EG_SECRET},
                                  {&g->clients[of], sizeof *g->clients},
                                  {&g->clients[holder], sizeof *g->clients},
                                  {share, EG_SECRET}};
    eg_digest(purpose, pieces, 4, whole);
    memcpy(out, whole, EG_SECURE_TAG);
}

void eg_secure_own_mask(const eg_secure_group *g, size_t u, const eg_secret b, eg_secret out)
{
    const eg_piece_of pieces[] = {
        {g->digest, EG_SECRET}, {&g->clients[u], sizeof *g->clients}, {b, EG_SECRET}};
    eg_digest("engram own mask", pieces, 3, out);
}

eg_status eg_secure_pair_mask(const eg_secure_group *g, size_t u, size_t v,
                              const eg_secret mask_key, const eg_secret theirs, eg_secret out)
{
    eg_secret agreed;
    size_t low = u < v ? u : v, high = u < v ? v : u;
    EG_TRY(eg_agree(mask_key, theirs, agreed));
    const eg_piece_of pieces[] = {{g->digest, EG_SECRET},
                                  {&g->clients[low], sizeof *g->clients},
                                  {&g->clients[high], sizeof *g->clients},
                                  {agreed, EG_SECRET}};
    eg_digest("engram pair mask", pieces, 4, out);
    eg_wipe(agreed, sizeof agreed);
    return EG_OK;
}
