/* mpi.c - clients on the ranks that mpirun started, on this machine and on others.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 0 is the server and has workers like all. A turn goes to any rank with an idle worker,
 * so that none waits for the slowest; tests and pieces of the server's work are shared out the
 * same way. The download goes to a rank once per exchange. Clients' records do not travel: the
 * run's folder is on a file system that all ranks see. Replies are taken in client order, and
 * at most twice as many wait as there are workers in all. The bits are those of workers in one
 * process.
 */
#include "base/pool.h"
#include "run/transport/hello.h"
#include "run/transport/message.h"
#include "run/transport/transport.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- The workers of one rank: threads that carry out what they are given. Duties are begun in
 * the order in which they are given, and come back when they are done. One thread gives and
 * takes; when one is done it is woken (eg_cluster_wake). */

/* A turn or a test, and what it came to. Free with duty_free. */
typedef struct duty {
    int64_t number; /* the giver's */
    eg_turn turn;
    eg_bundle *own;    /* what this client alone is sent; the task's; NULL: nothing */
    eg_test test;      /* the task's, if it came as a message */
    eg_message *asked; /* likewise; NULL: it did not */
    eg_status status;
    char *error; /* why, if it failed */
    eg_reply reply;
    unsigned char *bytes; /* [n_bytes]: the answer to a message */
    size_t n_bytes;
    struct duty *next;
} duty;

typedef struct crew crew;

typedef struct crew_list {
    duty *first, *last;
} crew_list;

typedef struct crew_member {
    crew *crew;
    eg_worker *worker;
    pthread_t thread;
} crew_member;

struct crew {
    eg_cluster *wakes;
    pthread_mutex_t lock;
    pthread_cond_t more;
    crew_list given, done;
    int n_busy;
    bool stop;
    int n;
    crew_member members[EG_MAX_THREADS];
};

static void duty_free(duty *t)
{
    if (!t)
        return;
    if (t->asked)
        eg_message_fini(t->asked);
    free(t->asked);
    eg_test_fini(&t->test);
    eg_bundle_free(t->own);
    eg_reply_fini(&t->reply);
    free(t->bytes);
    free(t->error);
    free(t);
}

static void crew_append(crew_list *l, duty *t)
{
    t->next = NULL;
    *(l->last ? &l->last->next : &l->first) = t;
    l->last = t;
}

static duty *crew_pop(crew_list *l)
{
    duty *t = l->first;
    if (t)
        l->first = t->next;
    if (!l->first)
        l->last = NULL;
    return t;
}

static eg_status crew_pack(void *context, const eg_message *m,
                           const eg_bundle *const bundles[2])
{
    duty *t = context;
    return eg_message_pack(m, bundles, &t->bytes, &t->n_bytes);
}

/* Carries out a task; the answer to a message is packed here, beside the others' work. */
static void crew_work(eg_worker *w, duty *t)
{
    if (t->status == EG_OK) /* else it could not even be read */
        t->status = eg_worker_turn(w, &t->turn, &t->reply);
    else
        eg_fail(t->status, "%s", t->error);
    if (t->asked)
        t->status = eg_message_answer(t->asked, t->status, &t->reply, crew_pack, t);
    if (t->status != EG_OK && !t->error)
        t->error = strdup(eg_error());
}

