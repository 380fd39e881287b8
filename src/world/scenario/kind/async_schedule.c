/* async_schedule.c - each client has its own order of tasks and its own boundaries, and
 * moves on only when it is sampled (FedSpace: Shenaj et al., 2023).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <math.h>
#include <stdlib.h>

typedef struct async_schedule {
    int64_t tasks, rounds;
    double spread;
    int class_order;
} async_schedule;

// clang-format off
static const eg_opt async_schedule_opts[] = {
    EG_OPT_INT(async_schedule, tasks, 10, 1, 100000, "tasks; the classes are divided among them"),
    EG_OPT_INT(async_schedule, rounds, 5000, 1, 1e8, "rounds in all"),
    EG_OPT_REAL(async_schedule, spread, 0.3, 0, 1, "how far a task's rounds may be from the mean, as a fraction of it"),
    EG_OPT_CHOICE(async_schedule, class_order, 0, "how classes are put into tasks", "natural|shuffled"),
    EG_OPT_END,
};
// clang-format on

static eg_status async_schedule_tasks(const void *self, eg_scenario *s)
{
    const async_schedule *a = self;
    if (a->rounds < a->tasks)
        return eg_fail(EG_EINVAL, "rounds: %lld rounds are fewer than %lld tasks",
                       (long long)a->rounds, (long long)a->tasks);
    return eg_build_by_class(s, a->tasks, a->class_order == 1);
}

/* Rounds of each slot: all but one drawn around the mean, the rest left to one, then shuffled.
 * That rest may be negative; the client then leaves the slot as soon as it can. */
static void async_schedule_draw(const async_schedule *a, const eg_scenario *s, int64_t c,
                                int64_t *length)
{
    eg_rng r = eg_rng_at(s->seed, (uint32_t)c, 0, EG_FOR_TASKS);
    double mean = rint((double)a->rounds / (double)a->tasks), half = rint(mean * a->spread);
    int64_t left = a->rounds;
    for (int64_t i = 0; i < a->tasks - 1; i++) {
        length[i] = (int64_t)rint(eg_rng_uniform(&r, mean - half, mean + half));
        left -= length[i];
    }
    length[a->tasks - 1] = left;
    eg_rng_shuffle(&r, (size_t)a->tasks, length);
}

static eg_status async_schedule_client(const async_schedule *a, eg_scenario *s, int64_t c,
                                       int64_t *length)
{
    async_schedule_draw(a, s, c, length);
    int64_t begin = 0;
    for (int64_t slot = 0; slot < s->n_tasks; slot++) {
        int64_t t = s->order[c * s->n_tasks + slot];
        EG_TRY(eg_build_stage(s, c, begin, begin + length[slot]));
        EG_TRY(eg_build_span(s, c, t, 0, eg_build_part(s, c, t)->n));
        begin += length[slot];
    }
    return EG_OK;
}

static eg_status async_schedule_stages(const void *self, eg_scenario *s)
{
    const async_schedule *a = self;
    int64_t *length;
    EG_TRY(eg_alloc((size_t)a->tasks, sizeof *length, &length));
    eg_status status = EG_OK;
    for (int64_t c = 0; c < s->n_clients && status == EG_OK; c++)
        status = async_schedule_client(a, s, c, length);
    free(length);
    s->n_rounds = a->rounds;
    return status;
}

const eg_kind eg_kind_async_schedule = {
    .component =
        {"async_schedule",
         "each client has its own order of tasks and boundaries; it moves on when sampled",
         sizeof(async_schedule), async_schedule_opts},
    .offers = EG_OFFERS_BOUNDARIES | EG_OFFERS_TASK_IDS | EG_OFFERS_TASK_CLASSES,
    .clock = EG_CLOCK_SAMPLED,
    .order = EG_ORDER_OWN,
    .partition = "power_law",
    .tasks = async_schedule_tasks,
    .stages = async_schedule_stages,
};
