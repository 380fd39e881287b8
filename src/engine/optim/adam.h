/* adam.h - what Adam and AdamW share: options and the constants of a step.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_ADAM_H
#define EG_ADAM_H

#include <engram/optim.h>

#include "base/real.h"
#include "engine/graph/kernel.h"

#include <math.h>

typedef struct adam {
    double lr, beta1, beta2, eps, weight_decay;
} adam;

/* With a share of 1 the corrections of a step would divide by zero. */
// clang-format off
#define ADAM_OPTS(decay)                                                                       \
    EG_OPT_REAL(adam, lr, 1e-3, 0, 1e3, "step size"),                                          \
    EG_OPT_REAL(adam, beta1, 0.9, 0, 0.9999, "share of the mean gradient that is kept"),       \
    EG_OPT_REAL(adam, beta2, 0.999, 0, 0.9999,                                                 \
                "share of the mean squared gradient that is kept"),                            \
    EG_OPT_REAL(adam, eps, 1e-8, 0, 1, "added to the root of the mean square"),                \
    EG_OPT_REAL(adam, weight_decay, decay, 0, 1e3, "pull of every weight towards zero"),       \
    EG_OPT_END
// clang-format on

/* The constants of step t, decay left to the caller. */
static inline eg_adam_step adam_constants(const adam *a, int64_t t)
{
    return (eg_adam_step){.size = (float)(a->lr / (1 - eg_real_pow(a->beta1, (double)t))),
                          .beta1 = (float)a->beta1,
                          .beta2 = (float)a->beta2,
                          .share1 = (float)(1 - a->beta1),
                          .share2 = (float)(1 - a->beta2),
                          .eps = (float)a->eps,
                          .root = (float)sqrt(1 - eg_real_pow(a->beta2, (double)t))};
}

#endif
