/* fashion_mnist.c - Fashion-MNIST, pictures of clothes (Xiao et al., 2017, arXiv:1708.07747).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/idx.h"

static eg_status fashion_mnist_load(const void *self, const eg_origin *from, eg_split split,
                                    eg_table *out)
{
    (void)self;
    const eg_idx_set set = {
        .place =
            {"fashion_mnist", "/usr/share/datasets/fashion-mnist",
             "'tools/data fashion-mnist', or Debian's package dataset-fashion-mnist, brings "
             "the four files"},
        .prefix = "fashion-mnist",
        .classes = 10,
    };
    static const char *const names[] = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                        "sandal",  "shirt",   "sneaker",  "bag",   "boot"};
    EG_TRY(eg_idx_load(&set, from, split, out));
    return eg_table_name_classes(out, names);
}

static const eg_label_counts fashion_mnist_counts[] = {
    {"fashion_mnist", 10, 60000, 10000, NULL, NULL, 0},
    {.name = NULL},
};

const eg_dataset eg_dataset_fashion_mnist = {
    .component = {"fashion_mnist",
                  "pictures of clothes, 28x28 grey, 10 classes, 60,000 + 10,000", 0, NULL},
    .counts = fashion_mnist_counts,
    .load = fashion_mnist_load,
};
