/* text_rows_fuzz.c - the readers of TSV, CSV and JSON lines on any bytes; the first says which.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/text/rows.h"

/* Every byte of a row is there to be read. */
static eg_status visit(void *context, const eg_text_row *row)
{
    unsigned *sum = context;
    EG_ASSERT(row->label_bytes > 0);
    for (size_t i = 0; i < row->label_bytes; i++)
        *sum += (unsigned char)row->label[i];
    for (size_t i = 0; i < row->text_bytes; i++)
        *sum += (unsigned char)row->text[i];
    return EG_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned sum = 0;
    if (size < 1)
        return 0;
    (void)eg_text_rows((const char *)data + 1, size - 1, (eg_text_form)(data[0] % 3), visit,
                       &sum);
    return 0;
}
