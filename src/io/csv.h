/* csv.h - rows of text from comma-separated files, as RFC 4180 has them and spreadsheets write.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fields may be quoted, with "" for a quote, and hold separators and line ends then. Rows end
 * with LF, CR LF or CR; empty lines and a byte order mark are passed over. Fields are slices of
 * the file's bytes, which the reader changes as it goes: nothing is copied.
 */
#ifndef EG_CSV_H
#define EG_CSV_H

#include "base/base.h"

typedef struct eg_csv {
    const char *name; /* borrowed, for error texts */
    char *at, *end;   /* what is left */
    char separator;
    int64_t line;      /* of the last row's begin, from 1 on */
    int64_t next_line; /* of what is left */
    char **field;      /* [n], the last row's; each ends in a zero */
    size_t n, cap;
} eg_csv;

/* Begins to read bytes, which must be followed by a zero byte that n does not count, stay
 * there, and are changed. separator 0: the one of , ; and tab that the first line has most of,
 * outside quotes. Release with eg_csv_end. EG_EFORMAT: a zero byte, so that it is no text. */
eg_status eg_csv_begin(const char *name, char *bytes, size_t n, char separator, eg_csv *out);
void eg_csv_end(eg_csv *c);

/* Reads the next row into field and n; *more is false at the end. EG_EFORMAT names the line: a
 * quote that is not closed, or text behind a closing one. */
eg_status eg_csv_next(eg_csv *c, bool *more);

#endif
