/* samples.h - the samples of a client's stage as a list.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SAMPLES_H
#define EG_SAMPLES_H

#include <engram/client.h>

/* All samples of the stage, in its order; or `take` of them, if there are more and rng is not
 * NULL, each equally likely. To be freed; *n of them. */
eg_status eg_stage_samples(const eg_client *c, int64_t stage, int64_t take, eg_rng *rng,
                           eg_sample **out, int64_t *n);

#endif
