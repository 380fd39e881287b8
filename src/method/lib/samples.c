/* samples.c - lists the samples of a stage, or draws some.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/samples.h"

eg_status eg_stage_samples(const eg_client *c, int64_t stage, int64_t take, eg_rng *rng,
                           eg_sample **out, int64_t *n)
{
    int64_t n_spans, all = 0, seen = 0;
    const eg_span *spans = eg_scenario_spans(c->scenario, c->id, stage, &n_spans);
    *n = 0;
    for (int64_t k = 0; k < n_spans; k++)
        all += spans[k].n;
    EG_TRY(eg_alloc((size_t)all, sizeof **out, out));
    for (int64_t k = 0; k < n_spans; k++)
        for (int64_t i = 0; i < spans[k].n; i++, seen++) /* as many as are wanted of the rest */
            if (!rng || (int64_t)eg_rng_below(rng, (uint64_t)(all - seen)) < take - *n)
                (*out)[(*n)++] = (eg_sample){spans[k].task, spans[k].ids[i]};
    return EG_OK;
}
