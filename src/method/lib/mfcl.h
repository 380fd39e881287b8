/* mfcl.h - the server's half of MFCL: how its generator learns.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_MFCL_H
#define EG_MFCL_H

#include "method/lib/data_free.h"
#include "method/lib/drawer.h"

/* The generator of these options for the run's network. */
eg_drawer_spec eg_mfcl_drawer(const eg_data_free *is, const eg_net *net);

/* The work hook: "<part>.drawn.with", the generator, and "open" [classes]. */
eg_status eg_mfcl_work(const void *options, const eg_piece *piece, eg_bundle *to);

/* Records the loss of n drawings: inputs "noise", "kernel" [1, 1, 5, 5], "open" [1, classes],
 * "least" 1 / ln n_met (0 if there is one class); output "loss". */
typedef struct eg_mfcl_step {
    const eg_data_free *is;
    const eg_drawer *drawer;
    const eg_net *model;
} eg_mfcl_step;
void eg_mfcl_record(void *context, eg_graph *g, int64_t n);

/* kernel [5, 5]: e^-((x / 2)^2 + (y / 2)^2) about its middle, of sum 1. */
void eg_mfcl_kernel(float *kernel);

#endif
