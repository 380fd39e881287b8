/* registry.c - the list of metrics.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/metric.h>

#include "base/base.h"

#include <math.h>

// clang-format off
#define X(name) extern const eg_metric eg_metric_##name;
#include "list.inc"
#undef X

const eg_metric *const eg_metrics[] = {
#define X(name) &eg_metric_##name,
#include "list.inc"
#undef X
    NULL,
};
// clang-format on
static eg_added registry_added;
const eg_family eg_metric_family = {"metrics", "metric", eg_metrics, &registry_added};

const eg_metric *eg_metric_find(const char *word)
{
    return (const eg_metric *)eg_family_find(&eg_metric_family, word);
}

eg_status eg_metric_value(const eg_metric *m, const eg_record *r, const eg_record *reference,
                          int64_t who, double *out)
{
    *out = 0;
    if (m->needs_reference && !reference)
        return eg_fail(EG_EINVAL, "%s needs the record of a second run, 'centralized'",
                       m->component.name);
    if (!m->value(r, reference, who, out)) {
        *out = 0;
        return eg_fail(EG_ENOENT, "%s has no meaning for this run", m->component.name);
    }
    EG_ASSERT(isfinite(*out));
    return EG_OK;
}
