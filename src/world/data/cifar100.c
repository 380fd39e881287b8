/* cifar100.c - CIFAR-100, small colour photographs (Krizhevsky, 2009).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/cifar.h"

typedef struct cifar100 {
    int labels;
} cifar100;

static const eg_opt cifar100_opts[] = {
    EG_OPT_CHOICE(cifar100, labels, 0, "100 fine classes or 20 coarse ones", "fine|coarse"),
    EG_OPT_END,
};

static eg_status cifar100_load(const void *self, const eg_origin *from, eg_split split,
                               eg_table *out)
{
    static const eg_cifar_form forms[] = {{2, 1, 100}, {2, 0, 20}};
    static const eg_place place = {"cifar100", NULL,
                                   "it is in cifar-100-binary.tar.gz; 'tools/data cifar100' "
                                   "says where that is"};
    const char *const names[] = {split == EG_TRAIN ? "train.bin" : "test.bin", NULL};
    char path[EG_PATH_SIZE];
    EG_TRY(eg_find(from, &place, names, path));
    return eg_cifar_read(path, &forms[((const cifar100 *)self)->labels], out);
}

static const eg_label_counts cifar100_counts[] = {
    {"cifar100", 100, 50000, 10000, NULL, NULL, 0},
    {.name = NULL},
};

const eg_dataset eg_dataset_cifar100 = {
    .component = {"cifar100", "small photographs, 32x32 colour, 100 classes, 50,000 + 10,000",
                  sizeof(cifar100), cifar100_opts},
    .counts = cifar100_counts,
    .load = cifar100_load,
};
