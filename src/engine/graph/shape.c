/* shape.c - shapes: sizes, comparison and their printed form.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/graph.h"

#include <stdio.h>
#include <string.h>

eg_shape eg_shape_of(int rank, const int64_t *dim)
{
    EG_ASSERT(rank >= 0 && rank <= EG_MAX_RANK);
    eg_shape s = {.rank = rank};
    memcpy(s.dim, dim, (size_t)rank * sizeof *dim);
    return s;
}

eg_shape eg_scalar(void)
{
    return (eg_shape){.rank = 0};
}

int64_t eg_shape_size(eg_shape s)
{
    int64_t n = 1;
    for (int i = 0; i < s.rank; i++)
        n *= s.dim[i];
    return n;
}

eg_status eg_shape_check(eg_shape s)
{
    const int64_t limit = INT64_C(1) << 40; /* of elements: four terabytes */
    int64_t n = 1;
    for (int i = 0; i < s.rank; i++) {
        if (s.dim[i] < 1)
            return eg_fail(EG_ESHAPE, "dimension %d is %lld", i, (long long)s.dim[i]);
        if (s.dim[i] > limit / n) {
            char text[64];
            eg_shape_print(s, text);
            return eg_fail(EG_ESHAPE, "%s has more elements than memory can hold", text);
        }
        n *= s.dim[i];
    }
    return EG_OK;
}

bool eg_shape_equal(eg_shape a, eg_shape b)
{
    return a.rank == b.rank && memcmp(a.dim, b.dim, (size_t)a.rank * sizeof *a.dim) == 0;
}

void eg_shape_print(eg_shape s, char out[64])
{
    int used = snprintf(out, 64, "[");
    for (int i = 0; i < s.rank && used < 60; i++)
        used += snprintf(out + used, (size_t)(64 - used), "%s%lld", i ? ", " : "",
                         (long long)s.dim[i]);
    snprintf(out + (used < 62 ? used : 62), 2, "]");
}
