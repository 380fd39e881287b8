/* arena.c - a list of blocks, each twice as large as the last.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct eg_arena_block {
    struct eg_arena_block *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char bytes[];
} arena_block;

static arena_block *arena_block_new(size_t size)
{
    arena_block *b = size > SIZE_MAX / 2 ? NULL : calloc(1, sizeof *b + size);
    if (!b)
        eg_fail(EG_ENOMEM, "cannot allocate %zu bytes", size);
    else
        b->size = size;
    return b;
}

void *eg_arena_alloc(eg_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 4) {
        eg_fail(EG_ENOMEM, "cannot allocate %zu bytes", bytes);
        return NULL;
    }
    size_t need = eg_round_up(bytes ? bytes : 1, _Alignof(max_align_t));
    if (!a->blocks || a->blocks->size - a->blocks->used < need) {
        size_t size = a->blocks ? a->blocks->size * 2 : 4096;
        arena_block *b = arena_block_new(size > need ? size : need);
        if (!b)
            return NULL;
        b->next = a->blocks;
        a->blocks = b;
    }
    void *p = a->blocks->bytes + a->blocks->used;
    a->blocks->used += need;
    return p;
}

char *eg_arena_text(eg_arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = eg_arena_alloc(a, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void eg_arena_fini(eg_arena *a)
{
    while (a->blocks) {
        arena_block *b = a->blocks;
        a->blocks = b->next;
        free(b);
    }
}
