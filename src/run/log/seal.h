/* seal.h - the running checksum of a log, at the end of each of its lines.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A line is one JSON object whose last member is "sum": sixteen hexadecimal digits, the
 * checksum (base/checksum.h) of the line up to that member, which goes on from the sum of the
 * line before. So a changed bit, a lost line and lines in another order all show, and for other
 * readers the sum is a member like any other. Logs of older programs have no sums: a log has
 * them in all of its lines or in none.
 */
#ifndef EG_SEAL_H
#define EG_SEAL_H

#include "base/base.h"

enum { EG_SEAL_SIZE = sizeof ",\"sum\":\"0123456789abcdef\"" - 1 };

/* A zeroed one stands before the first line. */
typedef struct eg_seal {
    uint64_t sum;
    size_t lines;
    bool bare; /* the lines so far have no sums */
} eg_seal;

/* Adds its seal to a line of n bytes that ends in '}'; there is room for EG_SEAL_SIZE more. In
 * a bare log nothing is added. Returns the new length. */
size_t eg_seal_line(eg_seal *s, char *line, size_t n);

/* EG_EFORMAT: the line's sum is not that of the line, or a line has none where others do. */
eg_status eg_seal_check(eg_seal *s, const char *line, size_t n);

#endif
