/* guard.h - moves every value of a plan to memory between protected pages, so that a kernel
 * that reads or writes outside its buffers crashes: sanitizers do not see all of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_GUARD_H
#define EG_TEST_GUARD_H

#include "test.h"

#include "engine/graph/plan_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The mappings of one plan. */
typedef struct guard {
    struct {
        char *at;
        size_t bytes;
    } * maps;
    size_t n;
} guard;

/* Memory that ends at a protected page and, size permitting, begins at one: exactly at its end
 * if `end`, else exactly at its beginning. NULL when the machine gives none. */
static float *guard_map(guard *g, size_t bytes, bool end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    int zero = open("/dev/zero", O_RDWR);
    char *at = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE, zero, 0);
    close(zero);
    if (at == MAP_FAILED)
        return NULL;
    g->maps[g->n].at = at;
    g->maps[g->n++].bytes = room + 2 * page;
    if (mprotect(at + page, room, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    return (float *)(void *)(at + page + (end ? room - bytes : 0));
}

/* Moves the values of a compiled plan that lie in its arena. */
static guard guard_plan(eg_plan *p, bool end)
{
    guard g = {calloc(p->n_values + 1, sizeof *g.maps), 0};
    assert_non_null(g.maps);
    for (size_t i = 0; i < p->n_values; i++)
        if (!p->values[i]->within && p->values[i]->home == EG_IN_ARENA) {
            p->values[i]->data = guard_map(&g, p->values[i]->bytes, end);
            assert_non_null(p->values[i]->data);
        }
    for (size_t i = 0; i < p->n_values; i++) {
        const eg_value *root = eg_plan_root(p->values[i]);
        if (root->home == EG_IN_ARENA)
            p->values[i]->data = root->data;
    }
    p->bound = false; /* steps that keep pointers take the new ones */
    return g;
}

static void guard_free(guard *g)
{
    for (size_t i = 0; i < g->n; i++)
        munmap(g->maps[i].at, g->maps[i].bytes);
    free(g->maps);
}

#endif
