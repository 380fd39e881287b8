/* fixed.c - numbers as whole ones of 32 bits.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/privacy/fixed.h"

#include <math.h>

eg_fixed eg_fixed_of(double range, size_t n_summands)
{
    int bits = 31;
    while (bits > 1 && (size_t)1 << (31 - bits) < n_summands)
        bits--;
    int32_t whole = (int32_t)((UINT32_C(1) << bits) - 1);
    return (eg_fixed){.step = ldexp(range, -bits), .most = whole};
}

eg_status eg_fixed_put(eg_fixed f, const double *x, size_t n, uint32_t *y, uint64_t *clipped)
{
    const double scale = 1 / f.step, most = f.most;
    uint64_t beyond = 0;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        double whole = nearbyint(x[i] * scale);
        double within = fmin(fmax(whole, -most), most);
        finite &= isfinite(x[i]) != 0;
        beyond += whole < -most || whole > most;
        y[i] = (uint32_t)(int32_t)within;
    }
    *clipped += beyond;
    for (size_t i = 0; i < n && !finite; i++)
        if (!isfinite(x[i]))
            return eg_fail(EG_EINVAL, "element %zu is not finite", i);
    return EG_OK;
}

double eg_fixed_get(eg_fixed f, uint32_t sum)
{
    return f.step * (double)(int32_t)sum;
}