static void *crew_thread(void *arg)
{
    const crew_member *m = arg;
    crew *c = m->crew;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        duty *t = crew_pop(&c->given);
        if (!t && c->stop)
            break;
        if (!t) {
            pthread_cond_wait(&c->more, &c->lock);
            continue;
        }
        c->n_busy++;
        pthread_mutex_unlock(&c->lock);
        crew_work(m->worker, t);
        pthread_mutex_lock(&c->lock);
        c->n_busy--;
        crew_append(&c->done, t);
        eg_cluster_wake(c->wakes);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void crew_close(crew *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    while (c->given.first) /* what was not begun is not begun any more */
        duty_free(crew_pop(&c->given));
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->n; i++)
        pthread_join(c->members[i].thread, NULL);
    while (c->done.first)
        duty_free(crew_pop(&c->done));
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static eg_status crew_open(eg_worker *workers, int n, eg_cluster *wakes, crew **out)
{
    crew *c;
    EG_ASSERT(n >= 1 && n <= EG_MAX_THREADS);
    EG_TRY(eg_alloc(1, sizeof *c, &c));
    *c = (crew){.wakes = wakes};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    for (; c->n < n; c->n++) {
        crew_member *m = &c->members[c->n];
        *m = (crew_member){.crew = c, .worker = &workers[c->n]};
        if (pthread_create(&m->thread, NULL, crew_thread, m) != 0)
            break;
    }
    if (c->n < n) {
        crew_close(c);
        return eg_fail(EG_ENOMEM, "cannot start a worker thread");
    }
    *out = c;
    return EG_OK;
}

static void crew_give(crew *c, duty *take)
{
    pthread_mutex_lock(&c->lock);
    crew_append(&c->given, take);
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
}

static duty *crew_take(crew *c)
{
    pthread_mutex_lock(&c->lock);
    duty *t = crew_pop(&c->done);
    pthread_mutex_unlock(&c->lock);
    return t;
}

static bool crew_is_idle(crew *c)
{
    pthread_mutex_lock(&c->lock);
    bool idle = c->n_busy == 0 && !c->given.first;
    pthread_mutex_unlock(&c->lock);
    return idle;
}

/* --- The transport. */

/* What rank 0 knows of a rank. */
typedef struct mpi_rank {
    int workers, busy; /* threads; turns that it has */
    bool told;         /* it has this exchange's download */
} mpi_rank;

typedef struct mpi {
    eg_site site;
    crew *crew;
    mpi_rank *ranks; /* [size] */
    int n_workers;   /* of all ranks */
    eg_board board;
    int *has;        /* [turns of the board]: the rank that has each */
    eg_parcel *down; /* packed when the first other rank needs it */
    bool met;
} mpi;

static size_t mpi_n_classes(const mpi *m)
{
    return (size_t)eg_scenario_n_classes(m->site.feed->scenario);
}

static eg_status mpi_open(void *self, const eg_site *site)
{
    mpi *m = self;
    if (!site->cluster)
        return eg_fail(EG_EINVAL, "the transport mpi is for programs that mpirun started");
    m->site = *site;
    return eg_alloc((size_t)eg_cluster_size(site->cluster), sizeof *m->ranks, &m->ranks);
}

/* The side of the other ranks. */

/* A message becomes a task. What cannot be read is answered so by the crew. */
static eg_status mpi_accept(const mpi *m, const eg_cluster_frame *f, eg_bundle **down,
                            duty **out)
{
    duty *t;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *t, &t));
    eg_status s = eg_alloc(1, sizeof *t->asked, &t->asked);
    if (s == EG_OK)
        s = eg_message_unpack(f->bytes, f->n, mpi_n_classes(m), t->asked);
    if (s != EG_OK || t->asked->head.kind == EG_MESSAGE_DOWNLOAD) {
        if (s == EG_OK) {
            eg_bundle_free(*down);
            *down = t->asked->bundles[0];
            t->asked->bundles[0] = NULL;
        }
        duty_free(t);
        return s;
    }
    eg_message *asked = t->asked;
    t->status = eg_message_to_turn(asked, *down, &t->turn, &t->test);
    if (t->status != EG_OK)
        t->error = strdup(eg_error());
    *out = t;
    return EG_OK;
}

/* Sends the answers that are ready. */
static eg_status mpi_answer(mpi *m)
{
    eg_status s = EG_OK;
    for (duty *t; s == EG_OK && (t = crew_take(m->crew));) {
        eg_parcel *p;
        s = t->status == EG_OK ? eg_parcel_new(t->bytes, t->n_bytes, &p)
                               : eg_fail(t->status, "%s", t->error ? t->error : "");
        if (s == EG_OK) {
            t->bytes = NULL;
            s = eg_cluster_post(m->site.cluster, 0, EG_CLUSTER_REPLY, p);
            eg_parcel_drop(p);
        }
        duty_free(t);
    }
    return s;
}

