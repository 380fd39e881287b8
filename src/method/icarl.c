/* icarl.c - exemplars, sigmoid distillation, nearest mean (Rebuffi et al., 2017, "iCaRL").
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: its memory holds exemplars. When a task is announced those of the stage before join
 * them, herded by unit features at the model it received; each class of a stage has
 * floor(size / groups). All of them are trained on like samples. In place of the cross entropy
 * the loss is the mean over batch and classes of BCE(z, t), t = 1 at the label, else 0; for
 * classes of earlier stages alone t = sigmoid(z*), z* the logits of the model it received when
 * the stage began. Server: the usual mean. Tests: argmin_y |f - mu_y|, f the unit feature, mu_y
 * the mean over all clients' exemplars of y, and samples while they are new, at the global
 * model, made unit.
 *
 * Mammoth's code also adds 1e-5 |w|^2 to the loss (optimizer.weight_decay: 2e-5) and takes
 * means over mirrored images too (`mirror`).
 */
#include "base/real.h"
#include "method/lib/class_means.h"

#include <engram/op.h>

#include <math.h>
#include <stdlib.h>

typedef struct icarl_client {
    eg_class_means_opts is;
    uint8_t *old;        /* [n_classes]: of earlier stages alone */
    eg_learner *teacher; /* NULL: there is none yet */
} icarl_client;

// clang-format off
static const eg_opt icarl_opts[] = {
    EG_OPT_BOOL(eg_class_means_opts, unit, true, "features and means are divided by their lengths"),
    EG_OPT_BOOL(eg_class_means_opts, mirror, false, "images count in the means mirrored too"),
    EG_OPT_END,
};
// clang-format on

static eg_status icarl_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    out->pixels = ((const eg_class_means_opts *)options)->mirror;
    if (in->train->rotations)
        return eg_fail(EG_ENOTSUP, "exemplars are upright: train.rotations must be false");
    out->offers = EG_OFFERS_BOUNDARIES;
    out->classes = true;
    out->memory = out->fills = out->global = out->shares_plain = true;
    out->exchanges[0] = (eg_exchange){.name = "means", .sum = true, .everyone = true};
    return EG_OK;
}

static eg_status icarl_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    icarl_client *p = self;
    (void)from;
    if (exchange != EG_TRAINING)
        return EG_OK;
    p->old = calloc((size_t)c->n_classes, 1);
    if (!p->old)
        return eg_fail(EG_ENOMEM, "no memory for the marks of classes");
    eg_client_past_classes(c, p->old);
    return eg_client_stage_model(c, "icarl.model", &p->teacher);
}

static void icarl_fini(void *self)
{
    icarl_client *p = self;
    free(p->old);
}

static eg_status icarl_task(void *self, eg_client *c)
{
    const icarl_client *p = self;
    int64_t n_spans;
    eg_felt left;
    if (c->view.left < 0)
        return EG_OK;
    const eg_span *spans = eg_scenario_spans(c->scenario, c->id, c->view.left, &n_spans);
    eg_status s = eg_felt_spans(c, spans, n_spans, p->is.unit, &left);
    if (s == EG_OK)
        s = eg_memory_herd(c->memory,
                           &(eg_memory_rows){.n = left.n, .x = left.x, .labels = left.labels},
                           left.features, eg_net_n_features(c->net));
    eg_felt_free(&left);
    return s;
}

static eg_status icarl_samples(void *self, eg_client *c)
{
    const eg_memory_rows past = eg_memory_get(c->memory);
    (void)self;
    return eg_client_add_rows(c, past.x, past.labels, past.n);
}

static eg_node *icarl_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    eg_node *targets = eg_input(g, "icarl.targets", eg_dims(c->batch, c->n_classes));
    eg_node *logits = eg_client_outputs_of(c, g, c->features);
    (void)self;
    return eg_add(g, eg_sub(g, loss, c->plain), eg_bce_with_logits(g, logits, targets));
}

static eg_status icarl_fill(void *self, eg_client *c)
{
    const icarl_client *p = self;
    float *t = eg_plan_input(c->plan, "icarl.targets"); /* [batch, n_classes] */
    const eg_rows rows = {.n = c->batch, .x = c->x, .labels = c->labels};
    if (p->teacher)
        EG_TRY(eg_client_look(c, &(eg_weights){p->teacher->param, p->teacher->state}, &rows,
                              &(eg_look){.logits = t}));
    for (int64_t i = 0; i < c->batch; i++, t += c->n_classes)
        for (int64_t y = 0; y < c->n_classes; y++)
            t[y] = p->teacher && p->old[y] ? 1 / (1 + (float)eg_real_exp(-(double)t[y]))
                                           : (float)((int64_t)c->labels[i] == y);
    return EG_OK;
}

const eg_method eg_method_icarl = {
    .component = {"icarl", "herded exemplars, sigmoid distillation, nearest mean of exemplars",
                  sizeof(eg_class_means_opts), icarl_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = icarl_setup,
    .know = eg_class_means_declare,
    .answers = eg_class_means_answers,
    .loss = icarl_loss,
    .fill = icarl_fill,
    .client = {.size = sizeof(icarl_client),
               .fini = icarl_fini,
               .download = icarl_download,
               .task = icarl_task,
               .samples = icarl_samples,
               .answer = eg_class_means_answer},
    .server = EG_CLASS_MEANS_SERVER,
};
