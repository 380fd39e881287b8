/* unet.h - a network that tells the noise in an image: down to small maps, up again, with
 * shortcuts between maps of one size (Ronneberger et al., 2015; Ho et al., 2020).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_UNET_H
#define EG_UNET_H

#include <engram/graph.h>

enum { EG_UNET_LEVELS = 8 };

typedef struct eg_unet {
    int64_t width;                       /* channels at the first level, and of `time` */
    int64_t n_levels;                    /* sizes of maps, each half the one before */
    int64_t multipliers[EG_UNET_LEVELS]; /* channels of a level over the width */
    int64_t blocks;                      /* residual blocks of a level, on either way */
} eg_unet;

/* Records the noise in x [n, c, h, w], shaped like it; time [n, width] says how noisy x is. */
eg_node *eg_unet_noise(const eg_unet *u, eg_graph *g, eg_params *p, eg_node *x, eg_node *time);

#endif
