/* published.c - labels made of published counts, to plan a scenario without the data.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/data.h>
#include <engram/scenario.h>

#include "base/base.h"

#include <stdlib.h>

void eg_labels_free(eg_labels *labels)
{
    free((void *)labels->train);
    free((void *)labels->test);
    free((void *)labels->group);
    *labels = (eg_labels){0};
}

static eg_status published_fill(int64_t classes, int64_t total, const int64_t *counts,
                                const int32_t **out)
{
    int32_t *labels;
    *out = NULL;
    EG_TRY(eg_alloc((size_t)total, sizeof *labels, &labels));
    int64_t at = 0;
    for (int64_t k = 0; k < classes; k++) {
        int64_t n = counts ? counts[k] : total / classes + (k < total % classes);
        for (int64_t i = 0; i < n; i++)
            labels[at++] = (int32_t)k;
    }
    EG_ASSERT(at == total);
    *out = labels;
    return EG_OK;
}

static eg_status published_owners(const eg_label_counts *c, const int32_t **out)
{
    int32_t *owner;
    EG_TRY(eg_alloc((size_t)c->n_train, sizeof *owner, &owner));
    for (int64_t i = 0; i < c->n_train; i++)
        owner[i] = (int32_t)(i % c->owners);
    *out = owner;
    return EG_OK;
}

eg_status eg_labels_published(const char *data, eg_labels *out)
{
    const eg_label_counts *c = eg_dataset_counts(data);
    *out = (eg_labels){0};
    if (!c)
        return eg_fail(EG_ENOENT, "data: there are no published label counts of '%s'", data);
    *out = (eg_labels){.n_train = c->n_train, .n_test = c->n_test, .classes = c->classes};
    eg_status status = published_fill(c->classes, c->n_train, c->train, &out->train);
    if (status == EG_OK)
        status = published_fill(c->classes, c->n_test, c->test, &out->test);
    if (status == EG_OK && c->owners > 0)
        status = published_owners(c, &out->group);
    if (status != EG_OK)
        eg_labels_free(out);
    return status;
}
