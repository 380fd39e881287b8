/* fixture.h - small label sets and one-line scenarios for tests.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SCENARIO_FIXTURE_H
#define EG_SCENARIO_FIXTURE_H

#include <engram/scenario.h>

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* n training samples per class and n/5 test samples, classes by turns, owned by `owners` by
 * turns. */
static inline eg_labels fixture_labels(int64_t classes, int64_t n, int32_t owners)
{
    eg_labels l = {.classes = classes, .n_train = classes * n, .n_test = classes * (n / 5)};
    int32_t *train, *test, *group;
    EG_ASSERT(eg_alloc((size_t)l.n_train, sizeof *train, &train) == EG_OK);
    EG_ASSERT(eg_alloc((size_t)l.n_test, sizeof *test, &test) == EG_OK);
    EG_ASSERT(eg_alloc((size_t)l.n_train, sizeof *group, &group) == EG_OK);
    for (int64_t i = 0; i < l.n_train; i++) {
        train[i] = (int32_t)(i % classes);
        group[i] = (int32_t)(i / classes % owners);
    }
    for (int64_t i = 0; i < l.n_test; i++)
        test[i] = (int32_t)(i % classes);
    l.train = train;
    l.test = test;
    l.group = group;
    return l;
}

/* A description from "kind=class_incremental tasks=5 partition=iid"; free it either way. */
static inline eg_status fixture_spec(const char *words, eg_spec **out)
{
    char copy[512], *rest = copy;
    EG_TRY(eg_spec_new(out));
    EG_ASSERT(strlen(words) < sizeof copy);
    memcpy(copy, words, strlen(words) + 1);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        *value++ = 0;
        EG_TRY(eg_spec_set(*out, word, value));
    }
    return EG_OK;
}

/* The scenario of such a description. */
static inline eg_status fixture_new(const char *words, uint64_t seed, const eg_labels *labels,
                                    eg_scenario **out)
{
    eg_spec *spec = NULL;
    *out = NULL;
    eg_status status = fixture_spec(words, &spec);
    if (status == EG_OK)
        status = eg_scenario_new(spec, seed, labels, 1, out);
    eg_spec_free(spec);
    return status;
}

/* The scenario folder/name.yaml with the published labels of its data, l [n]. */
static inline eg_scenario *fixture_file(const char *folder, const char *name, uint64_t seed,
                                        eg_labels l[8], size_t *n)
{
    char path[256];
    eg_spec *spec;
    eg_scenario *s;
    snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
    EG_ASSERT(EG_OK == eg_spec_load(path, &spec));
    *n = eg_spec_n_data(spec);
    EG_ASSERT(*n <= 8);
    for (size_t i = 0; i < *n; i++)
        EG_ASSERT(EG_OK == eg_labels_published(eg_spec_data(spec, i), &l[i]));
    EG_ASSERT(EG_OK == eg_scenario_new(spec, seed, l, *n, &s));
    eg_spec_free(spec);
    return s;
}

static inline void fixture_free_labels(eg_labels *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        eg_labels_free(&l[i]);
}

#endif
