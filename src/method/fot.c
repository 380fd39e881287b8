/* fot.c - federated orthogonal training (Bakman et al., 2024, ICLR, "FOT"; arXiv:2309.01289).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Server: it has a subspace U of each layer's inputs, of all clients and all past tasks. The
 * clients' mean change D [out, d] of the layer's weights becomes D - D U U^T; biases, and the
 * head unless `head` says so, are free. At the end of a task client k, at the new model, takes
 * its inputs X_k [d, n] of each layer, R_k = X_k - U U^T X_k, and sends the sketch R_k W with W
 * [n, l] of normal numbers, and |R_k|^2 and |X_k|^2. The sketches' sum S is a sketch of all
 * inputs. With r = sum |R_k|^2 / sum |X_k|^2, U gains the fewest left singular vectors of S
 * that have (r - (1 - e)) / r of its energy, so that it holds e of the task's inputs.
 *
 * The columns of R_k W are normal with the covariance R_k R_k^T, from which they are drawn
 * here: l is d for a convolution and `columns` d for a linear layer. The released program takes
 * for r the mean of |R_k| / |X_k| by samples, a ratio of lengths where one of energies is meant
 * (`variant`).
 *
 * What a client sends hides single inputs in random sums, but tells the server which directions
 * its inputs of a layer have and how strong: the more samples, the less of one.
 */
#include "method/lib/samples.h"
#include "method/lib/subspace.h"

#include "base/base.h"
#include "io/lapack.h"

#include <engram/method.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOT_SUBSPACE = 1 };         /* its exchange */
enum { FOT_SAMPLES, FOT_NORMALS }; /* its draws */
enum { FOT_PAPER, FOT_RELEASE };
enum { FOT_FREE, FOT_PROJECTED };

typedef struct fot {
    double threshold, rise;
    int64_t samples, columns;
    int head, variant;
} fot;

typedef struct fot_client {
    fot is;
    eg_subspaces past;
} fot_client;

typedef struct fot_server {
    fot is;
    eg_subspaces past;
    int64_t tasks; /* that were looked at */
} fot_server;

// clang-format off
static const eg_opt fot_opts[] = {
    EG_OPT_REAL(fot, threshold, 0.94, 0, 1, "the share of a layer's inputs that its subspace holds"),
    EG_OPT_REAL(fot, rise, 0.001, 0, 1, "what the threshold gains with each task"),
    EG_OPT_INT(fot, samples, 0, 0, 1e9, "samples that each client looks at; 0: all of the task"),
    EG_OPT_INT(fot, columns, 5, 1, 100, "columns of a linear layer's sketch for each of its inputs"),
    EG_OPT_CHOICE(fot, head, FOT_FREE, "changes of the last layer: free, or projected too", "free|projected"),
    EG_OPT_CHOICE(fot, variant, FOT_PAPER, "release: lengths where the paper has energies", "paper|release"),
    EG_OPT_END,
};
// clang-format on

typedef struct fot_name {
    char text[64];
} fot_name;

/* "fot.sketch.2" */
static fot_name fot_part(const char *what, size_t layer)
{
    fot_name name;
    snprintf(name.text, sizeof name.text, "fot.%s.%zu", what, layer);
    return name;
}

static int64_t fot_columns(const fot *f, const eg_subspace *l)
{
    return l->window.kernel ? l->d : f->columns * l->d;
}

static eg_status fot_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options;
    out->offers = EG_OFFERS_COMMON_TASKS;
    out->global = true;
    out->exchanges[0] = (eg_exchange){.name = "subspace", .sum = true};
    return in->interval > 1
               ? eg_fail(EG_ENOTSUP, "its server projects what every round changes: "
                                     "set server.interval to 1")
               : EG_OK;
}

static eg_status fot_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    fot_client *f = self;
    if (exchange != FOT_SUBSPACE)
        return EG_OK;
    EG_TRY(eg_subspaces_init(&f->past, c->net, f->is.head == FOT_PROJECTED));
    return eg_subspaces_take(&f->past, "fot", from);
}

static void fot_client_fini(void *self)
{
    fot_client *f = self;
    eg_subspaces_fini(&f->past);
}

/* out [d, columns]: columns drawn from the normal distribution of covariance c [d, d], which is
 * destroyed. */
