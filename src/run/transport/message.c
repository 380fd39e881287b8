/* message.c - messages sent, received, and checked before they are used.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char message_magic[8] = "engram\r\n";

enum { MESSAGE_VERSION = 4, MESSAGE_ORDER = 0x01020304 };

#define MESSAGE_NO_BUNDLE   UINT64_MAX
#define MESSAGE_MAX_BYTES   ((uint64_t)1 << 36) /* of a bundle */
#define MESSAGE_MAX_NUMBERS ((uint64_t)1 << 32)
#define MESSAGE_MAX_NAMES                                                                      \
    ((uint64_t)1 << 22) /* bytes of a bundle's header, which as JSON                           \
                           takes thirty times as much to read */

/* Where a message goes to or comes from: a socket, or bytes. */
typedef struct message_port {
    int socket;           /* -1: none */
    unsigned char *bytes; /* [n] */
    size_t n, at;
} message_port;

void eg_message_fini(eg_message *m)
{
    free(m->met);
    free(m->numbers);
    eg_bundle_free(m->bundles[0]);
    eg_bundle_free(m->bundles[1]);
    *m = (eg_message){0};
}

/* All n bytes; false when the other side is gone. */
static bool message_put(message_port *to, const void *bytes, size_t n)
{
    if (to->socket < 0) {
        if (n)
            memcpy(to->bytes + to->at, bytes, n);
        to->at += n;
        return true;
    }
    for (const char *at = bytes; n > 0;) {
        ssize_t put = send(to->socket, at, n, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        n -= (size_t)put;
    }
    return true;
}

/* Likewise; false too when there are fewer bytes. */
static bool message_get(message_port *from, void *bytes, size_t n)
{
    if (from->socket < 0) {
        if (n > from->n - from->at)
            return false;
        if (n)
            memcpy(bytes, from->bytes + from->at, n);
        from->at += n;
        return true;
    }
    for (char *at = bytes; n > 0;) {
        ssize_t got = recv(from->socket, at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

/* Whether n bytes can follow: of a socket anything may. What is announced is no reason to ask
 * for memory if it is not there. */
static bool message_can_follow(const message_port *from, uint64_t n)
{
    return from->socket >= 0 || n <= from->n - from->at;
}

static eg_status message_gone(void)
{
    return eg_fail(EG_EIO, "the other side is gone");
}

/* Writes a message; to bytes, as many as it has. */
static eg_status message_write(message_port *to, const eg_message *m,
                               const eg_bundle *const bundles[2])
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
    to->n = sizeof head + (size_t)(head.n_text + head.n_met) +
            (size_t)head.n_numbers * sizeof *m->numbers + n[0] + n[1];
    if (s == EG_OK && to->socket < 0)
        s = eg_alloc(to->n, 1, &to->bytes);
    if (s == EG_OK &&
        !(message_put(to, &head, sizeof head) &&
          message_put(to, m->text, (size_t)head.n_text) &&
          message_put(to, m->met, (size_t)head.n_met) &&
          message_put(to, m->numbers, (size_t)head.n_numbers * sizeof *m->numbers) &&
          message_put(to, bytes[0], n[0]) && message_put(to, bytes[1], n[1])))
        s = message_gone();
    free(bytes[0]);
    free(bytes[1]);
    return s;
}

eg_status eg_message_send(int to, const eg_message *m, const eg_bundle *const bundles[2])
{
    return message_write(&(message_port){.socket = to}, m, bundles);
}

eg_status eg_message_pack(const eg_message *m, const eg_bundle *const bundles[2],
                          unsigned char **bytes, size_t *n)
{
    message_port to = {.socket = -1};
    eg_status s = message_write(&to, m, bundles);
    *bytes = to.bytes, *n = to.n;
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
    if (h->n_numbers > MESSAGE_MAX_NUMBERS)
        return eg_fail(EG_EFORMAT, "a message announces %llu numbers",
                       (unsigned long long)h->n_numbers);
    return EG_OK;
}

static eg_status message_read_bundle(message_port *from, uint64_t n, eg_bundle **out)
{
    unsigned char *bytes;
    if (n == MESSAGE_NO_BUNDLE)
        return EG_OK;
    if (n > MESSAGE_MAX_BYTES)
        return eg_fail(EG_EFORMAT, "a bundle of %llu bytes is announced",
                       (unsigned long long)n);
    if (!message_can_follow(from, n))
        return message_gone();
    EG_TRY(eg_alloc((size_t)n, 1, &bytes));
    eg_status s = message_get(from, bytes, (size_t)n) ? EG_OK : message_gone();
    uint64_t names = 0;
    for (int i = 8; n >= 8 && i-- > 0;)
        names = names << 8 | bytes[i];
    if (s == EG_OK && names > MESSAGE_MAX_NAMES)
        s = eg_fail(EG_EFORMAT, "a bundle's names take %llu bytes, more than %llu",
                    (unsigned long long)names, (unsigned long long)MESSAGE_MAX_NAMES);
    if (s == EG_OK)
        s = eg_bundle_unpack(bytes, (size_t)n, out);
    free(bytes);
    return s;
}

static eg_status message_read_all(message_port *from, size_t n_classes, eg_message *out)
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
    if (!message_can_follow(from, h->n_numbers * sizeof *out->numbers))
        return message_gone();
    EG_TRY(eg_alloc((size_t)h->n_numbers, sizeof *out->numbers, &out->numbers));
    if (!message_get(from, out->numbers, (size_t)h->n_numbers * sizeof *out->numbers))
        return message_gone();
    for (int i = 0; i < 2; i++)
        EG_TRY(message_read_bundle(from, h->n_bytes[i], &out->bundles[i]));
    return EG_OK;
}

static eg_status message_read(message_port *from, size_t n_classes, eg_message *out)
{
    *out = (eg_message){0};
    eg_status s = message_read_all(from, n_classes, out);
    if (s != EG_OK)
        eg_message_fini(out);
    return s;
}

eg_status eg_message_receive(int from, size_t n_classes, eg_message *out)
{
    return message_read(&(message_port){.socket = from}, n_classes, out);
}

eg_status eg_message_unpack(const void *bytes, size_t n, size_t n_classes, eg_message *out)
{
    message_port from = {
        .socket = -1, .bytes = (unsigned char *)(uintptr_t)bytes, .n = n}; /* only read */
    eg_status s = message_read(&from, n_classes, out);
    if (s == EG_OK && from.at != n) {
        eg_message_fini(out);
        return eg_fail(EG_EFORMAT, "a message of %zu bytes has %zu", from.at, n);
    }
    return s;
}
