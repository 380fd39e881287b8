/* er.c - experience replay (Chaudhry et al., 2019, arXiv:1902.10486), on every client.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: every batch is joined by as many rows drawn from the client's memory, and the loss is
 * the mean over all of them. Server: the usual mean.
 */
#include <engram/method.h>

typedef struct er {
    int64_t batch;
} er;

static const eg_opt er_opts[] = {
    EG_OPT_INT(er, batch, 32, 1, 65536, "rows drawn from the memory for each batch"),
    EG_OPT_END,
};

static int64_t er_extra(void *self, eg_client *c)
{
    const er *e = self;
    int64_t there = eg_memory_filled(c->memory);
    return there < e->batch ? there : e->batch;
}

static eg_status er_batch(void *self, eg_client *c, float *x, float *labels)
{
    const er *e = self;
    eg_rng rng = eg_rng_at(c->seed, (uint32_t)c->id, (uint32_t)c->round, EG_FOR_REPLAY);
    rng.block = c->step << 32; /* each batch its own part of the stream */
    eg_memory_draw(c->memory, &rng, &(eg_memory_rows){.n = e->batch, .x = x, .labels = labels});
    return EG_OK;
}

const eg_method eg_method_er = {
    .name = "er",
    .help = "replay: batches are joined by rows from the client's memory",
    .size = sizeof(er),
    .opts = er_opts,
    .needs_memory = true,
    .extra = er_extra,
    .batch = er_batch,
};
