/* class_means.c - features of rows, sums of them by class, means, and the nearest one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/class_means.h"

#include "base/base.h"
#include "method/lib/project.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double means_missing = 1e9; /* farther than any mean that is there */

/* Divides each row by its length; a row of zeros stays. */
static void means_normalize(float *rows, int64_t n, int64_t d)
{
    for (int64_t i = 0; i < n; i++, rows += d) {
        double length = sqrt(eg_dot(rows, rows, (size_t)d));
        for (int64_t k = 0; k < d && length > 0; k++)
            rows[k] = (float)((double)rows[k] / length);
    }
}

static eg_status felt_look(eg_client *c, bool unit, eg_felt *f)
{
    int64_t d = eg_net_n_features(c->net);
    EG_TRY(eg_client_look(c, NULL, &(eg_rows){.n = f->n, .x = f->x, .labels = f->labels},
                          &(eg_look){.features = f->features}));
    if (unit)
        means_normalize(f->features, f->n, d);
    return EG_OK;
}

/* Floats of a row of pixels. */
static size_t felt_pixels(const eg_client *c)
{
    const eg_net_spec *s = eg_net_spec_of(c->net);
    return (size_t)(s->channels * s->height * s->width);
}

static eg_status felt_room(const eg_client *c, int64_t n, eg_felt *out)
{
    *out = (eg_felt){.n = n};
    EG_TRY(eg_alloc((size_t)n + 1, felt_pixels(c) * sizeof(float), &out->x));
    EG_TRY(eg_alloc((size_t)n + 1, sizeof(float), &out->labels));
    return eg_alloc((size_t)n + 1, (size_t)eg_net_n_features(c->net) * sizeof(float),
                    &out->features);
}

eg_status eg_felt_spans(eg_client *c, const eg_span *spans, int64_t n_spans, bool unit,
                        eg_felt *out)
{
    int64_t n = 0, at = 0;
    for (int64_t k = 0; k < n_spans; k++)
        n += spans[k].n;
    EG_TRY(felt_room(c, n, out));
    for (int64_t k = 0; k < n_spans; k++)
        for (int64_t i = 0; i < spans[k].n; i++, at++)
            eg_client_feed(c, &(eg_sample){spans[k].task, spans[k].ids[i]}, 1,
                           out->x + (size_t)at * felt_pixels(c), out->labels + at);
    return felt_look(c, unit, out);
}

/* Of copies of the memory's rows. */
static eg_status felt_memory(eg_client *c, bool unit, eg_felt *out)
{
    const eg_memory_rows rows = eg_memory_get(c->memory);
    EG_TRY(felt_room(c, rows.n, out));
    if (rows.n == 0)
        return EG_OK;
    memcpy(out->x, rows.x, (size_t)rows.n * felt_pixels(c) * sizeof *out->x);
    memcpy(out->labels, rows.labels, (size_t)rows.n * sizeof *out->labels);
    return felt_look(c, unit, out);
}

void eg_felt_free(eg_felt *f)
{
    free(f->x);
    free(f->labels);
    free(f->features);
    *f = (eg_felt){0};
}

/* Swaps left and right, and feels again. */
static eg_status felt_mirror(eg_client *c, bool unit, eg_felt *f)
{
    int64_t width = eg_net_spec_of(c->net)->width;
    int64_t lines = f->n * (int64_t)felt_pixels(c) / width;
    for (int64_t i = 0; i < lines; i++)
        for (int64_t a = i * width, b = a + width - 1; a < b; a++, b--) {
            float left = f->x[a];
            f->x[a] = f->x[b];
            f->x[b] = left;
        }
    return felt_look(c, unit, f);
}

/* The names of an answer's tensors, which begin with the part's. */
typedef struct sums_names {
    char sums[64], counts[64];
} sums_names;

static sums_names sums_names_of(const char *part)
{
    sums_names n;
    snprintf(n.sums, sizeof n.sums, "%s.sums", part);
    snprintf(n.counts, sizeof n.counts, "%s.counts", part);
    return n;
}

/* Where a client adds up: [classes, d] and [classes]. */
typedef struct class_sums {
    float *sums, *counts;
    int64_t d;
} class_sums;

static void sums_add(const class_sums *s, const eg_felt *rows)
{
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t y = (int64_t)rows->labels[i];
        s->counts[y]++;
        for (int64_t k = 0; k < s->d; k++)
            s->sums[y * s->d + k] += rows->features[i * s->d + k];
    }
}

/* Adds rows, which are freed, and their mirror images; felt is what became of them so far. */
static eg_status sums_add_rows(const class_sums *s, const eg_class_means_opts *is, eg_client *c,
                               eg_felt *rows, eg_status felt)
{
    if (felt == EG_OK)
        sums_add(s, rows);
    if (felt == EG_OK && is->mirror && rows->n > 0) {
        felt = felt_mirror(c, is->unit, rows);
        sums_add(s, rows);
    }
    eg_felt_free(rows);
    return felt;
}

