/* blobs.c - Gaussian blobs, one per class: a data set for tests, with nothing to download.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Class k is centred on +1 or, past dim classes, on -1, +2, ... of axis k mod dim. Sample i is
 * a function of seed, split and i alone.
 */
#include <engram/data.h>
#include <engram/rng.h>

#include "base/base.h"

typedef struct blobs {
    int64_t classes, dim, train, test;
    double spread;
} blobs;

static const eg_opt blobs_opts[] = {
    EG_OPT_INT(blobs, classes, 10, 1, 1e6, "how many"),
    EG_OPT_INT(blobs, dim, 16, 1, 1e6, "values per sample"),
    EG_OPT_INT(blobs, train, 1000, 1, 1e9, "training samples"),
    EG_OPT_INT(blobs, test, 200, 1, 1e9, "test samples"),
    EG_OPT_REAL(blobs, spread, 0.3, 0, 1e3, "standard deviation around a centre"),
    EG_OPT_END,
};

static eg_status blobs_load(const void *self, const eg_origin *from, eg_split split,
                            eg_table *out)
{
    const blobs *b = self;
    EG_TRY(eg_table_alloc_f32(out, split == EG_TRAIN ? b->train : b->test, b->dim, 1, 1,
                              b->classes));
    for (int64_t i = 0; i < out->n; i++) {
        eg_rng rng = eg_rng_at(from->seed, (uint32_t)split, (uint32_t)i, EG_FOR_DATA);
        int64_t k = i % b->classes, lap = k / b->dim, away = 1 + lap / 2;
        out->y[i] = (int32_t)k;
        for (int64_t d = 0; d < b->dim; d++) {
            double centre = d != k % b->dim ? 0 : (double)(lap % 2 ? -away : away);
            out->f32[i * b->dim + d] = (float)(centre + b->spread * eg_rng_normal(&rng));
        }
    }
    return EG_OK;
}

const eg_dataset eg_dataset_blobs = {
    .component = {"blobs", "generated: Gaussian blobs, one per class", sizeof(blobs),
                  blobs_opts},
    .generated = true,
    .load = blobs_load,
};
