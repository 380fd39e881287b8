/* stop.c - waits for SIGINT, SIGTERM, SIGUSR1 and SIGHUP in a thread that does nothing else.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No handler is set, since none may run on a thread that computes: oneDNN's generated code uses
 * the stack pointer for its workspace on the heap, and the kernel would write the handler's
 * frame over what lies below it. Every thread has these signals blocked; one takes them with
 * sigwait. SIGUSR1 is what mpirun passes on to its ranks without ending them soon after.
 */
#include "stop.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_bool stop_flag; /* set by the waiting thread alone */
static atomic_bool stop_deaf;
static atomic_bool stop_hears_reload, stop_reload;
static sem_t stop_waits; /* posted once, when the thread has started */
static sem_t stop_comes; /* posted once, with the first request */

static sigset_t stop_signals(void)
{
    sigset_t all;
    sigemptyset(&all);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGUSR1);
    if (atomic_load(&stop_hears_reload))
        sigaddset(&all, SIGHUP);
    return all;
}

/* Straight to the descriptor: a process forked at this moment must find no lock of ours. */
static void stop_say(const char *text)
{
    ssize_t put = write(STDERR_FILENO, text, strlen(text));
    (void)put; /* there is nobody else to tell */
}

static void *stop_wait(void *says)
{
    sigset_t all = stop_signals();
    sem_post(&stop_waits);
    for (int number; sigwait(&all, &number) == 0;) {
        if (number == SIGHUP)
            atomic_store(&stop_reload, true);
        if (number == SIGHUP || atomic_load(&stop_deaf))
            continue;
        if (atomic_exchange(&stop_flag, true))
            _exit(128 + number); /* checkpoints are whole or absent at any moment */
        sem_post(&stop_comes);
        if (!says)
            continue;
        if (isatty(STDERR_FILENO))
            stop_say("\n"); /* after the bar, and the terminal's ^C */
        stop_say("engram: stopping after this round; once more stops at once\n");
    }
    return NULL;
}

eg_status stop_watch(bool says)
{
    static bool watching;
    sigset_t all = stop_signals();
    pthread_t waiter;
    if (watching)
        return EG_OK;
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    /* A shell starts what is in the background with Ctrl-C ignored, and an ignored signal need
     * not reach sigwait. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    sem_init(&stop_waits, 0, 0);
    sem_init(&stop_comes, 0, 0);
    int wrong = pthread_create(&waiter, NULL, stop_wait, says ? &stop_flag : NULL);
    if (wrong)
        return eg_fail(EG_ENOMEM, "no thread to wait for Ctrl-C: %s", strerror(wrong));
    pthread_detach(waiter);
    /* Whoever forks next must not do so while the thread starts, and may hold locks of the
     * allocator, which a child would wait for in vain. From here on it only waits. */
    while (sem_wait(&stop_waits) != 0)
        continue;
    watching = true;
    return EG_OK;
}

void stop_hear_reload(void)
{
    atomic_store(&stop_hears_reload, true);
}

bool stop_take_reload(void)
{
    return atomic_exchange(&stop_reload, false);
}

void stop_pause(double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    double whole = floor(seconds), rest = 1e9 * (seconds - whole) + (double)until.tv_nsec;
    until.tv_sec += (time_t)whole + (rest >= 1e9);
    until.tv_nsec = (long)(rest >= 1e9 ? rest - 1e9 : rest);
    while (!stop_asked() && sem_timedwait(&stop_comes, &until) != 0 && errno == EINTR)
        continue;
}

void stop_ignore(void)
{
    atomic_store(&stop_deaf, true);
}

bool stop_asked(void)
{
    return atomic_load(&stop_flag);
}
