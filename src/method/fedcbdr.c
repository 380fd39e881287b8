/* fedcbdr.c - class-wise balanced data replay (Qi et al., 2025, arXiv:2507.07712, "FedCBDR").
 * SPDX-License-Identifier: Apache-2.0
 *
 * At the end of a task the federation chooses what clients keep of it, as many samples of every
 * class wherever they are: with K classes seen, `size` / K of each. A sample's chance is its
 * leverage tau, the squared length of its row in U of the features' singular value
 * decomposition X = U S V^T, X the features of all clients at the new model. The paper's
 * clients send P_k X_k Q for random rotations P_k and Q, and get their rows of U back. The
 * rotations fall out: clients send X_k^T X_k, whose mean has the eigenvectors V, get V S^-1 of
 * the `rank` largest, and have tau = |x V S^-1|^2 themselves. Drawing without replacement by
 * weights tau is keeping the largest of log(u) / tau, u uniform (Efraimidis and Spirakis,
 * 2006): clients send their largest such keys of each class, and the server sends every class's
 * smallest that stays. Fewer stay with each task.
 *
 * Client: it trains on what it keeps beside what is new. From the second task on the batch's
 * cross entropy is the mean over rows of w_y -log softmax(z / (T T_y))_y: T is a row, with
 * each output's own temperature, T_y is that of the row's class, old or new, and so is w_y.
 * Server: the usual mean.
 *
 * A matrix of products of features is sent once per task, and single samples' keys, which say
 * how far each stands out in its class.
 */
#include "method/lib/samples.h"

#include "base/base.h"
#include "base/real.h"
#include "io/lapack.h"

#include <engram/method.h>
#include <engram/op.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEDCBDR_PRODUCTS = 1, FEDCBDR_KEYS }; /* its exchanges */

typedef struct fedcbdr {
    int64_t size, rank;
    double old_temperature, new_temperature, old_weight, new_weight;
} fedcbdr;

/* A sample that is kept, or may be. */
typedef struct fedcbdr_sample {
    eg_sample is;
    float label, key;
} fedcbdr_sample;

typedef struct fedcbdr_client {
    fedcbdr is;
    const float *least; /* [n_classes]: the smallest key of each class that stays */
    const float *basis; /* [d, rank]: V S^-1 */
    int64_t rank;
    const eg_bundle *kept; /* its record; NULL: none */
    uint8_t *old;          /* [n_classes], while it trains in its second task or later */
} fedcbdr_client;

/* What the server knows of a sample. */
typedef struct fedcbdr_key {
    float label, key;
} fedcbdr_key;

typedef struct fedcbdr_server {
    fedcbdr is;
    float *least; /* [n_classes] */
    fedcbdr_key *keys;
    size_t n, cap;
    float *basis; /* [d, rank], between its two exchanges */
    int64_t rank;
} fedcbdr_server;

// clang-format off
static const eg_opt fedcbdr_opts[] = {
    EG_OPT_INT(fedcbdr, size, 1000, 1, 1e6, "samples that all clients keep together"),
    EG_OPT_INT(fedcbdr, rank, 32, 1, 65536, "directions of the features that leverage is measured in"),
    EG_OPT_REAL(fedcbdr, old_temperature, 0.9, 1e-2, 1e2, "of classes of tasks before"),
    EG_OPT_REAL(fedcbdr, new_temperature, 1.1, 1e-2, 1e2, "of the task's own classes"),
    EG_OPT_REAL(fedcbdr, old_weight, 1.1, 0, 1e3, "of rows of classes of tasks before"),
    EG_OPT_REAL(fedcbdr, new_weight, 0.9, 0, 1e3, "of rows of the task's own classes"),
    EG_OPT_END,
};
// clang-format on

static const char fedcbdr_least[] = "fedcbdr.least", fedcbdr_basis[] = "fedcbdr.basis",
                  fedcbdr_products[] = "fedcbdr.products", fedcbdr_labels[] = "fedcbdr.labels",
                  fedcbdr_keys[] = "fedcbdr.keys", fedcbdr_tasks[] = "fedcbdr.tasks",
                  fedcbdr_ids[] = "fedcbdr.ids", fedcbdr_record[] = "fedcbdr";

