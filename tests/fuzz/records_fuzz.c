/* records_fuzz.c - a head that parses keeps its rules and prints as it was; what it points to
 * in its own file is a bundle or is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz/fuzz.h"

#include "run/store/records_file.h"

#include <stdlib.h>
#include <string.h>

/* What the rest of the store relies on. */
static void check_rules(const eg_records_head *h)
{
    int64_t bytes = 0;
    EG_ASSERT(h->owner >= -1 && h->owner < EG_MAX_OWNER);
    EG_ASSERT(h->committed >= 0 && h->committed <= h->base);
    EG_ASSERT(h->base < h->version && h->version <= EG_MAX_VERSION);
    for (size_t i = 0; i < h->n_files; i++) {
        const eg_records_file *f = &h->files[i];
        EG_ASSERT(f->version > (i > 0 ? f[-1].version : 0) && f->version < h->version);
        EG_ASSERT(eg_records_head_file(h, f->version) == f);
    }
    for (size_t i = 0; i < h->n_places; i++) {
        const eg_records_place *p = &h->places[i];
        const eg_records_file *f = eg_records_head_file(h, p->file);
        EG_ASSERT(f || p->file == h->version);
        EG_ASSERT(p->length >= 0 && p->offset >= EG_RECORDS_HEAD_MIN);
        EG_ASSERT(p->offset + p->length <= (f ? f->size : h->size));
        EG_ASSERT(eg_records_name_fits(p->name) && eg_records_head_refers(h, p->file));
        EG_ASSERT(i == 0 || strcmp(p[-1].name, p->name) < 0);
        bytes += p->length;
    }
    EG_ASSERT(bytes == h->bytes);
}

static void check_print(const eg_records_head *h, const uint8_t *bytes, size_t n)
{
    size_t length = eg_records_head_length(h), measured;
    EG_ASSERT(eg_records_head_measure(bytes, n, &measured) == EG_OK && measured == length);
    unsigned char *again = malloc(length);
    if (again) {
        eg_records_head_print(h, again);
        EG_ASSERT(memcmp(again, bytes, length) == 0);
    }
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    eg_records_head h;
    bool good = eg_records_head_parse(bytes, n, &h) == EG_OK;
    if (good) {
        check_rules(&h);
        check_print(&h, bytes, n);
    }
    for (size_t i = 0; good && i < h.n_places; i++) {
        const eg_records_place *p = &h.places[i];
        eg_bundle *b;
        if (p->file != h.version || p->offset + p->length > (int64_t)n)
            continue;
        if (eg_bundle_unpack(bytes + p->offset, (size_t)p->length, &b) == EG_OK)
            EG_ASSERT(eg_bundle_bytes(b) > 0);
        eg_bundle_free(b);
    }
    eg_records_head_fini(&h);
    return 0;
}
