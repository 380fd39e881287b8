/* http_answer.c - lines of a head, and a body by length, in pieces, or to the end.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ANSWER_NO_BODY = 204, ANSWER_OLD = 304 };

void eg_answer_init(eg_answer *a, size_t max)
{
    *a = (eg_answer){.max = max};
}

void eg_answer_fini(eg_answer *a)
{
    free(a->bytes);
    a->bytes = NULL;
    a->n = a->cap = 0;
}

static eg_status answer_is_none(const char *why)
{
    return eg_fail(EG_EIO, "what came is no answer of HTTP/1.1: %s", why);
}

static eg_status answer_too_long(const eg_answer *a)
{
    return eg_fail(EG_EFORMAT, "an answer has more than %zu bytes", a->max);
}

/* Room for n more bytes of the body, and the zero. */
static eg_status answer_room(eg_answer *a, size_t n)
{
    if (n > a->max - a->n)
        return answer_too_long(a);
    if (n < a->cap - a->n)
        return EG_OK;
    size_t cap = 2 * a->cap > a->n + n + 1 ? 2 * a->cap : a->n + n + 1;
    cap = cap > a->max + 1 ? a->max + 1 : cap;
    unsigned char *more = realloc(a->bytes, cap);
    if (!more)
        return eg_fail(EG_ENOMEM, "no memory for %zu bytes", cap);
    a->bytes = more;
    a->cap = cap;
    return EG_OK;
}

/* Takes bytes of the body that are at hand, `left` of them at most. */
static eg_status answer_body(eg_answer *a, const char *bytes, size_t n, size_t *used)
{
    n = a->left < n ? (size_t)a->left : n;
    EG_TRY(answer_room(a, n));
    memcpy(a->bytes + a->n, bytes, n);
    a->n += n;
    a->bytes[a->n] = 0;
    a->left -= n;
    *used = n;
    if (a->left == 0)
        a->state = a->pieces ? EG_ANSWER_GAP : EG_ANSWER_DONE;
    return EG_OK;
}

/* "HTTP/1.1 200 OK" */
static eg_status answer_status(eg_answer *a)
{
    const char *l = a->line;
    bool is = strncmp(l, "HTTP/1.", 7) == 0 && (l[7] == '0' || l[7] == '1') && l[8] == ' ' &&
              strspn(l + 9, "0123456789") == 3 && (!l[12] || l[12] == ' ') && l[9] > '0' &&
              l[9] < '6';
    if (!is)
        return answer_is_none("it does not begin like one");
    a->code = (l[9] - '0') * 100 + (l[10] - '0') * 10 + (l[11] - '0');
    a->closes = l[7] == '0';
    a->state = EG_ANSWER_HEADERS;
    return EG_OK;
}

/* A number of these digits, to the end of the text; false: it is none, or beyond 2^60. */
static bool answer_number(const char *text, unsigned base, uint64_t *out)
{
    static const char digits[] = "0123456789abcdef";
    *out = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        char small = *text >= 'A' && *text <= 'F' ? (char)(*text - 'A' + 'a') : *text;
        const char *at = memchr(digits, small, base);
        if (!at || *out >> 56)
            return false;
        *out = *out * base + (uint64_t)(at - digits);
    }
    return true;
}

static eg_status answer_length(eg_answer *a, const char *value)
{
    uint64_t length;
    if (!answer_number(value, 10, &length) || a->pieces || (a->sized && a->left != length))
        return answer_is_none("its length makes no sense");
    a->sized = true;
    a->left = length;
    return EG_OK;
}

