/* centralized.c - pFedGRP's reference: every client alone, on all its real data so far.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/past.h"

static eg_status centralized_samples(void *self, eg_client *c)
{
    (void)self;
    return eg_add_past_samples(c);
}

const eg_method eg_method_centralized = {
    .name = "centralized",
    .help = "every client alone, on all its data so far",
    .personal = true,
    .samples = centralized_samples,
};