eg_status eg_class_sums(eg_client *c, const eg_class_means_opts *is, eg_bundle *to)
{
    class_sums s = {.d = eg_net_n_features(c->net)};
    sums_names n = sums_names_of(eg_client_part(c));
    eg_felt rows;
    EG_TRY(eg_bundle_room(to, n.sums, eg_dims(c->n_classes, s.d), &s.sums));
    EG_TRY(eg_bundle_room(to, n.counts, eg_dims(c->n_classes), &s.counts));
    EG_TRY(sums_add_rows(&s, is, c, &rows,
                         eg_felt_spans(c, c->view.spans, c->view.n_spans, is->unit, &rows)));
    return c->memory ? sums_add_rows(&s, is, c, &rows, felt_memory(c, is->unit, &rows)) : EG_OK;
}

eg_status eg_class_means_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    return exchange == EG_CLASS_MEANS ? eg_class_sums(c, self, to) : EG_OK;
}

eg_status eg_class_means_accept(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from)
{
    const float *values;
    size_t classes = (size_t)eg_net_spec_of(s->net)->classes;
    sums_names n = sums_names_of(eg_server_part(s));
    (void)self, (void)client;
    if (exchange != EG_CLASS_MEANS)
        return EG_OK;
    EG_TRY(eg_bundle_need_counts(from, n.counts, classes, 1 << 24, &values));
    return eg_bundle_need(from, n.sums, classes * (size_t)eg_net_n_features(s->net), &values);
}

eg_status eg_class_means_take(const char *part, const eg_net *net, bool unit,
                              const eg_bundle *from, eg_bundle **known)
{
    sums_names n = sums_names_of(part);
    int64_t classes = eg_net_spec_of(net)->classes, d = eg_net_n_features(net);
    const float *sums, *counts;
    EG_TRY(eg_bundle_need(from, n.counts, (size_t)classes, &counts));
    EG_TRY(eg_bundle_need(from, n.sums, (size_t)(classes * d), &sums));
    if (!*known) {
        EG_TRY(eg_bundle_new(known));
        EG_TRY(eg_class_means_declare(NULL, net, *known));
    }
    float *means = eg_bundle_values(*known, "means");
    float *there = eg_bundle_values(*known, "there");
    for (int64_t y = 0; y < classes; y++) {
        if (counts[y] <= 0)
            continue;
        there[y] = 1;
        for (int64_t k = 0; k < d; k++)
            means[y * d + k] = sums[y * d + k] / counts[y];
        if (unit)
            means_normalize(means + y * d, 1, d);
    }
    return EG_OK;
}

void eg_class_means_fini(void *self)
{
    eg_class_means *m = self;
    eg_bundle_free(m->known);
}

eg_status eg_class_means_collect(void *self, eg_server *s, int exchange, int64_t client,
                                 const eg_bundle *from)
{
    eg_class_means *m = self;
    (void)client;
    return exchange == EG_CLASS_MEANS
               ? eg_class_means_take(eg_server_part(s), s->net, m->is.unit, from, &m->known)
               : EG_OK;
}

eg_status eg_class_means_know(void *self, eg_server *s, eg_bundle *to)
{
    const eg_class_means *m = self;
    (void)s;
    return m->known ? eg_bundle_copy(to, m->known, "") : EG_OK;
}

eg_status eg_class_means_save(void *self, eg_server *s)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, eg_class_means_know(self, s, record)));
    return eg_server_keep(s, eg_server_part(s), record);
}

eg_status eg_class_means_begin(void *self, eg_server *s)
{
    eg_class_means *m = self;
    const eg_bundle *kept;
    EG_TRY(eg_server_recall(s, eg_server_part(s), &kept));
    if (!kept || eg_bundle_n(kept) == 0)
        return EG_OK;
    EG_TRY(eg_bundle_new(&m->known));
    return eg_bundle_copy(m->known, kept, "");
}

eg_status eg_class_means_declare(const void *options, const eg_net *net, eg_bundle *out)
{
    float *zeros;
    int64_t classes = eg_net_spec_of(net)->classes, d = eg_net_n_features(net);
    (void)options;
    EG_TRY(eg_bundle_room(out, "means", eg_dims(classes, d), &zeros));
    return eg_bundle_room(out, "there", eg_dims(classes), &zeros);
}

/* 2 f.m - |m|^2 is |f|^2 - |f - m|^2. */
eg_node *eg_class_means_answers(const void *options, const eg_net *net, eg_graph *g,
                                const eg_asked *in)
{
    const eg_class_means_opts *is = options;
    eg_shape row = eg_dims(1, eg_net_spec_of(net)->classes);
    eg_node *means = in->known[0], *there = in->known[1];
    eg_node *f = is->unit ? eg_l2_normalize(g, in->features) : in->features;
    eg_node *near = eg_affine(g, eg_product(g, f, means, false, true), 2, 0);
    eg_node *squares = eg_sum(g, eg_mul(g, means, means), EG_AXIS(1)); /* [classes, 1] */
    eg_node *away = eg_affine(g, there, means_missing, -means_missing);
    near = eg_sub(g, near, eg_reshape(g, squares, row));
    return eg_add(g, near, eg_reshape(g, away, row));
}