/* "Name: value"; of most nothing is wanted. */
static eg_status answer_header(eg_answer *a)
{
    char *value = strchr(a->line, ':');
    if (!value || value == a->line)
        return answer_is_none("a line of its head has no name");
    *value++ = 0;
    value += strspn(value, " \t");
    for (size_t n = strlen(value); n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t');)
        value[--n] = 0;
    bool length = strcasecmp(a->line, "Content-Length") == 0;
    bool coded = strcasecmp(a->line, "Transfer-Encoding") == 0;
    if ((length || coded) && a->cut)
        return answer_is_none("its length makes no sense");
    if (length)
        return answer_length(a, value);
    if (coded && (strcasecmp(value, "chunked") != 0 || a->sized || a->pieces))
        return answer_is_none("it is coded in a way that was not asked for");
    if (coded)
        a->pieces = true;
    if (strcasecmp(a->line, "Connection") == 0)
        a->closes = a->closes || strcasecmp(value, "close") == 0;
    return EG_OK;
}

/* The empty line behind the head: what follows is known now. */
static eg_status answer_begin(eg_answer *a)
{
    if (a->code < 200) { /* the answer itself is still to come */
        *a = (eg_answer){.max = a->max, .n_head = a->n_head};
        return EG_OK;
    }
    if (a->code == ANSWER_NO_BODY || a->code == ANSWER_OLD) {
        a->state = EG_ANSWER_DONE;
    } else if (a->pieces) {
        a->state = EG_ANSWER_SIZE;
    } else if (a->sized) {
        a->state = a->left > 0 ? EG_ANSWER_LENGTH : EG_ANSWER_DONE;
    } else {
        a->state = EG_ANSWER_TO_END;
        a->left = UINT64_MAX;
        a->closes = true;
    }
    return a->state == EG_ANSWER_LENGTH && a->left > a->max ? answer_too_long(a) : EG_OK;
}

/* "1f;of=no-use": how long the next piece is. */
static eg_status answer_size(eg_answer *a)
{
    a->line[strcspn(a->line, "; \t")] = 0;
    if (a->cut || !answer_number(a->line, 16, &a->left))
        return answer_is_none("the length of a piece makes no sense");
    a->state = a->left > 0 ? EG_ANSWER_LENGTH : EG_ANSWER_TRAILER;
    return a->left > a->max - a->n ? answer_too_long(a) : EG_OK;
}

/* A line is whole, without its end. */
static eg_status answer_line(eg_answer *a)
{
    bool empty = !*a->line;
    switch (a->state) {
    case EG_ANSWER_STATUS:
        return answer_status(a);
    case EG_ANSWER_HEADERS:
        return empty ? answer_begin(a) : answer_header(a);
    case EG_ANSWER_SIZE:
        return answer_size(a);
    case EG_ANSWER_GAP:
        a->state = EG_ANSWER_SIZE;
        return empty ? EG_OK : answer_is_none("a piece is longer than it says");
    default: /* of a trailer only its end is wanted */
        if (empty)
            a->state = EG_ANSWER_DONE;
        return EG_OK;
    }
}

/* Takes bytes up to the end of a line. Those of a line that is too long are counted, not kept;
 * all lines together, of the head and between pieces, have a bound: few bytes of a body may not
 * bring many of others.
 */
static eg_status answer_lines(eg_answer *a, const char *bytes, size_t n, size_t *used)
{
    const char *end = memchr(bytes, '\n', n);
    size_t take = end ? (size_t)(end - bytes) : n, room = EG_HTTP_LINE - 1 - a->n_line;
    *used = take + (end != NULL);
    if (memchr(bytes, 0, take))
        return answer_is_none("a line of it has a zero");
    a->n_head += *used;
    if (a->n_head > EG_HTTP_HEAD + a->n / 64)
        return eg_fail(EG_EFORMAT, "the head of an answer has more than %d bytes",
                       EG_HTTP_HEAD);
    a->cut |= take > room;
    take = take > room ? room : take;
    memcpy(a->line + a->n_line, bytes, take);
    a->n_line += take;
    if (!end)
        return EG_OK;
    if (a->n_line > 0 && a->line[a->n_line - 1] == '\r')
        a->n_line--;
    a->line[a->n_line] = 0;
    a->n_line = 0;
    eg_status s = answer_line(a);
    a->cut = false;
    return s;
}

eg_status eg_answer_read(eg_answer *a, const void *bytes, size_t n, size_t *used)
{
    *used = 0;
    while (*used < n && a->state != EG_ANSWER_DONE) {
        const char *at = (const char *)bytes + *used;
        size_t took;
        bool body = a->state == EG_ANSWER_LENGTH || a->state == EG_ANSWER_TO_END;
        EG_TRY(body ? answer_body(a, at, n - *used, &took)
                    : answer_lines(a, at, n - *used, &took));
        *used += took;
    }
    return EG_OK;
}

eg_status eg_answer_end(eg_answer *a)
{
    if (a->state == EG_ANSWER_TO_END)
        a->state = EG_ANSWER_DONE;
    if (a->state == EG_ANSWER_DONE)
        return EG_OK;
    if (a->state == EG_ANSWER_STATUS && a->n_line == 0)
        return eg_fail(EG_EIO, "the server hung up without an answer");
    return eg_fail(EG_EIO, "the server hung up in the middle of an answer");
}
