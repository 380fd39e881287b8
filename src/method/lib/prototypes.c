/* prototypes.c - sets of prototypes: what is known, into bundles and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/prototypes.h"

#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROTOTYPES_NAME = 64 };

eg_status eg_prototypes_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->classes = true;
    return EG_OK;
}

eg_status eg_prototypes_init(eg_prototypes *p, const eg_scenario *s, const eg_net *net)
{
    p->n_classes = eg_scenario_n_classes(s);
    p->d = eg_net_n_features(net);
    p->radius = -1;
    EG_TRY(eg_alloc((size_t)p->n_classes, sizeof *p->known, &p->known));
    return eg_alloc((size_t)(p->n_classes * p->d), sizeof *p->means, &p->means);
}

void eg_prototypes_fini(eg_prototypes *p)
{
    free(p->known);
    free(p->means);
    *p = (eg_prototypes){0};
}

void eg_prototypes_clear(eg_prototypes *p)
{
    memset(p->known, 0, (size_t)p->n_classes * sizeof *p->known);
    p->radius = -1;
}

int64_t eg_prototypes_count(const eg_prototypes *p)
{
    int64_t n = 0;
    for (int64_t k = 0; k < p->n_classes; k++)
        n += p->known[k];
    return n;
}

static void prototypes_set(eg_prototypes *p, int64_t class, const float *mean)
{
    p->known[class] = true;
    memcpy(p->means + class * p->d, mean, (size_t)p->d * sizeof *mean);
}

void eg_prototypes_update(eg_prototypes *p, const eg_prototypes *from)
{
    for (int64_t k = 0; k < p->n_classes; k++)
        if (from->known[k])
            prototypes_set(p, k, from->means + k * p->d);
    p->radius = from->radius >= 0 ? from->radius : p->radius;
}

static const char *prototypes_name(const char *part, const char *what,
                                   char out[PROTOTYPES_NAME])
{
    int n = snprintf(out, PROTOTYPES_NAME, "%s.%s", part, what);
    EG_ASSERT(n < PROTOTYPES_NAME);
    return out;
}

eg_status eg_prototypes_write(const eg_prototypes *p, const char *part, eg_bundle *to)
{
    char name[PROTOTYPES_NAME];
    int64_t n = eg_prototypes_count(p);
    float *classes, *means;
    if (p->radius >= 0)
        EG_TRY(eg_bundle_scalar(to, prototypes_name(part, "radius", name), p->radius));
    if (n == 0)
        return EG_OK;
    EG_TRY(eg_bundle_room(to, prototypes_name(part, "classes", name), eg_dims(n), &classes));
    EG_TRY(eg_bundle_room(to, prototypes_name(part, "prototypes", name), eg_dims(n, p->d),
                          &means));
    for (int64_t k = 0; k < p->n_classes; k++)
        if (p->known[k]) {
            *classes++ = (float)k;
            memcpy(means, p->means + k * p->d, (size_t)p->d * sizeof *means);
            means += p->d;
        }
    return EG_OK;
}

eg_status eg_prototypes_check_classes(const eg_prototypes *p, const float *classes, size_t n)
{
    bool *met;
    eg_status s = EG_OK;
    EG_TRY(eg_alloc((size_t)p->n_classes, sizeof *met, &met));
    for (size_t i = 0; i < n && s == EG_OK; i++) {
        float k = classes[i];
        if (!(k >= 0 && k < (float)p->n_classes && floorf(k) >= k))
            s = eg_fail(EG_EINVAL, "a prototype of class %g: not a whole number below %lld",
                        (double)k, (long long)p->n_classes);
        else if (met[(int64_t)k])
            s = eg_fail(EG_EINVAL, "two prototypes of class %lld", (long long)k);
        else
            met[(int64_t)k] = true;
    }
    free(met);
    return s;
}

eg_status eg_prototypes_read(eg_prototypes *p, const char *part, const eg_bundle *from)
{
    char name[PROTOTYPES_NAME];
    size_t n, n_means;
    double radius;
    const float *classes = eg_bundle_find(from, prototypes_name(part, "classes", name), &n);
    const float *means =
        eg_bundle_find(from, prototypes_name(part, "prototypes", name), &n_means);
    bool has_radius = eg_bundle_scalar_of(from, prototypes_name(part, "radius", name), &radius);
    if (n_means != n * (size_t)p->d)
        return eg_fail(EG_ESHAPE, "%zu values of prototypes for %zu classes, not %lld each",
                       n_means, n, (long long)p->d);
    EG_TRY(eg_prototypes_check_classes(p, classes, n));
    if (has_radius && !(radius >= 0 && radius <= (double)FLT_MAX))
        return eg_fail(EG_EINVAL, "a radius of %g: not a length", radius);
    for (size_t i = 0; i < n; i++)
        prototypes_set(p, (int64_t)classes[i], means + i * (size_t)p->d);
    p->radius = has_radius ? radius : p->radius;
    return EG_OK;
}

eg_status eg_prototypes_recall(eg_prototypes *p, const char *part, eg_client *c)
{
    const eg_bundle *kept;
    EG_TRY(eg_client_recall(c, part, &kept));
    return kept ? eg_prototypes_read(p, part, kept) : EG_OK;
}

eg_status eg_prototypes_keep(const eg_prototypes *p, const char *part, eg_client *c)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, eg_prototypes_write(p, part, record)));
    return eg_client_keep(c, part, record);
}
