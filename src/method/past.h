/* past.h - training on all data so far: what the upper bounds share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PAST_H
#define EG_PAST_H

#include <engram/method.h>

/* Adds the samples of every stage the client has been in before this one. */
static inline eg_status eg_add_past_samples(eg_client *c)
{
    for (int64_t stage = 0; stage < c->view.stage; stage++) {
        int64_t n;
        const eg_span *spans = eg_scenario_spans(c->scenario, c->id, stage, &n);
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < spans[k].n; i++) {
                eg_status s = eg_client_add_sample(c, spans[k].task, spans[k].ids[i]);
                if (s != EG_OK)
                    return s;
            }
    }
    return EG_OK;
}

#endif
