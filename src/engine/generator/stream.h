/* stream.h - an endless stream of whole batches: all rows in a new order each time around.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_STREAM_H
#define EG_STREAM_H

#include <engram/generator.h>

typedef struct eg_stream {
    int64_t *order; /* [n] */
    int64_t n, at;
    eg_rng *rng;
} eg_stream;

eg_status eg_stream_open(eg_stream *s, int64_t n, eg_rng *rng);
void eg_stream_close(eg_stream *s);

/* The next batch: x [batch, pixels]; labels [batch] may be NULL. */
void eg_stream_next(eg_stream *s, const eg_images *from, int64_t pixels, int64_t batch,
                    float *x, float *labels);

#endif
