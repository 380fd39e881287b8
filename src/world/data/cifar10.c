/* cifar10.c - CIFAR-10, small colour photographs (Krizhevsky, 2009).
 * SPDX-License-Identifier: Apache-2.0
 *
 * The training images come in five files; those that are there are used, and the table's note
 * says how many.
 */
#include "world/data/cifar.h"

#include <stdio.h>

static const char *const cifar10_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                            "dog",      "frog",       "horse", "ship", "truck"};

static eg_status cifar10_load(const void *self, const eg_origin *from, eg_split split,
                              eg_table *out)
{
    (void)self;
    static const eg_cifar_form form = {1, 0, 10};
    static const eg_place place = {"cifar10", NULL,
                                   "'tools/data cifar10' brings the six files, which are "
                                   "those of cifar-10-binary.tar.gz"};
    char path[EG_PATH_SIZE];
    if (split == EG_TEST) {
        static const char *const names[] = {"test_batch.bin", NULL};
        EG_TRY(eg_find(from, &place, names, path));
        EG_TRY(eg_cifar_read(path, &form, out));
        return eg_table_name_classes(out, cifar10_names);
    }
    int there = 0;
    for (int i = 1; i <= 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        eg_status s = eg_find(from, &place, (const char *const[]){name, NULL}, path);
        if (s == EG_ENOENT)
            continue;
        EG_TRY(s);
        EG_TRY(eg_cifar_read(path, &form, out));
        there++;
    }
    if (there == 0)
        return eg_find(from, &place, (const char *const[]){"data_batch_1.bin", NULL}, path);
    if (there < 5)
        snprintf(out->note, sizeof out->note, "%d of 5 training files are there", there);
    return eg_table_name_classes(out, cifar10_names);
}

static const eg_label_counts cifar10_counts[] = {
    {"cifar10", 10, 50000, 10000, NULL, NULL, 0},
    {.name = NULL},
};

const eg_dataset eg_dataset_cifar10 = {
    .component = {"cifar10", "small photographs, 32x32 colour, 10 classes, 50,000 + 10,000", 0,
                  NULL},
    .counts = cifar10_counts,
    .load = cifar10_load,
};
