/* suggest.c - how near two words are: by letters changed, or by the parts of dotted names.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/suggest.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SUGGEST_LONGEST = 63, SUGGEST_LETTER = 10, SUGGEST_FAR = 1 << 20 };

/* Words that mean the same are written alike: no capitals, no dashes. False: it is too long. */
static bool suggest_fold(const char *word, char out[SUGGEST_LONGEST + 1])
{
    size_t n = strlen(word);
    if (n > SUGGEST_LONGEST)
        return false;
    for (size_t i = 0; i <= n; i++)
        out[i] = word[i] == '-' ? '_' : (char)tolower((unsigned char)word[i]);
    return true;
}

static int suggest_min(int a, int b)
{
    return a < b ? a : b;
}

/* Letters to change, add, leave out or exchange with their neighbour to make b of a. */
static int suggest_distance(const char *a, const char *b)
{
    int rows[3][SUGGEST_LONGEST + 1]; /* the last two rows of the table, and the one made now */
    int n = (int)strlen(b), *before = rows[0], *last = rows[1], *now = rows[2];
    for (int k = 0; k <= n; k++)
        last[k] = k;
    for (int i = 1; a[i - 1]; i++) {
        now[0] = i;
        for (int k = 1; k <= n; k++) {
            bool same = a[i - 1] == b[k - 1];
            now[k] = suggest_min(last[k - 1] + !same, 1 + suggest_min(last[k], now[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                now[k] = suggest_min(now[k], before[k - 2] + 1);
        }
        int *spare = before;
        before = last, last = now, now = spare;
    }
    return last[n];
}

/* What a word of these letters costs; the more letters there are, the more may be wrong. A
 * common beginning up to a dot does not count. */
static int suggest_by_letters(const char *word, const char *candidate)
{
    for (size_t n = strcspn(word, "."); word[n] && strncmp(word, candidate, n + 1) == 0;
         n = strcspn(word, "."))
        word += n + 1, candidate += n + 1;
    size_t n = strlen(word);
    int most = n < 6 ? n > 1 : (int)n / 3, distance = suggest_distance(word, candidate);
    if (distance <= most)
        return distance * SUGGEST_LETTER;
    return n > 2 && strncmp(word, candidate, n) == 0 ? 5 * SUGGEST_LETTER : SUGGEST_FAR;
}

/* Dotted names: "a.b.c" for "b.c" or "a.c" is one mistake, for "x.c" more than two. */
static int suggest_by_parts(const char *word, const char *candidate)
{
    const char *end = strrchr(word, '.'), *of = strrchr(candidate, '.');
    size_t head = strcspn(word, "."), n = strlen(word), m = strlen(candidate);
    if (m > n && candidate[m - n - 1] == '.' && strcmp(candidate + m - n, word) == 0)
        return SUGGEST_LETTER;
    if (!end || !of || strcmp(end, of) != 0)
        return SUGGEST_FAR;
    bool same_head = head == strcspn(candidate, ".") && strncmp(word, candidate, head) == 0;
    return same_head ? SUGGEST_LETTER : 5 * SUGGEST_LETTER / 2;
}

eg_suggestion eg_suggest(const char *word)
{
    return (eg_suggestion){.word = word, .cost = SUGGEST_FAR};
}

void eg_suggest_offer(eg_suggestion *s, const char *candidate)
{
    char word[SUGGEST_LONGEST + 1] = "", other[SUGGEST_LONGEST + 1] = "";
    if (!suggest_fold(s->word, word) || !suggest_fold(candidate, other))
        return;
    int cost = suggest_min(suggest_by_letters(word, other), suggest_by_parts(word, other));
    if (cost >= s->cost)
        return;
    s->cost = cost;
    snprintf(s->best, sizeof s->best, "%s", candidate);
}

const char *eg_suggest_words(eg_suggestion *s)
{
    s->words[0] = 0;
    if (*s->best)
        snprintf(s->words, sizeof s->words, " (did you mean '%s'?)", s->best);
    return s->words;
}
