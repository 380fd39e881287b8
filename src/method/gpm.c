/* gpm.c - gradient projection memory (Saha et al., 2021, arXiv:2103.09762), on every client.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: when a task ends for it, it looks at what each layer is fed by some of the task's
 * samples: X [d, n], the patches of a convolution. With R what its subspace U misses of X, U
 * gains the fewest left singular vectors of R such that |U U^T X|^2 >= e |X|^2 (Equation 9),
 * where e is the threshold, which rises with each task. Gradients of a layer's weights become
 * G - G U U^T (Equation 8). Tensors of one axis (biases, batch norm) outside the head stay as
 * the first task left them. Server: the usual mean.
 *
 * A client learns of the end when its next task begins, so it looks at the model that it
 * receives then. The released program stops one vector early in the first task (`variant`).
 */
#include "method/lib/samples.h"
#include "method/lib/subspace.h"

#include "base/base.h"
#include "engine/model/net.h"

#include <engram/method.h>

#include <stdlib.h>
#include <string.h>

enum { GPM_PAPER, GPM_RELEASE };
enum { GPM_PROJECTED, GPM_FREE };

typedef struct gpm {
    double threshold, rise;
    int64_t samples;
    int head, variant;
} gpm;

typedef struct gpm_client {
    gpm is;
    eg_subspaces past;
    int64_t tasks; /* that were looked at */
} gpm_client;

// clang-format off
static const eg_opt gpm_opts[] = {
    EG_OPT_REAL(gpm, threshold, 0.97, 0, 1, "the share of a layer's inputs that its subspace holds"),
    EG_OPT_REAL(gpm, rise, 0.003, 0, 1, "what the threshold gains with each task"),
    EG_OPT_INT(gpm, samples, 125, 1, 1e6, "samples of a task that are looked at"),
    EG_OPT_CHOICE(gpm, head, GPM_PROJECTED, "gradients of the last layer: projected too, or free", "projected|free"),
    EG_OPT_CHOICE(gpm, variant, GPM_PAPER, "release: one vector fewer for the first task", "paper|release"),
    EG_OPT_END,
};
// clang-format on

static eg_status gpm_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->offers = EG_OFFERS_BOUNDARIES;
    return EG_OK;
}

static eg_status gpm_recall(gpm_client *p, eg_client *c)
{
    const eg_bundle *kept;
    EG_TRY(eg_client_recall(c, "gpm", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_bundle_need_count(kept, "gpm.tasks", INT32_MAX, &p->tasks));
    return eg_subspaces_take(&p->past, "gpm", kept);
}

static eg_status gpm_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    gpm_client *p = self;
    (void)from;
    if (exchange != EG_TRAINING)
        return EG_OK;
    EG_TRY(eg_subspaces_init(&p->past, c->net, p->is.head == GPM_PROJECTED));
    return gpm_recall(p, c);
}

static void gpm_fini(void *self)
{
    gpm_client *p = self;
    eg_subspaces_fini(&p->past);
}

/* Adds to one layer's subspace what it lacks of the inputs' sum. */
static eg_status gpm_extend(const gpm_client *p, eg_subspace *l, double *sum)
{
    double e = p->is.threshold + p->is.rise * (double)p->tasks;
    double all = eg_subspace_energy(l, sum);
    EG_TRY(eg_subspace_rest(l, sum));
    double rest = eg_subspace_energy(l, sum);
    double lacks = rest - (1 - (e < 1 ? e : 1)) * all; /* what must be added to hold e */
    bool less = p->is.variant == GPM_RELEASE && p->tasks == 0;
    return rest > 0 ? eg_subspace_extend(l, sum, lacks / rest, less) : EG_OK;
}

static eg_status gpm_keep(const gpm_client *p, eg_client *c)
{
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    eg_status s = eg_bundle_scalar(record, "gpm.tasks", (double)p->tasks);
    if (s == EG_OK)
        s = eg_subspaces_put(&p->past, "gpm", record);
    EG_TRY(eg_bundle_filled(record, s));
    return eg_client_keep(c, "gpm", record);
}

static eg_status gpm_task(void *self, eg_client *c)
{
    gpm_client *p = self;
    eg_sample *samples = NULL;
    double **sums = NULL;
    int64_t n = 0;
    if (c->view.left < 0)
        return EG_OK;
    eg_rng rng = eg_client_stream(c, 0);
    eg_status s = eg_stage_samples(c, c->view.left, p->is.samples, &rng, &samples, &n);
    if (s == EG_OK)
        s = eg_subspaces_inputs(&p->past, c, samples, n, &sums);
    for (size_t i = 0; i < p->past.n && s == EG_OK; i++)
        s = gpm_extend(p, &p->past.at[i], sums[i]);
    eg_subspaces_free(&p->past, sums);
    free(samples);
    EG_TRY(s);
    p->tasks++;
    return gpm_keep(p, c);
}

static eg_status gpm_grad(void *self, eg_client *c)
{
    gpm_client *p = self;
    const eg_params *table = eg_net_params(c->net);
    size_t head, side;
    if (p->tasks == 0)
        return EG_OK;
    eg_net_heads(c->net, &head, &side);
    for (size_t i = 0; i < head; i++) {
        const eg_param_info *info = eg_params_at(table, i);
        if (info->trained && info->shape.rank == 1)
            memset(c->grad + info->offset, 0, info->size * sizeof *c->grad);
    }
    return eg_subspaces_project(&p->past, c->grad);
}

const eg_method eg_method_gpm = {
    .component = {"gpm", "gradients at right angles to what each layer was fed in the past",
                  sizeof(gpm), gpm_opts},
    .setup = gpm_setup,
    .client = {.size = sizeof(gpm_client),
               .fini = gpm_fini,
               .download = gpm_download,
               .task = gpm_task,
               .grad = gpm_grad},
};
