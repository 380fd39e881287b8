/* http_answer_fuzz.c - an answer is the same in whatever pieces it comes, and never too long.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte says how long a piece is, the second how long a body may be.
 */
#include "fuzz/fuzz.h"

#include "io/http_answer.h"

#include <string.h>

/* Reads as a client does: until the answer is there, or the connection has ended. */
static eg_status read_in(eg_answer *a, size_t max, const uint8_t *bytes, size_t n, size_t piece)
{
    size_t used;
    eg_answer_init(a, max);
    for (size_t at = 0; at < n && a->state != EG_ANSWER_DONE; at += used) {
        size_t m = n - at < piece ? n - at : piece;
        EG_TRY(eg_answer_read(a, bytes + at, m, &used));
        EG_ASSERT(used <= m && (used == m || a->state == EG_ANSWER_DONE));
    }
    return eg_answer_end(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    eg_answer whole, pieces;
    if (n < 2)
        return 0;
    size_t piece = 1 + bytes[0], max = 4 * (size_t)bytes[1];
    bytes += 2, n -= 2;
    eg_status s = read_in(&whole, max, bytes, n, n);
    eg_status again = read_in(&pieces, max, bytes, n, piece);
    EG_ASSERT((s == EG_OK) == (again == EG_OK));
    EG_ASSERT(whole.n <= max && whole.cap <= max + 1 && pieces.cap <= max + 1);
    if (s == EG_OK) {
        EG_ASSERT(whole.code == pieces.code && whole.closes == pieces.closes);
        EG_ASSERT(whole.code >= 200 && whole.code < 600 && whole.n == pieces.n);
        EG_ASSERT(whole.n == 0 || memcmp(whole.bytes, pieces.bytes, whole.n + 1) == 0);
    }
    eg_answer_fini(&whole);
    eg_answer_fini(&pieces);
    return 0;
}
