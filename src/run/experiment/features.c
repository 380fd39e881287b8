/* features.c - the features of a frozen encoder, computed once for every sample and kept.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the whole encoder is frozen and nothing of a sample changes at random, a run may begin
 * at the features: they take the samples' place in training, memories and tests, and the
 * network begins behind its encoder (eg_net_begin). Only encoders are taken of which a row's
 * features do not depend on the rows beside it, so that a run has the same bits either way.
 * Texts are sorted by length and cut behind the longest of a batch. What was computed is kept
 * in files by checksums of data, weights and all that it follows from; a file that is not whole
 * is made again.
 */
#include "run/experiment/feed.h"

#include "base/base.h"
#include "base/checksum.h"
#include "base/pool.h"
#include "engine/model/net.h"
#include "io/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEATURES_BATCH = 32, FEATURES_PATH = 1100, FEATURES_STEP = 8 };

/* What a thread computes with: a plan for so many rows of this width. */
typedef struct features_hand {
    eg_graph *graph;
    eg_plan *plan;
    float *rows; /* [batch, sample] */
    int64_t n, width;
} features_hand;

typedef struct features_job {
    const eg_feed *f;
    const eg_net *net;
    const eg_table *t;
    const eg_recipe *recipe;
    float *value, *state; /* of the model, beside what is frozen */
    int64_t *order;       /* [n]: texts by length */
    int64_t *length;      /* [n]: of texts; NULL: pixels */
    float *out;           /* [n, d] */
    int64_t d;
    features_hand hands[EG_MAX_THREADS];
} features_job;

static void features_drop(features_hand *h)
{
    eg_plan_free(h->plan);
    eg_graph_free(h->graph);
    h->plan = NULL, h->graph = NULL;
}

static eg_status features_plan(const features_job *j, features_hand *h, int64_t n,
                               int64_t width)
{
    const eg_feed *f = j->f;
    if (h->plan && h->n == n && h->width == width)
        return EG_OK;
    features_drop(h);
    h->n = n, h->width = width;
    EG_TRY(eg_graph_new(&h->graph));
    eg_graph_set_training(h->graph, false);
    eg_node *x = eg_input(h->graph, "x", eg_dims(n, f->channels, f->height, width));
    eg_output(h->graph, "features", eg_net_features(j->net, h->graph, x));
    EG_TRY(eg_compile(h->graph, &h->plan));
    return eg_plan_bind(h->plan, eg_net_params(j->net), j->value, NULL, j->state);
}

/* Rows of one batch; of texts no more than the longest has. */
static eg_status features_work(void *context, int thread, int64_t i)
{
    features_job *j = context;
    features_hand *h = &j->hands[thread];
    const int64_t *rows = j->order + i * FEATURES_BATCH;
    int64_t left = j->t->n - i * FEATURES_BATCH, width = j->f->width;
    int64_t n = left < FEATURES_BATCH ? left : FEATURES_BATCH;
    size_t sample = j->f->sample;
    if (j->length) {
        int64_t longest = j->length[rows[n - 1]];
        int64_t need = (longest + FEATURES_STEP - 1) / FEATURES_STEP * FEATURES_STEP;
        width = need < FEATURES_STEP ? FEATURES_STEP : need;
        width = width < j->f->width ? width : j->f->width;
    }
    EG_TRY(features_plan(j, h, n, width));
    if (!h->rows)
        EG_TRY(eg_alloc(FEATURES_BATCH * sample, sizeof *h->rows, &h->rows));
    eg_recipe_fill(j->recipe, j->t, rows, (size_t)n, NULL, h->rows);
    float *x = eg_plan_input(h->plan, "x");
    size_t cut = sample / (size_t)j->f->width * (size_t)width;
    for (int64_t k = 0; k < n; k++)
        memcpy(x + (size_t)k * cut, h->rows + (size_t)k * sample, cut * sizeof *x);
    EG_TRY(eg_plan_run(h->plan));
    const float *y = eg_plan_output(h->plan, "features");
    for (int64_t k = 0; k < n; k++)
        memcpy(j->out + rows[k] * j->d, y + k * j->d, (size_t)j->d * sizeof *y);
    return EG_OK;
}

