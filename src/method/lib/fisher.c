/* fisher.c - the diagonal Fisher, one sample's gradient after the other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/fisher.h"

#include <string.h>

static int64_t fisher_count(const eg_span *spans, int64_t n_spans)
{
    int64_t n = 0;
    for (int64_t k = 0; k < n_spans; k++)
        n += spans[k].n;
    return n;
}

/* Sample i of all spans, one span after the other. */
static eg_sample fisher_sample(const eg_span *spans, int64_t i)
{
    for (; i >= spans->n; spans++)
        i -= spans->n;
    return (eg_sample){spans->task, spans->ids[i]};
}

eg_status eg_fisher(eg_client *c, const eg_span *spans, int64_t n_spans, int64_t take,
                    float *out)
{
    int64_t n = fisher_count(spans, n_spans);
    take = take == 0 || take > n ? n : take;
    memset(out, 0, c->n_params * sizeof *out);
    for (int64_t i = 0; i < take; i++) {
        eg_sample s = fisher_sample(spans, i * n / take);
        const float *g; /* [n_params] */
        EG_TRY(eg_client_gradient(c, NULL, EG_EVAL_FORM, &(eg_rows){1, &s, NULL, NULL}, &g));
        for (size_t k = 0; k < c->n_params; k++)
            out[k] += g[k] * g[k];
    }
    for (size_t k = 0; take > 0 && k < c->n_params; k++)
        out[k] /= (float)take;
    return EG_OK;
}