static eg_status fedcbdr_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const fedcbdr *f = options;
    out->offers = EG_OFFERS_COMMON_TASKS | EG_OFFERS_TASK_CLASSES;
    out->shares_plain = out->classes = true;
    out->exchanges[0] = (eg_exchange){.name = "products of features", .sum = true};
    out->exchanges[1] = (eg_exchange){.name = "keys of samples"};
    if (in->scenario && f->size < eg_scenario_n_classes(in->scenario))
        return eg_fail(EG_EINVAL, "size %lld leaves classes without a sample: there are %lld",
                       (long long)f->size, (long long)eg_scenario_n_classes(in->scenario));
    return in->train->rotations
               ? eg_fail(EG_ENOTSUP,
                         "its temperatures are of classes: leave out train.rotations")
               : EG_OK;
}

/* Marks the classes of all tasks up to a period: marks [n_classes], zeroed. Returns how many.
 */
static int64_t fedcbdr_seen(const eg_scenario *s, int64_t period, uint8_t *marks)
{
    int64_t seen = 0;
    for (int64_t t = 0; t < eg_scenario_n_tasks(s); t++) {
        const int32_t *classes;
        int64_t n = eg_scenario_classes(s, EG_SERVER, t, &classes);
        for (int64_t k = 0; k < n && eg_scenario_learned(s, t) <= period; k++) {
            seen += !marks[classes[k]];
            marks[classes[k]] = 1;
        }
    }
    return seen;
}

/* How many samples of each class stay after the period of a round. */
static eg_status fedcbdr_room(const fedcbdr *f, const eg_scenario *s, int64_t round,
                              int64_t *out)
{
    uint8_t *marks;
    EG_TRY(eg_alloc((size_t)eg_scenario_n_classes(s), sizeof *marks, &marks));
    int64_t seen = fedcbdr_seen(s, eg_scenario_period(s, round), marks);
    *out = seen > 0 ? f->size / seen : 0;
    free(marks);
    return EG_OK;
}

/* --- The client. */

static eg_status fedcbdr_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    fedcbdr_client *f = self;
    size_t n, d = (size_t)eg_net_n_features(c->net);
    EG_TRY(eg_client_recall(c, fedcbdr_record, &f->kept));
    EG_TRY(eg_bundle_need(from, fedcbdr_least, (size_t)c->n_classes, &f->least));
    if (exchange == FEDCBDR_KEYS) {
        f->basis = eg_bundle_find(from, fedcbdr_basis, &n);
        f->rank = (int64_t)(n / d);
        if (n == 0 || n % d)
            return eg_fail(EG_ESHAPE, "a basis of %zu values for %zu features", n, d);
    }
    if (exchange != EG_TRAINING || c->view.stage == 0)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)c->n_classes, 1, &f->old));
    fedcbdr_seen(c->scenario, eg_scenario_period(c->scenario, c->round) - 1, f->old);
    return EG_OK;
}

static void fedcbdr_client_fini(void *self)
{
    fedcbdr_client *f = self;
    free(f->old);
}

/* The samples of its record that stay, into a list with room for more: *n of them. */
static eg_status fedcbdr_stay(const fedcbdr_client *f, const eg_client *c, size_t more,
                              fedcbdr_sample **out, size_t *n)
{
    size_t all = 0;
    const float *tasks = NULL, *ids = NULL, *labels = NULL, *keys = NULL;
    if (f->kept) {
        tasks = eg_bundle_find(f->kept, fedcbdr_tasks, &all);
        EG_TRY(eg_bundle_need(f->kept, fedcbdr_ids, all, &ids));
        EG_TRY(eg_bundle_need_counts(f->kept, fedcbdr_labels, all, c->n_classes - 1, &labels));
        EG_TRY(eg_bundle_need(f->kept, fedcbdr_keys, all, &keys));
    }
    *n = 0;
    EG_TRY(eg_alloc(all + more, sizeof **out, out));
    for (size_t i = 0; i < all; i++) {
        fedcbdr_sample s = {{(int64_t)tasks[i], (int64_t)ids[i]}, labels[i], keys[i]};
        if (s.key >= f->least[(int64_t)s.label] && eg_client_knows(c, &s.is))
            (*out)[(*n)++] = s;
    }
    return EG_OK;
}

static eg_status fedcbdr_samples(void *self, eg_client *c)
{
    const fedcbdr_client *f = self;
    fedcbdr_sample *stay;
    size_t n;
    EG_TRY(fedcbdr_stay(f, c, 0, &stay, &n));
    eg_status s = EG_OK;
    for (size_t i = 0; i < n && s == EG_OK; i++)
        s = eg_client_add_sample(c, stay[i].is.task, stay[i].is.id);
    free(stay);
    return s;
}

