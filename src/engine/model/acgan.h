/* acgan.h - what the two networks of an ACGAN have in common.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_ACGAN_MODEL_H
#define EG_ACGAN_MODEL_H

#include <engram/layers.h>

#define EG_ACGAN_FORMS "mnist|cifar"
typedef enum eg_acgan_form { EG_ACGAN_MNIST, EG_ACGAN_CIFAR } eg_acgan_form;

#define EG_ACGAN_VARIANTS "acgan|reacgan"

/* A critic with ReACGAN's head; false: it has another one. */
typedef struct eg_acgan_cosine {
    double temperature, margin;
} eg_acgan_cosine;
bool eg_acgan_cosine_of(const eg_net *critic, eg_acgan_cosine *out);

/* First values: normal with deviation 0.02, biases 0; and those of the CIFAR form's norms,
 * whose weights lie about 1. */
extern const eg_layer_init eg_acgan_init, eg_acgan_norm_init;

/* How often a side of 4 doubles to make this one: 1 to 3; 0: it never does. */
int64_t eg_acgan_doublings(int64_t height, int64_t width);
#define EG_ACGAN_SIDES "squares of 8, 16 or 32 pixels"

#endif
