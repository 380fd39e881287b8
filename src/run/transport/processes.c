/* processes.c - clients in processes of their own: all they are told and all they say goes as
 * bytes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A child is one client after the other. It shares no memory with the server: it gets the
 * download once per exchange, and with each turn what only the server knows; it reads and
 * writes its clients' records itself, and answers with the upload, a receipt and what it took.
 * So no data of a client crosses the socket. The bits are those of a worker in the server's
 * process.
 */
#include "run/transport/message.h"
#include "run/transport/transport.h"

#include "base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct processes_child {
    int socket; /* -1: none */
    pid_t pid;  /* 0: none, or waited for already */
    bool told;  /* it has this exchange's download */
} processes_child;

typedef struct processes {
    eg_site site;
    int n;
    processes_child children[EG_MAX_THREADS];
    const eg_job *job;
    eg_desk *desk;
} processes;

static size_t processes_n_classes(const eg_site *site)
{
    return (size_t)eg_scenario_n_classes(site->feed->scenario);
}

/* The child's side. */
typedef struct child {
    eg_site site;
    int socket;
    eg_worker worker;
    eg_status opened; /* how making the worker went, */
    char why[EG_MESSAGE_TEXT];
    eg_bundle *down; /* of this exchange */
} child;

static eg_status child_turn(child *c, eg_message *m, eg_reply *out)
{
    eg_turn turn;
    eg_test test = {0};
    if (c->opened != EG_OK)
        return eg_fail(c->opened, "%s", c->why);
    eg_status s = eg_message_to_turn(m, c->down, &turn, &test);
    if (s == EG_OK)
        s = eg_worker_turn(&c->worker, &turn, out);
    eg_test_fini(&test);
    return s;
}

static eg_status child_put(void *context, const eg_message *m,
                           const eg_bundle *const bundles[2])
{
    const child *c = context;
    return eg_message_send(c->socket, m, bundles);
}

/* Answers one message; a download has no answer. */
static eg_status child_answer(child *c, eg_message *m)
{
    if (m->head.kind == EG_MESSAGE_DOWNLOAD) {
        eg_bundle_free(c->down);
        c->down = m->bundles[0];
        m->bundles[0] = NULL;
        return EG_OK;
    }
    eg_reply reply = {0};
    eg_status s = eg_message_answer(m, child_turn(c, m, &reply), &reply, child_put, c);
    eg_reply_fini(&reply);
    return s;
}

/* Ctrl-C, which a terminal sends to all, is for the server, which ends its clients by hanging
 * up; so are SIGTERM, input and output. No handler may run here: generated kernels keep no
 * stack. A server that dies takes its clients along, even in the middle of a turn. */
static void child_settle(void)
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
static void child_live(int socket, const eg_site *site)
{
    static child c; /* in the child alone, and too large for a stack */
    static eg_message m;
    child_settle();
    c = (child){.site = *site, .socket = socket};
    c.opened =
        eg_worker_open(site->e, site->feed, site->net, site->agreed, site->store, &c.worker);
    eg_workers_share(&c.worker, 1, 1, site->threads / site->n_workers);
    strncpy(c.why, eg_error(), sizeof c.why - 1);
    eg_status s = EG_OK;
    while (s == EG_OK && eg_message_receive(socket, processes_n_classes(site), &m) == EG_OK) {
        s = child_answer(&c, &m);
        eg_message_fini(&m);
    }
    eg_bundle_free(c.down);
    eg_worker_close(&c.worker);
}

/* The server's side. */
static eg_status processes_start(processes *p)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return eg_fail(EG_EIO, "no socket for a client's process: %s", strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        for (int i = 0; i < p->n; i++) /* only the server holds them, so that they can end */
            close(p->children[i].socket);
        child_live(ends[1], &p->site);
        _exit(0); /* what the server has buffered is the server's to write */
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return eg_fail(EG_ENOMEM, "no process for a client: %s", strerror(errno));
    }
    p->children[p->n++] = (processes_child){.socket = ends[0], .pid = pid};
    return EG_OK;
}

static eg_status processes_open(void *self, const eg_site *site)
{
    processes *p = self;
    p->site = *site;
    while (p->n < site->n_workers)
        EG_TRY(processes_start(p));
    return EG_OK;
}

/* Waits for the child's end; how it came, for a sentence. */
static int processes_wait(processes_child *c)
{
    int status = 0;
    while (c->pid > 0 && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    c->pid = 0;
    return status;
}

static void processes_close(void *self)
{
    processes *p = self;
    for (int i = 0; i < p->n; i++) {
        /* even if a stranger's process holds it too */
        shutdown(p->children[i].socket, SHUT_RDWR);
        close(p->children[i].socket);
        processes_wait(&p->children[i]);
    }
    p->n = 0;
}

/* The child has hung up: says how it ended. */
static eg_status processes_ended(processes_child *c)
{
    shutdown(c->socket, SHUT_RDWR);
    int status = processes_wait(c);
    if (WIFSIGNALED(status))
        return eg_fail(EG_EIO, "its process was ended by signal %d", WTERMSIG(status));
    return eg_fail(EG_EIO, "its process ended before it answered");
}

static eg_status processes_tell(processes *p, processes_child *c, const eg_turn *turn,
                                const eg_bundle *own, eg_message *m)
{
    const eg_bundle *const down[2] = {p->job->down, NULL}, *const one[2] = {own, NULL};
    *m = (eg_message){.head = {.kind = EG_MESSAGE_DOWNLOAD}};
    if (!c->told)
        EG_TRY(eg_message_send(c->socket, m, down));
    c->told = true;
    eg_status s = eg_message_of_turn(turn, processes_n_classes(&p->site), m);
    if (s == EG_OK)
        s = eg_message_send(c->socket, m, one);
    eg_message_end_turn(m);
    return s;
}

static eg_status processes_carry(void *self, int thread, const eg_turn *turn,
                                 const eg_bundle *own, eg_reply *out)
{
    processes *p = self;
    processes_child *c = &p->children[thread];
    eg_message *m;
    *out = (eg_reply){0};
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    eg_status s = processes_tell(p, c, turn, own, m);
    if (s == EG_OK)
        s = eg_message_receive(c->socket, processes_n_classes(&p->site), m);
    if (s == EG_EIO)
        s = processes_ended(c);
    if (s == EG_OK)
        s = eg_message_hear(turn, m, out);
    eg_message_fini(m);
    free(m);
    if (s != EG_OK)
        eg_reply_fini(out);
    return s;
}

static eg_status processes_begin(void *self, const eg_job *job)
{
    processes *p = self;
    p->job = job;
    for (int i = 0; i < p->n; i++)
        p->children[i].told = false;
    return eg_desk_open(job, p->n, processes_carry, p, &p->desk);
}

static eg_status processes_take(void *self, int64_t i, eg_reply *out, bool *lost)
{
    processes *p = self;
    *lost = false;
    return eg_desk_take(p->desk, i, out);
}

static void processes_end(void *self)
{
    processes *p = self;
    eg_desk_close(p->desk);
    p->desk = NULL;
}

const eg_transport eg_transport_processes = {
    .component = {"processes",
                  "clients train in processes that share no memory with the server",
                  sizeof(processes), NULL},
    .open = processes_open,
    .begin = processes_begin,
    .take = processes_take,
    .end = processes_end,
    .close = processes_close,
};