/* Features of samples at the new model: [n, d], to be freed. */
static eg_status fedcbdr_features(eg_client *c, const eg_sample *samples, int64_t n,
                                  float **out)
{
    EG_TRY(eg_alloc((size_t)(n * eg_net_n_features(c->net)), sizeof **out, out));
    eg_status s = eg_client_look(c, NULL, &(eg_rows){.n = n, .samples = samples},
                                 &(eg_look){.features = *out});
    if (s != EG_OK)
        free(*out);
    return s;
}

/* Adds X^T X [d, d] for features x [n, d]. */
static eg_status fedcbdr_tell_products(int64_t n, int64_t d, const float *x, eg_bundle *to)
{
    double *wide, *sum = NULL;
    float *told;
    EG_TRY(eg_bundle_room(to, fedcbdr_products, eg_dims(d, d), &told));
    EG_TRY(eg_alloc((size_t)(n * d), sizeof *wide, &wide));
    for (int64_t i = 0; i < n * d; i++)
        wide[i] = (double)x[i];
    eg_status s = eg_alloc((size_t)(d * d), sizeof *sum, &sum);
    const eg_gemm how = {d, d, n, .ta = true, .alpha = 1};
    if (s == EG_OK)
        s = eg_matrix_product(&how, wide, wide, sum);
    for (int64_t i = 0; i < d * d && s == EG_OK; i++)
        told[i] = (float)sum[i];
    free(wide);
    free(sum);
    return s;
}

/* |x V S^-1|^2 of a row x [d]. */
static double fedcbdr_leverage(const fedcbdr_client *f, const float *x, int64_t d)
{
    double tau = 0;
    for (int64_t k = 0; k < f->rank; k++) {
        double along = 0;
        for (int64_t j = 0; j < d; j++)
            along += (double)x[j] * (double)f->basis[j * f->rank + k];
        tau += along * along;
    }
    return fmax(tau, 1e-12);
}

/* By class, the largest key first. */
static int fedcbdr_order(const void *a, const void *b)
{
    const fedcbdr_sample *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return x->key == y->key ? 0 : x->key > y->key ? -1 : 1;
}

/* Draws a key for each of n samples with features x [n, d], and leaves those that could stay,
 * the `room` largest of each class: *n of them. */
static void fedcbdr_draw(const fedcbdr_client *f, eg_client *c, const eg_sample *samples,
                         const float *x, int64_t room, fedcbdr_sample *list, size_t *n)
{
    int64_t d = eg_net_n_features(c->net), fine = 0;
    eg_rng rng = eg_client_stream(c, 0);
    for (size_t i = 0; i < *n; i++) {
        double u = fmax(eg_rng_unit(&rng), DBL_MIN);
        double key = eg_real_log(u) / fedcbdr_leverage(f, x + (int64_t)i * d, d);
        list[i].is = samples[i];
        list[i].key = (float)fmax(key, -FLT_MAX);
    }
    qsort(list, *n, sizeof *list, fedcbdr_order);
    size_t left = 0;
    for (size_t i = 0; i < *n; i++) {
        fine = left > 0 && list[left - 1].label == list[i].label ? fine : 0;
        if (fine++ < room)
            list[left++] = list[i];
    }
    *n = left;
}

static eg_status fedcbdr_put(const fedcbdr_sample *list, size_t n, bool record, eg_bundle *to)
{
    float *labels, *keys, *tasks = NULL, *ids = NULL;
    const eg_shape shape = eg_dims((int64_t)n);
    if (n == 0)
        return EG_OK;
    EG_TRY(eg_bundle_room(to, fedcbdr_labels, shape, &labels));
    EG_TRY(eg_bundle_room(to, fedcbdr_keys, shape, &keys));
    if (record) {
        EG_TRY(eg_bundle_room(to, fedcbdr_tasks, shape, &tasks));
        EG_TRY(eg_bundle_room(to, fedcbdr_ids, shape, &ids));
    }
    for (size_t i = 0; i < n; i++) {
        labels[i] = list[i].label, keys[i] = list[i].key;
        if (record)
            tasks[i] = (float)list[i].is.task, ids[i] = (float)list[i].is.id;
    }
    return EG_OK;
}

