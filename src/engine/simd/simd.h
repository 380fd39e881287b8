/* simd.h - what a file of vector kernels includes; it is compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0
 *
 * EG_ISA names the copy, EG_ISA_NAME the set: two copies of one set differ in instructions, and
 * not in bits. EG_V channels make a block, and an eg_vec holds them.
 */
#ifndef EG_SIMD_H
#define EG_SIMD_H

#include "engine/graph/kernel.h"
#include "engine/simd/tune.h"

#include <math.h>
#include <string.h>

#define EG_KERNEL_JOIN(name, isa)  eg_##name##_##isa
#define EG_KERNEL_PASTE(name, isa) EG_KERNEL_JOIN(name, isa)
#define EG_KERNEL(name)            EG_KERNEL_PASTE(name, EG_ISA)

typedef float eg_vec __attribute__((vector_size(EG_V * 4), aligned(4), may_alias));
typedef int32_t eg_ivec __attribute__((vector_size(EG_V * 4), aligned(4), may_alias));

/* v where mask > 0, else 0. */
static inline __attribute__((always_inline)) eg_vec eg_where_positive(eg_vec mask, eg_vec v)
{
    return (eg_vec)((eg_ivec)(mask > (eg_vec){0}) & (eg_ivec)v);
}

#define X(name, args) void EG_KERNEL(name) args;
#include "engine/graph/kernel.inc"
#undef X

#endif
