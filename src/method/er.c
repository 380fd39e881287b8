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

static eg_status er_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const er *e = options;
    (void)in;
    out->memory = true;
    out->replays[0] = (eg_replay){.rows = e->batch, .joins = true};
    return EG_OK;
}

const eg_method eg_method_er = {
    .component = {"er", "replay: batches are joined by rows from the client's memory",
                  sizeof(er), er_opts},
    .setup = er_setup,
};