/* Keeps what stays of its record with what could stay of the task. */
static eg_status fedcbdr_keep(const fedcbdr_client *f, eg_client *c, const fedcbdr_sample *list,
                              size_t n)
{
    fedcbdr_sample *all;
    size_t stay;
    eg_bundle *record;
    EG_TRY(fedcbdr_stay(f, c, n, &all, &stay));
    memcpy(all + stay, list, n * sizeof *list);
    eg_status s = eg_bundle_new(&record);
    if (s == EG_OK)
        s = eg_bundle_filled(record, fedcbdr_put(all, stay + n, true, record));
    free(all);
    EG_TRY(s);
    return eg_client_keep(c, fedcbdr_record, record);
}

/* The classes of samples, into a list that is to be freed. */
static eg_status fedcbdr_list(eg_client *c, const eg_sample *samples, int64_t n,
                              fedcbdr_sample **out)
{
    const eg_net_spec *spec = eg_net_spec_of(c->net);
    float *x;
    EG_TRY(eg_alloc((size_t)(spec->channels * spec->height * spec->width), sizeof *x, &x));
    eg_status s = eg_alloc((size_t)n, sizeof **out, out);
    for (int64_t i = 0; i < n && s == EG_OK; i++)
        eg_client_feed(c, samples + i, 1, x, &(*out)[i].label);
    free(x);
    return s;
}

static eg_status fedcbdr_tell_keys(const fedcbdr_client *f, eg_client *c,
                                   const eg_sample *samples, int64_t all, const float *x,
                                   eg_bundle *to)
{
    fedcbdr_sample *list;
    size_t n = (size_t)all;
    int64_t room;
    EG_TRY(fedcbdr_room(&f->is, c->scenario, c->round, &room));
    EG_TRY(fedcbdr_list(c, samples, all, &list));
    fedcbdr_draw(f, c, samples, x, room, list, &n);
    eg_status s = fedcbdr_keep(f, c, list, n);
    if (s == EG_OK)
        s = fedcbdr_put(list, n, false, to);
    free(list);
    return s;
}

static eg_status fedcbdr_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    eg_sample *samples;
    float *x = NULL;
    int64_t n;
    if (exchange == EG_TRAINING)
        return EG_OK;
    EG_TRY(eg_stage_samples(c, c->view.stage, 0, NULL, &samples, &n));
    eg_status s = fedcbdr_features(c, samples, n, &x);
    if (s == EG_OK)
        s = exchange == FEDCBDR_PRODUCTS
                ? fedcbdr_tell_products(n, eg_net_n_features(c->net), x, to)
                : fedcbdr_tell_keys(self, c, samples, n, x, to);
    free(samples);
    free(x);
    return s;
}

static uint32_t fedcbdr_form(void *self, eg_client *c)
{
    const fedcbdr_client *f = self;
    (void)c;
    return f->old != NULL;
}

/* The batch's own cross entropy is taken out, the one at the temperatures put in. */
static eg_node *fedcbdr_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const fedcbdr_client *f = self;
    if (!f->old)
        return loss;
    eg_node *cold = eg_input(g, "fedcbdr.cold", eg_dims(c->batch, c->n_classes));
    eg_node *truth = eg_input(g, "fedcbdr.truth", eg_dims(c->batch, c->n_classes));
    eg_node *own = eg_client_counted(c, g, eg_client_outputs_of(c, g, c->features));
    eg_node *each = eg_cross_entropies(g, eg_mul(g, own, cold), truth);
    eg_node *weights = eg_input(g, "fedcbdr.weights", eg_dims(c->batch));
    eg_node *mean = eg_mean(g, eg_mul(g, each, weights), EG_ALL_AXES);
    return eg_add(g, loss, eg_sub(g, eg_reshape(g, mean, eg_node_shape(loss)), c->plain));
}

static eg_status fedcbdr_fill(void *self, eg_client *c)
{
    const fedcbdr_client *f = self;
    if (!f->old)
        return EG_OK;
    float *cold = eg_plan_input(c->plan, "fedcbdr.cold");
    float *truth = eg_plan_input(c->plan, "fedcbdr.truth");
    float *weights = eg_plan_input(c->plan, "fedcbdr.weights");
    const double t[] = {f->is.new_temperature, f->is.old_temperature};
    for (int64_t i = 0; i < c->batch; i++) {
        int64_t y = (int64_t)c->labels[i];
        weights[i] = (float)(f->old[y] ? f->is.old_weight : f->is.new_weight);
        for (int64_t k = 0; k < c->n_classes; k++) {
            cold[i * c->n_classes + k] = (float)(1 / (t[f->old[k]] * t[f->old[y]]));
            truth[i * c->n_classes + k] = k == y;
        }
    }
    return EG_OK;
}

