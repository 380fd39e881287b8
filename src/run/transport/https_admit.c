/* https_admit.c - who may ask a server for devices anything, and how new ones get in.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   GET  /challenge  by what requests are signed: the salt, and the last number that was seen
 *   POST /enrol      a device with a code (as its word) brings its public key
 *   POST /hello      what the device has; 409 says why it may not join
 */
#include "run/transport/https.h"

#include <engram/remote.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADMIT_TOO_EARLY = 425 };

/* Under the lock: whether a request is signed by a device's key, and new. out says why not. */
static bool admit_signed(eg_https *h, const eg_http_request *r, const eg_secret public,
                         eg_http_answer *out)
{
    eg_https_device *d = &h->devices[r->client];
    eg_signed p;
    eg_secret none;
    const eg_request_line what = {r->method, r->path, r->client, r->session, r->number};
    if (!*r->proof || !eg_signed_read(r->proof, &p)) {
        eg_http_say(out, 401, "client %lld signs what it asks, and this is not signed",
                    (long long)r->client);
        return false;
    }
    if (strcmp(p.salt, h->salt) != 0) {
        eg_http_say(out, ADMIT_TOO_EARLY, "this was signed for another start of the server");
        return false;
    }
    eg_signed_digest("", 0, none);
    if (!eg_signed_holds(&p, &what, public) ||
        (r->n_body == 0 && !eg_same(p.body, none, sizeof none))) {
        eg_http_say(out, 401, "the signature is not that of client %lld's key",
                    (long long)r->client);
        return false;
    }
    if (!eg_seen_new(&d->seen, p.sequence)) {
        eg_https_audit(h, "replayed", r->client, NULL, r->path);
        eg_http_say(out, ADMIT_TOO_EARLY, "a request of this number was there before");
        return false;
    }
    if (r->n_body > 0 && d->n_bodies == 0)
        memcpy(d->body, p.body, sizeof d->body);
    return true;
}

bool eg_https_knows(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_secret public;
    if (r->client < 0 || r->client >= h->n_devices) {
        eg_http_say(out, 401, "there is no such client, or its key is another");
        return false;
    }
    const char *key = h->keys[r->client];
    if (eg_key_read_public(key, public))
        return admit_signed(h, r, public, out);
    eg_key_kind is = eg_key_kind_of(key);
    if (is == EG_KEY_WORD && eg_keys_equal(key, r->key))
        return true;
    eg_http_say(out, 401,
                is == EG_KEY_REVOKED ? "the key of this client was revoked"
                : is == EG_KEY_CODE  ? "this client has not enrolled yet"
                                     : "there is no such client, or its key is another");
    return false;
}

/* Whether a body is the one that was signed. */
static bool admit_is_whole(const eg_https *h, int64_t client, const void *body, size_t n)
{
    const eg_https_device *d = &h->devices[client];
    eg_secret digest;
    if (eg_key_kind_of(h->keys[client]) != EG_KEY_PUBLIC)
        return true;
    eg_signed_digest(body, n, digest);
    return eg_same(digest, d->body, sizeof digest);
}

void eg_https_challenge(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    uint64_t after =
        r->client >= 0 && r->client < h->n_devices ? h->devices[r->client].seen.most : 0;
    eg_http_say(out, 200, "{\"salt\": \"%s\", \"after\": %llu}", h->salt,
                (unsigned long long)after);
}

/* It shows the code, or its key is known already and it has not heard so. */
bool eg_https_may_enrol(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    bool late = false;
    if (r->client >= 0 && r->client < h->n_devices) {
        const char *key = h->keys[r->client];
        if (eg_key_kind_of(key) == EG_KEY_PUBLIC || eg_key_is_code(key, r->key, &late))
            return true;
    }
    eg_http_say(out, 401,
                late ? "the time of this code is over" : "there is no such code, or no more");
    return false;
}

/* The key that an enrolment brings, of which the device has the secret half. */
static eg_status admit_read_key(const eg_http_request *r, eg_key out)
{
    const eg_json *text[2];
    static const char *const names[2] = {"public", "signature"};
    const char *words[2] = {"", ""};
    eg_secret public;
    eg_signature by;
    eg_json *json;
    size_t n = 0;
    const char *body = r->body ? eg_chunk_bytes(r->body, &n) : "";
    EG_TRY(eg_json_parse(body, n, &json));
    eg_status s = EG_OK;
    for (int i = 0; i < 2 && s == EG_OK; i++) {
        s = eg_json_need(json, names[i], EG_JSON_TEXT, &text[i]);
        if (s == EG_OK)
            s = eg_json_text(text[i], &words[i]);
    }
    bool is = s == EG_OK && eg_hex_read(words[0], public, sizeof public) &&
              eg_hex_read(words[1], by, sizeof by) && eg_signed_enrols(public, r->client, by);
    eg_json_free(json);
    EG_TRY(s);
    if (!is)
        return eg_fail(EG_EFORMAT, "the key is not signed by itself");
    eg_key_print_public(public, out);
    return EG_OK;
}

