/* words.h - labels that are words: classes are numbered once all of them were seen.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Words that are all whole numbers come in the order of numbers, others in that of bytes.
 */
#ifndef EG_WORDS_H
#define EG_WORDS_H

#include <engram/data.h>

#include "base/base.h"

typedef struct eg_words {
    eg_arena arena;
    const char **word; /* [n] in the order they were met */
    size_t n, cap;
    int32_t *slot; /* [mask + 1]: a word's number + 1, by its hash; 0: free */
    size_t mask;
} eg_words;

/* The number of a word, a new one if it was not met before. Release with eg_words_fini. */
eg_status eg_words_add(eg_words *w, const char *word, int32_t *out);
void eg_words_fini(eg_words *w);

/* Makes labels of t, which are numbers of words, numbers of classes, and names the classes. */
eg_status eg_words_settle(const eg_words *w, eg_table *t);

#endif
