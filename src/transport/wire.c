/* wire.c - the messages between the server and its clients' processes, and both ends of them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A message is a head of fixed size, a text, and up to two bundles as safetensors. The server
 * asks (what; down, kept), the child answers (status and its sentence; up, keep). Nothing of a
 * message is used before its lengths are checked.
 */
#include "transport/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIRE_MAGIC     0x31657269774d4745u /* "EGMwire1" */
#define WIRE_NO_BUNDLE UINT64_MAX
#define WIRE_MAX_BYTES ((uint64_t)1 << 36) /* of a bundle */
#define WIRE_MAX_TEXT  2048

typedef struct wire_head {
    uint64_t magic;
    int64_t what; /* an eg_wire_what; in an answer: an eg_status */
    int64_t id, round;
    uint64_t seed;
    int64_t told_boundary, own;
    uint64_t n_text;
    uint64_t n_bytes[2]; /* of the bundles; WIRE_NO_BUNDLE: there is none */
} wire_head;

typedef struct wire_message {
    wire_head head;
    char text[WIRE_MAX_TEXT];
    eg_bundle *bundles[2]; /* NULL: there is none */
} wire_message;

/* All n bytes; false when the other side is gone. */
static bool wire_put(int to, const void *bytes, size_t n)
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

static bool wire_get(int from, void *bytes, size_t n)
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

static eg_status wire_gone(void)
{
    return eg_fail(EG_EIO, "the other side of the wire is gone");
}

/* Sends a head with its text, then the bundles, which stay the caller's. */
static eg_status wire_send(int to, wire_head *head, const char *text,
                           const eg_bundle *const bundles[2])
{
    unsigned char *bytes[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    eg_status s = EG_OK;
    head->magic = WIRE_MAGIC;
    head->n_text = strnlen(text, WIRE_MAX_TEXT - 1);
    for (int i = 0; i < 2; i++) {
        if (bundles[i] && s == EG_OK)
            s = eg_bundle_pack(bundles[i], &bytes[i], &n[i]);
        head->n_bytes[i] = bundles[i] ? n[i] : WIRE_NO_BUNDLE;
    }
    if (s == EG_OK &&
        !(wire_put(to, head, sizeof *head) && wire_put(to, text, (size_t)head->n_text) &&
          wire_put(to, bytes[0], n[0]) && wire_put(to, bytes[1], n[1])))
        s = wire_gone();
    free(bytes[0]);
    free(bytes[1]);
    return s;
}

static eg_status wire_receive_bundle(int from, uint64_t n, eg_bundle **out)
{
    unsigned char *bytes;
    if (n == WIRE_NO_BUNDLE)
        return EG_OK;
    if (n > WIRE_MAX_BYTES)
        return eg_fail(EG_EFORMAT, "a bundle of %llu bytes is announced",
                       (unsigned long long)n);
    EG_TRY(eg_alloc((size_t)n, 1, &bytes));
    eg_status s = wire_get(from, bytes, (size_t)n) ? EG_OK : wire_gone();
    if (s == EG_OK)
        s = eg_bundle_unpack(bytes, (size_t)n, out);
    free(bytes);
    return s;
}

static void wire_forget(wire_message *m)
{
    eg_bundle_free(m->bundles[0]);
    eg_bundle_free(m->bundles[1]);
    m->bundles[0] = m->bundles[1] = NULL;
}

/* Receives a message; its bundles are the caller's. On failure there are none. */
static eg_status wire_receive(int from, wire_message *out)
{
    wire_head *head = &out->head;
    out->bundles[0] = out->bundles[1] = NULL;
    if (!wire_get(from, head, sizeof *head))
        return wire_gone();
    if (head->magic != WIRE_MAGIC || head->n_text >= WIRE_MAX_TEXT)
        return eg_fail(EG_EFORMAT, "a message does not begin as one");
    if (!wire_get(from, out->text, (size_t)head->n_text))
        return wire_gone();
    out->text[head->n_text] = 0;
    eg_status s = EG_OK;
    for (int i = 0; i < 2 && s == EG_OK; i++)
        s = wire_receive_bundle(from, head->n_bytes[i], &out->bundles[i]);
    if (s != EG_OK)
        wire_forget(out);
    return s;
}

/* The child's side. */
typedef struct wire_client {
    eg_worker worker;
    eg_cursor *cursor;
} wire_client;

/* One turn, as the message wants it; up and keep are filled. */
static eg_status wire_work(wire_client *c, const wire_message *m, eg_bundle *up,
                           eg_bundle *keep)
{
    const wire_head *head = &m->head;
    eg_turn turn = {.id = head->id,
                    .round = head->round,
                    .seed = head->seed,
                    .cursor = c->cursor,
                    .told_boundary = head->told_boundary != 0,
                    .own = head->own != 0,
                    .down = m->bundles[0],
                    .kept = m->bundles[1],
                    .up = up,
                    .keep = keep};
    const eg_scenario *s = c->worker.feed->scenario;
    if (head->id < 0 || head->id >= eg_scenario_n_clients(s) || head->round < 0 ||
        head->round >= eg_scenario_n_rounds(s) || !turn.down)
        return eg_fail(EG_EFORMAT, "there is no such turn");
    eg_cursor_seek(c->cursor, head->round);
    if (!eg_cursor_view(c->cursor, head->id, &turn.view))
        return eg_fail(EG_EFORMAT, "it has no data in round %lld", (long long)head->round + 1);
    return head->what == EG_WIRE_PHASE ? eg_worker_phase(&c->worker, &turn)
                                       : eg_worker_train(&c->worker, &turn);
}

/* Answers one message. opened: how making the worker went. */
static eg_status wire_answer(int socket, wire_client *c, eg_status opened,
                             const wire_message *m)
{
    const eg_bundle *none[2] = {NULL, NULL};
    eg_bundle *made[2] = {NULL, NULL};
    wire_head head = m->head;
    eg_status s = opened;
    for (int i = 0; i < 2 && s == EG_OK; i++)
        s = eg_bundle_new(&made[i]);
    if (s == EG_OK)
        s = wire_work(c, m, made[0], made[1]);
    head.what = (int64_t)s;
    const eg_bundle *const both[2] = {made[0], made[1]};
    s = wire_send(socket, &head, s == EG_OK ? "" : eg_error(), s == EG_OK ? both : none);
    eg_bundle_free(made[0]);
    eg_bundle_free(made[1]);
    return s;
}

/* Ctrl-C, which a terminal sends to all, is for the server, which ends its clients by hanging
 * up; so are SIGTERM, input and output. No handler may run here: generated kernels keep no
 * stack. A server that dies takes its clients along, even in the middle of a turn. */
static void wire_settle(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGTERM, &ignore, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        if (nothing > STDERR_FILENO)
            close(nothing);
    }
}

