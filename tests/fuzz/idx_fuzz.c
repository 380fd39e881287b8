/* idx_fuzz.c - the IDX reader on any bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_idx idx;
    if (eg_idx_parse("fuzz", data, size, &idx) != EG_OK)
        return 0;
    EG_ASSERT(idx.size == size && idx.head <= size && idx.n_dims >= 1 && idx.n_dims <= 4);
    size_t elements = 1;
    for (int i = 0; i < idx.n_dims; i++)
        elements *= (size_t)idx.shape[i];
    EG_ASSERT(idx.head + elements * idx.width == size);
    return 0;
}
