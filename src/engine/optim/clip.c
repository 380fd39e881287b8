/* clip.c - clipping of a gradient by its norm (Pascanu et al., 2013, arXiv:1211.5063).
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/optim.h>

#include "engine/graph/kernel.h"

#include <math.h>

double eg_clip_norm(float *g, size_t n, double max)
{
    double square;
    eg_kernels_get()->dot(&square, g, g, n);
    double norm = sqrt(square);
    float scale = (float)(max / (norm + 1e-6)); /* the small part is PyTorch's */
    if (!isfinite(norm) || scale >= 1)
        return norm;
    for (size_t i = 0; i < n; i++)
        g[i] *= scale;
    return norm;
}
