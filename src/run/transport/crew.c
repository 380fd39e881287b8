/* crew.c - threads with a queue of tasks before them and one of finished tasks behind.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/crew.h"

#include "base/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct crew_list {
    eg_duty *first, *last;
} crew_list;

typedef struct crew_member {
    eg_crew *crew;
    eg_worker *worker;
    pthread_t thread;
} crew_member;

struct eg_crew {
    eg_cluster *wakes;
    pthread_mutex_t lock;
    pthread_cond_t more;
    crew_list given, done;
    int n_busy;
    bool stop;
    int n;
    crew_member members[EG_MAX_THREADS];
};

void eg_duty_free(eg_duty *t)
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

static void crew_append(crew_list *l, eg_duty *t)
{
    t->next = NULL;
    *(l->last ? &l->last->next : &l->first) = t;
    l->last = t;
}

static eg_duty *crew_pop(crew_list *l)
{
    eg_duty *t = l->first;
    if (t)
        l->first = t->next;
    if (!l->first)
        l->last = NULL;
    return t;
}

static eg_status crew_pack(void *context, const eg_message *m,
                           const eg_bundle *const bundles[2])
{
    eg_duty *t = context;
    return eg_message_pack(m, bundles, &t->bytes, &t->n_bytes);
}

/* Carries out a task; the answer to a message is packed here, beside the others' work. */
static void crew_work(eg_worker *w, eg_duty *t)
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
    eg_crew *c = m->crew;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        eg_duty *t = crew_pop(&c->given);
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

eg_status eg_crew_open(eg_worker *workers, int n, eg_cluster *wakes, eg_crew **out)
{
    eg_crew *c;
    EG_ASSERT(n >= 1 && n <= EG_MAX_THREADS);
    EG_TRY(eg_alloc(1, sizeof *c, &c));
    *c = (eg_crew){.wakes = wakes};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    for (; c->n < n; c->n++) {
        crew_member *m = &c->members[c->n];
        *m = (crew_member){.crew = c, .worker = &workers[c->n]};
        if (pthread_create(&m->thread, NULL, crew_thread, m) != 0)
            break;
    }
    if (c->n < n) {
        eg_crew_close(c);
        return eg_fail(EG_ENOMEM, "cannot start a worker thread");
    }
    *out = c;
    return EG_OK;
}

void eg_crew_give(eg_crew *c, eg_duty *take)
{
    pthread_mutex_lock(&c->lock);
    crew_append(&c->given, take);
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
}

eg_duty *eg_crew_take(eg_crew *c)
{
    pthread_mutex_lock(&c->lock);
    eg_duty *t = crew_pop(&c->done);
    pthread_mutex_unlock(&c->lock);
    return t;
}

bool eg_crew_is_idle(eg_crew *c)
{
    pthread_mutex_lock(&c->lock);
    bool idle = c->n_busy == 0 && !c->given.first;
    pthread_mutex_unlock(&c->lock);
    return idle;
}

void eg_crew_close(eg_crew *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    while (c->given.first) /* what was not begun is not begun any more */
        eg_duty_free(crew_pop(&c->given));
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->n; i++)
        pthread_join(c->members[i].thread, NULL);
    while (c->done.first)
        eg_duty_free(crew_pop(&c->done));
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
