/* replay.c - rows of the client's memory, drawn for the parts that asked for them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/worker.h"

/* How many rows replay i has now. */
static int64_t replay_rows(const eg_worker *w, size_t i)
{
    int64_t there = eg_memory_filled(w->client.memory), wanted = w->agreed->replays[i].is.rows;
    return there < wanted ? there : wanted;
}

int64_t eg_worker_joining(const eg_worker *w)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->agreed->n_replays; i++)
        sum += w->agreed->replays[i].is.joins ? replay_rows(w, i) : 0;
    return sum;
}

uint64_t eg_worker_replay_form(const eg_worker *w)
{
    uint64_t form = 0;
    for (size_t i = 0; i < w->agreed->n_replays; i++)
        if (!w->agreed->replays[i].is.joins)
            form = form * 65537 + (uint64_t)replay_rows(w, i);
    return form;
}

eg_replayed eg_client_replayed(eg_client *c, eg_graph *g, size_t i)
{
    const eg_worker *w = c->worker;
    const eg_net_spec *net = eg_net_spec_of(c->net);
    eg_replayed r = {0};
    for (size_t k = 0; k < w->agreed->n_replays; k++) {
        const eg_replay *is = &w->agreed->replays[k].is;
        const eg_replay_inputs *names = &w->agreed->replays[k].inputs;
        if (w->agreed->replays[k].part != c->part || w->agreed->replays[k].index != i)
            continue;
        r.n = is->joins ? 0 : replay_rows(w, k);
        if (r.n == 0)
            break;
        r.x = eg_input(g, names->x, eg_dims(r.n, net->channels, net->height, net->width));
        if (is->labels)
            r.labels = eg_input(g, names->labels, eg_dims(r.n));
        if (is->logits)
            r.logits = eg_input(g, names->logits, eg_dims(r.n, c->n_classes));
    }
    return r;
}

/* Where the rows of replay i go: into the batch behind `at`, or the part's own inputs. */
static eg_memory_rows replay_place(const eg_worker *w, size_t i, int64_t at)
{
    const eg_client *c = &w->client;
    const eg_replay_inputs *names = &w->agreed->replays[i].inputs;
    eg_memory_rows to = {.n = replay_rows(w, i)};
    if (w->agreed->replays[i].is.joins) {
        to.x = c->x + (size_t)at * w->feed->sample;
        to.labels = c->labels + at;
    } else if (to.n) {
        to.x = eg_plan_input(c->plan, names->x);
        to.labels = eg_plan_input(c->plan, names->labels);
        to.logits = eg_plan_input(c->plan, names->logits);
    }
    return to;
}

void eg_worker_replay(eg_worker *w, int64_t at)
{
    for (size_t i = 0; i < w->agreed->n_replays; i++) {
        size_t part = w->agreed->replays[i].part;
        double since = eg_seconds();
        eg_memory_rows to = replay_place(w, i, at);
        w->client.part = part;
        eg_rng rng = eg_client_stream(&w->client, (uint32_t)w->agreed->replays[i].index);
        if (to.n && to.x) /* a loss hook need not have recorded all it asked for */
            eg_memory_draw(w->client.memory, &rng, &to);
        at += w->agreed->replays[i].is.joins ? to.n : 0;
        w->chain.seconds[part] += eg_seconds() - since;
    }
}
