/* table.c - the table of one instruction set's kernels.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/simd/simd.h"

#define TABLE_TEXT_OF(x) #x
#define TABLE_TEXT(x)    TABLE_TEXT_OF(x)

extern const eg_kernels EG_KERNEL(kernels);

const eg_kernels EG_KERNEL(kernels) = {
    .isa = TABLE_TEXT(EG_ISA_NAME),
    .width = EG_V,
    .own = EG_OWN,
#define X(name, args) .name = EG_KERNEL(name),
#include "engine/graph/kernel.inc"
#undef X
};
