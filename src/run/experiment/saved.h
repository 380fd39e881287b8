/* saved.h - how a run saves its model.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_SAVED_H
#define EG_SRC_SAVED_H

#include <engram/saved.h>

#include "run/experiment/experiment.h"

eg_status eg_saved_write(const eg_experiment *e, const eg_net *net, uint64_t seed,
                         const char *path, const float *value, const float *state);

#endif
