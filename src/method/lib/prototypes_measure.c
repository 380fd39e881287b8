/* prototypes_measure.c - a client's prototypes and their radius, from its own samples.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Equation 4: the mean of a class's features. Equation 5: r^2 is the mean over classes of
 * trace(covariance) / d, with N - 1. The network is in eval form.
 */
#include "method/lib/prototypes.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEASURE_DRAW = 15 }; /* the part's random draw for crops and flips */

/* Sums over the samples of each class. */
typedef struct measure {
    int64_t d;
    int64_t *n;                   /* [classes] */
    double *sums;                 /* [classes, d] */
    double *squares;              /* [classes]: of all d */
    float *x, *labels, *features; /* of one batch */
    eg_sample *samples;           /* [n_samples] */
    int64_t n_samples;
} measure;

static void measure_fini(measure *m)
{
    free(m->n);
    free(m->sums);
    free(m->squares);
    free(m->x);
    free(m->labels);
    free(m->features);
    free(m->samples);
}

static eg_status measure_init(measure *m, const eg_prototypes *p, const eg_client *c,
                              int64_t n_samples)
{
    const eg_net_spec *net = eg_net_spec_of(c->net);
    size_t classes = (size_t)p->n_classes, rows = (size_t)c->train->batch;
    size_t fed = rows * (size_t)eg_train_fan(c->train);
    size_t sample = (size_t)(net->channels * net->height * net->width);
    m->d = p->d;
    EG_TRY(eg_alloc(classes, sizeof *m->n, &m->n));
    EG_TRY(eg_alloc(classes * (size_t)p->d, sizeof *m->sums, &m->sums));
    EG_TRY(eg_alloc(classes, sizeof *m->squares, &m->squares));
    EG_TRY(eg_alloc(fed * sample, sizeof *m->x, &m->x));
    EG_TRY(eg_alloc(fed, sizeof *m->labels, &m->labels));
    EG_TRY(eg_alloc(rows * (size_t)p->d, sizeof *m->features, &m->features));
    return eg_alloc((size_t)n_samples, sizeof *m->samples, &m->samples);
}

/* The client's samples of this round, the first of them again up to n. */
static void measure_gather(measure *m, const eg_client *c, int64_t n)
{
    const eg_view *v = &c->view;
    for (int64_t k = 0; k < v->n_spans; k++)
        for (int64_t i = 0; i < v->spans[k].n; i++)
            m->samples[m->n_samples++] = (eg_sample){v->spans[k].task, v->spans[k].ids[i]};
    for (; m->n_samples < n; m->n_samples++)
        m->samples[m->n_samples] = m->samples[m->n_samples - v->n];
}

/* Fills x and labels with n samples. Of rows as a batch has them the upright ones are taken. */
static void measure_feed(const measure *m, eg_client *c, const eg_sample *samples, int64_t n,
                         eg_rng *rng)
{
    const eg_net_spec *net = eg_net_spec_of(c->net);
    size_t sample = (size_t)(net->channels * net->height * net->width);
    size_t fan = (size_t)eg_train_fan(c->train);
    if (!rng) {
        eg_client_feed(c, samples, n, m->x, m->labels);
        return;
    }
    eg_client_feed_batch(c, samples, n, rng, m->x, m->labels);
    for (size_t i = 1; i < (size_t)n && fan > 1; i++) {
        memcpy(m->x + i * sample, m->x + i * fan * sample, sample * sizeof *m->x);
        m->labels[i] = m->labels[i * fan];
    }
}

static void measure_add(measure *m, int64_t class, const float *features)
{
    double *sum = m->sums + class * m->d;
    for (int64_t j = 0; j < m->d; j++) {
        double f = (double)features[j];
        sum[j] += f;
        m->squares[class] += f * f;
    }
    m->n[class]++;
}

static eg_status measure_all(measure *m, eg_client *c, eg_rng *rng)
{
    int64_t size = c->train->batch, fan = eg_train_fan(c->train);
    for (int64_t at = 0; at < m->n_samples; at += size) {
        int64_t n = m->n_samples - at < size ? m->n_samples - at : size;
        measure_feed(m, c, m->samples + at, n, rng);
        EG_TRY(eg_client_look(c, NULL, &(eg_rows){.n = n, .x = m->x, .labels = m->labels},
                              &(eg_look){.features = m->features}));
        for (int64_t i = 0; i < n; i++)
            measure_add(m, (int64_t)m->labels[i] / fan, m->features + i * m->d);
    }
    return EG_OK;
}

/* Equation 4. What a model that diverged makes of a class is not known. */
static void measure_mean(const measure *m, eg_prototypes *p, int64_t class)
{
    p->known[class] = m->n[class] > 0;
    for (int64_t j = class * p->d; j < (class + 1) * p->d && m->n[class] > 0; j++) {
        p->means[j] = (float)(m->sums[j] / (double)m->n[class]);
        p->known[class] = p->known[class] && isfinite(p->means[j]);
    }
}

/* trace(covariance) / d of a class of two samples or more. */
static double measure_spread(const measure *m, int64_t class)
{
    double n = (double)m->n[class], squared = 0;
    for (int64_t j = 0; j < m->d; j++)
        squared += m->sums[class * m->d + j] / n * (m->sums[class * m->d + j] / n);
    return fmax(0, (m->squares[class] - n * squared) / (n - 1) / (double)m->d);
}

/* Equation 5; below 0 if no class has two samples. */
static double measure_radius(const measure *m, const eg_client *c, int64_t n_classes,
                             eg_measure how)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t k = 0; k < n_classes; k++) {
        sum += m->n[k] > 1 ? measure_spread(m, k) : 0;
        n += how == EG_MEASURE_RELEASE ? eg_prototypes_is_current(c, k) : m->n[k] > 1;
    }
    return n ? sqrt(sum / (double)n) : -1;
}

eg_status eg_prototypes_measure(eg_prototypes *p, eg_client *c, eg_measure how)
{
    measure m = {0};
    bool release = how == EG_MEASURE_RELEASE;
    int64_t n = release && c->view.n_padded > c->view.n ? c->view.n_padded : c->view.n;
    eg_rng rng = eg_client_stream(c, MEASURE_DRAW);
    eg_status s = measure_init(&m, p, c, n);
    if (s == EG_OK) {
        measure_gather(&m, c, n);
        s = measure_all(&m, c, release ? &rng : NULL);
    }
    for (int64_t k = 0; k < p->n_classes && s == EG_OK; k++)
        measure_mean(&m, p, k);
    double radius = s == EG_OK ? measure_radius(&m, c, p->n_classes, how) : -1;
    p->radius = isfinite(radius) ? radius : -1;
    measure_fini(&m);
    return s;
}
