/* subspace.h - what the layers of a network were fed, as subspaces that updates stay out of.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A layer computes W x for its inputs x [d]: rows of a matrix, or the patches that a
 * convolution sees. An update of W whose rows are at right angles to all inputs of the past
 * changes none of the layer's past results. U [d, m] has orthonormal columns that span the
 * inputs which matter; updates G [out, d] become G - G U U^T.
 */
#ifndef EG_SUBSPACE_H
#define EG_SUBSPACE_H

#include <engram/client.h>
#include <engram/op.h>

typedef struct eg_subspace {
    size_t tensor;    /* its weights' place in the network's table */
    int64_t out, d;   /* they are [out, d] */
    eg_shape in;      /* of one row: [d], or [c, h, w] */
    eg_window window; /* of a convolution; kernel 0: it is none */
    int64_t m;        /* columns of U; 0: nothing was added yet */
    float *u;         /* [d, m] */
    float *projector; /* [d, d]: U U^T, once it was asked for */
} eg_subspace;

typedef struct eg_subspaces {
    const eg_net *net;
    size_t n;
    eg_subspace *at; /* [n]: the layers in the order of the network */
    float *room;     /* as long as the largest tensor */
} eg_subspaces;

/* Finds the network's layers, the head among them if it is wanted. EG_ENOTSUP: there is a
 * convolution in groups, whose outputs do not see all channels. */
eg_status eg_subspaces_init(eg_subspaces *s, const eg_net *net, bool head);
void eg_subspaces_fini(eg_subspaces *s);

/* Into a bundle and back: "<prefix>.<tensor>" [d, m] for each layer that has columns. */
eg_status eg_subspaces_put(const eg_subspaces *s, const char *prefix, eg_bundle *to);
eg_status eg_subspaces_take(eg_subspaces *s, const char *prefix, const eg_bundle *from);

/* Sums x x^T over the inputs of each layer, for samples upright and as they are, at the
 * client's model in eval form: sums[i] [d, d]. Arrays to be freed with eg_subspaces_free. */
eg_status eg_subspaces_inputs(const eg_subspaces *s, eg_client *c, const eg_sample *samples,
                              int64_t n, double ***sums);
void eg_subspaces_free(const eg_subspaces *s, double **sums);

/* sum [d, d] <- (1 - U U^T) sum (1 - U U^T): what the layer's subspace misses. */
eg_status eg_subspace_rest(eg_subspace *l, double *sum);

/* Adds to U the fewest leading eigenvectors of the rest [d, d], which is destroyed, that have a
 * fraction of its trace, less so many: none if the fraction is not above 0. */
eg_status eg_subspace_extend(eg_subspace *l, double *rest, double fraction, int64_t less);

/* Projects an update [n_params] in place, layer by layer. */
eg_status eg_subspaces_project(eg_subspaces *s, float *update);

/* The trace of a [d, d]. */
double eg_subspace_energy(const eg_subspace *l, const double *sum);

#endif
