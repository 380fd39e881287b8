/* joint.c - the upper bound: every client trains on all its data so far, with aggregation.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/past.h"

const eg_method eg_method_joint = {
    .component = {"joint", "all data so far on every client, and the mean of their models", 0,
                  NULL},
    .client = {.samples = eg_add_past_samples},
    .bound = true,
};
