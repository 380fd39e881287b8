/* shares.c - a secret in n shares, of which any t rebuild it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/privacy/shares.h"

#include <stdlib.h>
#include <string.h>

/* The polynomial's value at a place, by Horner's rule. */
static void shares_at(eg_secret *coefficients, size_t t, uint32_t place, eg_secret out)
{
    eg_secret x;
    eg_scalar_of(place, x);
    memcpy(out, coefficients[t - 1], EG_SECRET);
    for (size_t i = t - 1; i-- > 0;) {
        eg_scalar_mul(out, x, out);
        eg_scalar_add(out, coefficients[i], out);
    }
}

eg_status eg_shares_deal(const eg_secret secret, size_t t, const uint32_t *places, size_t n,
                         eg_secret *out)
{
    eg_secret *coefficients;
    EG_ASSERT(t > 0);
    EG_TRY(eg_alloc(t, sizeof *coefficients, &coefficients));
    memcpy(coefficients[0], secret, EG_SECRET);
    for (size_t i = 1; i < t; i++)
        eg_scalar_random(coefficients[i]);
    for (size_t i = 0; i < n; i++)
        shares_at(coefficients, t, places[i], out[i]);
    eg_wipe(coefficients, t * sizeof *coefficients);
    free(coefficients);
    return EG_OK;
}

/* x_i times the product of x_j - x_i over all others. */
static void shares_below(const uint32_t *places, size_t t, size_t i, eg_secret out)
{
    eg_secret mine, other;
    eg_scalar_of(places[i], mine);
    memcpy(out, mine, EG_SECRET);
    for (size_t j = 0; j < t; j++) {
        if (j == i)
            continue;
        eg_scalar_of(places[j], other);
        eg_scalar_sub(other, mine, other);
        eg_scalar_mul(out, other, out);
    }
}

/* Lagrange's at 0: the product of all x_j over what shares_below gives. An inverse costs as
 * much as some 250 products, so all are inverted at once: out[i] is the product of those up to
 * i first, and then the inverse of the last is taken apart from behind. */
eg_status eg_shares_weights(const uint32_t *places, size_t t, eg_secret *out)
{
    eg_secret *below, all, x, inverse;
    EG_TRY(eg_alloc(t, sizeof *below, &below));
    eg_scalar_of(1, all);
    for (size_t i = 0; i < t; i++) {
        shares_below(places, t, i, below[i]);
        eg_scalar_of(places[i], x);
        eg_scalar_mul(all, x, all);
        memcpy(out[i], below[i], EG_SECRET);
        if (i > 0)
            eg_scalar_mul(out[i - 1], below[i], out[i]);
    }
    eg_status s = eg_scalar_invert(out[t - 1], inverse);
    for (size_t i = t; i-- > 0 && s == EG_OK;) {
        if (i > 0)
            eg_scalar_mul(out[i - 1], inverse, out[i]);
        else
            memcpy(out[0], inverse, EG_SECRET);
        eg_scalar_mul(inverse, below[i], inverse);
        eg_scalar_mul(out[i], all, out[i]);
    }
    free(below);
    return s == EG_OK ? EG_OK : eg_fail(EG_EINVAL, "two shares of one place, or one of none");
}

void eg_shares_join(eg_secret *weights, eg_secret *shares, size_t t, eg_secret out)
{
    eg_secret term;
    memset(out, 0, EG_SECRET);
    for (size_t i = 0; i < t; i++) {
        eg_scalar_mul(weights[i], shares[i], term);
        eg_scalar_add(out, term, out);
    }
    eg_wipe(term, sizeof term);
}
