/* project.h - gradients against a reference: what the projecting parts share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PROJECT_H
#define EG_PROJECT_H

#include "engine/graph/kernel.h"

#include <engram/params.h>

/* g [n] <- g - (g.r / r.r) r: what is left of g at a right angle to r [n]. r.r > 0. */
static inline void eg_project_off(float *g, const float *r, size_t n, double g_r, double r_r)
{
    eg_add_scaled(g, (float)(-g_r / r_r), r, n);
}

#endif