/* Does what one frame asks for. */
static eg_status mpi_follow(mpi *m, eg_cluster_frame *f, eg_bundle **down, bool *over)
{
    duty *t = NULL;
    eg_status s = EG_OK;
    *over = f->kind == EG_CLUSTER_OVER;
    if (f->kind == EG_CLUSTER_WORK)
        s = mpi_accept(m, f, down, &t);
    free(f->bytes);
    if (t)
        crew_give(m->crew, t);
    return s;
}

/* What has been said of a failure, before something else is. */
static void mpi_note_error(char why[EG_MESSAGE_TEXT])
{
    strncpy(why, eg_error(), EG_MESSAGE_TEXT - 1);
    why[EG_MESSAGE_TEXT - 1] = 0;
}

/* Takes turns until rank 0 says that the run is over, or has ended all. */
static eg_status mpi_serve(mpi *m)
{
    eg_cluster *c = m->site.cluster;
    eg_bundle *down = NULL;
    eg_cluster_frame f;
    eg_status s = EG_OK;
    for (bool over = false; s == EG_OK && !over;) {
        eg_status heard = eg_cluster_pump(c); /* that all is over may come with the run's end */
        while (s == EG_OK && !over && eg_cluster_take(c, &f))
            s = mpi_follow(m, &f, &down, &over);
        if (s == EG_OK && !over)
            s = heard;
        if (s == EG_OK)
            s = mpi_answer(m);
        if (s == EG_OK && !over)
            eg_cluster_nap(c);
    }
    char why[EG_MESSAGE_TEXT];
    mpi_note_error(why);
    while (!crew_is_idle(m->crew)) { /* while it can still be asked whether it is there */
        (void)eg_cluster_pump(c);
        eg_cluster_nap(c);
    }
    crew_close(m->crew); /* its tasks have the download in hand */
    m->crew = NULL;
    eg_bundle_free(down);
    return s == EG_OK ? EG_OK : eg_fail(s, "%s", why);
}

/* The server's side. */
static eg_status mpi_meet(void *self, bool *served)
{
    mpi *m = self;
    eg_cluster *c = m->site.cluster;
    *served = eg_cluster_rank(c) > 0;
    if (*served) {
        EG_TRY(eg_meet_server(&m->site));
        EG_TRY(crew_open(m->site.workers, m->site.n_workers, c, &m->crew));
        return mpi_serve(m);
    }
    int *workers;
    EG_TRY(eg_alloc((size_t)eg_cluster_size(c), sizeof *workers, &workers));
    eg_status s = eg_meet_all(&m->site, workers);
    for (int r = 0; r < eg_cluster_size(c); r++) {
        m->ranks[r].workers = workers[r];
        m->n_workers += workers[r];
    }
    free(workers);
    m->met = s == EG_OK;
    return s == EG_OK ? crew_open(m->site.workers, m->site.n_workers, c, &m->crew) : s;
}

static eg_status mpi_begin(void *self, const eg_job *job)
{
    mpi *m = self;
    for (int r = 0; r < eg_cluster_size(m->site.cluster); r++)
        m->ranks[r].told = false;
    EG_TRY(eg_board_begin(&m->board, job, eg_cluster_number(m->site.cluster)));
    return eg_alloc((size_t)job->n, sizeof *m->has, &m->has);
}

/* A message, packed for the others. */
static eg_status mpi_pack(const eg_message *message, const eg_bundle *bundle, eg_parcel **out)
{
    const eg_bundle *const both[2] = {bundle, NULL};
    unsigned char *bytes = NULL;
    size_t n;
    eg_status s = eg_message_pack(message, both, &bytes, &n);
    if (s == EG_OK)
        return eg_parcel_new(bytes, n, out);
    free(bytes);
    return s;
}

