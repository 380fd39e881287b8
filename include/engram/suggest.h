/* engram/suggest.h - "did you mean": the nearest to a word of those there are.
 * SPDX-License-Identifier: Apache-2.0
 *
 *     eg_suggestion s = eg_suggest("scenario.alpha");
 *     for (...)
 *         eg_suggest_offer(&s, name);
 *     eg_fail(EG_ENOENT, "there is no setting '%s'%s", word, eg_suggest_words(&s));
 */
#ifndef EG_SUGGEST_H
#define EG_SUGGEST_H

#include <engram/base.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_suggestion {
    const char *word; /* borrowed */
    int cost;         /* of the nearest so far */
    char best[128];   /* "" if nothing is near */
    char words[192];
} eg_suggestion;

eg_suggestion eg_suggest(const char *word);

/* A word there is. Near are those that differ by a few letters or that the word begins, and
 * dotted names of which the word is the end or lacks the middle: "alpha" and "scenario.alpha"
 * are both near "scenario.partition.alpha". Of equally near ones the first counts. */
void eg_suggest_offer(eg_suggestion *s, const char *candidate);

/* " (did you mean 'x'?)", or "" when nothing is near; valid as long as s. */
const char *eg_suggest_words(eg_suggestion *s);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
