/* budget.c - limits of this process, and a command that says when it may work.
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE /* pthread_attr_setdefault_np */
#include "budget.h"
#include "screen.h"
#include "stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
    BUDGET_PROGRAM = 4 << 20, /* bytes of the program's own pages, which no limit counts */
    BUDGET_STACK = 256 << 10, /* of a thread that waits, or says that the device is there */
    BUDGET_MISSING = 127      /* what a shell says of a command that is not there */
};

extern char **environ;

eg_status budget_take_bytes(void *field, const char *value)
{
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    double n = strtod(value, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit)
        for (end++; unit >= units; unit--)
            n *= 1024;
    if (errno || end == value || *end || !(n >= 1 << 20) || n > 1e15)
        return eg_fail(EG_EINVAL, "'%.40s' is no number of bytes from 1M on, such as 64M",
                       value);
    *(int64_t *)field = (int64_t)n;
    return EG_OK;
}

eg_status budget_begin(const budget *b)
{
    pthread_attr_t small;
    struct rlimit data;
    if (b->niceness && setpriority(PRIO_PROCESS, 0, (int)b->niceness) != 0)
        return eg_fail(EG_EIO, "--niceness %lld: %s", (long long)b->niceness, strerror(errno));
    if (!b->memory)
        return EG_OK;
    if (pthread_attr_init(&small) == 0) {
        pthread_attr_setstacksize(&small, BUDGET_STACK);
        pthread_setattr_default_np(&small);
        pthread_attr_destroy(&small);
    }
    rlim_t most = (rlim_t)b->memory;
    most = most > 2 * BUDGET_PROGRAM ? most - BUDGET_PROGRAM : most / 2;
    if (getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur <= most)
        return EG_OK;
    data.rlim_cur = most;
    return setrlimit(RLIMIT_DATA, &data) == 0
               ? EG_OK
               : eg_fail(EG_EIO, "--memory: no limit can be set: %s", strerror(errno));
}

/* Runs the command by a shell; what it ends with. */
static int budget_run(const char *command)
{
    char *const words[] = {"sh", "-c", (char *)(uintptr_t)command, NULL}; /* it only reads */
    posix_spawnattr_t plain;
    sigset_t none;
    pid_t child;
    int status = 0;
    sigemptyset(&none);
    if (posix_spawnattr_init(&plain) != 0)
        return BUDGET_MISSING;
    posix_spawnattr_setsigmask(&plain, &none); /* this process has Ctrl-C blocked */
    posix_spawnattr_setflags(&plain, POSIX_SPAWN_SETSIGMASK);
    int wrong = posix_spawn(&child, "/bin/sh", NULL, &plain, words, environ);
    posix_spawnattr_destroy(&plain);
    if (wrong)
        return BUDGET_MISSING;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return BUDGET_MISSING;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Tells each change once. */
static void budget_tell(budget *b, int code)
{
    char text[256];
    if ((code != 0) == b->waits)
        return;
    b->waits = code != 0;
    snprintf(text, sizeof text,
             b->waits ? "waiting: `%.150s` ended with %d" : "going on: `%.150s` ended with %d",
             b->command, code);
    screen_say(NULL, text);
}

bool budget_may(budget *b)
{
    while (b->command && !stop_asked()) {
        if (!b->waits && b->looked > 0 && eg_seconds() - b->looked < 1)
            break;
        int code = budget_run(b->command);
        b->looked = eg_seconds();
        budget_tell(b, code);
        if (code == 0)
            break;
        stop_pause(b->every);
    }
    return !stop_asked();
}
