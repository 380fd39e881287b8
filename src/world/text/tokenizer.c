/* tokenizer.c - vocabularies from files, and what both kinds of tokenizer have in common.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/gz.h"
#include "io/json.h"
#include "io/unicode.h"
#include "world/text/vocab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of a SentencePiece vocabulary that are no text: unknown, sentence ends, unused. */
enum { TOKENIZER_RESERVED = 6, TOKENIZER_MOST_BYTES = 64 << 20 };

static eg_status tokenizer_pieces(eg_tokenizer *t, const eg_json *list)
{
    for (size_t i = 0; i < eg_json_count(list); i++) {
        const eg_json *row = eg_json_at(list, i);
        const char *piece;
        double score = 0; /* null, as the colon's in the encoder's own file, counts as 0 */
        const eg_json *number = eg_json_at(row, 1);
        if (eg_json_count(row) != 2 || eg_json_text(eg_json_at(row, 0), &piece) != EG_OK ||
            (eg_json_kind_of(number) != EG_JSON_NULL &&
             eg_json_real(number, &score) != EG_OK) ||
            !isfinite(score))
            return eg_fail(EG_EFORMAT, "entry %zu is no [piece, score]", i);
        EG_TRY(eg_vocab_add(&t->vocab, piece, score, i >= TOKENIZER_RESERVED));
    }
    return t->vocab.n > TOKENIZER_RESERVED
               ? EG_OK
               : eg_fail(EG_EFORMAT, "there are %zu pieces, of which the first %d are reserved",
                         t->vocab.n, TOKENIZER_RESERVED);
}

static eg_status tokenizer_special(const eg_tokenizer *t, const char *piece, int32_t *out)
{
    *out = eg_vocab_find(&t->vocab, piece);
    return *out >= 0 ? EG_OK : eg_fail(EG_EFORMAT, "the vocabulary has no piece '%s'", piece);
}

/* Lines of pieces; text is cut into them. */
static eg_status tokenizer_lines(eg_tokenizer *t, char *text)
{
    t->wordpiece = t->lower = true;
    for (char *line = text, *next; *line; line = next) {
        size_t n = strcspn(line, "\n");
        next = line + n + (line[n] == '\n');
        line[n] = 0;
        if (n && line[n - 1] == '\r')
            line[n - 1] = 0;
        EG_TRY(eg_vocab_add(&t->vocab, line, 0, true));
        if (*line != '[' && line[strcspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")])
            t->lower = false;
    }
    EG_TRY(tokenizer_special(t, "[UNK]", &t->unknown));
    EG_TRY(tokenizer_special(t, "[CLS]", &t->begin));
    return tokenizer_special(t, "[SEP]", &t->end);
}

static eg_status tokenizer_fill(eg_tokenizer *t, const uint8_t *bytes, size_t n)
{
    bool named = n > 1 && bytes[1] >= 'A' && bytes[1] <= 'Z'; /* "[PAD]", not "[[" */
    if (n > 0 && *bytes == '[' && !named) {
        eg_json *list;
        EG_TRY(eg_json_parse(bytes, n, &list));
        eg_status s = tokenizer_pieces(t, list);
        eg_json_free(list);
        return s;
    }
    char *text;
    EG_TRY(eg_alloc(n + 1, 1, &text));
    if (n)
        memcpy(text, bytes, n);
    eg_status s = tokenizer_lines(t, text);
    free(text);
    return s;
}

eg_status eg_tokenizer_parse(const uint8_t *bytes, size_t n, const char *path,
                             eg_tokenizer **out)
{
    eg_tokenizer *t;
    *out = NULL;
    EG_TRY(eg_alloc(1, sizeof *t, &t));
    eg_status s = tokenizer_fill(t, bytes, n);
    if (s == EG_OK)
        *out = t;
    else
        eg_tokenizer_free(t);
    return eg_blame(s, "%s", path);
}

eg_status eg_tokenizer_load(const char *path, eg_tokenizer **out)
{
    uint8_t *bytes;
    size_t n;
    *out = NULL;
    EG_TRY(eg_gz_load(path, TOKENIZER_MOST_BYTES, &bytes, &n));
    eg_status s = eg_tokenizer_parse(bytes, n, path, out);
    free(bytes);
    return s;
}

void eg_tokenizer_free(eg_tokenizer *t)
{
    if (!t)
        return;
    eg_vocab_fini(&t->vocab);
    free(t);
}

int64_t eg_tokenizer_size(const eg_tokenizer *t)
{
    return (int64_t)t->vocab.n;
}

const char *eg_tokenizer_piece(const eg_tokenizer *t, int64_t id)
{
    return id >= 0 && id < (int64_t)t->vocab.n ? t->vocab.piece[id] : NULL;
}

eg_status eg_tokenizer_encode(const eg_tokenizer *t, const char *text, size_t bytes,
                              size_t room, int32_t *ids, size_t *n)
{
    int32_t *code = NULL, *all = NULL;
    size_t n_code = 0, n_all = 0;
    *n = 0;
    eg_status s = eg_unicode_decode(text, bytes, &code, &n_code);
    if (s == EG_OK)
        s = (t->wordpiece ? eg_wordpiece_encode : eg_unigram_encode)(t, code, n_code, &all,
                                                                     &n_all);
    if (s == EG_OK) {
        *n = n_all < room ? n_all : room;
        if (*n)
            memcpy(ids, all, *n * sizeof *ids);
        if (t->wordpiece && *n)
            ids[*n - 1] = t->end;
    }
    free(all);
    free(code);
    return s;
}

/* Appends a piece as people read it: a blank for its mark, nothing for "##". */
static size_t tokenizer_show(const eg_tokenizer *t, const char *piece, bool first, size_t room,
                             char *out)
{
    static const char mark[] = "\xe2\x96\x81";
    bool joined = t->wordpiece && strncmp(piece, "##", 2) == 0;
    bool blank = t->wordpiece ? !joined : strncmp(piece, mark, 3) == 0;
    if (joined)
        piece += 2;
    if (!t->wordpiece && blank)
        piece += 3;
    int n = snprintf(out, room, "%s%s", blank && !first ? " " : "", piece);
    return n > 0 && (size_t)n < room ? (size_t)n : room ? room - 1 : 0;
}

void eg_tokenizer_decode(const eg_tokenizer *t, const float *ids, size_t n, size_t size,
                         char *out)
{
    size_t used = 0;
    if (!size)
        return;
    *out = 0;
    for (size_t i = 0; i < n && ids[i] >= 0 && used + 1 < size; i++) {
        const char *piece = eg_tokenizer_piece(t, (int64_t)ids[i]);
        used += tokenizer_show(t, piece ? piece : "?", i == 0, size - used, out + used);
    }
}
