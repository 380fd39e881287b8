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

static const int64_t usps_train[] = {1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644};
static const int64_t usps_test[] = {359, 264, 198, 166, 200, 160, 170, 147, 166, 177};
static const eg_label_counts usps_counts[] = {
    {"usps", 10, 7291, 2007, usps_train, usps_test, 0},
    {.name = NULL},
};

const eg_dataset eg_dataset_usps = {
    .component = {"usps", "digits from envelopes, 16x16 grey, 10 classes, 7,291 + 2,007", 0,
                  NULL},
    .counts = usps_counts,
    .load = usps_load,
};
