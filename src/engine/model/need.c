/* need.c - what must be in a bundle: of what name, of what length, within what bounds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/exchange.h>

#include <math.h>

eg_status eg_bundle_need(const eg_bundle *b, const char *name, size_t n, const float **out)
{
    size_t there;
    *out = eg_bundle_find(b, name, &there);
    if (*out && there == n)
        return EG_OK;
    return *out ? eg_fail(EG_ESHAPE, "tensor '%s': %zu values, not %zu", name, there, n)
                : eg_fail(EG_ENOENT, "tensor '%s' is missing", name);
}

static bool need_is_count(double x, int64_t most)
{
    return x >= 0 && x <= (double)most && floor(x) >= x;
}

eg_status eg_bundle_need_counts(const eg_bundle *b, const char *name, size_t n, int64_t most,
                                const float **out)
{
    EG_TRY(eg_bundle_need(b, name, n, out));
    for (size_t i = 0; i < n; i++)
        if (!need_is_count((double)(*out)[i], most))
            return eg_fail(EG_EINVAL,
                           "tensor '%s': element %zu is %g, not a whole number from 0 to %lld",
                           name, i, (double)(*out)[i], (long long)most);
    return EG_OK;
}

eg_status eg_bundle_need_count(const eg_bundle *b, const char *name, int64_t most, int64_t *out)
{
    double x;
    *out = 0;
    if (!eg_bundle_scalar_of(b, name, &x))
        return eg_fail(EG_ENOENT, "scalar '%s' is missing", name);
    if (!need_is_count(x, most))
        return eg_fail(EG_EINVAL, "scalar '%s': %g is not a whole number from 0 to %lld", name,
                       x, (long long)most);
    *out = (int64_t)x;
    return EG_OK;
}