/* --- The server. */

static eg_status fedcbdr_recall(fedcbdr_server *f, const eg_bundle *kept, int64_t n_classes)
{
    size_t n;
    const float *least, *labels = eg_bundle_find(kept, fedcbdr_labels, &n), *keys;
    EG_TRY(eg_bundle_need(kept, fedcbdr_least, (size_t)n_classes, &least));
    memcpy(f->least, least, (size_t)n_classes * sizeof *least);
    EG_TRY(eg_alloc(n, sizeof *f->keys, &f->keys));
    f->n = f->cap = n;
    if (n == 0)
        return EG_OK;
    EG_TRY(eg_bundle_need(kept, fedcbdr_keys, n, &keys));
    for (size_t i = 0; i < n; i++)
        f->keys[i] = (fedcbdr_key){labels[i], keys[i]};
    return EG_OK;
}

static eg_status fedcbdr_begin(void *self, eg_server *s)
{
    fedcbdr_server *f = self;
    const eg_bundle *kept;
    int64_t n_classes = eg_scenario_n_classes(s->scenario);
    EG_TRY(eg_alloc((size_t)n_classes, sizeof *f->least, &f->least));
    for (int64_t k = 0; k < n_classes; k++)
        f->least[k] = -FLT_MAX;
    EG_TRY(eg_server_recall(s, fedcbdr_record, &kept));
    return kept ? fedcbdr_recall(f, kept, n_classes) : EG_OK;
}

static void fedcbdr_server_fini(void *self)
{
    fedcbdr_server *f = self;
    free(f->least);
    free(f->keys);
    free(f->basis);
}

static bool fedcbdr_wants(void *self, eg_server *s, int exchange)
{
    const fedcbdr_server *f = self;
    bool ends = eg_scenario_task_ends(s->scenario, s->round) &&
                s->round + 1 < eg_scenario_n_rounds(s->scenario);
    return exchange == EG_TRAINING || (ends && (exchange == FEDCBDR_PRODUCTS || f->basis));
}

static eg_status fedcbdr_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    const fedcbdr_server *f = self;
    EG_TRY(eg_bundle_add_flat(to, fedcbdr_least, f->least,
                              (size_t)eg_scenario_n_classes(s->scenario)));
    return exchange == FEDCBDR_KEYS
               ? eg_bundle_add(to, fedcbdr_basis, eg_dims(eg_net_n_features(s->net), f->rank),
                               f->basis)
               : EG_OK;
}

static eg_status fedcbdr_accept(void *self, eg_server *s, int exchange, int64_t client,
                                const eg_bundle *from)
{
    const fedcbdr_server *f = self;
    size_t d = (size_t)eg_net_n_features(s->net), n;
    const float *values;
    (void)client;
    if (exchange == FEDCBDR_PRODUCTS)
        return eg_bundle_need(from, fedcbdr_products, d * d, &values);
    if (exchange != FEDCBDR_KEYS || eg_bundle_n(from) == 0)
        return EG_OK;
    eg_bundle_find(from, fedcbdr_labels, &n);
    if (n > (size_t)f->is.size)
        return eg_fail(EG_EINVAL, "%zu samples are offered, more than %lld can stay", n,
                       (long long)f->is.size);
    EG_TRY(eg_bundle_need_counts(from, fedcbdr_labels, n,
                                 eg_scenario_n_classes(s->scenario) - 1, &values));
    return eg_bundle_need(from, fedcbdr_keys, n, &values);
}

/* The basis V S^-1 of what the mean of products has: columns of its largest eigenvalues. */
static eg_status fedcbdr_decompose(fedcbdr_server *f, int64_t d, const float *products)
{
    double *a, *w = NULL;
    EG_TRY(eg_alloc((size_t)(d * d), sizeof *a, &a));
    for (int64_t i = 0; i < d * d; i++) /* the mean of both halves: clients may differ */
        a[i] = ((double)products[i] + (double)products[i % d * d + i / d]) / 2;
    eg_status s = eg_alloc((size_t)d, sizeof *w, &w);
    if (s == EG_OK)
        s = eg_matrix_eigen(d, a, w, true);
    int64_t rank = 0;
    while (s == EG_OK && rank < d && rank < f->is.rank && w[d - 1 - rank] > 1e-10 * w[d - 1])
        rank++;
    free(f->basis);
    f->basis = NULL;
    if (s == EG_OK && rank > 0)
        s = eg_alloc((size_t)(d * rank), sizeof *f->basis, &f->basis);
    for (int64_t i = 0; s == EG_OK && i < d * rank; i++) {
        int64_t row = d - 1 - i % rank;
        f->basis[i] = (float)(a[row * d + i / rank] / sqrt(w[row]));
    }
    f->rank = rank;
    free(a);
    free(w);
    return s;
}

