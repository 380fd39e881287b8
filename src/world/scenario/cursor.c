/* cursor.c - the walk over rounds: who is there, who is chosen, who has moved on.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

typedef struct cursor_client {
    int32_t stage;   /* the last it took part in, -1 if none */
    int32_t used;    /* how often it took part in that stage */
    int64_t samples; /* met so far */
} cursor_client;

struct eg_cursor {
    const eg_scenario *s;
    int64_t round;
    cursor_client *clients; /* [n_clients] */
    uint8_t *seen;          /* [n_clients + 1, n_tasks]; the last row is everybody's */
    int32_t *list;          /* [n_clients]: scratch of the selection, then the selected */
    int64_t n_selected;
    bool wants_all; /* everybody who is there, in this round */
};

static void cursor_select(eg_cursor *c);

static void cursor_reset(eg_cursor *c)
{
    c->round = 0;
    memset(c->seen, 0, (size_t)((c->s->n_clients + 1) * c->s->n_tasks));
    for (int64_t i = 0; i < c->s->n_clients; i++)
        c->clients[i] = (cursor_client){.stage = -1};
    cursor_select(c);
}

eg_status eg_cursor_new(const eg_scenario *s, eg_cursor **out)
{
    *out = NULL;
    eg_cursor *c = calloc(1, sizeof *c);
    if (!c)
        return eg_fail(EG_ENOMEM, "out of memory");
    c->s = s;
    size_t n = (size_t)s->n_clients;
    eg_status status = eg_alloc(n, sizeof *c->clients, &c->clients);
    if (status == EG_OK)
        status = eg_alloc(n, sizeof *c->list, &c->list);
    if (status == EG_OK)
        status = eg_alloc((n + 1) * (size_t)s->n_tasks, 1, &c->seen);
    if (status != EG_OK) {
        eg_cursor_free(c);
        return status;
    }
    cursor_reset(c);
    *out = c;
    return EG_OK;
}

void eg_cursor_free(eg_cursor *c)
{
    if (!c)
        return;
    free(c->clients);
    free(c->seen);
    free(c->list);
    free(c);
}

int64_t eg_cursor_round(const eg_cursor *c)
{
    return c->round;
}

/* By participations: on to the next stage once this one is used up. */
static int64_t cursor_stage_used(const eg_cursor *c, int64_t client, int64_t n)
{
    const cursor_client *k = &c->clients[client];
    int64_t stage = k->stage < 0 ? 0 : k->stage;
    if (k->stage >= 0) {
        const eg_stage *g = eg_scenario_stage(c->s, client, stage);
        stage += k->used >= g->end - g->begin;
    }
    while (stage < n && eg_scenario_stage(c->s, client, stage)->n == 0)
        stage++;
    return stage < n ? stage : -1;
}

/* When sampled: one stage on if this one is over; past such as are both over and empty. */
static int64_t cursor_stage_sampled(const eg_cursor *c, int64_t client, int64_t n)
{
    int64_t stage = c->clients[client].stage < 0 ? 0 : c->clients[client].stage;
    const eg_stage *g = eg_scenario_stage(c->s, client, stage);
    if (c->round >= g->end && stage < n - 1)
        g = eg_scenario_stage(c->s, client, ++stage);
    while (g->n == 0 && c->round >= g->end && stage < n - 1)
        g = eg_scenario_stage(c->s, client, ++stage);
    return stage;
}

/* By round: stages have equal lengths there, one after the other. */
static int64_t cursor_stage_round(const eg_cursor *c, int64_t client, int64_t n)
{
    const eg_stage *first = eg_scenario_stage(c->s, client, 0);
    if (c->round < first->begin)
        return -1;
    int64_t stage = (c->round - first->begin) / (first->end - first->begin);
    return stage < n ? stage : -1;
}

/* The stage a client is in if it takes part now, -1 if it has none or no data in it. */
static int64_t cursor_stage(const eg_cursor *c, int64_t client)
{
    int64_t n = eg_scenario_n_stages(c->s, client), stage;
    if (n == 0 || c->round >= c->s->n_rounds)
        return -1;
    if (c->s->kind->clock == EG_CLOCK_ROUND)
        stage = cursor_stage_round(c, client, n);
    else if (c->s->kind->clock == EG_CLOCK_USED)
        stage = cursor_stage_used(c, client, n);
    else
        stage = cursor_stage_sampled(c, client, n);
    return stage >= 0 && eg_scenario_stage(c->s, client, stage)->n > 0 ? stage : -1;
}

