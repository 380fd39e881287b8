/* words.c - a set of words by open addressing, and their order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/words.h"

#include "base/checksum.h"

#include <stdlib.h>
#include <string.h>

void eg_words_fini(eg_words *w)
{
    eg_arena_fini(&w->arena);
    free(w->word);
    free(w->slot);
    *w = (eg_words){0};
}

static int32_t *words_slot(const eg_words *w, const char *word)
{
    size_t at = (size_t)eg_checksum(0, word, strlen(word)) & w->mask;
    while (w->slot[at] && strcmp(w->word[w->slot[at] - 1], word) != 0)
        at = (at + 1) & w->mask;
    return &w->slot[at];
}

/* Keeps at least half of the slots free. */
static eg_status words_widen(eg_words *w)
{
    if (w->slot && w->n * 2 < w->mask)
        return EG_OK;
    free(w->slot);
    w->slot = NULL;
    w->mask = w->mask ? w->mask * 2 + 1 : 63;
    EG_TRY(eg_alloc(w->mask + 1, sizeof *w->slot, &w->slot));
    for (size_t i = 0; i < w->n; i++)
        *words_slot(w, w->word[i]) = (int32_t)i + 1;
    return EG_OK;
}

eg_status eg_words_add(eg_words *w, const char *word, int32_t *out)
{
    enum { MOST = 1000000 };
    EG_TRY(words_widen(w));
    int32_t *slot = words_slot(w, word);
    if (*slot == 0) {
        if (w->n == MOST)
            return eg_fail(EG_EFORMAT, "more than %d different labels", MOST);
        EG_TRY(eg_grow(&w->word, w->n, &w->cap, sizeof *w->word));
        w->word[w->n] = eg_arena_text(&w->arena, "%s", word);
        if (!w->word[w->n])
            return EG_ENOMEM;
        *slot = (int32_t)++w->n;
    }
    *out = *slot - 1;
    return EG_OK;
}

/* A word on its way into order. */
typedef struct words_entry {
    const char *word;
    double number;
    int32_t was;
} words_entry;

static int words_by_bytes(const void *a, const void *b)
{
    return strcmp(((const words_entry *)a)->word, ((const words_entry *)b)->word);
}

static int words_by_number(const void *a, const void *b)
{
    double x = ((const words_entry *)a)->number, y = ((const words_entry *)b)->number;
    return x == y ? words_by_bytes(a, b) : (x > y) - (x < y);
}

static bool words_is_whole(const char *word)
{
    size_t sign = *word == '-', n = strspn(word + sign, "0123456789");
    return n > 0 && n < 16 && !word[sign + n];
}

static eg_status words_order(const eg_words *w, words_entry *list, int32_t *class,
                             const char **name, eg_table *t)
{
    bool whole = true;
    for (size_t i = 0; i < w->n; i++) {
        list[i] = (words_entry){w->word[i], strtod(w->word[i], NULL), (int32_t)i};
        whole &= words_is_whole(w->word[i]);
    }
    qsort(list, w->n, sizeof *list, whole ? words_by_number : words_by_bytes);
    for (size_t i = 0; i < w->n; i++) {
        class[list[i].was] = (int32_t)i;
        name[i] = list[i].word;
    }
    for (int64_t i = 0; i < t->n; i++)
        t->y[i] = class[t->y[i]];
    t->classes = (int64_t)w->n;
    return eg_table_name_classes(t, name);
}

eg_status eg_words_settle(const eg_words *w, eg_table *t)
{
    words_entry *list = NULL;
    int32_t *class = NULL;
    const char **name = NULL;
    eg_status s = eg_alloc(w->n + 1, sizeof *list, &list);
    if (s == EG_OK)
        s = eg_alloc(w->n + 1, sizeof *class, &class);
    if (s == EG_OK)
        s = eg_alloc(w->n + 1, sizeof *name, &name);
    if (s == EG_OK)
        s = words_order(w, list, class, name, t);
    free(list);
    free(class);
    free(name);
    return s;
}