/* The order of rows: as they are, or texts by length, the shortest first (by counting). */
static eg_status features_order(features_job *j)
{
    const eg_table *t = j->t;
    int64_t *count, next = 0;
    EG_TRY(eg_alloc((size_t)t->n + 1, sizeof *j->order, &j->order));
    for (int64_t i = 0; i < t->n; i++)
        j->order[i] = i;
    if (!t->ids)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)t->n + 1, sizeof *j->length, &j->length));
    EG_TRY(eg_alloc((size_t)t->width + 1, sizeof *count, &count));
    for (int64_t i = 0; i < t->n; i++) {
        const float *x = t->f32 + i * t->width;
        while (j->length[i] < t->width && x[j->length[i]] >= 0)
            j->length[i]++;
        count[j->length[i]]++;
    }
    for (int64_t k = 0; k <= t->width; k++) {
        int64_t n = count[k];
        count[k] = next;
        next += n;
    }
    for (int64_t i = 0; i < t->n; i++)
        j->order[count[j->length[i]]++] = i;
    free(count);
    return EG_OK;
}

static eg_status features_compute(features_job *j, int threads)
{
    eg_pool *pool;
    int64_t pieces = (j->t->n + FEATURES_BATCH - 1) / FEATURES_BATCH;
    EG_TRY(features_order(j));
    const eg_pool_job job = {
        .n_threads = threads, .n = pieces, .work = features_work, .context = j};
    EG_TRY(eg_pool_start(&job, &pool));
    eg_status s = EG_OK;
    for (int64_t i = 0; i < pieces && s == EG_OK; i++)
        s = eg_pool_take(pool, i);
    eg_pool_end(pool);
    return s;
}

static void features_job_fini(features_job *j)
{
    for (int i = 0; i < EG_MAX_THREADS; i++) {
        features_drop(&j->hands[i]);
        free(j->hands[i].rows);
    }
    free(j->order);
    free(j->length);
}

/* What features follow from, as text: the data, the transform, the network and its weights. */
static eg_status features_key(const features_job *j, const eg_experiment *e, char out[65])
{
    const eg_net_spec *s = eg_net_spec_of(j->net);
    const eg_params *p = eg_net_params(j->net);
    const eg_table *t = j->t;
    char options[EG_NET_OPTIONS];
    uint64_t data, weights = 0;
    eg_transform norm = {0};
    eg_sha256 sha;
    uint8_t digest[32];
    size_t head, side, values = (size_t)t->n * eg_table_sample(t);
    const int64_t shape[] = {t->n, t->channels, t->height, t->width, j->d};
    EG_TRY(
        eg_model_print(eg_net_model(j->net), eg_net_options(j->net), sizeof options, options));
    EG_TRY(eg_experiment_norm(&e->data, &norm));
    data = eg_checksum(0, shape, sizeof shape);
    data = t->u8 ? eg_checksum(data, t->u8, values)
                 : eg_checksum(data, t->f32, values * sizeof *t->f32);
    eg_net_heads(j->net, &head, &side);
    for (size_t i = 0; i < head; i++) {
        const eg_param_info *info = eg_params_at(p, i);
        weights = eg_checksum(weights, eg_param_values(info, j->value, j->state),
                              info->size * sizeof(float));
    }
    eg_sha256_init(&sha);
    const char *const texts[] = {s->model, options, eg_isa_name(), eg_version(), eg_commit()};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        eg_sha256_add(&sha, texts[i], strlen(texts[i]) + 1);
    eg_sha256_add(&sha, &data, sizeof data);
    eg_sha256_add(&sha, &weights, sizeof weights);
    eg_sha256_add(&sha, &norm.n_norm, sizeof norm.n_norm);
    eg_sha256_add(&sha, norm.mean, sizeof norm.mean);
    eg_sha256_add(&sha, norm.std, sizeof norm.std);
    eg_sha256_end(&sha, digest);
    eg_sha256_text(digest, out);
    return EG_OK;
}

/* "<cache>/features-<16 digits>.safetensors"; "": there is no folder to keep anything in. */
static void features_place(const char *key, char path[FEATURES_PATH])
{
    const char *given = getenv("ENGRAM_CACHE"), *home = getenv("HOME");
    char folder[1000];
    bool set = given && *given;
    *path = 0;
    if (!set && !(home && *home))
        return;
    int n = snprintf(folder, sizeof folder, "%s%s", set ? given : home,
                     set ? "" : "/.cache/engram");
    if (n > 0 && n < (int)sizeof folder && eg_disk_make_folder(folder) == EG_OK)
        snprintf(path, FEATURES_PATH, "%s/features-%.16s.safetensors", folder, key);
}

static void features_sum(const features_job *j, char out[17])
{
    uint64_t sum = eg_checksum(0, j->out, (size_t)(j->t->n * j->d) * sizeof *j->out);
    snprintf(out, 17, "%016llx", (unsigned long long)sum);
}

