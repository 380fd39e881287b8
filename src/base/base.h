/* base.h - what every source file of the library may use beside the public base.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_BASE_H
#define EG_SRC_BASE_H

#include <engram/base.h>

/* Every kernel may assume this alignment of a buffer's start. */
#define EG_ALIGN 64

/* A bug, not bad input: says where and aborts, in every build. */
#define EG_ASSERT(condition)                                                                   \
    do {                                                                                       \
        if (!(condition))                                                                      \
            eg_bug(__FILE__, __LINE__, #condition);                                            \
    } while (0)

_Noreturn void eg_bug(const char *file, int line, const char *condition);

/* Makes room for one more element: doubles *items (n used, *cap there) when it is full. */
eg_status eg_grow(void *items, size_t n, size_t *cap, size_t size);

/* The bytes of the character of UTF-8 that stands there; 0: there is none, or it ends a line or
 * steers a terminal. */
size_t eg_plain_character(const char *at);

/* Whether none of n values is NaN or infinite. */
bool eg_all_finite(const float *values, size_t n);

/* An arena: many small objects that die together. Memory is zeroed, aligned for any type, never
 * moves, and is given back all at once. */
typedef struct eg_arena {
    struct eg_arena_block *blocks;
} eg_arena;

/* NULL when memory is out (the error text says so). */
void *eg_arena_alloc(eg_arena *a, size_t bytes);
char *eg_arena_text(eg_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void eg_arena_fini(eg_arena *a);

static inline size_t eg_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

#endif
