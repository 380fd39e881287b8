/* engram/tokenizer.h - text as numbers: pieces of a vocabulary, and which text they are of.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A tokenizer does not change once loaded; any number of threads may use it. Two kinds of file
 * are known by what they hold. A JSON list of [piece, score] is a SentencePiece vocabulary:
 * pieces are those of the best total score (Viterbi). Lines of text are BERT's vocab.txt
 * (WordPiece): words are cut at blanks and punctuation, then into the longest pieces from the
 * left, between [CLS] and [SEP]; in lower case and without accents if no piece has an
 * upper-case letter.
 */
#ifndef EG_TOKENIZER_H
#define EG_TOKENIZER_H

#include <engram/base.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_tokenizer eg_tokenizer;

/* EG_ENOENT: there is no such file; EG_EFORMAT: it is of neither kind. */
eg_status eg_tokenizer_load(const char *path, eg_tokenizer **out);
void eg_tokenizer_free(eg_tokenizer *t); /* NULL is fine */

int64_t eg_tokenizer_size(const eg_tokenizer *t);
/* A piece's text; NULL: there is no such number. */
const char *eg_tokenizer_piece(const eg_tokenizer *t, int64_t id);

/* Writes the numbers of the first pieces of a text of so many bytes, room of them at most, and
 * how many into *n. Bytes that are no UTF-8 count as U+FFFD each. Of WordPiece the last one is
 * [SEP] also when the text is cut. */
eg_status eg_tokenizer_encode(const eg_tokenizer *t, const char *text, size_t bytes,
                              size_t room, int32_t *ids, size_t *n);

/* The text of n numbers as people read it, cut to size; numbers below 0 end it. */
void eg_tokenizer_decode(const eg_tokenizer *t, const float *ids, size_t n, size_t size,
                         char *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