/* True if the file is there and whole. */
static bool features_read(const features_job *j, const char *path, const char *key)
{
    eg_tensors *file;
    char sum[17];
    if (!*path || eg_safetensors_load(path, &file) != EG_OK)
        return false;
    const char *said = eg_tensors_note(file, "sum"), *of = eg_tensors_note(file, "key");
    const int64_t dims[] = {j->t->n, j->d};
    bool good = said && of && strcmp(of, key) == 0 &&
                eg_tensors_read(file, "features", 2, dims, j->out) == EG_OK;
    if (good) {
        features_sum(j, sum);
        good = strcmp(sum, said) == 0;
    }
    eg_tensors_free(file);
    return good;
}

/* A cache that cannot be written costs time, and nothing else. */
static void features_write(const features_job *j, const char *path, const char *key)
{
    char sum[17];
    features_sum(j, sum);
    const eg_stored stored = {.name = "features",
                              .type = EG_STORED_F32,
                              .rank = 2,
                              .dims = {j->t->n, j->d},
                              .bytes = j->out};
    const eg_stored_note notes[] = {{"sum", sum}, {"key", key}};
    if (*path)
        (void)eg_safetensors_save(path, &stored, 1, notes, 2);
}

/* Puts features in the place of a table's samples. */
static void features_adopt(eg_table *t, float *features, int64_t d)
{
    if (!t->borrowed) {
        free(t->u8);
        free(t->f32);
    }
    t->borrowed = false;
    t->u8 = NULL;
    t->f32 = features;
    t->ids = 0;
    t->channels = d;
    t->height = t->width = 1;
}

static eg_status features_of_table(features_job *j, const eg_experiment *e,
                                   const eg_features_how *how, eg_table *t)
{
    char key[65], path[FEATURES_PATH], said[160];
    j->t = t;
    EG_TRY(eg_alloc((size_t)(t->n * j->d) + 1, sizeof *j->out, &j->out));
    eg_status s = features_key(j, e, key);
    if (s == EG_OK)
        features_place(key, path);
    if (s == EG_OK && !features_read(j, path, key)) {
        snprintf(said, sizeof said, "features of %lld samples are computed%s", (long long)t->n,
                 *path ? ", once" : "");
        if (how->say)
            how->say(how->context, said);
        s = features_compute(j, how->threads);
        if (s == EG_OK)
            features_write(j, path, key);
    }
    features_job_fini(j);
    memset(j->hands, 0, sizeof j->hands);
    j->order = j->length = NULL;
    if (s == EG_OK)
        features_adopt(t, j->out, j->d);
    else
        free(j->out);
    return s;
}

/* Why a run cannot begin at the features; NULL: it can. */
static const char *features_refused(const eg_experiment *e, const eg_feed *f, const eg_net *net,
                                    const eg_agreement *agreed)
{
    if (!eg_net_is_still(net) || !eg_net_model(net)->alone)
        return ""; /* not asked for, or not to the bit */
    if (e->start.features)
        return "model.features is each";
    if (e->data.crop || e->data.flip || e->data.cutout || f->fan > 1)
        return "samples change at random";
    if (agreed->all.images || agreed->all.pixels)
        return "the method looks at the images";
    for (int64_t t = 0; t < f->n_tasks; t++)
        if (eg_scenario_task(f->scenario, t)->warp)
            return "tasks change the images";
    return NULL;
}

eg_status eg_feed_encode(const eg_experiment *e, const eg_agreement *agreed,
                         const eg_features_how *how, eg_feed *f, eg_net *net)
{
    const char *why = features_refused(e, f, net, agreed);
    char said[160];
    if (why) {
        snprintf(said, sizeof said, "features are computed in every batch: %s", why);
        if (*why && how->say)
            how->say(how->context, said);
        return EG_OK;
    }
    features_job job = {.f = f,
                        .net = net,
                        .value = how->value,
                        .state = how->state,
                        .d = eg_net_n_features(net)};
    for (size_t i = 0; i < f->n_sources; i++) {
        int64_t task = 0; /* one of this source: its recipe only scales and normalises */
        while (task < f->n_tasks && eg_scenario_task(f->scenario, task)->source != (int)i)
            task++;
        job.recipe = f->judge[task < f->n_tasks ? task : 0];
        EG_TRY(features_of_table(&job, e, how, &f->train[i]));
        EG_TRY(features_of_table(&job, e, how, &f->test[i]));
    }
    eg_net_begin(net);
    return eg_feed_plain(f);
}
