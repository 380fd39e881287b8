/* drawer.h - a network that draws what a classifier knows, without data.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The generator that TARGET, MFCL and LANDER have on their servers: noise, a linear layer to 2
 * width maps of a quarter of the image's side, batch norm, and twice up-sampling, a 3x3
 * convolution, batch norm and a leaky relu of 0.2; then a convolution to the image's channels.
 * A drawer belongs to one thread.
 */
#ifndef EG_DRAWER_H
#define EG_DRAWER_H

#include <engram/learner.h>
#include <engram/model.h>
#include <engram/program.h>

typedef enum eg_drawer_end {
    EG_DRAWER_SIGMOID, /* convolutions without biases; pixels are 2 sigmoid - 1 */
    EG_DRAWER_WHITE,   /* with biases, and eps 0.8 in norms; tanh, and a norm without scale */
} eg_drawer_end;

typedef struct eg_drawer_spec {
    int64_t noise, width;
    int64_t channels, height, width_of_image;
    eg_drawer_end end;
} eg_drawer_spec;

typedef struct eg_drawer {
    eg_drawer_spec is;
    eg_params *table;
    eg_learner *own;     /* its weights */
    eg_program *program; /* its eval form; NULL until something is drawn */
} eg_drawer;

/* With weights of zero. EG_ESHAPE: sides that 4 does not divide. Zeroed bytes may be closed. */
eg_status eg_drawer_open(eg_drawer *d, const eg_drawer_spec *spec);
void eg_drawer_close(eg_drawer *d);

/* Records images [n, c, h, w] of noise [n, noise], in g's training or eval form. */
eg_node *eg_drawer_images(const eg_drawer *d, eg_graph *g, eg_node *noise);

/* Draws n images in eval form. noise [n, noise], x [n, c, h, w] */
eg_status eg_drawer_draw(eg_drawer *d, int64_t n, const float *noise, float *x);

/* How far the statistics of what batch norms are fed lie from those they have, over all batch
 * norms in eval form from node `from` of the graph on; zero if there are none.
 * EG_GAP_NORMS: the sum of |mu' - mu| + |v' - v|. EG_GAP_DIVERGENCE: the mean over them of the
 * mean over channels of the divergence of two normal distributions,
 * ln(s / s') - (1 - (v' + (mu' - mu)^2) / v) / 2, where v' and mu' are the norm's. */
typedef enum eg_gap { EG_GAP_NORMS, EG_GAP_DIVERGENCE } eg_gap;
eg_node *eg_statistics_gap(eg_graph *g, size_t from, eg_gap gap);
/* Where the next node will stand. */
size_t eg_graph_next(const eg_graph *g);

#endif
