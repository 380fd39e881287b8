/* registry.c - the list of data sets, and loading through it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/data.h>

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name) extern const eg_dataset eg_dataset_##name;
#include "world/data/list.inc"
#undef X

const eg_dataset *const eg_datasets[] = {
#define X(name) &eg_dataset_##name,
#include "world/data/list.inc"
#undef X
    NULL,
};
static eg_added registry_added;
const eg_family eg_dataset_family = {"data", "data set", eg_datasets, &registry_added};

const eg_dataset *eg_dataset_find(const char *word)
{
    return (const eg_dataset *)eg_family_find(&eg_dataset_family, word);
}

const eg_label_counts *eg_dataset_counts(const char *word)
{
    const eg_component *member;
    for (size_t i = 0; (member = eg_family_at(&eg_dataset_family, i)) != NULL; i++) {
        const eg_label_counts *c = ((const eg_dataset *)member)->counts;
        for (; c && c->name; c++)
            if (eg_name_equal(c->name, word))
                return c;
    }
    return NULL;
}

eg_status eg_dataset_add(const eg_dataset *d)
{
    if (!d->load)
        return eg_fail(EG_EINVAL, "a data set '%s' has nothing to load it with",
                       d->component.name ? d->component.name : "");
    return eg_family_add(&eg_dataset_family, &d->component);
}

/* What every member must deliver, whatever its files held. */
static eg_status dataset_verify(const eg_dataset *d, const eg_table *t)
{
    if (t->n < 1 || eg_table_sample(t) < 1 || t->classes < 1)
        return eg_fail(EG_EFORMAT, "there are no samples");
    if (!t->y || (t->u8 == NULL) == (t->f32 == NULL))
        return eg_fail(EG_EFORMAT, "a table has labels, and either bytes or floats");
    for (int64_t i = 0; i < t->n; i++)
        if (t->y[i] < 0 || t->y[i] >= t->classes)
            return eg_fail(EG_EFORMAT, "label %d of sample %lld is outside 0 to %lld", t->y[i],
                           (long long)i, (long long)t->classes - 1);
    if ((d->target != NULL) != (t->target != NULL))
        return eg_fail(EG_EFORMAT, "its targets are %s, and its table has %s",
                       d->target ? d->target : "labels", t->target ? "others" : "none");
    return EG_OK;
}

eg_status eg_dataset_load(const eg_dataset *d, const void *self, const eg_origin *from,
                          eg_split split, eg_table *out)
{
    *out = (eg_table){0};
    const eg_origin nowhere = {0};
    void *standard = NULL;
    if (!self)
        EG_TRY(eg_component_new(&d->component, &standard));
    eg_status s = d->load(self ? self : standard, from ? from : &nowhere, split, out);
    if (s == EG_OK)
        s = dataset_verify(d, out);
    free(standard);
    if (s != EG_OK)
        eg_table_fini(out);
    return eg_blame(s, "%s", d->component.name);
}