static eg_status fot_draw(int64_t d, int64_t columns, double *c, eg_rng *rng, float *out)
{
    double *w = NULL, *normals = NULL, *drawn = NULL;
    eg_status s = eg_alloc((size_t)d, sizeof *w, &w);
    if (s == EG_OK)
        s = eg_alloc((size_t)(d * columns), sizeof *normals, &normals);
    if (s == EG_OK)
        s = eg_alloc((size_t)(d * columns), sizeof *drawn, &drawn);
    if (s == EG_OK)
        s = eg_matrix_eigen(d, c, w, true);
    for (int64_t i = 0; s == EG_OK && i < d * columns; i++)
        normals[i] = eg_rng_normal(rng) * sqrt(fmax(0, w[i / columns]));
    if (s == EG_OK)
        s = eg_matrix_product(&(eg_gemm){d, columns, d, true, false, 1, 0}, c, normals, drawn);
    for (int64_t i = 0; s == EG_OK && i < d * columns; i++)
        out[i] = (float)drawn[i];
    free(w);
    free(normals);
    free(drawn);
    return s;
}

/* Adds what the client tells of layer i, whose inputs' sum is destroyed; n samples. */
static eg_status fot_tell(fot_client *f, size_t i, double *sum, int64_t n, eg_rng *rng,
                          eg_bundle *to)
{
    eg_subspace *l = &f->past.at[i];
    int64_t columns = fot_columns(&f->is, l);
    float *sketch;
    double all = eg_subspace_energy(l, sum);
    EG_TRY(eg_subspace_rest(l, sum));
    double rest = fmax(0, eg_subspace_energy(l, sum));
    if (f->is.variant == FOT_RELEASE) {
        rest = (double)n * (all > 0 ? sqrt(rest / all) : 0);
        all = (double)n;
    }
    EG_TRY(eg_bundle_scalar(to, fot_part("rest", i).text, rest));
    EG_TRY(eg_bundle_scalar(to, fot_part("all", i).text, all));
    EG_TRY(eg_bundle_room(to, fot_part("sketch", i).text, eg_dims(l->d, columns), &sketch));
    return fot_draw(l->d, columns, sum, rng, sketch);
}

static eg_status fot_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    fot_client *f = self;
    eg_sample *samples = NULL;
    double **sums = NULL;
    int64_t n = 0;
    if (exchange != FOT_SUBSPACE)
        return EG_OK;
    eg_rng some = eg_client_stream(c, FOT_SAMPLES), normals = eg_client_stream(c, FOT_NORMALS);
    eg_status s = eg_stage_samples(c, c->view.stage, f->is.samples,
                                   f->is.samples > 0 ? &some : NULL, &samples, &n);
    if (s == EG_OK)
        s = eg_subspaces_inputs(&f->past, c, samples, n, &sums);
    for (size_t i = 0; i < f->past.n && s == EG_OK; i++)
        s = fot_tell(f, i, sums[i], n, &normals, to);
    eg_subspaces_free(&f->past, sums);
    free(samples);
    return s;
}

