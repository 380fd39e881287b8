/* budget.c - whether a run fits into the memory that a device may take.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is open already is counted by the allocator; what a turn will take on top of it is known
 * before there is one: plans know their arenas, messages and records are vectors as long as the
 * model. What parts keep beside these, a teacher or a generator, is not: such a turn may fail.
 */
#include "run/transport/joiner.h"

#include <malloc.h>

enum {
    BUDGET_PROGRAM = 4 << 20, /* of the program itself */
    BUDGET_BESIDE = 2 << 20,  /* of its stacks and connections, and what lies between blocks */
    BUDGET_PLANS = 8,         /* that a worker keeps */
    BUDGET_SLACK = 16         /* one part in so many that the allocator loses */
};

/* Bytes that the allocator has of the system. */
static size_t budget_taken(void)
{
#ifdef __GLIBC__
    struct mallinfo2 is = mallinfo2();
    return is.arena + is.hblkhd;
#else
    return 0;
#endif
}

/* Training's plans, each for its own number of rows: while a memory fills there are more of
 * them; and one for what is left of the samples. An arena grows with its rows.
 */
static eg_status budget_plans(const eg_joiner *j, size_t *out)
{
    eg_worker *w = &j->rig->worker;
    int64_t batch = w->e->train.batch * w->feed->fan, more = 0;
    size_t full;
    for (size_t i = 0; i < w->agreed->n_replays; i++)
        more += w->agreed->replays[i].is.rows;
    EG_TRY(eg_worker_plan_bytes(w, batch + more, &full));
    double rows = (double)(batch + more),
           sum = 2 * rows; /* the whole batch, and the last one */
    for (int64_t k = 2, had = 0; k < BUDGET_PLANS && had < more; k++, had += batch)
        sum += (double)(batch + had);
    *out = (size_t)(sum / rows * (double)full);
    return EG_OK;
}

/* The download as bytes and as vectors, the answer likewise, and what is kept of the optimiser
 * and of the memory when it is written. */
static size_t budget_messages(const eg_joiner *j)
{
    const eg_worker *w = &j->rig->worker;
    const eg_params *p = eg_net_params(w->net);
    size_t model = (eg_params_length(p) + eg_state_length(p)) * sizeof(float), slots = 0;
    while (w->e->train.optimizer_state && eg_optimizer_slot(w->model->optimizer, (int)slots))
        slots++;
    size_t row = (w->feed->sample + (size_t)w->feed->aim.width +
                  (w->agreed->all.logits ? (size_t)w->client.n_classes : 0)) *
                 sizeof(float);
    size_t rows = w->e->memory.kind ? (size_t)w->e->memory.size * row : 0;
    return model * (2 + 2 * (1 + w->agreed->n_uploads) + slots) + 2 * rows;
}

eg_status eg_joiner_fits(const eg_joiner *j)
{
    size_t plans, taken = budget_taken();
    if (j->how->memory <= 0)
        return EG_OK;
    EG_TRY(budget_plans(j, &plans));
    size_t needs = taken + plans + budget_messages(j);
    needs += needs / BUDGET_SLACK + BUDGET_BESIDE + BUDGET_PROGRAM;
    if (needs <= (size_t)j->how->memory)
        return EG_OK;
    return eg_fail(EG_ENOMEM,
                   "the run does not fit into %.1f MB of memory: this device would need about "
                   "%.1f MB for it",
                   1e-6 * (double)j->how->memory, 1e-6 * (double)needs);
}
