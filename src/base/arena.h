/* arena.h - many small objects that die together.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory is zeroed, aligned for any type, never moves, and is given back all at once.
 */
#ifndef EG_ARENA_H
#define EG_ARENA_H

#include "base/base.h"

typedef struct eg_arena {
    struct eg_arena_block *blocks;
} eg_arena;

/* NULL when memory is out (the error text says so). */
void *eg_arena_alloc(eg_arena *a, size_t bytes);
char *eg_arena_text(eg_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void eg_arena_fini(eg_arena *a);

#endif
