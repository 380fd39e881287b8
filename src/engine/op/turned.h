/* turned.h - products with turned weights, for linear layers with many rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_TURNED_H
#define EG_SRC_TURNED_H

#include "engine/op/op.h"

/* Room for an edge of as many rows, and for a panel of the weights for each thread. */
static inline eg_value *eg_turned_scratch(eg_plan *p, int64_t rows, int64_t ins)
{
    enum { COLS = 64 }; /* of a panel at most */
    return eg_plan_scratch(p, (size_t)((rows + eg_plan_team(p) * (ins + 1)) * COLS) *
                                  sizeof(float));
}

/* A part's rows of y [m, n] = x [m, k] w [n, k]^T + bias, with that room; mnk: m, n, k. */
static inline eg_range eg_turned_share(const eg_step *s, const eg_team_part *part,
                                       const int64_t mnk[3])
{
    enum { COLS = 64 };
    const eg_team_part some = eg_plan_limit(s, part);
    int64_t n = mnk[1], k = mnk[2];
    if (some.i >= some.n)
        return (eg_range){0};
    eg_range r = eg_team_range(&some, mnk[0], 1);
    const int64_t own[] = {r.to - r.from, n, k};
    if (r.to > r.from)
        s->k->token_linear(s->out[0]->data + r.from * n, s->in[0]->data + r.from * k,
                           s->in[1]->data, s->n_in > 2 ? s->in[2]->data : NULL,
                           s->out[1]->data + (some.i * (k + 1) + r.from) * COLS, own);
    return r;
}

#endif
