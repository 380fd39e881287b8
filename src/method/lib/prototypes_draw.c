/* prototypes_draw.c - prototypes drawn with noise, and the head's loss on them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/prototypes.h"

#include <engram/op.h>

#include "base/base.h"

#include <stdio.h>

enum { DRAW_NAME = 64 };

bool eg_prototypes_is_current(const eg_client *c, int64_t class)
{
    const int32_t *classes;
    for (int64_t k = 0; k < c->view.n_spans; k++) {
        int64_t n = eg_scenario_classes(c->scenario, c->id, c->view.spans[k].task, &classes);
        for (int64_t i = 0; i < n; i++)
            if (classes[i] == class)
                return true;
    }
    return false;
}

eg_status eg_draws_init(eg_draws *d, const eg_prototypes *of, const eg_client *c,
                        bool with_current)
{
    d->of = of;
    d->n = 0;
    EG_TRY(eg_alloc((size_t)of->n_classes, sizeof *d->classes, &d->classes));
    for (int64_t k = 0; k < of->n_classes; k++)
        if (of->known[k] && (with_current || !eg_prototypes_is_current(c, k)))
            d->classes[d->n++] = (int32_t)k;
    return EG_OK;
}

void eg_draws_fill(const eg_draws *d, const eg_client *c, uint32_t number, int64_t n, float *x,
                   float *classes)
{
    const eg_prototypes *p = d->of;
    eg_rng rng = eg_client_stream(c, number);
    double radius = p->radius > 0 ? p->radius : 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t class = d->classes[eg_rng_below(&rng, (uint64_t)d->n)];
        const float *mean = p->means + class * p->d;
        for (int64_t j = 0; j < p->d; j++)
            *x++ = (float)((double)mean[j] + radius * eg_rng_normal(&rng));
        classes[i] = (float)class;
    }
}

static const char *draw_name(const char *part, const char *what, char out[DRAW_NAME])
{
    int n = snprintf(out, DRAW_NAME, "%s.%s", part, what);
    EG_ASSERT(n < DRAW_NAME);
    return out;
}

eg_node *eg_draws_loss(const char *part, eg_client *c, eg_graph *g)
{
    char name[DRAW_NAME];
    int64_t n = eg_draws_count(c), d = eg_net_n_features(c->net);
    eg_node *x = eg_input(g, draw_name(part, "old", name), eg_dims(n, d));
    eg_node *labels = eg_input(g, draw_name(part, "old labels", name), eg_dims(n));
    eg_node *logits = eg_client_outputs_of(c, g, x);
    return eg_cross_entropy(g, eg_affine(g, logits, 1 / c->train->temperature, 0), labels,
                            NULL);
}

void eg_draws_fill_loss(const eg_draws *d, const char *part, const eg_client *c)
{
    char name[DRAW_NAME];
    int64_t n = eg_draws_count(c), fan = eg_train_fan(c->train);
    float *x = eg_plan_input(c->plan, draw_name(part, "old", name));
    float *labels = eg_plan_input(c->plan, draw_name(part, "old labels", name));
    eg_draws_fill(d, c, 0, n, x, labels);
    for (int64_t i = 0; i < n; i++)
        labels[i] *= (float)fan;
}
