/* finite.c - whether numbers are numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base.h"

#include <math.h>

/* It does not stop at the first flaw, which is rare: so the loop is a vector's. */
bool eg_all_finite(const float *values, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(values[i]) != 0;
    return finite;
}
