/* shelf.h - things that stay under keys as long as their owner: programs, networks and others.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Making a plan or a network takes long, so whoever needs one again and again (a worker's
 * parts, a generator) keeps it on a shelf. One thread at a time.
 */
#ifndef EG_SHELF_H
#define EG_SHELF_H

#include <engram/learner.h>
#include <engram/program.h>

typedef struct eg_shelf_item {
    char *key;
    void *thing;         /* NULL until its first user has made it */
    void (*end)(void *); /* ends it */
    eg_recorder record;  /* what a program calls, */
    void *context;       /* with its caller's newest context */
} eg_shelf_item;

typedef struct eg_shelf {
    eg_shelf_item **items;
    size_t n, cap;
    eg_room *room; /* that its programs share; NULL: none */
} eg_shelf;

void eg_shelf_fini(eg_shelf *s);

/* The item of a key, empty if it is new. A key names things of one kind only. */
eg_status eg_shelf_find(eg_shelf *s, const char *key, eg_shelf_item **out);

/* A program, made when it is first asked for; context is what its recorder gets from now on. */
eg_status eg_shelf_program(eg_shelf *s, const char *key, eg_recorder record, void *context,
                           eg_program **out);

/* A network, made when it is first asked for. */
eg_status eg_shelf_learner(eg_shelf *s, const char *key, const eg_params *table,
                           eg_learner **out);

#endif
