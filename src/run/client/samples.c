/* samples.c - what a client trains on in a round: samples, and rows that parts made.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/worker.h"

#include <stdlib.h>
#include <string.h>

bool eg_client_knows(const eg_client *c, const eg_sample *s)
{
    const eg_feed *f = c->worker->feed;
    return s->task >= 0 && s->task < f->n_tasks && s->id >= 0 &&
           s->id < f->train[eg_scenario_task(f->scenario, s->task)->source].n;
}

eg_status eg_client_add_sample(eg_client *c, int64_t task, int64_t id)
{
    size_t cap = (size_t)c->cap_samples;
    EG_TRY(eg_grow(&c->samples, (size_t)c->n_samples, &cap, sizeof *c->samples));
    c->cap_samples = (int64_t)cap;
    c->samples[c->n_samples++] = (eg_sample){task, id};
    return EG_OK;
}

void eg_worker_clear_samples(eg_worker *w)
{
    w->client.n_samples = w->client.n_rows = w->made.n = 0;
}

void eg_worker_free_samples(eg_worker *w)
{
    eg_table_fini(&w->made);
    free(w->client.samples);
    free(w->fresh);
}

static int samples_compare(const void *a, const void *b)
{
    const eg_sample *x = a, *y = b;
    return x->task != y->task ? (x->task > y->task) - (x->task < y->task)
                              : (x->id > y->id) - (x->id < y->id);
}

eg_status eg_worker_note_fresh(eg_worker *w)
{
    const eg_view *v = &w->client.view;
    w->n_fresh = 0;
    for (int64_t k = 0; k < v->n_spans; k++)
        for (int64_t i = 0; i < v->spans[k].n; i++) {
            EG_TRY(eg_grow(&w->fresh, (size_t)w->n_fresh, &w->cap_fresh, sizeof *w->fresh));
            w->fresh[w->n_fresh++] = (eg_sample){v->spans[k].task, v->spans[k].ids[i]};
        }
    qsort(w->fresh, (size_t)w->n_fresh, sizeof *w->fresh, samples_compare);
    return EG_OK;
}

bool eg_worker_is_fresh(const eg_worker *w, const eg_sample *s)
{
    return bsearch(s, w->fresh, (size_t)w->n_fresh, sizeof *w->fresh, samples_compare) != NULL;
}

/* Room for n rows beside those there are: a larger table takes the place of the last. */
static eg_status samples_reserve(eg_worker *w, int64_t n)
{
    const eg_feed *f = w->feed;
    int64_t wanted = w->made.n + n, twice = 2 * w->cap_made;
    eg_table larger;
    if (wanted <= w->cap_made)
        return EG_OK;
    wanted = wanted > twice ? wanted : twice;
    EG_TRY(eg_table_alloc_f32(&larger, wanted, f->channels, f->height, f->width,
                              eg_scenario_n_classes(f->scenario)));
    larger.n = w->made.n;
    if (larger.n > 0) {
        memcpy(larger.f32, w->made.f32, (size_t)larger.n * f->sample * sizeof *larger.f32);
        memcpy(larger.y, w->made.y, (size_t)larger.n * sizeof *larger.y);
    }
    eg_table_fini(&w->made);
    w->made = larger, w->cap_made = wanted;
    return EG_OK;
}

eg_status eg_client_add_rows(eg_client *c, const float *x, const float *labels, int64_t n)
{
    eg_worker *w = c->worker;
    int64_t classes = eg_scenario_n_classes(c->scenario);
    size_t sample = w->feed->sample;
    if (!w->feed->aim.kind->classes)
        return eg_fail(EG_ENOTSUP, "rows of one's own need classes as targets, not %s",
                       w->feed->aim.kind->things);
    for (int64_t i = 0; i < n; i++) {
        int64_t label = labels[i] >= 0 && labels[i] < (float)classes ? (int64_t)labels[i] : -1;
        if (label < 0 || (float)label < labels[i])
            return eg_fail(EG_EINVAL, "row %lld is of class %g, but classes are 0 to %lld",
                           (long long)i, (double)labels[i], (long long)classes - 1);
    }
    EG_TRY(samples_reserve(w, n));
    for (int64_t i = 0; i < n; i++) {
        int64_t id = w->made.n;
        EG_TRY(eg_client_add_sample(c, EG_OWN_ROW, id));
        memcpy(w->made.f32 + (size_t)id * sample, x + (size_t)i * sample, sample * sizeof *x);
        w->made.y[id] = (int32_t)labels[i];
        c->n_rows = ++w->made.n;
    }
    return EG_OK;
}

/* Fills the rows of samples, wherever they are from. */
static void samples_feed(eg_worker *w, const eg_sample *samples, int64_t n, eg_rng *rng,
                         float *x, float *labels)
{
    int64_t rows = rng ? w->feed->fan : 1;
    int64_t width = rows * w->feed->aim.width;
    for (int64_t i = 0; i < n; i++, x += (size_t)rows * w->feed->sample, labels += width)
        if (samples[i].task == EG_OWN_ROW)
            eg_feed_row(w->feed, &w->made, samples[i].id, rng, x, labels);
        else
            eg_feed_train(w->feed, &samples[i], 1, rng, x, labels);
}

void eg_client_feed(eg_client *c, const eg_sample *samples, int64_t n, float *x, float *labels)
{
    samples_feed(c->worker, samples, n, NULL, x, labels);
}

void eg_client_feed_batch(eg_client *c, const eg_sample *samples, int64_t n, eg_rng *rng,
                          float *x, float *labels)
{
    samples_feed(c->worker, samples, n, rng, x, labels);
}

/* Gives the classes of a stage a mark. */
static void samples_mark(const eg_client *c, int64_t stage, uint8_t mark, uint8_t *marks)
{
    int64_t n_spans;
    const eg_span *spans = eg_scenario_spans(c->scenario, c->id, stage, &n_spans);
    for (int64_t k = 0; k < n_spans; k++) {
        const int32_t *classes;
        int64_t n = eg_scenario_classes(c->scenario, c->id, spans[k].task, &classes);
        for (int64_t i = 0; i < n; i++)
            marks[classes[i]] = mark;
    }
}

void eg_client_past_classes(const eg_client *c, uint8_t *marks)
{
    for (int64_t stage = 0; stage <= c->view.stage; stage++)
        samples_mark(c, stage, stage < c->view.stage, marks);
}
