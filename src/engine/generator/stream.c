/* stream.c - an endless stream of whole batches.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/generator/stream.h"

#include <stdlib.h>
#include <string.h>

eg_status eg_stream_open(eg_stream *s, int64_t n, eg_rng *rng)
{
    *s = (eg_stream){.n = n, .at = n, .rng = rng};
    EG_TRY(eg_alloc((size_t)n, sizeof *s->order, &s->order));
    for (int64_t i = 0; i < n; i++)
        s->order[i] = i;
    return EG_OK;
}

void eg_stream_close(eg_stream *s)
{
    free(s->order);
    *s = (eg_stream){0};
}

void eg_stream_next(eg_stream *s, const eg_images *from, int64_t pixels, int64_t batch,
                    float *x, float *labels)
{
    if (s->at + batch > s->n) { /* a partial batch is dropped */
        eg_rng_shuffle(s->rng, (size_t)s->n, s->order);
        s->at = 0;
    }
    for (int64_t i = 0; i < batch; i++) {
        int64_t row = s->order[s->at++];
        memcpy(x + i * pixels, from->x + row * pixels, (size_t)pixels * sizeof *x);
        if (labels)
            labels[i] = from->labels[row];
    }
}
