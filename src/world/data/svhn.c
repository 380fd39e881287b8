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

const eg_dataset eg_dataset_svhn = {
    .component = {"svhn", "house numbers, 32x32 colour, 10 classes, 73,257 + 26,032", 0, NULL},
    .load = svhn_load,
};