/* Sends a turn to another rank, and before the first the download. */
static eg_status mpi_send(mpi *m, int to, int64_t i, eg_message *message)
{
    eg_cluster *c = m->site.cluster;
    eg_parcel *p = NULL;
    *message = (eg_message){.head = {.kind = EG_MESSAGE_DOWNLOAD}};
    if (!m->down)
        EG_TRY(mpi_pack(message, m->board.job->down, &m->down));
    if (!m->ranks[to].told)
        EG_TRY(eg_cluster_post(c, to, EG_CLUSTER_WORK, m->down));
    m->ranks[to].told = true;
    eg_board_turn *t = &m->board.turns[i];
    eg_status s = eg_message_of_turn(&t->is, mpi_n_classes(m), message);
    message->head.number = eg_board_number(&m->board, i);
    if (s == EG_OK)
        s = mpi_pack(message, t->own, &p);
    eg_bundle_free(t->own);
    t->own = NULL;
    eg_message_end_turn(message);
    if (s == EG_OK)
        s = eg_cluster_post(c, to, EG_CLUSTER_WORK, p);
    eg_parcel_drop(p);
    return s;
}

/* Gives a turn to a worker of this rank. */
static eg_status mpi_give(mpi *m, int64_t i)
{
    duty *d;
    eg_board_turn *t = &m->board.turns[i];
    EG_TRY(eg_alloc(1, sizeof *d, &d));
    *d = (duty){.number = eg_board_number(&m->board, i), .turn = t->is, .own = t->own};
    t->own = NULL;
    crew_give(m->crew, d);
    return EG_OK;
}

/* Hands the next turn to a rank. */
static eg_status mpi_hand(mpi *m, int to)
{
    int64_t i = m->board.n_told;
    eg_message *message = NULL;
    EG_TRY(eg_board_tell(&m->board));
    eg_status s = to ? eg_alloc(1, sizeof *message, &message) : mpi_give(m, i);
    if (s == EG_OK && to)
        s = mpi_send(m, to, i, message);
    free(message);
    if (s != EG_OK)
        return s; /* nobody has it: the end must not wait for an answer */
    m->has[i] = to;
    m->ranks[to].busy++;
    return EG_OK;
}

/* The rank with the largest part of its workers idle, the last of them, since rank 0 has the
 * server's work too; -1: none has any. */
static int mpi_idle(const mpi *m)
{
    int best = -1;
    for (int r = eg_cluster_size(m->site.cluster) - 1; r >= 0; r--) {
        const mpi_rank *k = &m->ranks[r];
        if (k->busy < k->workers &&
            (best < 0 || (k->workers - k->busy) * m->ranks[best].workers >
                             (m->ranks[best].workers - m->ranks[best].busy) * k->workers))
            best = r;
    }
    return best;
}

static eg_status mpi_hand_out(mpi *m)
{
    const eg_board *b = &m->board;
    for (int to; b->n_told < b->job->n && b->n_told < b->n_taken + 2 * m->n_workers &&
                 (to = mpi_idle(m)) >= 0;)
        EG_TRY(mpi_hand(m, to));
    return EG_OK;
}

/* A worker of this rank is done; a turn that is not found is of an exchange that was given up.
 */
static void mpi_settle(mpi *m, duty *d)
{
    eg_board_turn *t = eg_board_find(&m->board, d->number);
    m->ranks[0].busy--;
    if (t) {
        t->status = d->status;
        t->why = d->error, d->error = NULL;
        t->reply = d->reply, d->reply = (eg_reply){0};
        t->there = true;
    }
    duty_free(d);
}

