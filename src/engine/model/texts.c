/* texts.c - what networks of texts share.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/model/texts.h"

#include "engine/graph/graph.h"

#include <stdio.h>

eg_layer_name eg_layer_part(const char *layer, const char *part)
{
    eg_layer_name n;
    snprintf(n.text, sizeof n.text, "%.40s.%.22s", layer, part);
    return n;
}

eg_texts eg_texts_of(eg_graph *g, eg_node *x)
{
    eg_texts t = {.ids = g->poison, .within = g->poison, .lengths = g->poison};
    if (eg_is_poison(x))
        return t;
    const int64_t *d = x->shape.dim;
    if (x->shape.rank != 4 || d[1] != 1 || d[2] != 1) {
        eg_poison(g, EG_ESHAPE, "the network reads texts, a row of numbers of pieces each");
        return t;
    }
    t.n = d[0], t.most = d[3];
    x = eg_reshape(g, x, eg_dims(t.n, t.most));
    eg_node *behind = eg_equal(g, x, eg_constant(g, x->shape, -1));
    eg_node *within = eg_affine(g, behind, -1, 1);
    t.lengths = eg_reshape(g, eg_sum(g, within, EG_AXIS(1)), eg_dims(t.n));
    t.within = eg_reshape(g, within, eg_dims(t.n, t.most, 1));
    t.ids = eg_relu(g, x);
    return t;
}

eg_node *eg_texts_embed(eg_graph *g, const eg_texts *t, eg_node *table)
{
    return eg_embedding(g, table, t->ids);
}

eg_node *eg_texts_positions(eg_graph *g, eg_params *p, const eg_texts *t,
                            const eg_positions *spec)
{
    if (t->most > spec->longest)
        return eg_poison(g, EG_ESHAPE,
                         "texts of %lld pieces, and the network takes %lld: set data.length",
                         (long long)t->most, (long long)spec->longest);
    eg_node *table =
        eg_param(g, p, spec->name, eg_dims(spec->longest, spec->width), spec->init);
    return eg_reshape(g, eg_slice(g, table, 0, 0, t->most), eg_dims(1, t->most, spec->width));
}

eg_node *eg_texts_mean(eg_graph *g, const eg_texts *t, eg_node *h)
{
    if (eg_is_poison(h))
        return h;
    int64_t w = h->shape.dim[2];
    eg_node *sum =
        eg_reshape(g, eg_sum(g, eg_mul(g, h, t->within), EG_AXIS(1)), eg_dims(t->n, w));
    eg_node *none = eg_equal(g, t->lengths, eg_constant(g, eg_dims(t->n), 0));
    eg_node *count = eg_reshape(g, eg_add(g, t->lengths, none), eg_dims(t->n, 1));
    return eg_div(g, sum, count);
}
