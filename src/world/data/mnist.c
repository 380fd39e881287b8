/* mnist.c - MNIST, hand-written digits (LeCun et al., 1998).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/idx.h"

static eg_status mnist_load(const void *self, const eg_origin *from, eg_split split,
                            eg_table *out)
{
    (void)self;
    const eg_idx_set set = {
        .place = {"mnist", NULL, "'tools/data mnist' brings the four files"},
        .prefix = "mnist",
        .classes = 10,
    };
    return eg_idx_load(&set, from, split, out);
}

static const int64_t mnist_train[] = {5923, 6742, 5958, 6131, 5842,
                                      5421, 5918, 6265, 5851, 5949};
static const int64_t mnist_test[] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};
static const eg_label_counts mnist_counts[] = {
    {"mnist", 10, 60000, 10000, mnist_train, mnist_test, 0},
    {.name = NULL},
};

const eg_dataset eg_dataset_mnist = {
    .component = {"mnist", "hand-written digits, 28x28 grey, 10 classes, 60,000 + 10,000", 0,
                  NULL},
    .counts = mnist_counts,
    .load = mnist_load,
};
