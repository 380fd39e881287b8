/* bundle_mean.h - the mean of bundles, entry by entry, added one after the other.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every entry is the mean over the bundles that have it, all with the same weight. Sums are in
 * double and in the order of the calls, as in mean.h.
 */
#ifndef EG_BUNDLE_MEAN_H
#define EG_BUNDLE_MEAN_H

#include <engram/exchange.h>

typedef struct eg_bundle_mean_entry eg_bundle_mean_entry;

/* Zeros are one of nothing. */
typedef struct eg_bundle_mean {
    size_t n, cap;
    eg_bundle_mean_entry *entries; /* [n], in the order in which they were first met */
} eg_bundle_mean;

void eg_bundle_mean_fini(eg_bundle_mean *m);

/* Adds a bundle. EG_ESHAPE: an entry has another shape than in those before it; then nothing of
 * the bundle is added. */
eg_status eg_bundle_mean_add(eg_bundle_mean *m, const eg_bundle *b);

/* Adds every entry's mean to a bundle. The mean of finite values is finite. */
eg_status eg_bundle_mean_get(const eg_bundle_mean *m, eg_bundle *to);

#endif
