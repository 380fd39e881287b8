/* unicode.c - text as code points.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/unicode.h"

#include <utf8proc.h>

#include <stdlib.h>
#include <string.h>

eg_status eg_unicode_decode(const char *text, size_t bytes, int32_t **out, size_t *n)
{
    *n = 0;
    EG_TRY(eg_alloc(bytes + 1, sizeof **out, out));
    for (size_t at = 0; at < bytes;) {
        int32_t code;
        utf8proc_ssize_t step =
            utf8proc_iterate((const uint8_t *)text + at, (utf8proc_ssize_t)(bytes - at), &code);
        (*out)[(*n)++] = step > 0 ? code : 0xfffd;
        at += step > 0 ? (size_t)step : 1;
    }
    return EG_OK;
}

/* A form of code points, as code points. */
static eg_status unicode_form(const int32_t *code, size_t n, utf8proc_option_t form,
                              int32_t **out, size_t *n_out)
{
    int32_t *room;
    size_t used = 0, most = 18 * n + 1; /* no character becomes more than 18 */
    EG_TRY(eg_alloc(most, sizeof *room, &room));
    for (size_t i = 0; i < n; i++) {
        int last = 0;
        utf8proc_ssize_t k = utf8proc_decompose_char(
            code[i], room + used, (utf8proc_ssize_t)(most - used), form, &last);
        if (k < 0 || (size_t)k > most - used) {
            free(room);
            return eg_fail(EG_EFORMAT, "a text with the code point %d cannot be normalised",
                           code[i]);
        }
        used += (size_t)k;
    }
    /* Marks in their order: a stable sort of those between characters that begin anew. */
    for (size_t i = 1; i < used; i++)
        for (size_t j = i; j > 0; j--) {
            int a = utf8proc_get_property(room[j - 1])->combining_class;
            int b = utf8proc_get_property(room[j])->combining_class;
            if (b == 0 || a <= b)
                break;
            int32_t swap = room[j];
            room[j] = room[j - 1];
            room[j - 1] = swap;
        }
    if (form & UTF8PROC_COMPOSE) {
        utf8proc_ssize_t k = utf8proc_normalize_utf32(room, (utf8proc_ssize_t)used,
                                                      UTF8PROC_COMPOSE | UTF8PROC_STABLE);
        used = k > 0 ? (size_t)k : 0;
    }
    *out = room;
    *n_out = used;
    return EG_OK;
}

eg_status eg_unicode_nfkc(const int32_t *code, size_t n, int32_t **out, size_t *n_out)
{
    return unicode_form(code, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT, out,
                        n_out);
}

eg_status eg_unicode_nfd(const int32_t *code, size_t n, int32_t **out, size_t *n_out)
{
    return unicode_form(code, n, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, out, n_out);
}

static bool unicode_is_ideograph(int32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

eg_unicode_kind eg_unicode_kind_of(int32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r')
        return EG_UNICODE_SPACE;
    if ((c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
        (c >= 123 && c <= 126))
        return EG_UNICODE_PUNCTUATION;
    if (unicode_is_ideograph(c))
        return EG_UNICODE_IDEOGRAPH;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_ZS:
        return EG_UNICODE_SPACE;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
        return EG_UNICODE_CONTROL;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PO:
    case UTF8PROC_CATEGORY_PS:
        return EG_UNICODE_PUNCTUATION;
    case UTF8PROC_CATEGORY_MN:
        return EG_UNICODE_MARK;
    default:
        return EG_UNICODE_OTHER;
    }
}

int32_t eg_unicode_lower(int32_t code)
{
    return utf8proc_tolower(code);
}

size_t eg_unicode_encode(int32_t code, uint8_t out[4])
{
    utf8proc_ssize_t n = utf8proc_encode_char(code, out);
    if (n > 0)
        return (size_t)n;
    out[0] = '?';
    return 1;
}
