/* piece.c - a worker does a piece of the server's work.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/flops.h"
#include "run/client/worker.h"

/* A server's streams are those of a client before its first batch, and of another step. */
eg_rng eg_piece_stream(const eg_piece *p, int64_t of, uint32_t draw)
{
    enum { SERVER_STEP = 0xfffffff }; /* no client takes so many */
    return eg_part_stream(&(eg_part_draw){.part = p->part,
                                          .seed = p->seed,
                                          .client = of,
                                          .when = p->round,
                                          .step = SERVER_STEP,
                                          .draw = draw});
}

static eg_status piece_do(eg_worker *w, const eg_turn *turn, eg_bundle *to)
{
    if (turn->piece.part >= w->e->parts.n)
        return eg_fail(EG_EINVAL, "there is no such work");
    return eg_chain_work(&w->chain, turn->piece.part,
                         &(eg_piece){.i = turn->piece.i,
                                     .worker = w,
                                     .net = w->net,
                                     .from = turn->down,
                                     .round = turn->round,
                                     .seed = turn->seed,
                                     .part = eg_parts_stream(&w->e->parts, turn->piece.part)},
                         to);
}

eg_status eg_worker_take_work(eg_worker *w, const eg_turn *turn, eg_reply *out)
{
    double since = eg_seconds();
    uint64_t flops = eg_flops();
    *out = (eg_reply){0};
    EG_TRY(eg_bundle_new(&out->up));
    eg_status s = piece_do(w, turn, out->up);
    if (s != EG_OK)
        eg_reply_fini(out);
    out->seconds = eg_seconds() - since;
    out->flops = eg_flops() - flops;
    eg_flops_set(flops); /* the thread may be the server's own, which counts replies */
    return s;
}