static eg_status fedcbdr_collect(void *self, eg_server *s, int exchange, int64_t client,
                                 const eg_bundle *from)
{
    fedcbdr_server *f = self;
    size_t n;
    (void)client;
    if (exchange == FEDCBDR_PRODUCTS)
        return fedcbdr_decompose(f, eg_net_n_features(s->net),
                                 eg_bundle_find(from, fedcbdr_products, NULL));
    if (exchange != FEDCBDR_KEYS)
        return EG_OK;
    const float *labels = eg_bundle_find(from, fedcbdr_labels, &n);
    const float *keys = eg_bundle_find(from, fedcbdr_keys, NULL);
    for (size_t i = 0; i < n; i++) {
        EG_TRY(eg_grow(&f->keys, f->n, &f->cap, sizeof *f->keys));
        f->keys[f->n++] = (fedcbdr_key){labels[i], keys[i]};
    }
    return EG_OK;
}

static int fedcbdr_order_keys(const void *a, const void *b)
{
    const fedcbdr_key *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return x->key == y->key ? 0 : x->key > y->key ? -1 : 1;
}

/* Every class's largest keys stay; the smallest of them is what clients are told. */
static eg_status fedcbdr_finish(void *self, eg_server *s, int exchange)
{
    fedcbdr_server *f = self;
    int64_t room, of_class = 0;
    size_t left = 0;
    if (exchange != FEDCBDR_KEYS)
        return EG_OK;
    EG_TRY(fedcbdr_room(&f->is, s->scenario, s->round, &room));
    if (f->n > 0)
        qsort(f->keys, f->n, sizeof *f->keys, fedcbdr_order_keys);
    for (size_t i = 0; i < f->n; i++) {
        of_class = left > 0 && f->keys[left - 1].label == f->keys[i].label ? of_class : 0;
        if (of_class++ >= room)
            continue;
        f->least[(int64_t)f->keys[i].label] = f->keys[i].key;
        f->keys[left++] = f->keys[i];
    }
    f->n = left;
    free(f->basis);
    f->basis = NULL;
    return EG_OK;
}

static eg_status fedcbdr_save(void *self, eg_server *s)
{
    const fedcbdr_server *f = self;
    float *labels = NULL, *keys = NULL;
    const eg_shape shape = eg_dims((int64_t)f->n);
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    eg_status status = eg_bundle_add_flat(record, fedcbdr_least, f->least,
                                          (size_t)eg_scenario_n_classes(s->scenario));
    if (status == EG_OK && f->n > 0)
        status = eg_bundle_room(record, fedcbdr_labels, shape, &labels);
    if (status == EG_OK && f->n > 0)
        status = eg_bundle_room(record, fedcbdr_keys, shape, &keys);
    for (size_t i = 0; status == EG_OK && i < f->n; i++)
        labels[i] = f->keys[i].label, keys[i] = f->keys[i].key;
    EG_TRY(eg_bundle_filled(record, status));
    return eg_server_keep(s, fedcbdr_record, record);
}

const eg_method eg_method_fedcbdr = {
    .component = {"fedcbdr", "replays as many samples of every class, chosen by all together",
                  sizeof(fedcbdr), fedcbdr_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = fedcbdr_setup,
    .loss = fedcbdr_loss,
    .form = fedcbdr_form,
    .fill = fedcbdr_fill,
    .client = {.size = sizeof(fedcbdr_client),
               .fini = fedcbdr_client_fini,
               .download = fedcbdr_download,
               .samples = fedcbdr_samples,
               .answer = fedcbdr_answer},
    .server = {.size = sizeof(fedcbdr_server),
               .fini = fedcbdr_server_fini,
               .begin = fedcbdr_begin,
               .wants = fedcbdr_wants,
               .send = fedcbdr_send,
               .accept = fedcbdr_accept,
               .collect = fedcbdr_collect,
               .finish = fedcbdr_finish,
               .save = fedcbdr_save},
};
