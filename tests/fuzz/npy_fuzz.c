/* npy_fuzz.c - the readers of .npy and .npz on any bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/npy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void read_all(const uint8_t *data, size_t size)
{
    eg_npy a;
    if (eg_npy_parse("fuzz", data, size, &a) != EG_OK)
        return;
    double sum = 0;
    for (size_t i = 0; i < a.n; i++)
        sum += eg_npy_real(&a, i) + (double)eg_npy_whole(&a, i);
    char text[20];
    for (size_t i = 0; i < a.n && i < 1000; i++) {
        eg_npy_text(&a, i, sizeof text, text);
        EG_ASSERT(memchr(text, 0, sizeof text) != NULL);
    }
    EG_ASSERT(a.n_dims <= EG_NPY_MAX_DIMS && (sum <= 0 || sum > 0 || isnan(sum)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *entry;
    size_t n;
    read_all(data, size);
    if (eg_npz_entry("fuzz", data, size, "x", &entry, &n) == EG_OK)
        read_all(entry, n);
    free(entry);
    return 0;
}