bool eg_cursor_present(const eg_cursor *c, int64_t client)
{
    EG_ASSERT(client >= 0 && client < c->s->n_clients);
    return c->round >= c->s->joins[client] * c->s->rounds &&
           !eg_scenario_away(c->s, client, c->round);
}

static int cursor_compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Draws each client by itself; one without data stays where it is. */
static void cursor_select_each(eg_cursor *c, int64_t n)
{
    int64_t got = 0;
    eg_rng r = eg_rng_at(c->s->run_seed, EG_NOBODY, (uint32_t)c->round, EG_FOR_SELECT);
    for (int64_t i = 0; i < n; i++)
        if (eg_rng_unit(&r) < c->s->common.participation && cursor_stage(c, c->list[i]) >= 0)
            c->list[got++] = c->list[i];
    c->wants_all = c->s->common.participation >= 1;
    c->n_selected = got;
}

/* Draws clients one by one, without replacement; one without data is put aside and another
 * drawn. */
static void cursor_select(eg_cursor *c)
{
    const eg_scenario *s = c->s;
    int64_t n = 0, got = 0;
    for (int64_t i = 0; i < s->n_clients; i++)
        if (eg_cursor_present(c, i))
            c->list[n++] = (int32_t)i;
    if (eg_scenario_chance(s) > 0) {
        cursor_select_each(c, n);
        return;
    }
    int64_t wanted = n > 0 ? eg_scenario_wanted(s, n) : 0;
    bool all = c->wants_all = wanted == n;
    eg_rng r = eg_rng_at(s->run_seed, EG_NOBODY, (uint32_t)c->round, EG_FOR_SELECT);
    for (int64_t i = 0; i < n && got < wanted; i++) {
        int64_t j = all ? i : i + (int64_t)eg_rng_below(&r, (uint64_t)(n - i));
        int32_t drawn = c->list[j];
        c->list[j] = c->list[i];
        if (cursor_stage(c, drawn) >= 0)
            c->list[got++] = drawn;
    }
    qsort(c->list, (size_t)got, sizeof *c->list, cursor_compare);
    c->n_selected = got;
}

const int32_t *eg_cursor_selected(const eg_cursor *c, int64_t *n)
{
    *n = c->n_selected;
    return c->list;
}

/* Whether the stage is known to end with this round. */
static bool cursor_ends(const eg_cursor *c, const cursor_client *k, const eg_stage *g,
                        bool first)
{
    if (c->round == c->s->n_rounds - 1)
        return true;
    if (c->s->kind->clock == EG_CLOCK_USED)
        return (first ? 0 : k->used) + 1 >= g->end - g->begin;
    return c->round + 1 == g->end;
}

bool eg_scenario_view(const eg_scenario *s, int64_t client, int64_t stage, eg_view *out)
{
    if (client < 0 || client >= s->n_clients || stage < 0 ||
        stage >= eg_scenario_n_stages(s, client))
        return false;
    const eg_stage *g = eg_scenario_stage(s, client, stage);
    const eg_span *spans = s->spans + g->first_span;
    if (g->n == 0)
        return false;
    *out = (eg_view){
        .stage = stage,
        .task = spans[0].task,
        .n = g->n,
        .n_padded = (int64_t)eg_round_up((size_t)g->n, (size_t)s->common.pad),
        .n_spans = g->n_spans,
        .spans = spans,
        .left = -1,
    };
    return true;
}

bool eg_cursor_view(const eg_cursor *c, int64_t client, eg_view *out)
{
    int64_t stage = eg_cursor_present(c, client) ? cursor_stage(c, client) : -1;
    if (!eg_scenario_view(c->s, client, stage, out))
        return false;
    const cursor_client *k = &c->clients[client];
    out->left = k->stage;
    out->first = stage != k->stage;
    out->last = cursor_ends(c, k, eg_scenario_stage(c->s, client, stage), out->first);
    return true;
}

bool eg_cursor_idle(const eg_cursor *c, int64_t client, eg_view *out)
{
    int64_t last = c->clients[client].stage;
    if (c->round >= c->s->n_rounds || !c->wants_all || !eg_cursor_present(c, client) ||
        cursor_stage(c, client) >= 0 || !eg_scenario_view(c->s, client, last, out))
        return false;
    out->left = last;
    return true;
}

