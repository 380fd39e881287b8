/* half.h - 16-bit floats, as files of arrays and weights have them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_HALF_H
#define EG_HALF_H

#include <stdint.h>
#include <string.h>

static inline float eg_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE's binary16: a sign, 5 bits of exponent, 10 of fraction. Every one is a float. */
static inline float eg_float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
    if (rest >= 0x7c00) /* infinite, or not a number */
        return eg_float_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest < 0x0400) { /* so small that the exponent is used up: rest times 2 to the -24 */
        float small = (float)rest * 0x1p-24F;
        return sign ? -small : small;
    }
    return eg_float_of_bits(sign | (rest + (112U << 10)) << 13);
}

/* bfloat16: the upper half of a float. */
static inline float eg_float_of_bfloat(uint16_t half)
{
    return eg_float_of_bits((uint32_t)half << 16);
}

#endif
