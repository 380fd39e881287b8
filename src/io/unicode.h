/* unicode.h - text as code points: decoded, normalised, told apart; utf8proc behind one file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_UNICODE_H
#define EG_UNICODE_H

#include "base/base.h"

typedef enum eg_unicode_kind {
    EG_UNICODE_OTHER,
    EG_UNICODE_SPACE,       /* separators of words, tabs and ends of lines among them */
    EG_UNICODE_CONTROL,     /* controls, formats, what is unassigned or of private use */
    EG_UNICODE_PUNCTUATION, /* also the signs of ASCII that are none: $ + < ^ ` | ~ */
    EG_UNICODE_MARK,        /* that takes no room: accents */
    EG_UNICODE_IDEOGRAPH,   /* Chinese characters, words of their own */
} eg_unicode_kind;

/* Decodes UTF-8; a byte that begins no character is U+FFFD. Free *out, [n]. */
eg_status eg_unicode_decode(const char *text, size_t bytes, int32_t **out, size_t *n);

/* The forms NFKC and NFD of code points. Free *out. */
eg_status eg_unicode_nfkc(const int32_t *code, size_t n, int32_t **out, size_t *n_out);
eg_status eg_unicode_nfd(const int32_t *code, size_t n, int32_t **out, size_t *n_out);

eg_unicode_kind eg_unicode_kind_of(int32_t code);
int32_t eg_unicode_lower(int32_t code);

/* Writes a code point as UTF-8; returns its bytes, 1 to 4. */
size_t eg_unicode_encode(int32_t code, uint8_t out[4]);

#endif