void eg_cursor_took_part(eg_cursor *c, int64_t client, int64_t stage)
{
    int64_t n_tasks = c->s->n_tasks;
    cursor_client *k = &c->clients[client];
    const eg_stage *g = eg_scenario_stage(c->s, client, stage);
    k->used++;
    if (stage == k->stage)
        return;
    k->stage = (int32_t)stage;
    k->used = 1;
    k->samples += g->n;
    for (int64_t i = 0; i < g->n_spans; i++) {
        int64_t t = c->s->spans[g->first_span + i].task;
        c->seen[client * n_tasks + t] = c->seen[c->s->n_clients * n_tasks + t] = 1;
    }
}

void eg_cursor_next(eg_cursor *c, const bool *lost)
{
    for (int64_t i = 0; i < c->n_selected; i++)
        if (!lost || !lost[i])
            eg_cursor_took_part(c, c->list[i], cursor_stage(c, c->list[i]));
    c->round++;
    cursor_select(c);
}

void eg_cursor_seek(eg_cursor *c, int64_t round)
{
    if (round < c->round)
        cursor_reset(c);
    while (c->round < round)
        eg_cursor_next(c, NULL);
}

bool eg_cursor_seen(const eg_cursor *c, int64_t client, int64_t t)
{
    EG_ASSERT(client < c->s->n_clients && t >= 0 && t < c->s->n_tasks);
    int64_t row = client == EG_SERVER ? c->s->n_clients : client;
    return c->seen[row * c->s->n_tasks + t];
}

int64_t eg_cursor_samples(const eg_cursor *c, int64_t client)
{
    int64_t sum = 0;
    if (client != EG_SERVER)
        return c->clients[client].samples;
    for (int64_t i = 0; i < c->s->n_clients; i++)
        sum += c->clients[i].samples;
    return sum;
}

/* The test samples of one visit to a real-time task: the matching slice of each class. */
static int64_t cursor_test_visit(const eg_cursor *c, int64_t client, const eg_stage *g,
                                 int64_t *ids)
{
    const eg_scenario *s = c->s;
    const int32_t *classes;
    int64_t t = s->spans[g->first_span].task;
    int64_t n_classes = eg_scenario_classes(s, client, t, &classes);
    int64_t n = 0;
    for (int64_t k = 0; k < n_classes; k++) {
        int64_t first = s->tests[0].first[classes[k]];
        int64_t size = s->tests[0].first[classes[k] + 1] - first, v = g->visit;
        if (s->rank)
            v += s->rank[(client * s->n_tasks + t) * s->n_own + k] * s->visits;
        int64_t from = v * size / s->test_parts, to = (v + 1) * size / s->test_parts;
        if (s->test_take > 0)
            from = v * s->test_take, to = from + s->test_take;
        to = to < size ? to : size;
        for (int64_t i = from; i < to; i++)
            ids[n++] = s->tests[0].ids[first + i];
    }
    return n;
}

int64_t eg_cursor_test_of(const eg_cursor *c, int64_t client, int64_t t, int64_t *ids)
{
    const eg_scenario *s = c->s;
    int64_t n = 0;
    EG_ASSERT(s->test_parts > 0 && client >= 0 && client < s->n_clients);
    for (int64_t i = 0; i <= c->clients[client].stage; i++) {
        const eg_stage *g = eg_scenario_stage(s, client, i);
        if (g->n > 0 && s->spans[g->first_span].task == t)
            n += cursor_test_visit(c, client, g, ids + n);
    }
    return n;
}

int64_t eg_cursor_test(const eg_cursor *c, int64_t client, int64_t *ids)
{
    const eg_scenario *s = c->s;
    int64_t n = 0;
    EG_ASSERT(s->n_sources == 1 && client >= 0 && client < s->n_clients);
    if (s->test_parts > 0) {
        for (int64_t i = 0; i <= c->clients[client].stage; i++)
            if (eg_scenario_stage(s, client, i)->n > 0)
                n += cursor_test_visit(c, client, eg_scenario_stage(s, client, i), ids + n);
        return n;
    }
    for (int64_t t = 0; t < s->n_tasks; t++)
        if ((s->offers & EG_OFFERS_TASK_CLASSES) && eg_cursor_seen(c, client, t))
            n += eg_scenario_test(s, client, t, ids + n);
    return n;
}
