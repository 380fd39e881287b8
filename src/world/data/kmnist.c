/* kmnist.c - Kuzushiji-MNIST, cursive hiragana (Clanuwat et al., 2018, arXiv:1812.01718).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/idx.h"

static eg_status kmnist_load(const void *self, const eg_origin *from, eg_split split,
                             eg_table *out)
{
    (void)self;
    const eg_idx_set set = {
        .place = {"kmnist", NULL,
                  "the four files come from the KMNIST project (codh.rois.ac.jp/kmnist); "
                  "'tools/data kmnist' says more"},
        .prefix = "kmnist",
        .classes = 10,
    };
    return eg_idx_load(&set, from, split, out);
}

static const eg_label_counts kmnist_counts[] = {
    {"kmnist", 10, 60000, 10000, NULL, NULL, 0},
    {.name = NULL},
};

const eg_dataset eg_dataset_kmnist = {
    .component = {"kmnist", "cursive hiragana, 28x28 grey, 10 classes, 60,000 + 10,000", 0,
                  NULL},
    .counts = kmnist_counts,
    .load = kmnist_load,
};
