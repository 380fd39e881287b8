/* usps.c - USPS, digits from envelopes (Hull, 1994).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/idx.h"

static eg_status usps_load(const void *self, const eg_origin *from, eg_split split,
                           eg_table *out)
{
    (void)self;
    const eg_idx_set set = {
        .place = {"usps", NULL, "it is USPS as four IDX files; 'tools/data usps' says more"},
        .prefix = "usps",
        .classes = 10,
    };
    return eg_idx_load(&set, from, split, out);
}

const eg_dataset eg_dataset_usps = {
    .component = {"usps", "digits from envelopes, 16x16 grey, 10 classes, 7,291 + 2,007", 0,
                  NULL},
    .load = usps_load,
};
