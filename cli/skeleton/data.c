/* mine.c - a data set of one's own: say here what it holds, and where it is from.
 * SPDX-License-Identifier: Apache-2.0
 *
 * This one is drawn: a bright row of pixels tells the class. One that reads files finds them in
 * from->dir, and is not `generated`.
 */
#include <engram/plugin.h>

typedef struct mine {
    int64_t train, test, classes;
} mine;

static const eg_opt mine_opts[] = {
    EG_OPT_INT(mine, train, 400, 1, 1000000, "training samples"),
    EG_OPT_INT(mine, test, 80, 1, 1000000, "test samples"),
    EG_OPT_INT(mine, classes, 4, 2, 8, "classes"),
    EG_OPT_END,
};

/* Fills out->u8 [n, 1, 8, 8] and out->y [n]. Sample i is a function of the seed, the split and
 * i alone, so that it does not depend on how many there are. */
static eg_status mine_load(const void *self, const eg_origin *from, eg_split split,
                           eg_table *out)
{
    const mine *o = self;
    int64_t n = split == EG_TRAIN ? o->train : o->test;
    EG_TRY(eg_table_alloc_u8(out, n, 1, 8, 8, o->classes));
    for (int64_t i = 0; i < n; i++) {
        eg_rng r = eg_rng_at(from->seed, (uint32_t)split, (uint32_t)i, EG_FOR_DATA);
        out->y[i] = (int32_t)(i % o->classes);
        for (int64_t k = 0; k < 64; k++) {
            uint32_t bright = k / 8 == out->y[i] ? 100 : 0;
            out->u8[i * 64 + k] = (uint8_t)(bright + eg_rng_below(&r, 100));
        }
    }
    return EG_OK;
}

static const eg_dataset set = {
    .component = {"mine", "a bright row tells the class", sizeof(mine), mine_opts},
    .generated = true,
    .load = mine_load,
};

static const eg_dataset *const sets[] = {&set, NULL};
EG_PLUGIN(.datasets = sets);
