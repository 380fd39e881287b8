/* registry.c - the list of metrics.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/metric.h>

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
