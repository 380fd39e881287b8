/* sums.c - what of a part's answers counts by its sum alone, and what may count late.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/chain.h"

#include "base/base.h"

/* A part that neither adds to answers nor looks at any is content with their sum. */
eg_status eg_part_check_sums(const eg_method *m, const eg_wishes *w)
{
    const char *name = m->component.name;
    bool looks = m->client.answer || m->server.weight || m->server.accept || m->server.collect;
    if (w->personal)
        return eg_fail(EG_ENOTSUP,
                       "%s has models of clients, of which there is no sum: it goes "
                       "without secure and dp",
                       name);
    if ((looks && !w->sums) || m->server.model_of)
        return eg_fail(EG_ENOTSUP,
                       "the server's half of %s looks at single answers, which "
                       "secure and dp hide: it goes without these",
                       name);
    for (size_t i = 0; i < EG_MAX_EXCHANGES && w->exchanges[i].name; i++)
        if (!w->exchanges[i].sum)
            return eg_fail(EG_ENOTSUP,
                           "the server's half of %s looks at single answers in the "
                           "exchange '%s', which secure and dp hide",
                           name, w->exchanges[i].name);
    return EG_OK;
}

/* A part that neither adds to answers nor looks at any does not mind when they come. */
eg_status eg_part_check_late(const eg_method *m, const eg_wishes *w)
{
    const char *name = m->component.name;
    bool looks = m->client.answer || m->server.weight || m->server.accept || m->server.collect;
    if (w->personal || m->server.model_of)
        return eg_fail(EG_ENOTSUP,
                       "%s has models of clients, which no later round takes up: it wants "
                       "server.late drop",
                       name);
    if ((looks && !w->late) || w->uploads[0])
        return eg_fail(
            EG_ENOTSUP,
            "the server's half of %s needs answers in the round they were asked for: "
            "it wants server.late drop",
            name);
    return EG_OK;
}

static eg_status sums_declare(const eg_part *part, const eg_net *net, int number, eg_bundle *to)
{
    const eg_method *m = part->method;
    return m->sums ? eg_blame(m->sums(part->options, net, number, to), "%s", m->component.name)
                   : EG_OK;
}

static eg_status sums_fill(const eg_parts *p, const eg_agreement *a, const eg_net *net,
                           size_t x, eg_bundle *to)
{
    float *values;
    size_t n = eg_params_length(eg_net_params(net));
    if (x != EG_TRAINING)
        return sums_declare(&p->at[a->exchanges[x].part], net, a->exchanges[x].number, to);
    for (size_t i = 0; i < a->n_uploads; i++)
        EG_TRY(eg_bundle_room(to, a->uploads[i], eg_dims((int64_t)n), &values));
    for (size_t i = 0; i < p->n; i++)
        EG_TRY(sums_declare(&p->at[i], net, EG_TRAINING, to));
    return EG_OK;
}

eg_status eg_parts_sums(const eg_parts *p, const eg_agreement *a, const eg_net *net, size_t x,
                        eg_bundle **out)
{
    *out = NULL;
    EG_TRY(eg_bundle_new(out));
    eg_status s = sums_fill(p, a, net, x, *out);
    if (s != EG_OK) {
        eg_bundle_free(*out);
        *out = NULL;
    }
    return s;
}
