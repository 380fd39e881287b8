/* safetensors_fuzz.c - whatever parses lies inside the input, and survives a write and a read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz/fuzz.h"

#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

/* Reads every byte that a tensor claims to have, and what it is asked for. */
static void touch(const eg_tensors *t, const uint8_t *bytes, size_t n)
{
    const uint8_t *at = NULL;
    for (size_t i = 0; i < eg_tensors_count(t); i++) {
        const eg_stored *s = eg_tensors_at(t, i);
        const uint8_t *data = s->bytes;
        size_t size;
        EG_ASSERT(eg_stored_size(s, &size) == EG_OK && size == s->n_bytes);
        EG_ASSERT(data >= bytes && data + s->n_bytes <= bytes + n);
        EG_ASSERT(!at || data == at); /* in order, without holes */
        EG_ASSERT(eg_tensors_find(t, s->name) == s);
        at = data + s->n_bytes;
        float *x = malloc(s->n_bytes + sizeof(float));
        if (x && eg_tensors_read(t, s->name, s->rank, s->dims, x) == EG_OK && size > 0)
            EG_ASSERT(s->type == EG_STORED_I64 || memcmp(x, s->bytes, size) == 0);
        free(x);
    }
    EG_ASSERT(!at || at == bytes + n);
    eg_tensors_check_finite(t);
}

static void try_file(const uint8_t *bytes, size_t n)
{
    eg_tensors *t, *again;
    if (eg_safetensors_parse(bytes, n, &t) != EG_OK)
        return;
    touch(t, bytes, n);

    enum { MAX_NOTES = 64 };
    eg_stored_note notes[MAX_NOTES], note = {0};
    size_t n_notes = 0, n_packed, n_tensors = eg_tensors_count(t);
    while (n_notes < MAX_NOTES && eg_tensors_next_note(t, &note))
        notes[n_notes++] = note;
    unsigned char *packed;
    const eg_stored *tensors = n_tensors ? eg_tensors_at(t, 0) : NULL;
    EG_ASSERT(eg_safetensors_pack(tensors, n_tensors, notes, n_notes, &packed, &n_packed) ==
              EG_OK);
    EG_ASSERT(eg_safetensors_parse(packed, n_packed, &again) == EG_OK);
    EG_ASSERT(eg_tensors_count(again) == n_tensors);
    touch(again, packed, n_packed);
    for (size_t i = 0; i < n_notes; i++)
        EG_ASSERT(strcmp(eg_tensors_note(again, notes[i].key), notes[i].value) == 0);
    eg_tensors_free(again);
    eg_tensors_free(t);
    free(packed);
}

/* Chance seldom keeps the header's length right, so each input is also tried with a length that
 * ends the header at its last brace. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    try_file(bytes, n);
    size_t end = n;
    while (end > 8 && bytes[end - 1] != '}')
        end--;
    uint8_t *mended = end > 8 ? malloc(n) : NULL;
    if (mended) {
        memcpy(mended, bytes, n);
        for (int i = 0; i < 8; i++)
            mended[i] = (uint8_t)((end - 8) >> 8 * i);
        try_file(mended, n);
    }
    free(mended);
    return 0;
}
