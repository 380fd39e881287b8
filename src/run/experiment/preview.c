/* preview.c - who sees what in a run, from labels alone and without a run.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/feed.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)EG_PREVIEW_SOURCES == (int)EG_MAX_SOURCES, "a preview has every source");

/* The labels of one split; the images go, and a share of the rows stays. */
static eg_status preview_table(const eg_dataset *set, const void *options,
                               const eg_origin *from, eg_split split, double share,
                               eg_table *out)
{
    EG_TRY(eg_dataset_load(set, options, from, split, out));
    return eg_scale_table(out, share);
}

eg_status eg_labels_load(const eg_dataset *set, const void *options, const eg_origin *from,
                         double share, eg_labels *out)
{
    eg_table train = {0}, test = {0};
    *out = (eg_labels){0};
    eg_status s = preview_table(set, options, from, EG_TRAIN, share, &train);
    if (s == EG_OK)
        s = preview_table(set, options, from, EG_TEST, share, &test);
    if (s == EG_OK) {
        *out = (eg_labels){.n_train = train.n,
                           .n_test = test.n,
                           .classes = train.classes,
                           .train = train.y,
                           .test = test.y,
                           .group = train.group};
        train.y = test.y = train.group = NULL; /* they are the labels' now */
    }
    eg_table_fini(&train);
    eg_table_fini(&test);
    return s;
}

/* True if the data set has its default options, which the published counts are for. */
static bool preview_is_plain(const eg_dataset *set, const void *options)
{
    void *plain;
    bool same = true;
    if (eg_component_new(&set->component, &plain) != EG_OK)
        return false;
    for (const eg_opt *o = set->component.opts; o && o->name; o++) {
        char a[EG_OPT_TEXT_SIZE], b[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, options, a);
        eg_opt_print(o, plain, b);
        same &= strcmp(a, b) == 0;
    }
    free(plain);
    return same;
}

/* Published labels, the share of them that a run would keep of the data itself. */
static eg_status preview_published(const char *name, double share, eg_labels *out)
{
    EG_TRY(eg_labels_published(name, out));
    eg_table train = {.n = out->n_train,
                      .classes = out->classes,
                      .y = (int32_t *)(uintptr_t)out->train,
                      .group = (int32_t *)(uintptr_t)out->group};
    eg_table test = {
        .n = out->n_test, .classes = out->classes, .y = (int32_t *)(uintptr_t)out->test};
    eg_status s = eg_scale_table(&train, share);
    if (s == EG_OK)
        s = eg_scale_table(&test, share);
    out->n_train = train.n;
    out->n_test = test.n;
    if (s != EG_OK)
        eg_labels_free(out);
    return s;
}

static eg_status preview_source(const eg_experiment *e, size_t i, uint64_t seed, bool real,
                                eg_preview *out)
{
    const eg_dataset *set = e->sets[i];
    const double share = e->scale * e->data.share;
    out->names[i] = set->component.name;
    out->published[i] = !real && preview_is_plain(set, e->set_options[i]) &&
                        preview_published(set->component.name, share, &out->labels[i]) == EG_OK;
    if (out->published[i])
        return EG_OK;
    const eg_origin from = {.seed = seed, .beside = *e->folder ? e->folder : NULL};
    return eg_labels_load(set, e->set_options[i], &from, share, &out->labels[i]);
}

eg_status eg_experiment_preview(const eg_experiment *e, uint64_t seed, bool real,
                                eg_preview *out)
{
    *out = (eg_preview){0};
    eg_status s = EG_OK;
    for (size_t i = 0; i < e->n_sources && s == EG_OK; i++) {
        s = preview_source(e, i, seed, real, out);
        out->n = i + 1;
    }
    if (s == EG_OK)
        s = eg_feed_scenario(e, seed, out->labels, out->n, &out->scenario);
    if (s != EG_OK)
        eg_preview_fini(out);
    return s;
}

void eg_preview_fini(eg_preview *p)
{
    eg_scenario_free(p->scenario);
    for (size_t i = 0; i < p->n; i++)
        eg_labels_free(&p->labels[i]);
    *p = (eg_preview){0};
}
