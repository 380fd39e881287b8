/* fisher.h - how much a client's samples care about each parameter: the diagonal Fisher.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The mean over samples of the squared gradient of log p(y | x), sample by sample, with the
 * true label y (the empirical Fisher: labels are not drawn from the model), in eval form: no
 * dropout, running statistics, no random crops and flips.
 */
#ifndef EG_FISHER_H
#define EG_FISHER_H

#include <engram/method.h>

/* The Fisher of samples of the spans at the client's model, into out [n_params]. take: how many
 * of the samples, evenly spread over the spans; 0: all of them. */
eg_status eg_fisher(eg_client *c, const eg_span *spans, int64_t n_spans, int64_t take,
                    float *out);

#endif
