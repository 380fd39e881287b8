/* prove.c - counts who holds what: nothing held twice, nothing lost, no test data in training.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

#include <stdlib.h>

/* Per training sample of one source. */
typedef struct prove_mark {
    int32_t clients;     /* that hold it */
    int32_t client;      /* the latest of them, from 1 on */
    int64_t client_task; /* the latest client and task that hold it, from 1 on */
    bool held_out;
} prove_mark;

static bool prove_has_class(const eg_scenario *s, int64_t client, int64_t t, int32_t class)
{
    const int32_t *classes;
    int64_t n = eg_scenario_classes(s, client, t, &classes), low = 0;
    while (low < n) { /* classes ascend */
        int64_t middle = low + (n - low) / 2;
        if (classes[middle] == class)
            return true;
        if (classes[middle] < class)
            low = middle + 1;
        else
            n = middle;
    }
    return false;
}

/* One client's samples of one task. Returns how many the client had not held before. */
static int64_t prove_part(const eg_scenario *s, int64_t c, int64_t t, prove_mark *marks,
                          eg_proof *p)
{
    const eg_holding *part = &s->parts[c * s->n_parts + t];
    const eg_labels *l = &s->sources[s->tasks[t].source];
    int64_t fresh = 0, here = c * s->n_parts + t + 1;
    for (int64_t i = 0; i < part->n; i++) {
        int64_t id = s->ids[part->first + i];
        if (id < 0 || id >= l->n_train) {
            p->strays++;
            continue;
        }
        prove_mark *m = &marks[id];
        p->twice += m->client_task == here;
        p->mislabelled += !prove_has_class(s, c, t, l->train[id]);
        m->client_task = here;
        if (m->client == c + 1)
            continue;
        m->client = (int32_t)(c + 1);
        m->clients++;
        fresh++;
    }
    for (int64_t i = 0; i < part->n_held; i++)
        marks[s->ids[part->first + part->n + i]].held_out = true;
    return fresh;
}

static bool prove_wanted(const eg_scenario *s, size_t source, int32_t class)
{
    for (int64_t t = 0; t < s->n_parts; t++)
        if (s->tasks[t].source == (int32_t)source && prove_has_class(s, EG_SERVER, t, class))
            return true;
    return false;
}

static void prove_count(const eg_scenario *s, size_t source, const prove_mark *marks,
                        eg_proof *p)
{
    const eg_labels *l = &s->sources[source];
    p->samples += l->n_train;
    int32_t class = -1;
    bool wanted = false;
    for (int64_t i = 0; i < l->n_train; i++) {
        int64_t n = marks[i].clients;
        p->held += n > 0;
        p->shared += n > 1;
        p->most = n > p->most ? n : p->most;
        p->validation += marks[i].held_out;
        p->leaked += marks[i].held_out && n > 0;
        if (n > 0 || marks[i].held_out)
            continue;
        if (l->train[i] != class)
            wanted = prove_wanted(s, source, class = l->train[i]);
        p->lost += wanted;
        p->outside += !wanted;
    }
}

static eg_status prove_source(const eg_scenario *s, size_t source, int64_t *sizes, eg_proof *p)
{
    prove_mark *marks;
    EG_TRY(eg_alloc((size_t)s->sources[source].n_train, sizeof *marks, &marks));
    for (int64_t c = 0; c < s->n_clients; c++)
        for (int64_t t = 0; t < s->n_parts; t++)
            if (s->tasks[t].source == (int32_t)source)
                sizes[c] += prove_part(s, c, t, marks, p);
    prove_count(s, source, marks, p);
    free(marks);
    return EG_OK;
}

eg_status eg_scenario_prove(const eg_scenario *s, eg_proof *out)
{
    int64_t *sizes;
    *out = (eg_proof){0};
    EG_TRY(eg_alloc((size_t)s->n_clients, sizeof *sizes, &sizes));
    eg_status status = EG_OK;
    for (size_t i = 0; i < s->n_sources && status == EG_OK; i++)
        status = prove_source(s, i, sizes, out);
    out->smallest = sizes[0];
    for (int64_t c = 0; c < s->n_clients; c++) {
        out->smallest = sizes[c] < out->smallest ? sizes[c] : out->smallest;
        out->largest = sizes[c] > out->largest ? sizes[c] : out->largest;
    }
    free(sizes);
    return status;
}
