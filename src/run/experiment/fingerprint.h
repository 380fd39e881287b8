/* fingerprint.h - what the bits of a run follow from, beside its settings and its seed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The data as they were loaded and prepared, the instruction set, the program. A run that goes
 * on elsewhere or later, and processes that work on one run together, compare these.
 */
#ifndef EG_FINGERPRINT_H
#define EG_FINGERPRINT_H

#include "run/experiment/feed.h"

typedef struct eg_fingerprint {
    char labels[17]; /* checksum of labels and owners of all samples, 16 hexadecimal digits */
    char pixels[17]; /* of shapes and values */
    const char *isa, *version, *commit; /* "" where it is not known, as in logs of old */
} eg_fingerprint;

/* That of this program with these data. One pass over the tables, 2 GB a second. */
void eg_fingerprint_take(const eg_feed *f, eg_fingerprint *out);

/* EG_OK if both are the same as far as both are known. EG_EINVAL: one sentence that names all
 * that differ, "the pixels are others (1f.. then, 2e.. now), ...". */
eg_status eg_fingerprint_compare(const eg_fingerprint *then, const eg_fingerprint *now);

#endif
