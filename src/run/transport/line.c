/* line.c - calls to a server, signed by a device's key or with its word.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/line.h"

#include "io/json.h"
#include "run/transport/hello.h"
#include "run/transport/signed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_PATH = 192,
    LINE_CHALLENGE = 4096, /* bytes */
    LINE_TRIES = 3,
    LINE_TOO_EARLY = 425 /* the salt or the number is not the server's any more */
};
#define LINE_MOST ((size_t)1 << 32)

struct eg_signer {
    eg_identity who;
    pthread_mutex_t lock;
    /* Under the lock. */
    char salt[EG_SIGNED_SALT]; /* "": the server was not asked for it */
    uint64_t sequence;         /* the last one used */
};

eg_status eg_signer_new(const eg_identity *who, eg_signer **out)
{
    EG_TRY(eg_alloc(1, sizeof **out, out));
    (*out)->who = *who;
    pthread_mutex_init(&(*out)->lock, NULL);
    return EG_OK;
}

void eg_signer_free(eg_signer *s)
{
    if (!s)
        return;
    eg_wipe(&s->who, sizeof s->who);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static eg_status line_open(const eg_http_to *to, void **out)
{
    eg_http_client *made = NULL;
    eg_status s = eg_http_client_new(to, &made);
    *out = made;
    return s;
}

static eg_status line_call(void *at, const eg_http_call *call, eg_http_reply *out)
{
    return eg_http_client_call(at, call, out);
}

static void line_close(void *at)
{
    eg_http_client_free(at);
}

static const eg_line_calls line_https = {line_open, line_call, line_close};

eg_status eg_line_open(const eg_line_to *to, int64_t client, int64_t session, eg_line *out)
{
    *out = (eg_line){.calls = to->calls ? to->calls : &line_https,
                     .signer = to->signer,
                     .client = client,
                     .session = session};
    const eg_http_to http = {to->url, to->signer ? NULL : to->key, to->ca, to->address};
    return out->calls->open(&http, &out->at);
}

void eg_line_close(eg_line *l)
{
    if (l->calls)
        l->calls->close(l->at);
    l->at = NULL;
}

static eg_status line_read_challenge(eg_signer *s, const eg_http_reply *from)
{
    const eg_json *salt, *after;
    const char *text = "";
    int64_t number = -1;
    eg_json *json;
    EG_TRY(eg_json_parse(from->bytes, from->n, &json));
    eg_status status = eg_json_need(json, "salt", EG_JSON_TEXT, &salt);
    if (status == EG_OK)
        status = eg_json_need(json, "after", EG_JSON_INT, &after);
    if (status == EG_OK)
        status = eg_json_text(salt, &text);
    if (status == EG_OK)
        status = eg_json_int(after, &number);
    if (status == EG_OK && (strlen(text) != EG_SIGNED_SALT - 1 || strchr(text, ':') ||
                            number < 0 || number > INT64_MAX / 2))
        status = eg_fail(EG_EFORMAT, "no such salt or number can be");
    if (status == EG_OK) {
        pthread_mutex_lock(&s->lock);
        bool same = strcmp(s->salt, text) == 0;
        if (!same || s->sequence < (uint64_t)number)
            s->sequence = (uint64_t)number;
        snprintf(s->salt, sizeof s->salt, "%s", text);
        pthread_mutex_unlock(&s->lock);
    }
    eg_json_free(json);
    return status;
}

/* Learns the server's salt, and which numbers it has seen. */
static eg_status line_learn(eg_line *l)
{
    char path[LINE_PATH];
    eg_http_reply reply;
    snprintf(path, sizeof path, EG_HTTPS_ROOT "/challenge?client=%lld", (long long)l->client);
    EG_TRY(l->calls->call(
        l->at, &(eg_http_call){.method = "GET", .path = path, .max = LINE_CHALLENGE}, &reply));
    eg_status s =
        reply.code == 200
            ? eg_blame(line_read_challenge(l->signer, &reply), "the server's challenge")
            : eg_fail(reply.code >= 500 ? EG_EIO : EG_EINVAL,
                      "the server takes no signatures: it answered %d", reply.code);
    free(reply.bytes);
    return s;
}

/* Signs a call by the salt and the next number; false: there is no salt yet. */
static bool line_sign(eg_line *l, const eg_request_line *what, eg_signed *p,
                      char text[EG_SIGNED])
{
    eg_signer *s = l->signer;
    pthread_mutex_lock(&s->lock);
    memcpy(p->salt, s->salt, sizeof p->salt);
    p->sequence = ++s->sequence;
    pthread_mutex_unlock(&s->lock);
    if (!*p->salt)
        return false;
    eg_signed_make(p, what, &s->who);
    eg_signed_print(p, text);
    return true;
}

/* One call that is signed; asks for the salt first if it is not known or known no more. */
static eg_status line_ask_signed(eg_line *l, const eg_request_line *what, eg_http_call *call,
                                 eg_http_reply *out)
{
    char text[EG_SIGNED];
    eg_signed p = {0};
    eg_signed_digest(call->body, call->n_body, p.body);
    for (int i = 0; i < LINE_TRIES; i++) {
        if (i > 0 || !line_sign(l, what, &p, text)) {
            EG_TRY(line_learn(l));
            line_sign(l, what, &p, text);
        }
        call->proof = text;
        EG_TRY(l->calls->call(l->at, call, out));
        if (out->code != LINE_TOO_EARLY)
            return EG_OK;
        free(out->bytes);
    }
    return eg_fail(EG_EIO, "the server takes no signature: it has seen each number before");
}

eg_status eg_line_ask(eg_line *l, const eg_line_call *call, eg_http_reply *out)
{
    char path[LINE_PATH], route[LINE_PATH / 2];
    snprintf(route, sizeof route, EG_HTTPS_ROOT "/%s", call->what);
    snprintf(path, sizeof path, "%s?client=%lld&session=%lld&number=%lld", route,
             (long long)l->client, (long long)l->session, (long long)call->number);
    eg_http_call http = {.method = call->method,
                         .path = path,
                         .body = call->body,
                         .n_body = call->n_body,
                         .max = call->max ? call->max : LINE_MOST};
    const eg_request_line what = {call->method, route, l->client, l->session, call->number};
    return l->signer ? line_ask_signed(l, &what, &http, out)
                     : l->calls->call(l->at, &http, out);
}
