/* crew.h - the workers of one rank: threads that carry out what they are given.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Duties are begun in the order in which they are given, and come back when they are done. One
 * thread gives and takes; when one is done it is woken (eg_cluster_wake).
 */
#ifndef EG_CREW_H
#define EG_CREW_H

#include "run/transport/message.h"
#include "run/transport/transport.h"

/* A turn or a test, and what it came to. Free with eg_duty_free. */
typedef struct eg_duty {
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
    struct eg_duty *next;
} eg_duty;
void eg_duty_free(eg_duty *t); /* NULL is fine */

typedef struct eg_crew eg_crew;

/* workers: [n], theirs until the crew is closed. */
eg_status eg_crew_open(eg_worker *workers, int n, eg_cluster *wakes, eg_crew **out);
void eg_crew_give(eg_crew *c, eg_duty *take);
eg_duty *eg_crew_take(eg_crew *c); /* one that is done; NULL: none at the moment */
bool eg_crew_is_idle(eg_crew *c);  /* nothing is waiting or under way */
void eg_crew_close(eg_crew *c);    /* waits for what is under way; NULL is fine */

#endif
