/* emnist.c - EMNIST, letters and digits (Cohen et al., 2017, arXiv:1702.05373).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its files hold every image transposed; here they stand upright.
 */
#include "world/data/idx.h"

#include <stdio.h>

typedef struct emnist {
    int split;
} emnist;

#define EMNIST_SPLITS "byclass|bymerge|balanced|letters|digits|mnist"

static const struct {
    const char *prefix;
    int64_t classes;
    int32_t first_label;
} emnist_splits[] = {
    {"emnist-byclass", 62, 0}, {"emnist-bymerge", 47, 0}, {"emnist-balanced", 47, 0},
    {"emnist-letters", 26, 1}, {"emnist-digits", 10, 0},  {"emnist-mnist", 10, 0},
};

static const eg_opt emnist_opts[] = {
    EG_OPT_CHOICE(emnist, split, 2, "which of its six sets", EMNIST_SPLITS),
    EG_OPT_END,
};

static void emnist_transpose(uint8_t *x, int64_t side)
{
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < i; j++) {
            uint8_t v = x[i * side + j];
            x[i * side + j] = x[j * side + i];
            x[j * side + i] = v;
        }
}

static eg_status emnist_load(const void *self, const eg_origin *from, eg_split split,
                             eg_table *out)
{
    int k = ((const emnist *)self)->split;
    const eg_idx_set set = {
        .place = {"emnist", NULL,
                  "the files are in NIST's gzip.zip of EMNIST; 'tools/data emnist' says more"},
        .prefix = emnist_splits[k].prefix,
        .strict = true,
        .first_label = emnist_splits[k].first_label,
        .classes = emnist_splits[k].classes,
    };
    EG_TRY(eg_idx_load(&set, from, split, out));
    if (out->height != out->width)
        return eg_fail(EG_EFORMAT, "images of %lldx%lld are not square", (long long)out->height,
                       (long long)out->width);
    for (int64_t i = 0; i < out->n; i++)
        emnist_transpose(out->u8 + (size_t)i * eg_table_sample(out), out->height);
    return EG_OK;
}

static const eg_label_counts emnist_counts[] = {
    {"emnist_digits", 10, 240000, 40000, NULL, NULL, 0},
    {"emnist_letters", 26, 124800, 20800, NULL, NULL, 0},
    {"emnist_balanced", 47, 112800, 18800, NULL, NULL, 0},
    {"emnist_byclass", 62, 697932, 116323, NULL, NULL, 0}, /* uneven in truth */
    {.name = NULL},
};

const eg_dataset eg_dataset_emnist = {
    .component = {"emnist", "hand-written letters and digits, 28x28 grey, 10 to 62 classes",
                  sizeof(emnist), emnist_opts},
    .counts = emnist_counts,
    .load = emnist_load,
};
