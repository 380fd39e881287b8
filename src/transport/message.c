/* message.c - messages sent, received, and checked before they are used.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "transport/message.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char message_magic[8] = "engram\r\n";

enum { MESSAGE_VERSION = 2, MESSAGE_ORDER = 0x01020304 };

#define MESSAGE_NO_BUNDLE UINT64_MAX
#define MESSAGE_MAX_BYTES ((uint64_t)1 << 36) /* of a bundle */

void eg_message_fini(eg_message *m)
{
    free(m->met);
    eg_bundle_free(m->bundles[0]);
    eg_bundle_free(m->bundles[1]);
    *m = (eg_message){0};
}

/* All n bytes; false when the other side is gone. */
static bool message_put(int to, const void *bytes, size_t n)
{
    for (const char *at = bytes; n > 0;) {
        ssize_t put = send(to, at, n, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        n -= (size_t)put;
    }
    return true;
}

static bool message_get(int from, void *bytes, size_t n)
{
    for (char *at = bytes; n > 0;) {
        ssize_t got = recv(from, at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static eg_status message_gone(void)
{
    return eg_fail(EG_EIO, "the other side is gone");
}

eg_status eg_message_send(int to, const eg_message *m, const eg_bundle *const bundles[2])
{
    unsigned char *bytes[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    eg_status s = EG_OK;
    eg_message_head head = m->head;
    memcpy(head.magic, message_magic, sizeof head.magic);
    head.version = MESSAGE_VERSION, head.order = MESSAGE_ORDER;
    head.n_text = strnlen(m->text, EG_MESSAGE_TEXT - 1);
    for (int i = 0; i < 2; i++) {
        if (bundles[i] && s == EG_OK)
            s = eg_bundle_pack(bundles[i], &bytes[i], &n[i]);
        head.n_bytes[i] = bundles[i] ? n[i] : MESSAGE_NO_BUNDLE;
    }
    if (s == EG_OK && !(message_put(to, &head, sizeof head) &&
                        message_put(to, m->text, (size_t)head.n_text) &&
                        message_put(to, m->met, (size_t)head.n_met) &&
                        message_put(to, bytes[0], n[0]) && message_put(to, bytes[1], n[1])))
        s = message_gone();
    free(bytes[0]);
    free(bytes[1]);
    return s;
}

static eg_status message_check(const eg_message_head *h, size_t n_classes)
{
    if (memcmp(h->magic, message_magic, sizeof h->magic) != 0)
        return eg_fail(EG_EFORMAT, "a message does not begin as one");
    if (h->order != MESSAGE_ORDER)
        return eg_fail(EG_EFORMAT, "a message has the byte order of another machine");
    if (h->version != MESSAGE_VERSION)
        return eg_fail(EG_EFORMAT, "a message has version %u, not %d", h->version,
                       MESSAGE_VERSION);
    if (h->n_text >= EG_MESSAGE_TEXT || (h->n_met && h->n_met != n_classes))
        return eg_fail(EG_EFORMAT, "a message announces %llu characters and %llu classes",
                       (unsigned long long)h->n_text, (unsigned long long)h->n_met);
    return EG_OK;
}

static eg_status message_receive_bundle(int from, uint64_t n, eg_bundle **out)
{
    unsigned char *bytes;
    if (n == MESSAGE_NO_BUNDLE)
        return EG_OK;
    if (n > MESSAGE_MAX_BYTES)
        return eg_fail(EG_EFORMAT, "a bundle of %llu bytes is announced",
                       (unsigned long long)n);
    EG_TRY(eg_alloc((size_t)n, 1, &bytes));
    eg_status s = message_get(from, bytes, (size_t)n) ? EG_OK : message_gone();
    if (s == EG_OK)
        s = eg_bundle_unpack(bytes, (size_t)n, out);
    free(bytes);
    return s;
}

static eg_status message_receive_all(int from, size_t n_classes, eg_message *out)
{
    eg_message_head *h = &out->head;
    if (!message_get(from, h, sizeof *h))
        return message_gone();
    EG_TRY(message_check(h, n_classes));
    if (!message_get(from, out->text, (size_t)h->n_text))
        return message_gone();
    EG_TRY(eg_alloc((size_t)h->n_met, 1, &out->met));
    if (!message_get(from, out->met, (size_t)h->n_met))
        return message_gone();
    for (int i = 0; i < 2; i++)
        EG_TRY(message_receive_bundle(from, h->n_bytes[i], &out->bundles[i]));
    return EG_OK;
}

eg_status eg_message_receive(int from, size_t n_classes, eg_message *out)
{
    *out = (eg_message){0};
    eg_status s = message_receive_all(from, n_classes, out);
    if (s != EG_OK)
        eg_message_fini(out);
    return s;
}

void eg_message_of_turn(const eg_turn *t, eg_message *out)
{
    out->head = (eg_message_head){.kind = EG_MESSAGE_TURN,
                                  .exchange = (int64_t)t->exchange,
                                  .id = t->id,
                                  .round = t->round,
                                  .seed = t->seed,
                                  .stage = t->stage,
                                  .left = t->left,
                                  .last = t->last,
                                  .told_boundary = t->told_boundary,
                                  .own = t->own,
                                  .kept = t->kept,
                                  .committed = t->committed};
}

void eg_message_to_turn(const eg_message *m, eg_turn *out)
{
    const eg_message_head *h = &m->head;
    *out = (eg_turn){.exchange = (size_t)h->exchange,
                     .id = h->id,
                     .round = h->round,
                     .seed = h->seed,
                     .stage = h->stage,
                     .left = h->left,
                     .last = h->last != 0,
                     .told_boundary = h->told_boundary != 0,
                     .own = h->own != 0,
                     .met = m->met,
                     .kept = h->kept,
                     .committed = h->committed};
}

static eg_status message_fill_reply(const eg_reply *r, eg_bundle *to)
{
    char name[96];
    EG_TRY(eg_bundle_scalar(to, "seconds", r->seconds));
    for (int i = 0; i < EG_MAX_PARTS; i++) {
        snprintf(name, sizeof name, "part %d", i);
        EG_TRY(eg_bundle_scalar(to, name, r->part_seconds[i]));
    }
    for (size_t i = 0; i < r->n_notes; i++) {
        snprintf(name, sizeof name, "%03zu %s", i, r->notes[i].name);
        EG_TRY(eg_bundle_scalar(to, name, r->notes[i].value));
    }
    return EG_OK;
}

eg_status eg_message_of_reply(const eg_reply *r, eg_bundle **out)
{
    EG_TRY(eg_bundle_new(out));
    eg_status s = message_fill_reply(r, *out);
    if (s != EG_OK) {
        eg_bundle_free(*out);
        *out = NULL;
    }
    return s;
}

/* A time that can have passed. */
static bool message_seconds(const eg_bundle *from, const char *name, double *out)
{
    return eg_bundle_scalar_of(from, name, out) && isfinite(*out) && *out >= 0;
}

static eg_status message_add_note(eg_reply *r, const char *name, double value)
{
    EG_TRY(eg_grow(&r->notes, r->n_notes, &r->cap_notes, sizeof *r->notes));
    eg_note *note = &r->notes[r->n_notes++];
    note->value = value;
    snprintf(note->name, sizeof note->name, "%.63s", name);
    return EG_OK;
}

eg_status eg_message_to_reply(const eg_bundle *from, eg_reply *out)
{
    char name[32];
    bool good = message_seconds(from, "seconds", &out->seconds);
    for (int i = 0; i < EG_MAX_PARTS; i++) {
        snprintf(name, sizeof name, "part %d", i);
        good &= message_seconds(from, name, &out->part_seconds[i]);
    }
    if (!good || eg_bundle_n(from) > 1 + EG_MAX_PARTS + EG_MAX_NOTES)
        return eg_fail(EG_EFORMAT, "it does not say properly what its turn took");
    for (size_t i = 1 + EG_MAX_PARTS; i < eg_bundle_n(from); i++) {
        eg_bundle_entry e;
        eg_bundle_at(from, i, &e);
        if (e.is_scalar && strlen(e.name) > 4)
            EG_TRY(message_add_note(out, e.name + 4, e.scalar));
    }
    return EG_OK;
}
