/* confusion.c - predictions, and the matrix of what was taken for what.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

#include <stdlib.h>

int32_t eg_predict(const float *outputs, int64_t n, const int32_t *allowed, int64_t n_allowed)
{
    int64_t count = allowed ? n_allowed : n;
    EG_ASSERT(count > 0);
    int32_t best = allowed ? allowed[0] : 0;
    for (int64_t i = 1; i < count; i++) {
        int32_t k = allowed ? allowed[i] : (int32_t)i;
        if (outputs[k] > outputs[best])
            best = k;
    }
    return best;
}

/* Whether output k comes before output `before`: it is larger, or as large and listed before.
 */
static bool confusion_leads(const float *outputs, int32_t k, bool listed, int32_t before)
{
    return outputs[k] > outputs[before] ||
           (listed && !(outputs[k] < outputs[before] || outputs[before] < outputs[k]));
}

bool eg_predict_holds(const float *outputs, int64_t n, const eg_allowed *allowed, int64_t top,
                      int32_t truth)
{
    int64_t count = allowed->of ? allowed->n : n, ahead = 0, at = 0;
    if (top == 1 && count > 0) /* whatever is no number */
        return eg_predict(outputs, n, allowed->of, allowed->n) == truth;
    while (at < count && (allowed->of ? allowed->of[at] : (int32_t)at) != truth)
        at++;
    for (int64_t i = 0; at < count && i < count; i++) {
        int32_t k = allowed->of ? allowed->of[i] : (int32_t)i;
        ahead += i != at && confusion_leads(outputs, k, i < at, truth);
    }
    return at < count && ahead < top;
}

eg_status eg_confusion_init(eg_confusion *c, int64_t n)
{
    c->n = n;
    return eg_alloc((size_t)(n * n), sizeof *c->count, &c->count);
}

void eg_confusion_fini(eg_confusion *c)
{
    free(c->count);
    *c = (eg_confusion){0};
}

void eg_confusion_add(eg_confusion *c, int32_t truth, int32_t predicted)
{
    EG_ASSERT(truth >= 0 && truth < c->n && predicted >= 0 && predicted < c->n);
    c->count[truth * c->n + predicted]++;
}

bool eg_confusion_accuracy(const eg_confusion *c, double *out)
{
    int64_t right = 0, all = 0;
    for (int64_t i = 0; i < c->n * c->n; i++) {
        all += c->count[i];
        right += i / c->n == i % c->n ? c->count[i] : 0;
    }
    *out = all > 0 ? (double)right / (double)all : 0;
    return all > 0;
}

bool eg_confusion_recall(const eg_confusion *c, int64_t k, double *out)
{
    int64_t all = 0;
    for (int64_t i = 0; i < c->n; i++)
        all += c->count[k * c->n + i];
    *out = all > 0 ? (double)c->count[k * c->n + k] / (double)all : 0;
    return all > 0;
}
