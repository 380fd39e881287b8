/* svhn.c - house numbers (Netzer et al., 2011), in CIFAR-10's form: train.bin, test.bin.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/cifar.h"

static eg_status svhn_load(const void *self, const eg_origin *from, eg_split split,
                           eg_table *out)
{
    (void)self;
    static const eg_cifar_form form = {1, 0, 10};
    static const eg_place place = {"svhn", NULL,
                                   "it is SVHN's cropped digits as a label byte and 3072 bytes "
                                   "of planar RGB; 'tools/data svhn' says more"};
    const char *const names[] = {split == EG_TRAIN ? "train.bin" : "test.bin", NULL};
    char path[EG_PATH_SIZE];
    EG_TRY(eg_find(from, &place, names, path));
    return eg_cifar_read(path, &form, out);
}

static const int64_t svhn_train[] = {4948, 13861, 10585, 8497, 7458,
                                     6882, 5727,  5595,  5045, 4659};
static const int64_t svhn_test[] = {1744, 5099, 4149, 2882, 2523, 2384, 1977, 2019, 1660, 1595};
static const eg_label_counts svhn_counts[] = {
    {"svhn", 10, 73257, 26032, svhn_train, svhn_test, 0},
    {.name = NULL},
};

const eg_dataset eg_dataset_svhn = {
    .component = {"svhn", "house numbers, 32x32 colour, 10 classes, 73,257 + 26,032", 0, NULL},
    .counts = svhn_counts,
    .load = svhn_load,
};
