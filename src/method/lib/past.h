/* past.h - what the bounds share: all data so far, models of one's own.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PAST_H
#define EG_PAST_H

#include <engram/method.h>

/* A setup that wishes for nothing but that every client keeps its own model. */
static inline eg_status eg_setup_personal(const void *options, const eg_setting *in,
                                          eg_wishes *out)
{
    (void)options, (void)in;
    out->personal = true;
    return EG_OK;
}

/* A samples hook: adds those of every stage the client has been in before this one. */
static inline eg_status eg_add_past_samples(void *self, eg_client *c)
{
    (void)self;
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
