/* enrol.c - a device that has a code gets a number, by a key that it makes itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/device.h"

#include "run/transport/signed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ENROL_ANSWER = 4096 };

/* The device's key, made if there is none yet. */
static eg_status enrol_key(const eg_join_how *how, int64_t client, eg_identity *out)
{
    eg_key key, public;
    int64_t is;
    if (access(how->key, F_OK) != 0)
        EG_TRY(eg_key_new(how->key, client, public));
    EG_TRY(eg_keys_find(how->key, client, &is, key));
    bool signs = eg_key_read_secret(key, out);
    eg_wipe(key, sizeof key);
    return signs ? EG_OK
                 : eg_fail(EG_EINVAL, "%s has a word, and who enrols brings a key of its own",
                           how->key);
}

static void enrol_body(const eg_identity *who, int64_t client, char out[512])
{
    char public[2 * EG_SECRET + 1], by[2 * EG_SIGNATURE + 1];
    eg_signature signature;
    eg_signed_enrol(who, client, signature);
    eg_hex_print(who->public, EG_SECRET, public);
    eg_hex_print(signature, EG_SIGNATURE, by);
    snprintf(out, 512, "{\"public\": \"%s\", \"signature\": \"%s\"}", public, by);
}

/* Asks until the server is there. */
static eg_status enrol_ask(const eg_join_how *how, eg_line *line, const char *body)
{
    const eg_line_call call = {.method = "POST",
                               .what = "enrol",
                               .body = body,
                               .n_body = strlen(body),
                               .max = ENROL_ANSWER};
    double since = eg_seconds(), most = how->patience > 0 ? how->patience : 600;
    eg_http_reply reply;
    eg_status s;
    while ((s = eg_line_ask(line, &call, &reply)) == EG_EIO && eg_seconds() - since < most)
        nanosleep(&(struct timespec){.tv_nsec = 500 * 1000 * 1000}, NULL);
    EG_TRY(s);
    if (reply.code != 200)
        s = eg_fail(EG_EINVAL, "the server does not enrol this device: %.400s",
                    (const char *)reply.bytes);
    free(reply.bytes);
    return s;
}

eg_status eg_enrol(const eg_join_how *how, int64_t *client)
{
    eg_identity who;
    eg_line line;
    char body[512];
    int64_t is = eg_key_code_client(how->code);
    if (is < 0)
        return eg_fail(EG_EINVAL, "'%.60s' is no code of engram enrol", how->code);
    if (how->client >= 0 && how->client != is)
        return eg_fail(EG_EINVAL, "the code is for client %lld, not %lld", (long long)is,
                       (long long)how->client);
    *client = is;
    EG_TRY(enrol_key(how, is, &who));
    enrol_body(&who, is, body);
    eg_wipe(&who, sizeof who);
    EG_TRY(eg_line_open(&(eg_line_to){.url = how->url,
                                      .ca = how->ca,
                                      .address = how->address,
                                      .key = how->code,
                                      .calls = how->calls},
                        is, 0, &line));
    eg_status s = enrol_ask(how, &line, body);
    eg_line_close(&line);
    return s;
}
