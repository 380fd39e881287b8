/* ledger_lines.c - the lines of a ledger's file, for who writes them and who reads them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/store/ledger_private.h"

#include "base/checksum.h"

void eg_ledger_print_head(const ledger_block *b, uint64_t *sum, char out[LEDGER_HEAD + 1])
{
    int n = snprintf(out, LEDGER_HEAD + 1, "commit %10lld rows %10lld extra %10lld",
                     (long long)b->commit, (long long)b->n_rows, (long long)b->n_extra);
    EG_ASSERT(n == LEDGER_HEAD_TEXT);
    *sum = eg_checksum(*sum, out, LEDGER_HEAD_TEXT);
    snprintf(out + n, LEDGER_HEAD + 1 - LEDGER_HEAD_TEXT, " head %016llx\n",
             (unsigned long long)*sum);
}

void eg_ledger_print_row(int64_t owner, const ledger_entry *e, char out[LEDGER_ROW + 1])
{
    int n =
        snprintf(out, LEDGER_ROW + 1, "%9lld %9lu %13lld %016llx\n", (long long)owner,
                 (unsigned long)e->version, (long long)e->bytes, (unsigned long long)e->digest);
    EG_ASSERT(n == LEDGER_ROW);
}

void eg_ledger_print_tail(uint64_t sum, char out[LEDGER_TAIL + 1])
{
    snprintf(out, LEDGER_TAIL + 1, "sum %016llx\n", (unsigned long long)sum);
}

int64_t eg_ledger_block_bytes(const ledger_block *b)
{
    return LEDGER_HEAD + b->n_rows * LEDGER_ROW + b->n_extra + 1 + LEDGER_TAIL;
}