void eg_https_enrol(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_key brought = {0}, *mine = &h->keys[r->client];
    bool late;
    if (admit_read_key(r, brought) != EG_OK) {
        eg_http_say(out, 400, "%s", eg_error());
    } else if (strcmp(*mine, brought) == 0) {
        eg_http_say(out, 200, "known already");
    } else if (!eg_key_is_code(*mine, r->key, &late)) {
        eg_http_say(out, 409, "client %lld has another key", (long long)r->client);
    } else if (eg_keys_add(h->how.keys, r->client, brought) != EG_OK) {
        eg_https_say(h, "%s", eg_error());
        eg_http_say(out, 503, "the server cannot keep the key at the moment");
    } else {
        memcpy(*mine, brought, sizeof *mine);
        eg_https_audit(h, "enrolled", r->client, NULL, NULL);
        eg_https_say(h, "client %lld: a device has enrolled", (long long)r->client);
        eg_http_say(out, 200, "welcome");
    }
}

/* What a device says of itself in its hello. */
typedef struct admit_visitor {
    eg_hello has;
    int64_t session;
    const char *home;
    bool wants_model; /* when the run is over */
} admit_visitor;

static eg_status admit_read(const eg_json *json, admit_visitor *out)
{
    const eg_json *session, *home, *model = eg_json_get(json, "model");
    EG_TRY(eg_hello_get(json, &out->has));
    EG_TRY(eg_json_need(json, "session", EG_JSON_INT, &session));
    EG_TRY(eg_json_need(json, "home", EG_JSON_TEXT, &home));
    EG_TRY(eg_json_int(session, &out->session));
    EG_TRY(eg_json_text(home, &out->home));
    out->wants_model = false;
    if (model)
        EG_TRY(eg_json_bool(model, &out->wants_model));
    if (out->session < 0 || strlen(out->home) >= EG_HTTPS_HOME)
        return eg_fail(EG_EFORMAT, "this is no hello: no such session or home can be");
    return EG_OK;
}

/* Whether the device may be the client: it fits, and no other one is. */
static eg_status admit(eg_https *h, int64_t client, const admit_visitor *v)
{
    eg_https_device *d = &h->devices[client];
    double silent = eg_seconds() - d->heard;
    bool other = d->met && strcmp(d->home, v->home) != 0;
    EG_TRY(eg_hello_compare(&h->mine, &v->has, h->how.mixed));
    if (other && silent < eg_https_patience(h)) {
        eg_https_say(h, "client %lld: a second device wanted its number, and was refused",
                     (long long)client);
        return eg_fail(EG_EBUSY,
                       "another device is client %lld, and was heard of %.0f seconds ago; each "
                       "has a number and a folder of its own",
                       (long long)client, silent);
    }
    if (other)
        eg_https_say(h, "client %lld: another device, or one with a new folder, takes over",
                     (long long)client);
    if (!d->met || d->session != v->session)
        eg_https_audit(h, other ? "took_over" : "joined", client, NULL, NULL);
    d->session = v->session;
    snprintf(d->home, sizeof d->home, "%s", v->home);
    d->heard = eg_seconds();
    d->met = true;
    d->refused = false;
    d->wants_model = v->wants_model;
    h->model_wanted = h->model_wanted || v->wants_model;
    return EG_OK;
}

void eg_https_hello(eg_https *h, const eg_http_request *r, eg_http_answer *out)
{
    eg_json *json;
    admit_visitor v;
    size_t n = 0;
    const char *body = r->body ? eg_chunk_bytes(r->body, &n) : "";
    if (!admit_is_whole(h, r->client, body, n)) {
        eg_http_say(out, 400, "the hello was changed on its way");
        return;
    }
    if (eg_json_parse(body, n, &json) != EG_OK) {
        eg_http_say(out, 400, "%s", eg_error());
        return;
    }
    if (admit_read(json, &v) != EG_OK)
        eg_http_say(out, 400, "%s", eg_error());
    else if (admit(h, r->client, &v) != EG_OK) {
        eg_https_device *d = &h->devices[r->client];
        snprintf(d->why, sizeof d->why, "%.250s", eg_error());
        d->refused = !d->met; /* else it is a second one that was */
        h->n_refused++;
        eg_https_audit(h, "refused", r->client, NULL, eg_error());
        eg_http_say(out, 409, "%s", eg_error());
    } else
        eg_http_say(out, 200, "welcome");
    eg_json_free(json);
    pthread_cond_broadcast(&h->changed);
}

/* Under the lock: new keys take the place of the old. Whose key is another is out, until it
 * says hello by the new one. */
static void admit_replace(eg_https *h, eg_key *keys)
{
    for (int64_t i = 0; i < h->n_devices; i++) {
        eg_https_device *d = &h->devices[i];
        if (strcmp(h->keys[i], keys[i]) == 0)
            continue;
        bool revoked = eg_key_kind_of(keys[i]) == EG_KEY_REVOKED;
        eg_https_audit(h, revoked ? "revoked" : "new_key", i, NULL, NULL);
        if (revoked)
            eg_https_say(h, "client %lld: its key was revoked", (long long)i);
        d->met = false;
        d->seen = (eg_seen_numbers){0};
    }
    memcpy(h->keys, keys, (size_t)h->n_devices * sizeof *keys);
}

eg_status eg_https_reload(eg_https *h)
{
    eg_key *keys;
    EG_TRY(eg_alloc((size_t)h->n_devices, sizeof *keys, &keys));
    eg_status s = eg_keys_load(h->how.keys, h->n_devices, keys);
    if (s == EG_OK) {
        pthread_mutex_lock(&h->lock);
        admit_replace(h, keys);
        pthread_mutex_unlock(&h->lock);
    }
    eg_wipe(keys, (size_t)h->n_devices * sizeof *keys);
    free(keys);
    EG_TRY(s);
    eg_http_server_wake(h->server, -1);
    return eg_https_renew_certificate(h);
}
