/* rows.h - texts with their labels, row by row, from the files in which people keep them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_ROWS_H
#define EG_SRC_ROWS_H

#include "base/base.h"

/* A row; both are in memory that the reader owns, as long as the call. */
typedef struct eg_text_row {
    const char *label, *text;
    size_t label_bytes, text_bytes;
} eg_text_row;
typedef eg_status (*eg_text_visitor)(void *context, const eg_text_row *row);

typedef enum eg_text_form {
    EG_TEXT_TSV,  /* "label TAB text" */
    EG_TEXT_CSV,  /* label,text,...: columns behind the first are joined by blanks */
    EG_TEXT_JSON, /* a line each: {"label": .., "text": ".."}; labels are texts or numbers */
} eg_text_form;

/* By a name's end, ".gz" apart: .csv, .jsonl and .json, else TSV. */
eg_text_form eg_text_form_of(const char *name);

/* Calls visit for every row, in order; empty lines are passed over, and a CSV's first line if
 * its first column is called "label", "class" or "category". The first error ends it.
 * EG_EFORMAT names the line. */
eg_status eg_text_rows(const char *bytes, size_t n, eg_text_form form, eg_text_visitor visit,
                       void *context);

#endif
