/* scale.h - an experiment made small enough to try: fewer rounds, a share of the rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SCALE_H
#define EG_SCALE_H

#include <engram/data.h>
#include <engram/scenario.h>

/* Keeps that share of each class's rows, at least one, evenly spread over the table. */
eg_status eg_scale_table(eg_table *t, double share);

/* The spec with its rounds, and the samples it counts, multiplied; at least 1 each. Where the
 * number of rounds follows from the data, they are those of the labels, multiplied. Free with
 * eg_spec_free. */
eg_status eg_scale_spec(const eg_spec *spec, double share, const eg_labels *sources,
                        size_t n_sources, eg_spec **out);

#endif
