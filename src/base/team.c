/* team.c - threads that carry out one piece of work together, in step.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two words are waited for: `job`, which the owner raises when there is work, and `phase`,
 * which the last to come to a meeting raises. Who waits looks at the word some times, then
 * counts itself as a sleeper and looks once more under the lock: who raises a word looks for
 * sleepers after that, so that one of the two sees the other.
 */
#define _GNU_SOURCE /* sched_getaffinity: the cores of a container, not of the machine */
#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* How often a member looks before it sleeps: some tens of microseconds. */
enum { TEAM_LOOKS = 3000 };

/* Less than this is not worth a meeting of two cores and the moving of what they share. */
#define TEAM_LEAST 8e-6

typedef struct team_member {
    eg_team *team;
    int i;
    pthread_t thread;
    eg_status status;
    char *error; /* the member's error text */
} team_member;

struct eg_team {
    int n, looks;
    double least;
    eg_team_work work;
    void *context;
    bool stop;
    atomic_uint job, phase, arrived, sleepers;
    pthread_mutex_t lock;
    pthread_cond_t raised;
    team_member members[EG_MAX_TEAM];
};

/* A thread's own, as the error text is: plans run in programs, learners and generators, all of
 * which would have to carry it. */
static _Thread_local eg_team *team_here;

void eg_team_enter(eg_team *t)
{
    team_here = t;
}

eg_team *eg_team_here(void)
{
    return team_here;
}

int eg_team_size(const eg_team *t)
{
    return t ? t->n : 1;
}

void eg_team_set_least(eg_team *t, double seconds)
{
    t->least = seconds;
}

double eg_team_least(const eg_team *t)
{
    return t->least;
}

int eg_cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n > 0 ? n : 1;
}

static void team_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void team_wait(eg_team *t, atomic_uint *word, unsigned before)
{
    for (int i = 0; i < t->looks; i++) {
        if (atomic_load_explicit(word, memory_order_acquire) != before)
            return;
        team_pause();
    }
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleepers, 1);
    while (atomic_load(word) == before)
        pthread_cond_wait(&t->raised, &t->lock);
    atomic_fetch_sub(&t->sleepers, 1);
    pthread_mutex_unlock(&t->lock);
}

static void team_raise(eg_team *t, atomic_uint *word, unsigned to)
{
    atomic_store(word, to);
    if (atomic_load(&t->sleepers) == 0)
        return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->raised);
    pthread_mutex_unlock(&t->lock);
}

void eg_team_meet(const eg_team_part *p)
{
    if (p->n == 1)
        return;
    eg_team *t = p->team;
    unsigned phase = atomic_load_explicit(&t->phase, memory_order_relaxed);
    if (atomic_fetch_add(&t->arrived, 1) + 1 < (unsigned)p->n) {
        team_wait(t, &t->phase, phase);
        return;
    }
    atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
    team_raise(t, &t->phase, phase + 1);
}

eg_range eg_team_range(const eg_team_part *p, int64_t n, int64_t grain)
{
    int64_t units = (n + grain - 1) / grain;
    int64_t from = units * p->i / p->n * grain, to = units * (p->i + 1) / p->n * grain;
    return (eg_range){from < n ? from : n, to < n ? to : n};
}

/* A member's share of the job; its error text is kept, since it is the thread's own. */
static void team_work(team_member *m)
{
    eg_team *t = m->team;
    const eg_team_part part = {.team = t, .i = m->i, .n = t->n};
    m->status = t->work(t->context, &part);
    if (m->status != EG_OK && m->i > 0)
        m->error = strdup(eg_error());
    eg_team_meet(&part);
}

static void *team_thread(void *arg)
{
    team_member *m = arg;
    eg_team *t = m->team;
    for (unsigned job = 0;; job++) {
        team_wait(t, &t->job, job);
        if (t->stop)
            return NULL;
        team_work(m);
    }
}

/* The first failure, by number; what the others had to say is dropped. */
static eg_status team_outcome(eg_team *t)
{
    eg_status first = t->members[0].status;
    for (int i = 1; i < t->n; i++) {
        team_member *m = &t->members[i];
        if (first == EG_OK && m->status != EG_OK)
            first = eg_fail(m->status, "%s", m->error ? m->error : "out of memory");
        free(m->error);
        m->error = NULL;
    }
    return first;
}

eg_status eg_team_run(eg_team *t, eg_team_work work, void *context)
{
    t->work = work;
    t->context = context;
    if (t->n > 1)
        team_raise(t, &t->job, atomic_load_explicit(&t->job, memory_order_relaxed) + 1);
    team_work(&t->members[0]);
    return team_outcome(t);
}

eg_status eg_team_new(int n, eg_team **out)
{
    EG_ASSERT(n >= 1 && n <= EG_MAX_TEAM);
    *out = NULL;
    eg_team *t = calloc(1, sizeof *t);
    if (!t)
        return eg_fail(EG_ENOMEM, "no memory for a team of threads");
    const char *least = getenv("ENGRAM_TEAM_LEAST"); /* tests have all of it divided */
    t->least = least ? strtod(least, NULL) : TEAM_LEAST;
    t->looks = n <= eg_cores() ? TEAM_LOOKS : 0;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->raised, NULL);
    t->members[0] = (team_member){.team = t};
    for (t->n = 1; t->n < n; t->n++) {
        team_member *m = &t->members[t->n];
        *m = (team_member){.team = t, .i = t->n};
        if (pthread_create(&m->thread, NULL, team_thread, m) != 0)
            break; /* results are the same with fewer */
    }
    *out = t;
    return EG_OK;
}

void eg_team_free(eg_team *t)
{
    if (!t)
        return;
    if (team_here == t)
        team_here = NULL;
    t->stop = true;
    team_raise(t, &t->job, atomic_load(&t->job) + 1);
    for (int i = 1; i < t->n; i++)
        pthread_join(t->members[i].thread, NULL);
    pthread_cond_destroy(&t->raised);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

int eg_threads(void)
{
    return eg_team_size(team_here);
}

/* The team of eg_threads_begin, which nobody else holds. */
static _Thread_local eg_team *team_own;

void eg_threads_end(void)
{
    eg_team_free(team_own);
    team_own = NULL;
}

eg_status eg_threads_begin(int n)
{
    if (n < 1 || n > EG_MAX_TEAM)
        return eg_fail(EG_EINVAL, "%d threads: from 1 to %d can compute together", n,
                       EG_MAX_TEAM);
    eg_threads_end();
    if (n == 1)
        return EG_OK;
    EG_TRY(eg_team_new(n, &team_own));
    eg_team_enter(team_own);
    return EG_OK;
}
