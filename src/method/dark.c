/* dark.c - dark experience replay: the terms, and the rows for them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/dark.h"

#include <engram/op.h>

/* Rows of each draw. */
static int64_t dark_rows(const eg_dark *d, const eg_client *c)
{
    int64_t there = eg_memory_filled(c->memory);
    if (d->alpha <= 0 && d->beta <= 0)
        return 0;
    return there < d->batch ? there : d->batch;
}

int64_t eg_dark_aside(void *self, eg_client *c)
{
    return dark_rows(self, c);
}

/* The logits for rows of an input of that name. */
static eg_node *dark_logits(eg_client *c, eg_graph *g, const char *name, int64_t rows)
{
    const eg_net_spec *s = eg_net_spec_of(c->net);
    eg_node *x = eg_input(g, name, eg_dims(rows, s->channels, s->height, s->width));
    return eg_client_outputs(c, g, x);
}

static eg_node *dark_add(eg_graph *g, eg_node *loss, double factor, eg_node *term)
{
    return eg_add(g, loss, eg_affine(g, term, factor, 0));
}

eg_node *eg_dark_loss(const eg_dark *d, const eg_dark_names *names, eg_client *c, eg_graph *g,
                      eg_node *loss)
{
    int64_t rows = dark_rows(d, c);
    if (rows > 0 && d->alpha > 0) {
        eg_node *stored = eg_input(g, names->logits, eg_dims(rows, c->n_classes));
        eg_node *now = dark_logits(c, g, names->x, rows);
        loss = dark_add(g, loss, d->alpha, eg_mse(g, now, stored));
    }
    if (rows > 0 && d->beta > 0) {
        eg_node *labels = eg_input(g, names->labels, eg_dims(rows));
        eg_node *now = eg_client_counted(c, g, dark_logits(c, g, names->second_x, rows));
        loss = dark_add(g, loss, d->beta, eg_cross_entropy(g, now, labels, NULL));
    }
    return loss;
}

static eg_rng dark_stream(const eg_client *c, uint64_t block)
{
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_REPLAY);
    rng.block = block + (c->step << 32);
    return rng;
}

eg_status eg_dark_fill(const eg_dark *d, const eg_dark_names *names, eg_client *c)
{
    int64_t rows = dark_rows(d, c);
    if (rows > 0 && d->alpha > 0) {
        eg_rng rng = dark_stream(c, names->block);
        eg_memory_draw(c->memory, &rng,
                       &(eg_memory_rows){.n = rows,
                                         .x = eg_plan_input(c->plan, names->x),
                                         .logits = eg_plan_input(c->plan, names->logits)});
    }
    if (rows > 0 && d->beta > 0) {
        eg_rng rng = dark_stream(c, names->second_block);
        eg_memory_draw(c->memory, &rng,
                       &(eg_memory_rows){.n = rows,
                                         .x = eg_plan_input(c->plan, names->second_x),
                                         .labels = eg_plan_input(c->plan, names->labels)});
    }
    return EG_OK;
}
