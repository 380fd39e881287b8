/* inversion.h - an image from the gradient it gives a small network: GLFC's prototypes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The network is Deep Leakage from Gradients' LeNet: three 5x5 convolutions of 12 maps, two of
 * them of stride 2, each with a sigmoid, and a linear layer; its weights are uniform in
 * [-0.5, 0.5], the same for everybody.
 */
#ifndef EG_INVERSION_H
#define EG_INVERSION_H

#include <engram/learner.h>
#include <engram/model.h>
#include <engram/program.h>

typedef struct eg_inversion {
    int64_t channels, height, width, classes;
    eg_params *table, *image; /* of the network; of one image, "x" */
    eg_learner *net, *drawn;
    eg_program *gives, *matches;
} eg_inversion;

/* For images and classes of a run's network. Zeroed bytes may be closed. */
eg_status eg_inversion_open(eg_inversion *v, const eg_net *like, uint64_t seed);
void eg_inversion_close(eg_inversion *v);

/* Floats of a gradient: the network's, gaps included. */
size_t eg_inversion_size(const eg_inversion *v);

/* The gradient [size] of the cross entropy of an image x [c, h, w] with its label. */
eg_status eg_inversion_give(eg_inversion *v, const float *x, int64_t label, float *gradient);

/* The label that a gradient is of: the output whose weights' gradients sum to the least. */
int64_t eg_inversion_label(const eg_inversion *v, const float *gradient);

/* Looks for an image whose gradient with that label is near in squares: from standard normal
 * numbers, `steps` of L-BFGS, of which the last `keep` images are kept: x [keep, c, h, w]; *n
 * of them, none if they are not finite. *gap: the last squared distance. */
typedef struct eg_inversion_search {
    const float *gradient;
    int64_t label, steps, keep;
    double lr;
} eg_inversion_search;
eg_status eg_inversion_find(eg_inversion *v, const eg_inversion_search *is, eg_rng *rng,
                            float *x, int64_t *n, double *gap);

#endif
