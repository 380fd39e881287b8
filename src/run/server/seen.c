/* seen.c - what the model takes for what, over the distinct test images of all classes met.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tasks may share classes, and so test images: these count once. A rotated or permuted image is
 * another one than the image itself.
 */
#include "run/server/federation.h"

#include <stdlib.h>

/* A test image: its true class and the answer to it. */
typedef struct seen_pair {
    int32_t truth, answer;
} seen_pair;

typedef struct seen {
    const eg_federation *f;
    int32_t *const *answers; /* [tasks] */
    int64_t *ids;            /* [most test samples of a task] */
    bool *counted;           /* [most test samples of a source] */
    seen_pair *pairs;
    size_t n, cap;
} seen;

/* Whether two tasks show the same pictures of the same images. */
static bool seen_alike(const eg_task *a, const eg_task *b)
{
    return a->source == b->source && a->warp == b->warp && a->angle >= b->angle &&
           a->angle <= b->angle && a->key[0] == b->key[0] && a->key[1] == b->key[1];
}

/* Takes the images of a task that are not counted yet. */
static eg_status seen_take(seen *s, int64_t t)
{
    const eg_scenario *scenario = s->f->feed.scenario;
    const int32_t *truth = s->f->feed.labels[eg_scenario_task(scenario, t)->source].test;
    int64_t n = eg_scenario_test(scenario, EG_SERVER, t, s->ids);
    for (int64_t i = 0; i < n; i++) {
        int64_t id = s->ids[i];
        int32_t answer = s->answers[t][i];
        if (s->counted[id] || answer < 0)
            continue;
        s->counted[id] = true;
        EG_TRY(eg_grow(&s->pairs, s->n, &s->cap, sizeof *s->pairs));
        s->pairs[s->n++] = (seen_pair){truth[id], answer};
    }
    return EG_OK;
}

/* Takes what the tasks like task t show, if t is the first of them. */
static eg_status seen_take_alike(seen *s, int64_t t)
{
    const eg_federation *f = s->f;
    const eg_task *task = eg_scenario_task(f->feed.scenario, t);
    for (int64_t u = 0; u < t; u++)
        if (seen_alike(task, eg_scenario_task(f->feed.scenario, u)))
            return EG_OK;
    for (int64_t i = 0; i < f->feed.labels[task->source].n_test; i++)
        s->counted[i] = false;
    for (int64_t u = t; u < f->feed.n_tasks; u++)
        if (eg_cursor_seen(f->cursor, EG_SERVER, u) &&
            seen_alike(task, eg_scenario_task(f->feed.scenario, u)))
            EG_TRY(seen_take(s, u));
    return EG_OK;
}

static int seen_compare(const void *a, const void *b)
{
    const seen_pair *x = a, *y = b;
    int by_truth = (x->truth > y->truth) - (x->truth < y->truth);
    return by_truth ? by_truth : (x->answer > y->answer) - (x->answer < y->answer);
}

static eg_status seen_write(seen *s, int64_t round)
{
    int64_t *cells = NULL;
    size_t n = 0;
    if (s->n > 0)
        qsort(s->pairs, s->n, sizeof *s->pairs, seen_compare);
    EG_TRY(eg_alloc(3 * s->n, sizeof *cells, &cells));
    for (size_t i = 0; i < s->n; i++) {
        if (i == 0 || seen_compare(&s->pairs[i - 1], &s->pairs[i]) != 0) {
            cells[n] = s->pairs[i].truth;
            cells[n + 1] = s->pairs[i].answer;
            n += 3;
        }
        cells[n - 1]++;
    }
    eg_status status = eg_run_write_confusion(
        s->f->folder, &(eg_confusion_event){.round = round, .cells = cells, .n_cells = n});
    free(cells);
    return status;
}

eg_status eg_federation_log_seen(eg_federation *f, int64_t round, int32_t *const *answers)
{
    seen s = {.f = f, .answers = answers};
    int64_t most = 0;
    for (size_t i = 0; i < f->feed.n_sources; i++)
        most = f->feed.labels[i].n_test > most ? f->feed.labels[i].n_test : most;
    eg_status status =
        eg_alloc((size_t)eg_scenario_max_test(f->feed.scenario) + 1, sizeof *s.ids, &s.ids);
    if (status == EG_OK)
        status = eg_alloc((size_t)most, sizeof *s.counted, &s.counted);
    for (int64_t t = 0; t < f->feed.n_tasks && status == EG_OK; t++)
        status = seen_take_alike(&s, t);
    if (status == EG_OK)
        status = seen_write(&s, round);
    free(s.ids);
    free(s.counted);
    free(s.pairs);
    return status;
}
