/* published.c - label counts of well-known data sets, to plan a scenario without the data.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where counts per class are published they are used; where only totals are, the total is
 * spread evenly, the first classes taking one more. `owners` deals samples to natural owners in
 * turn.
 */
#include <engram/opt.h>
#include <engram/scenario.h>

#include "base/base.h"

#include <stdlib.h>

typedef struct published {
    const char *name;
    int64_t classes, n_train, n_test;
    const int64_t *train, *test; /* [classes] or NULL: spread evenly */
    int64_t owners;
} published;

// clang-format off
static const int64_t mnist_train[] = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949};
static const int64_t mnist_test[] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};
static const int64_t usps_train[] = {1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644};
static const int64_t usps_test[] = {359, 264, 198, 166, 200, 160, 170, 147, 166, 177};
static const int64_t svhn_train[] = {4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659};
static const int64_t svhn_test[] = {1744, 5099, 4149, 2882, 2523, 2384, 1977, 2019, 1660, 1595};

static const published published_sets[] = {
    {"mnist", 10, 60000, 10000, mnist_train, mnist_test, 0},
    {"fashion_mnist", 10, 60000, 10000, NULL, NULL, 0},
    {"kmnist", 10, 60000, 10000, NULL, NULL, 0},
    {"usps", 10, 7291, 2007, usps_train, usps_test, 0},
    {"svhn", 10, 73257, 26032, svhn_train, svhn_test, 0},
    {"cifar10", 10, 50000, 10000, NULL, NULL, 0},
    {"cifar100", 100, 50000, 10000, NULL, NULL, 0},
    {"emnist_digits", 10, 240000, 40000, NULL, NULL, 0},
    {"emnist_letters", 26, 124800, 20800, NULL, NULL, 0},
    {"emnist_balanced", 47, 112800, 18800, NULL, NULL, 0},
    {"emnist_byclass", 62, 697932, 116323, NULL, NULL, 0}, /* uneven in truth */
    {"femnist", 62, 805263, 0, NULL, NULL, 3550},          /* LEAF's writers; uneven in truth */
    {"tiny_imagenet", 200, 100000, 10000, NULL, NULL, 0},
    {"tiny_imagenet_100", 100, 50000, 5000, NULL, NULL, 0},
    {"imagenet_10", 10, 10000, 3000, NULL, NULL, 0},
    {"office31_amazon", 31, 2254, 563, NULL, NULL, 0}, /* 2817 images, one in five for the test */
    {"office31_webcam", 31, 636, 159, NULL, NULL, 0},  /* 795 images, likewise */
    {"office31_dslr", 31, 398, 100, NULL, NULL, 0},    /* 498 images, likewise */
    {"domainnet_clipart", 345, 33525, 14604, NULL, NULL, 0},
    {"domainnet_infograph", 345, 36023, 15582, NULL, NULL, 0},
    {"domainnet_painting", 345, 50416, 21850, NULL, NULL, 0},
    {"domainnet_quickdraw", 345, 120750, 51750, NULL, NULL, 0},
    {"domainnet_real", 345, 120906, 52041, NULL, NULL, 0},
    {"domainnet_sketch", 345, 48212, 20916, NULL, NULL, 0},
    {"pacs_photo", 7, 1336, 334, NULL, NULL, 0},   /* 1670 images, one in five for the test */
    {"pacs_art", 7, 1639, 409, NULL, NULL, 0},     /* 2048 images, likewise */
    {"pacs_cartoon", 7, 1876, 468, NULL, NULL, 0}, /* 2344 images, likewise */
    {"pacs_sketch", 7, 3144, 785, NULL, NULL, 0},  /* 3929 images, likewise */
    {"caltech10_amazon", 10, 767, 191, NULL, NULL, 0},  /* 958 images, likewise */
    {"caltech10_caltech", 10, 899, 224, NULL, NULL, 0}, /* 1123 images, likewise */
    {"caltech10_dslr", 10, 126, 31, NULL, NULL, 0},     /* 157 images, likewise */
    {"caltech10_webcam", 10, 236, 59, NULL, NULL, 0},   /* 295 images, likewise */
};
// clang-format on

enum { PUBLISHED_SETS = sizeof published_sets / sizeof *published_sets };

void eg_labels_free(eg_labels *labels)
{
    free((void *)labels->train);
    free((void *)labels->test);
    free((void *)labels->group);
    *labels = (eg_labels){0};
}

static eg_status published_fill(int64_t classes, int64_t total, const int64_t *counts,
                                const int32_t **out)
{
    int32_t *labels;
    *out = NULL;
    EG_TRY(eg_alloc((size_t)total, sizeof *labels, &labels));
    int64_t at = 0;
    for (int64_t k = 0; k < classes; k++) {
        int64_t n = counts ? counts[k] : total / classes + (k < total % classes);
        for (int64_t i = 0; i < n; i++)
            labels[at++] = (int32_t)k;
    }
    EG_ASSERT(at == total);
    *out = labels;
    return EG_OK;
}

static eg_status published_owners(const published *p, const int32_t **out)
{
    int32_t *owner;
    EG_TRY(eg_alloc((size_t)p->n_train, sizeof *owner, &owner));
    for (int64_t i = 0; i < p->n_train; i++)
        owner[i] = (int32_t)(i % p->owners);
    *out = owner;
    return EG_OK;
}

eg_status eg_labels_published(const char *data, eg_labels *out)
{
    *out = (eg_labels){0};
    for (size_t i = 0; i < PUBLISHED_SETS; i++) {
        const published *p = &published_sets[i];
        if (!eg_name_equal(p->name, data))
            continue;
        *out = (eg_labels){.n_train = p->n_train, .n_test = p->n_test, .classes = p->classes};
        eg_status status = published_fill(p->classes, p->n_train, p->train, &out->train);
        if (status == EG_OK)
            status = published_fill(p->classes, p->n_test, p->test, &out->test);
        if (status == EG_OK && p->owners > 0)
            status = published_owners(p, &out->group);
        if (status != EG_OK)
            eg_labels_free(out);
        return status;
    }
    return eg_fail(EG_ENOENT, "data: there are no published label counts of '%s'", data);
}