static eg_status fot_begin(void *self, eg_server *s)
{
    fot_server *f = self;
    const eg_bundle *kept;
    EG_TRY(eg_subspaces_init(&f->past, s->net, f->is.head == FOT_PROJECTED));
    EG_TRY(eg_server_recall(s, "fot", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_bundle_need_count(kept, "fot.tasks", INT32_MAX, &f->tasks));
    return eg_subspaces_take(&f->past, "fot", kept);
}

static void fot_server_fini(void *self)
{
    fot_server *f = self;
    eg_subspaces_fini(&f->past);
}

static bool fot_wants(void *self, eg_server *s, int exchange)
{
    (void)self;
    return exchange != FOT_SUBSPACE || (eg_scenario_task_ends(s->scenario, s->round) &&
                                        s->round + 1 < eg_scenario_n_rounds(s->scenario));
}

static eg_status fot_send(void *self, eg_server *s, int exchange, eg_bundle *to)
{
    const fot_server *f = self;
    (void)s;
    return exchange == FOT_SUBSPACE ? eg_subspaces_put(&f->past, "fot", to) : EG_OK;
}

/* What a bundle tells of layer i: EG_EINVAL if no inputs could. */
static eg_status fot_read(const fot_server *f, size_t i, const eg_bundle *from,
                          const float **sketch, double *rest, double *all)
{
    const eg_subspace *l = &f->past.at[i];
    EG_TRY(eg_bundle_need(from, fot_part("sketch", i).text,
                          (size_t)(l->d * fot_columns(&f->is, l)), sketch));
    bool there = eg_bundle_scalar_of(from, fot_part("rest", i).text, rest) &&
                 eg_bundle_scalar_of(from, fot_part("all", i).text, all);
    return there && *rest >= 0 && *rest <= *all * (1 + 1e-6)
               ? EG_OK
               : eg_fail(EG_EINVAL, "what is left of layer %zu's inputs is not from 0 to all",
                         i);
}

static eg_status fot_accept(void *self, eg_server *s, int exchange, int64_t client,
                            const eg_bundle *from)
{
    const fot_server *f = self;
    const float *sketch;
    double rest, all;
    (void)s, (void)client;
    for (size_t i = 0; exchange == FOT_SUBSPACE && i < f->past.n; i++)
        EG_TRY(fot_read(f, i, from, &sketch, &rest, &all));
    return EG_OK;
}

/* Adds to layer i's subspace what the clients' mean sketch says it lacks. */
static eg_status fot_extend(fot_server *f, size_t i, const eg_bundle *from)
{
    eg_subspace *l = &f->past.at[i];
    const float *sketch; /* [d, columns] */
    double rest, all, *wide, *sum = NULL;
    double e = fmin(1, f->is.threshold + f->is.rise * (double)f->tasks);
    int64_t columns = fot_columns(&f->is, l);
    EG_TRY(fot_read(f, i, from, &sketch, &rest, &all));
    EG_TRY(eg_alloc((size_t)(l->d * columns), sizeof *wide, &wide));
    eg_status s = eg_alloc((size_t)(l->d * l->d), sizeof *sum, &sum);
    for (int64_t k = 0; s == EG_OK && k < l->d * columns; k++)
        wide[k] = (double)sketch[k];
    const eg_gemm how = {l->d, l->d, columns, .tb = true, .alpha = 1};
    if (s == EG_OK)
        s = eg_matrix_product(&how, wide, wide, sum);
    free(wide);
    if (s == EG_OK)
        s = eg_subspace_rest(l, sum); /* rounding, and what clients did not leave out */
    double r = all > 0 ? rest / all : 0;
    if (s == EG_OK && r > 0)
        s = eg_subspace_extend(l, sum, (r - (1 - e)) / r, 0);
    free(sum);
    return s;
}

static eg_status fot_collect(void *self, eg_server *s, int exchange, int64_t client,
                             const eg_bundle *from)
{
    fot_server *f = self;
    (void)s, (void)client;
    if (exchange != FOT_SUBSPACE)
        return EG_OK;
    for (size_t i = 0; i < f->past.n; i++)
        EG_TRY(fot_extend(f, i, from));
    f->tasks++;
    return EG_OK;
}

/* param [n_params] is the mean; only layers with a subspace are written again. */
static eg_status fot_refine(void *self, eg_server *s, float *param, float *state)
{
    fot_server *f = self;
    float *change;
    (void)state;
    if (f->tasks == 0)
        return EG_OK;
    EG_TRY(eg_alloc(s->n_params, sizeof *change, &change));
    for (size_t i = 0; i < s->n_params; i++)
        change[i] = param[i] - s->param[i];
    eg_status status = eg_subspaces_project(&f->past, change);
    for (size_t k = 0; k < f->past.n && status == EG_OK; k++) {
        const eg_param_info *at = eg_params_at(eg_net_params(s->net), f->past.at[k].tensor);
        for (size_t i = at->offset; f->past.at[k].m > 0 && i < at->offset + at->size; i++)
            param[i] = s->param[i] + change[i];
    }
    free(change);
    return status;
}

static eg_status fot_save(void *self, eg_server *s)
{
    const fot_server *f = self;
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    eg_status status = eg_bundle_scalar(record, "fot.tasks", (double)f->tasks);
    if (status == EG_OK)
        status = eg_subspaces_put(&f->past, "fot", record);
    EG_TRY(eg_bundle_filled(record, status));
    return eg_server_keep(s, "fot", record);
}

const eg_method eg_method_fot = {
    .component = {"fot", "the server keeps changes off what the layers of all were fed before",
                  sizeof(fot), fot_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = fot_setup,
    .client = {.size = sizeof(fot_client),
               .fini = fot_client_fini,
               .download = fot_download,
               .answer = fot_answer},
    .server = {.size = sizeof(fot_server),
               .fini = fot_server_fini,
               .begin = fot_begin,
               .wants = fot_wants,
               .send = fot_send,
               .accept = fot_accept,
               .collect = fot_collect,
               .refine = fot_refine,
               .save = fot_save},
};
