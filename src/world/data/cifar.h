/* cifar.h - the binary form of CIFAR: records of labels and 3072 bytes of planar RGB.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CIFAR_H
#define EG_CIFAR_H

#include "world/data/find.h"

#define EG_CIFAR_PIXELS 3072 /* 3 x 32 x 32 */

typedef struct eg_cifar_form {
    size_t labels; /* bytes before the pixels */
    size_t use;    /* which of them is the label */
    int64_t classes;
} eg_cifar_form;

/* Appends the records of a file in memory to out, whose arrays grow. name is for errors. */
eg_status eg_cifar_parse(const char *name, const uint8_t *bytes, size_t n,
                         const eg_cifar_form *form, eg_table *out);

/* The same of a file, plain or .gz. */
eg_status eg_cifar_read(const char *path, const eg_cifar_form *form, eg_table *out);

#endif
