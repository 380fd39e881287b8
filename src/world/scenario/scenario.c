/* scenario.c - questions to a finished scenario.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <math.h>
#include <string.h>

const char *eg_scenario_name(const eg_scenario *s)
{
    return s->kind->component.name;
}

unsigned eg_scenario_offers(const eg_scenario *s)
{
    return s->offers;
}

int64_t eg_scenario_n_clients(const eg_scenario *s)
{
    return s->n_clients;
}

int64_t eg_scenario_n_tasks(const eg_scenario *s)
{
    return s->n_tasks;
}

int64_t eg_scenario_n_rounds(const eg_scenario *s)
{
    return s->n_rounds;
}

int64_t eg_scenario_n_classes(const eg_scenario *s)
{
    return s->n_classes;
}

bool eg_scenario_streams(const eg_scenario *s)
{
    return s->test_parts > 0;
}

eg_status eg_scenario_require(const eg_scenario *s, const char *who, unsigned needs)
{
    static const struct {
        unsigned flag;
        const char *need, *lack;
    } words[] = {
        {EG_OFFERS_BOUNDARIES, "task boundaries", "does not announce them"},
        {EG_OFFERS_TASK_IDS, "task ids", "does not announce them"},
        {EG_OFFERS_COMMON_TASKS, "tasks that all clients share",
         "lets clients change task each at its own time"},
        {EG_OFFERS_TASK_CLASSES, "tasks with classes of their own",
         "has the same in all tasks"},
        {EG_OFFERS_TEST_TASKS, "the task at test time", "does not tell it"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (needs & words[i].flag & ~s->offers)
            return eg_fail(EG_ENOTSUP, "%s needs %s; scenario '%s' %s", who, words[i].need,
                           s->kind->component.name, words[i].lack);
    return EG_OK;
}

const eg_task *eg_scenario_task(const eg_scenario *s, int64_t t)
{
    EG_ASSERT(t >= 0 && t < s->n_tasks);
    return &s->tasks[t];
}

int64_t eg_scenario_classes(const eg_scenario *s, int64_t client, int64_t t,
                            const int32_t **classes)
{
    EG_ASSERT(t >= 0 && t < s->n_tasks && client < s->n_clients);
    if (client == EG_SERVER || s->n_own == 0) {
        *classes = s->tasks[t].classes;
        return s->tasks[t].n_classes;
    }
    *classes = s->own + (client * s->n_tasks + t) * s->n_own;
    return s->n_own;
}

void eg_task_permutation(const eg_task *task, size_t n, int64_t *out)
{
    eg_rng r = {.key = {task->key[0], task->key[1]}};
    for (size_t i = 0; i < n; i++)
        out[i] = (int64_t)i;
    eg_rng_shuffle(&r, n, out);
}

int64_t eg_scenario_n_stages(const eg_scenario *s, int64_t client)
{
    EG_ASSERT(client >= 0 && client < s->n_clients);
    return (int64_t)(s->first_stage[client + 1] - s->first_stage[client]);
}

const eg_stage *eg_scenario_stage(const eg_scenario *s, int64_t client, int64_t stage)
{
    EG_ASSERT(stage >= 0 && stage < eg_scenario_n_stages(s, client));
    return &s->stages[s->first_stage[client] + (size_t)stage];
}

const eg_span *eg_scenario_spans(const eg_scenario *s, int64_t client, int64_t stage,
                                 int64_t *n)
{
    const eg_stage *g = eg_scenario_stage(s, client, stage);
    *n = g->n_spans;
    return s->spans + g->first_span;
}

void eg_scenario_rounds(const eg_scenario *s, int64_t client, int64_t stage, int64_t *begin,
                        int64_t *end)
{
    const eg_stage *g = eg_scenario_stage(s, client, stage);
    *begin = g->begin;
    *end = g->end;
}

int64_t eg_scenario_max_test(const eg_scenario *s)
{
    int64_t most = 0;
    for (size_t i = 0; i < s->n_sources; i++)
        most = s->sources[i].n_test > most ? s->sources[i].n_test : most;
    return most;
}

int64_t eg_scenario_test(const eg_scenario *s, int64_t client, int64_t t, int64_t *ids)
{
    const int32_t *classes;
    int64_t n_classes = eg_scenario_classes(s, client, t, &classes), n = 0;
    const eg_by_class *b = &s->tests[s->tasks[t].source];
    for (int64_t k = 0; k < n_classes; k++) {
        int64_t first = b->first[classes[k]], size = b->first[classes[k] + 1] - first;
        if (size > 0)
            memcpy(ids + n, b->ids + first, (size_t)size * sizeof *ids);
        n += size;
    }
    return n;
}

bool eg_scenario_task_ends(const eg_scenario *s, int64_t round)
{
    return round == s->n_rounds - 1 || (s->rounds > 0 && (round + 1) % s->rounds == 0);
}

int64_t eg_scenario_period(const eg_scenario *s, int64_t round)
{
    return s->rounds > 0 ? round / s->rounds + 1 : 1;
}

int64_t eg_scenario_learned(const eg_scenario *s, int64_t t)
{
    int64_t first = s->n_tasks;
    if (s->rounds == 0)
        return 1;
    for (int64_t c = 0; c < s->n_clients; c++)
        for (int64_t slot = s->joins[c]; slot < first; slot++)
            if (s->order[c * s->n_tasks + slot] == t)
                first = slot;
    return first + 1;
}

double eg_scenario_chance(const eg_scenario *s)
{
    return s->common.selection ? s->common.participation : 0;
}

int64_t eg_scenario_most_samples(const eg_scenario *s)
{
    int64_t most = 0;
    for (int64_t c = 0; c < s->n_clients; c++)
        for (int64_t i = 0; i < eg_scenario_n_stages(s, c); i++) {
            int64_t n = eg_scenario_stage(s, c, i)->n;
            most = n > most ? n : most;
        }
    return most;
}

int64_t eg_scenario_wanted(const eg_scenario *s, int64_t n)
{
    int64_t wanted = s->common.per_round;
    if (wanted == 0)
        wanted = (int64_t)floor(s->common.participation * (double)n + 0.5);
    if (wanted < 1)
        wanted = 1;
    return wanted < n ? wanted : n;
}

bool eg_scenario_away(const eg_scenario *s, int64_t client, int64_t round)
{
    if (s->common.away <= 0)
        return false;
    uint32_t c = (uint32_t)client;
    eg_rng phase = eg_rng_at(s->run_seed, c, EG_NEVER, EG_FOR_ABSENCE);
    uint64_t window =
        ((uint64_t)round + eg_rng_below(&phase, (uint64_t)s->common.away_rounds)) /
        (uint64_t)s->common.away_rounds;
    eg_rng r = eg_rng_at(s->run_seed, c, (uint32_t)window, EG_FOR_ABSENCE);
    return eg_rng_unit(&r) < s->common.away;
}
