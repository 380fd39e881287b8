/* secure_fuzz.c - the messages of a secure exchange, each changed on its way, at either end.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An input is a step, an end, a client, and changes of the honest message: a byte of 0xff as
 * the first of them puts the rest of the input in the message's place. Whatever comes is
 * refused, or heard as it must be; a client that refuses has nothing left to say.
 */
#include "fuzz/fuzz.h"

#include "run/privacy/secure_group.h"

#include <stdlib.h>
#include <string.h>

enum { N = 3, LENGTH = 4 };

typedef struct exchange {
    int64_t ids[N];
    eg_identity identities[N];
    eg_secure_client *clients[N];
    eg_secure_server *server;
} exchange;

static bool member(const void *context, int64_t client, eg_secret out)
{
    const exchange *e = context;
    for (size_t i = 0; i < N; i++)
        if (e->ids[i] == client) {
            memcpy(out, e->identities[i].public, EG_SECRET);
            return true;
        }
    return false;
}

static eg_secure_client_how how_of(const exchange *e, size_t i)
{
    return (eg_secure_client_how){
        .me = e->ids[i], .identity = &e->identities[i], .member = member, .context = e};
}

/* Changes a message: places and what is added there; or all of it. */
static void change(eg_blob *m, const uint8_t *bytes, size_t n)
{
    if (n > 0 && *bytes == 0xff) {
        unsigned char *all = realloc(m->bytes, n);
        EG_ASSERT(all);
        m->bytes = all, m->n = n - 1;
        memcpy(all, bytes + 1, n - 1);
        return;
    }
    for (; n >= 3; bytes += 3, n -= 3)
        if (m->n > 0) {
            size_t at = (size_t)(bytes[0] << 8 | bytes[1]) % m->n;
            m->bytes[at] = (unsigned char)(m->bytes[at] + bytes[2]);
        }
    if (n > 0) /* and cuts it */
        m->n -= m->n > bytes[0] ? bytes[0] : m->n;
}

static eg_status say(exchange *e, eg_secure_step step, size_t i, const eg_blob *in,
                     eg_blob *out)
{
    eg_secure_client_how how = how_of(e, i);
    if (step == EG_SECURE_KEYS)
        return eg_secure_client_begin(&how, in->bytes, in->n, &e->clients[i], out);
    EG_TRY(eg_secure_client_hear(e->clients[i], &how, step, in->bytes, in->n, out));
    if (step != EG_SECURE_MASKED)
        return EG_OK;
    out->n = LENGTH * sizeof(uint32_t);
    out->bytes = calloc(1, out->n);
    EG_ASSERT(out->bytes);
    return eg_secure_client_mask(e->clients[i], (uint32_t *)(void *)out->bytes, LENGTH);
}

static eg_status hear(exchange *e, eg_secure_step step, size_t i, const eg_blob *m)
{
    return step == EG_SECURE_MASKED
               ? eg_secure_server_add(e->server, i, (uint32_t *)(void *)m->bytes,
                                      m->n / sizeof(uint32_t))
               : eg_secure_server_hear(e->server, step, i, m->bytes, m->n);
}

static void turn(exchange *e, eg_secure_step step, size_t i, bool ours, bool down,
                 const uint8_t *bytes, size_t n)
{
    eg_blob in = {0}, out = {0};
    EG_ASSERT(eg_secure_server_tell(e->server, step, i, &in) == EG_OK);
    if (ours && down)
        change(&in, bytes, n);
    eg_status s = say(e, step, i, &in, &out);
    EG_ASSERT(ours || s == EG_OK);
    EG_ASSERT(s == EG_OK || !out.bytes);
    if (s != EG_OK && e->clients[i]) { /* it is over */
        eg_secure_client_how how = how_of(e, i);
        for (int k = EG_SECURE_SHARES; k < EG_SECURE_N_STEPS; k++)
            EG_ASSERT(eg_secure_client_hear(e->clients[i], &how, (eg_secure_step)k, in.bytes,
                                            in.n, &out) != EG_OK);
    }
    if (ours && !down && s == EG_OK)
        change(&out, bytes, n);
    if (s == EG_OK)
        s = hear(e, step, i, &out);
    EG_ASSERT(ours || s == EG_OK);
    free(in.bytes);
    free(out.bytes);
}

static void try_state(const uint8_t *bytes, size_t n)
{
    eg_secure_client *c;
    if (eg_secure_client_unpack(bytes, n, &c) == EG_OK)
        eg_secure_client_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static exchange e;
    const eg_secure_server_how how = {
        .n = N, .clients = e.ids, .member = member, .context = &e, .length = LENGTH};
    if (n < 1)
        return 0;
    size_t at = *bytes % EG_SECURE_N_STEPS, which = *bytes / 16 % N;
    bool down = *bytes & 8;
    try_state(bytes + 1, n - 1);
    for (size_t i = 0; i < N; i++) {
        e.ids[i] = (int64_t)(2 * i + 1);
        e.clients[i] = NULL;
        if (!e.identities[i].public[0])
            eg_identity_new(&e.identities[i]);
    }
    EG_ASSERT(eg_secure_server_new(&how, &e.server) == EG_OK);
    for (size_t step = 0; step <= at; step++) {
        for (size_t i = 0; i < N; i++)
            if (eg_secure_server_asks(e.server, (eg_secure_step)step, i))
                turn(&e, (eg_secure_step)step, i, step == at && i == which, down, bytes + 1,
                     n - 1);
        (void)eg_secure_server_close(e.server, (eg_secure_step)step);
    }
    for (size_t i = 0; i < N; i++)
        eg_secure_client_free(e.clients[i]);
    eg_secure_server_free(e.server);
    return 0;
}
