/* secure_state.c - a client of a secure exchange as bytes and back, and its end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/privacy/secure_client.h"

#include <stdlib.h>
#include <string.h>

const char eg_secure_client_magic[8] = "EGSECR1";

void eg_secure_client_forget(eg_secure_client *c)
{
    eg_wipe(c->h.seal_key, EG_SECRET);
    eg_wipe(c->h.b, EG_SECRET);
    eg_wipe(c->h.mask, EG_SECRET);
    if (c->shares)
        eg_wipe(c->shares, c->g.n * sizeof *c->shares);
    c->h.step = EG_SECURE_OVER;
    c->h.must_mask = 0;
}

void eg_secure_client_free(eg_secure_client *c)
{
    if (!c)
        return;
    eg_secure_client_forget(c);
    eg_secure_group_fini(&c->g);
    free(c->opened);
    free(c->list);
    free(c->held);
    free(c->shares);
    free(c);
}

size_t eg_secure_client_n(const eg_secure_client *c)
{
    return c->g.n;
}

eg_status eg_secure_client_alloc(eg_secure_client *c)
{
    size_t n = c->g.n;
    EG_TRY(eg_alloc(n, 1, &c->opened));
    EG_TRY(eg_alloc(n, 1, &c->list));
    EG_TRY(eg_alloc(n, 1, &c->held));
    return eg_alloc(n, sizeof *c->shares, &c->shares);
}

/* Every array of a client, one after the other. */
static void state_walk(const eg_secure_client *c,
                       void (*each)(void *context, void *bytes, size_t n), void *context)
{
    size_t n = c->g.n;
    each(context, c->g.clients, n * sizeof *c->g.clients);
    each(context, c->g.keyed, n);
    each(context, c->g.keys, n * sizeof *c->g.keys);
    each(context, c->opened, n);
    each(context, c->list, n);
    each(context, c->held, n);
    each(context, c->shares, n * sizeof *c->shares);
}

static void state_measure(void *context, void *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)context += n;
}

static void state_write(void *context, void *bytes, size_t n)
{
    unsigned char **at = context;
    memcpy(*at, bytes, n);
    *at += n;
}

static void state_read(void *context, void *bytes, size_t n)
{
    const unsigned char **at = context;
    memcpy(bytes, *at, n);
    *at += n;
}

eg_status eg_secure_client_pack(const eg_secure_client *c, eg_blob *out)
{
    *out = (eg_blob){.n = sizeof c->h};
    state_walk(c, state_measure, &out->n);
    EG_TRY(eg_alloc(out->n, 1, &out->bytes));
    memcpy(out->bytes, &c->h, sizeof c->h);
    unsigned char *at = out->bytes + sizeof c->h;
    state_walk(c, state_write, &at);
    return EG_OK;
}

static bool state_is_set(const unsigned char *set, size_t n)
{
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good &= set[i] <= 1;
    return good;
}

eg_status eg_secure_client_unpack(const void *bytes, size_t n, eg_secure_client **out)
{
    eg_secure_client *c;
    const unsigned char *at = bytes;
    size_t length = sizeof c->h;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *c, &c));
    if (n >= sizeof c->h)
        memcpy(&c->h, at, sizeof c->h);
    at += sizeof c->h;
    bool good = n >= sizeof c->h &&
                memcmp(c->h.magic, eg_secure_client_magic, sizeof c->h.magic) == 0 &&
                c->h.n >= EG_SECURE_LEAST && c->h.n <= EG_SECURE_MOST && c->h.me < c->h.n &&
                c->h.step <= EG_SECURE_OVER;
    eg_status s = good ? eg_secure_group_alloc(&c->g, c->h.n) : EG_OK;
    if (good && s == EG_OK)
        s = eg_secure_client_alloc(c);
    if (good && s == EG_OK) {
        state_walk(c, state_measure, &length);
        good = n == length;
    }
    if (good && s == EG_OK) {
        state_walk(c, state_read, &at);
        good = state_is_set(c->g.keyed, c->g.n) && state_is_set(c->opened, c->g.n) &&
               state_is_set(c->list, c->g.n) && state_is_set(c->held, c->g.n);
        memcpy(c->g.digest, c->h.setting, EG_SECRET);
    }
    if (good && s == EG_OK && c->h.step > EG_SECURE_SHARES && c->h.step < EG_SECURE_OVER)
        s = eg_secure_group_close(&c->g);
    if (good && s == EG_OK) {
        *out = c;
        return EG_OK;
    }
    eg_secure_client_free(c);
    return s != EG_OK ? s : eg_fail(EG_EFORMAT, "this is not the state of a secure exchange");
}
