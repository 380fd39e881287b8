/* joint.c - the upper bound: every client trains on all its data so far, with aggregation.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/past.h"

static eg_status joint_samples(void *self, eg_client *c)
{
    (void)self;
    return eg_add_past_samples(c);
}

const eg_method eg_method_joint = {
    .name = "joint",
    .help = "all data so far on every client, and the mean of their models",
    .samples = joint_samples,
};