/* The child's life: it answers until the server hangs up. */
static void wire_serve(int socket, const eg_experiment *e, const eg_feed *feed,
                       const eg_net *net)
{
    static wire_client c; /* in the child alone, and too large for a stack */
    static wire_message m;
    wire_settle();
    eg_status opened = eg_worker_open(e, feed, net, &c.worker);
    if (opened == EG_OK)
        opened = eg_cursor_new(feed->scenario, &c.cursor);
    char why[WIRE_MAX_TEXT];
    memcpy(why, eg_error(), strnlen(eg_error(), sizeof why - 1) + 1);
    eg_status s = EG_OK;
    while (s == EG_OK && wire_receive(socket, &m) == EG_OK) {
        if (opened != EG_OK)
            eg_fail(opened, "%s", why);
        s = wire_answer(socket, &c, opened, &m);
        wire_forget(&m);
    }
    eg_worker_close(&c.worker);
    eg_cursor_free(c.cursor);
}

/* The server's side. */
static eg_status wire_open(const eg_experiment *e, const eg_feed *feed, const eg_net *net,
                           eg_wire *wires, int number)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return eg_fail(EG_EIO, "no socket for a client's process: %s", strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        for (int i = 0; i < number; i++) /* only the server holds them, so that they can end */
            close(wires[i].socket);
        wire_serve(ends[1], e, feed, net);
        _exit(0); /* what the server has buffered is the server's to write */
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return eg_fail(EG_ENOMEM, "no process for a client: %s", strerror(errno));
    }
    wires[number] = (eg_wire){.socket = ends[0], .child = child};
    return EG_OK;
}

/* Waits for the child's end; how it came, for a sentence. */
static int wire_wait(eg_wire *w)
{
    int status = 0;
    while (w->child > 0 && waitpid(w->child, &status, 0) < 0 && errno == EINTR)
        ;
    w->child = 0;
    return status;
}

eg_status eg_wires_open(const eg_experiment *e, const eg_feed *feed, const eg_net *net, int n,
                        eg_wire *wires)
{
    for (int i = 0; i < n; i++) {
        eg_status s = wire_open(e, feed, net, wires, i);
        if (s != EG_OK) {
            eg_wires_close(wires, i);
            return s;
        }
    }
    return EG_OK;
}

void eg_wires_close(eg_wire *wires, int n)
{
    for (int i = 0; i < n; i++) {
        if (wires[i].socket < 0)
            continue;
        shutdown(wires[i].socket, SHUT_RDWR); /* even if a stranger's process holds it too */
        close(wires[i].socket);
        wires[i].socket = -1;
        wire_wait(&wires[i]);
    }
}

/* The child has hung up: says how it ended. */
static eg_status wire_mourn(eg_wire *w)
{
    shutdown(w->socket, SHUT_RDWR);
    int status = wire_wait(w);
    if (WIFSIGNALED(status))
        return eg_fail(EG_EIO, "its process was ended by signal %d", WTERMSIG(status));
    return eg_fail(EG_EIO, "its process ended before it answered");
}

eg_status eg_wire_turn(eg_wire *w, eg_wire_what what, const eg_turn *t, eg_bundle **up,
                       eg_bundle **keep)
{
    *up = *keep = NULL;
    wire_message *m;
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    m->head = (wire_head){.what = what,
                          .id = t->id,
                          .round = t->round,
                          .seed = t->seed,
                          .told_boundary = t->told_boundary,
                          .own = t->own};
    eg_status s = wire_send(w->socket, &m->head, "", (const eg_bundle *[2]){t->down, t->kept});
    if (s == EG_OK)
        s = wire_receive(w->socket, m);
    if (s == EG_EIO)
        s = wire_mourn(w);
    if (s == EG_OK && (m->head.id != t->id || m->head.round != t->round || m->head.what < 0 ||
                       m->head.what > EG_ENOTSUP))
        s = eg_fail(EG_EFORMAT, "its process answered what was not asked");
    if (s == EG_OK && m->head.what != EG_OK)
        s = eg_fail((eg_status)m->head.what, "%s", m->text);
    if (s == EG_OK && (!m->bundles[0] || !m->bundles[1]))
        s = eg_fail(EG_EFORMAT, "its process left something out of its answer");
    if (s == EG_OK)
        *up = m->bundles[0], *keep = m->bundles[1];
    else
        wire_forget(m);
    free(m);
    return s;
}
