/* start.h - the first values of a run's global model: drawn by its seed, or from a file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run is a function of its resolved experiment, so that holds the file's hash too.
 */
#ifndef EG_START_H
#define EG_START_H

#include "run/experiment/experiment.h"

/* EG_EINVAL: there is no such file to read. "" is none. */
eg_status eg_start_set_weights(eg_start_opts *o, const char *path);

/* Enters the file's hash. EG_EINVAL: another was set. */
eg_status eg_start_settle(eg_start_opts *o);

/* Fills both arrays; state may be NULL if the net has none. */
eg_status eg_start_fill(const eg_start_opts *o, const eg_net *net, uint64_t seed, float *value,
                        float *state);

#endif
