/* ledger_fuzz.c - the file of a ledger, of any bytes: what is read would be written alike.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz/fuzz.h"

#include "base/checksum.h"
#include "run/store/ledger_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void try_file(uint8_t *bytes, size_t n)
{
    eg_ledger *l;
    FILE *f = n > 0 ? fmemopen(bytes, n, "rb") : NULL;
    if (!f)
        return;
    EG_ASSERT(eg_ledger_new("fuzz", &l) == EG_OK);
    if (eg_ledger_read(l, f) == EG_OK) {
        EG_ASSERT(l->n_first > 0 && l->n_first <= l->n_bytes && l->n_bytes <= (int64_t)n);
        EG_ASSERT(l->extra && eg_json_kind_of(l->extra) == EG_JSON_OBJECT);
        EG_ASSERT(l->n_commits > 0 && l->n_entries <= EG_MAX_OWNER + 1);
        for (size_t i = 0; i < l->n_entries; i++) {
            const ledger_entry *e = &l->entries[i];
            EG_ASSERT(e->version == e->committed && e->version <= EG_MAX_VERSION);
            EG_ASSERT(e->bytes >= 0 && (e->version > 0 || e->bytes == 0));
        }
    }
    eg_ledger_free(l);
    fclose(f);
}

/* Chance never finds a checksum, so each input is also tried with right ones, block by block
 * for as long as heads can be made out. */
static void mend(uint8_t *bytes, size_t n)
{
    static const char title[] = LEDGER_TITLE;
    size_t at = sizeof title - 1;
    uint64_t sum = eg_checksum(0, title, at);
    for (char line[LEDGER_HEAD + 1]; at <= n && n - at >= LEDGER_HEAD;) {
        memcpy(line, bytes + at, LEDGER_HEAD);
        line[LEDGER_HEAD] = 0;
        ledger_block b;
        if (sscanf(line, "commit %10" SCNd64 " rows %10" SCNd64 " extra %10" SCNd64, &b.commit,
                   &b.n_rows, &b.n_extra) != 3 ||
            b.commit < 0 || b.n_rows < 0 || b.n_rows > 1000 || b.n_extra < 0 ||
            b.n_extra > 4096)
            return;
        eg_ledger_print_head(&b, &sum, line);
        memcpy(bytes + at, line, LEDGER_HEAD);
        if ((int64_t)(n - at) < eg_ledger_block_bytes(&b))
            return;
        at += LEDGER_HEAD;
        for (int64_t i = 0; i < b.n_rows; i++, at += LEDGER_ROW)
            sum = eg_checksum(sum, bytes + at, LEDGER_ROW);
        sum = eg_checksum(sum, bytes + at, (size_t)b.n_extra);
        at += (size_t)b.n_extra + 1;
        eg_ledger_print_tail(sum, line);
        memcpy(bytes + at, line, LEDGER_TAIL);
        at += LEDGER_TAIL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n > 0 ? n : 1);
    if (!copy)
        return 0;
    memcpy(copy, bytes, n);
    try_file(copy, n);
    mend(copy, n);
    try_file(copy, n);
    free(copy);
    return 0;
}