/* Another rank has answered. */
static eg_status mpi_hear(mpi *m, const eg_cluster_frame *f, eg_message *message)
{
    EG_TRY(eg_message_unpack(f->bytes, f->n, mpi_n_classes(m), message));
    eg_board_turn *t = eg_board_find(&m->board, message->head.number);
    m->ranks[f->from].busy--;
    if (t) {
        t->status = eg_message_hear(&t->is, message, &t->reply);
        if (t->status != EG_OK)
            t->why = strdup(eg_error());
        t->there = true;
    }
    eg_message_fini(message);
    return EG_OK;
}

/* Takes in all that has come from anywhere. */
static eg_status mpi_gather(mpi *m)
{
    eg_cluster *c = m->site.cluster;
    eg_cluster_frame f;
    EG_TRY(eg_cluster_pump(c));
    for (duty *t; (t = crew_take(m->crew));)
        mpi_settle(m, t);
    while (eg_cluster_take(c, &f)) {
        eg_message *message;
        eg_status s = eg_alloc(1, sizeof *message, &message);
        if (s == EG_OK && f.kind == EG_CLUSTER_REPLY)
            s = mpi_hear(m, &f, message);
        free(message);
        free(f.bytes);
        EG_TRY(eg_blame(s, "rank %d on %s", f.from, eg_cluster_host(c, f.from)));
    }
    return EG_OK;
}

/* What turn i came to. */
static eg_status mpi_outcome(const mpi *m, int64_t i)
{
    const eg_board_turn *t = &m->board.turns[i];
    int rank = m->has[i];
    if (t->status == EG_OK)
        return EG_OK;
    eg_fail(t->status, "%s", t->why ? t->why : "out of memory");
    if (t->is.id >= 0)
        eg_blame(t->status, "client %lld", (long long)t->is.id);
    return rank ? eg_blame(t->status, "rank %d on %s", rank,
                           eg_cluster_host(m->site.cluster, rank))
                : t->status;
}

static eg_status mpi_take(void *self, int64_t i, eg_reply *out, bool *lost)
{
    mpi *m = self;
    eg_cluster *c = m->site.cluster;
    *lost = false;
    for (;;) {
        EG_TRY(mpi_gather(m));
        EG_TRY(mpi_hand_out(m));
        if (m->board.turns[i].there)
            break;
        EG_TRY(eg_cluster_pump(c)); /* what was just handed out, on its way */
        EG_TRY(eg_cluster_check(c));
        eg_cluster_nap(c);
    }
    *out = eg_board_take(&m->board, i);
    EG_TRY(mpi_hand_out(m)); /* taking one lets one more begin */
    EG_TRY(eg_cluster_pump(c));
    return mpi_outcome(m, i);
}

static void mpi_end(void *self)
{
    mpi *m = self;
    /* Workers of this rank read the exchange's memory; another rank has its own. */
    while (m->crew && m->ranks[0].busy > 0) {
        duty *t = crew_take(m->crew);
        if (t)
            mpi_settle(m, t);
        else
            eg_cluster_nap(m->site.cluster);
    }
    eg_board_end(&m->board);
    free(m->has);
    m->has = NULL;
    eg_parcel_drop(m->down);
    m->down = NULL;
}

static void mpi_close(void *self)
{
    mpi *m = self;
    eg_cluster *c = m->site.cluster;
    char why[EG_MESSAGE_TEXT];
    mpi_note_error(why);
    for (int r = 1; m->met && r < eg_cluster_size(c); r++)
        if (eg_cluster_post_bytes(c, r, EG_CLUSTER_OVER, NULL, 0) != EG_OK)
            break; /* the end of all will tell it */
    if (m->met)
        (void)eg_cluster_pump(c);
    crew_close(m->crew);
    free(m->ranks);
    eg_fail(EG_EIO, "%s", why); /* why the run failed, if it did, is said by its caller */
}

const eg_transport eg_transport_mpi = {
    .component = {"mpi", "clients train on all ranks that mpirun started", sizeof(mpi), NULL},
    .shares = true,
    .open = mpi_open,
    .meet = mpi_meet,
    .begin = mpi_begin,
    .take = mpi_take,
    .end = mpi_end,
    .close = mpi_close,
};
