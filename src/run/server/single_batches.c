/* single_batches.c - batches of one sample, refused for networks that cannot learn from one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/federation.h"

/* What the network says to the rows of one sample in its training form. */
static eg_status single_try(const eg_federation *f)
{
    const eg_net *net = f->net;
    const eg_net_spec *n = eg_net_spec_of(net);
    eg_graph *g;
    EG_TRY(eg_graph_new(&g));
    eg_net_forward(net, g,
                   eg_input(g, "x", eg_dims(f->feed.fan, n->channels, n->height, n->width)));
    eg_status s = eg_graph_status(g);
    eg_graph_free(g);
    return s;
}

/* The first client of the round whose last batch is one sample; -1 if there is none. */
static int64_t single_client(const eg_cursor *c, int64_t batch, int64_t *n)
{
    int64_t n_selected;
    const int32_t *selected = eg_cursor_selected(c, &n_selected);
    for (int64_t i = 0; i < n_selected; i++) {
        eg_view view;
        if (eg_cursor_view(c, selected[i], &view) && view.n_padded % batch == 1 % batch) {
            *n = view.n_padded;
            return selected[i];
        }
    }
    return -1;
}

eg_status eg_federation_check_batches(const eg_federation *f)
{
    int64_t batch = f->e->train.batch, rounds = eg_scenario_n_rounds(f->feed.scenario), n = 0;
    if (!f->agreed.fixed_rows || (f->e->train.steps > 0 && batch > 1)) /* steps are whole */
        return EG_OK;
    eg_status s = single_try(f);
    if (s != EG_ESHAPE)
        return s;
    eg_cursor *c;
    EG_TRY(eg_cursor_new(f->feed.scenario, &c));
    int64_t client = -1, round = 0;
    for (; round < rounds && client < 0; round++, eg_cursor_next(c, NULL))
        client = single_client(c, batch, &n);
    eg_cursor_free(c);
    if (client < 0)
        return EG_OK;
    EG_TRY(eg_blame(single_try(f),
                    "client %lld has %lld samples in round %lld, so its last batch of up to "
                    "%lld has one; change train.batch%s",
                    (long long)client, (long long)n, (long long)round, (long long)batch,
                    batch > 1 ? ", or set scenario.pad to it" : ""));
    return EG_OK;
}
