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

const eg_dataset eg_dataset_mnist = {
    .component = {"mnist", "hand-written digits, 28x28 grey, 10 classes, 60,000 + 10,000", 0,
                  NULL},
    .load = mnist_load,
};
