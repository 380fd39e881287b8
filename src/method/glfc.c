/* glfc.c - global-local forgetting compensation (Dong et al., 2022, "GLFC", CVPR).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: its memory holds exemplars, as iCaRL's. A task has changed when the scenario says so,
 * or (`signal: entropy`, the paper's way) when the mean entropy of the received model's softmax
 * on its samples has risen by more than `rise`; with tasks of two or three classes it never
 * rises by the paper's 1.2, since ln 3 is less. Then those of the stage before join the
 * exemplars, and for each class of this stage it sends the gradient that the sample nearest to
 * the class's mean feature, disturbed by steps against the received model's loss, gives a small
 * network with weights that all share. With z the outputs and y the label's one-hot row the
 * loss is (mean of w BCE(z, y) + mean of BCE(z, y')) / 2 where w is |sigmoid(z_y) - 1| over its
 * mean among rows of old classes, or of new ones (Equations 1 to 3), and y' is y but for old
 * classes the old model's sigmoids (Equation 4 of the relation loss); without an old model, the
 * mean of w BCE alone, and w is 1 without old classes. Server (the proxy): turns such gradients
 * into images by L-BFGS, and keeps as a task's best the model whose accuracy on them was the
 * highest; clients are sent the best of this task and of the last one. A client's old model is,
 * when its task changes, the newer of these, and later the older one, if there is one.
 *
 * The gradient of a prototype is enough to see it, which is what the proxy does.
 */
#include "method/lib/glfc.h"
#include "method/lib/class_means.h"
#include "method/lib/inversion.h"

#include "base/base.h"

#include <engram/op.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct glfc_client {
    eg_glfc is;
    uint8_t *old;     /* [classes]: of earlier stages alone */
    bool any_old;     /* there are some */
    bool changed;     /* a new task has begun */
    eg_learner *past; /* the old model; NULL: none */
    int64_t n_sent;   /* gradients */
    float *sent;      /* [n_sent, size] */
} glfc_client;

// clang-format off
static const eg_opt glfc_opts[] = {
    EG_OPT_CHOICE(eg_glfc, signal, EG_GLFC_BOUNDARY, "what tells a client of a new task: its data's entropy, as in the paper, or the scenario", "entropy|boundary"),
    EG_OPT_REAL(eg_glfc, rise, 1.2, 0, 1e3, "of the entropy that tells of a new task"),
    EG_OPT_INT(eg_glfc, shakes, 50, 0, 10000, "steps that disturb a prototype before its gradient is taken"),
    EG_OPT_REAL(eg_glfc, shake, 0.2, 0, 1e3, "their size"),
    EG_OPT_INT(eg_glfc, steps, 250, 1, 100000, "of L-BFGS that turn a gradient into an image"),
    EG_OPT_INT(eg_glfc, keep, 20, 1, 1000, "of the last images that are kept"),
    EG_OPT_REAL(eg_glfc, lr, 0.1, 1e-6, 10, "step size of L-BFGS"),
    EG_OPT_END,
};
// clang-format on

static eg_status glfc_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const eg_glfc *is = options;
    if (in->train->rotations)
        return eg_fail(EG_ENOTSUP, "exemplars are upright: train.rotations must be false");
    if (is->keep > is->steps)
        return eg_fail(EG_EINVAL, "it keeps the images of more steps than it takes");
    out->offers = is->signal == EG_GLFC_BOUNDARY ? EG_OFFERS_BOUNDARIES : 0;
    out->classes = out->memory = out->fills = true;
    out->global = out->shares_plain = out->plain_mean = true;
    return EG_OK;
}

static void glfc_fini(void *self)
{
    glfc_client *p = self;
    free(p->old);
    free(p->sent);
}

/* The mean of -sum p log(p + 1e-5) over n rows of outputs [n, k]. */
static double glfc_entropy(const float *outputs, int64_t n, int64_t k)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++, outputs += k) {
        double most = -INFINITY, all = 0;
        for (int64_t y = 0; y < k; y++)
            most = fmax(most, (double)outputs[y]);
        for (int64_t y = 0; y < k; y++)
            all += exp((double)outputs[y] - most);
        for (int64_t y = 0; y < k; y++) {
            double p = exp((double)outputs[y] - most) / all;
            sum -= p * log(p + 1e-5);
        }
    }
    return sum / (double)n;
}

/* Of the stage's samples at the received model. */
static eg_status glfc_measure(eg_client *c, const eg_felt *rows, double *entropy)
{
    const eg_weights at = {c->global, c->global_state};
    float *outputs;
    EG_TRY(eg_alloc((size_t)(rows->n * c->n_classes), sizeof *outputs, &outputs));
    eg_status s =
        eg_client_look(c, &at, &(eg_rows){.n = rows->n, .x = rows->x, .labels = rows->labels},
                       &(eg_look){.logits = outputs});
    if (s == EG_OK)
        *entropy = glfc_entropy(outputs, rows->n, c->n_classes);
    free(outputs);
    return s;
}

/* Whether the entropy has risen over what it was in the last turn; it is kept for the next. */
static eg_status glfc_has_risen(eg_client *c, const eg_felt *rows, double rise, bool *risen)
{
    const eg_bundle *kept;
    eg_bundle *record;
    double last = 0, now = 0;
    EG_TRY(glfc_measure(c, rows, &now));
    EG_TRY(eg_client_recall(c, "glfc.entropy", &kept));
    if (kept)
        eg_bundle_scalar_of(kept, "entropy", &last);
    *risen = now - last > rise;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, eg_bundle_scalar(record, "entropy", now)));
    return eg_client_keep(c, "glfc.entropy", record);
}

/* The samples of the stage before become exemplars. */
static eg_status glfc_herd(eg_client *c)
{
    int64_t n_spans;
    eg_felt left;
    if (c->view.left < 0 || c->view.left == c->view.stage)
        return EG_OK;
    const eg_span *spans = eg_scenario_spans(c->scenario, c->id, c->view.left, &n_spans);
    eg_status s = eg_felt_spans(c, spans, n_spans, true, &left);
    if (s == EG_OK)
        s = eg_memory_herd(c->memory,
                           &(eg_memory_rows){.n = left.n, .x = left.x, .labels = left.labels},
                           left.features, eg_net_n_features(c->net));
    eg_felt_free(&left);
    return s;
}

/* The model that the server names, which is kept; or the one kept. With a newer one alone, the
 * first task is not over yet, and there is none. */
static eg_status glfc_choose(glfc_client *p, eg_client *c, const eg_bundle *from)
{
    bool newer = eg_bundle_find(from, "glfc.newer.param", NULL) != NULL;
    const char *name = newer && p->changed ? "glfc.newer" : "glfc.older";
    eg_learner *past;
    const eg_bundle *kept;
    eg_bundle *record;
    bool found = false;
    EG_TRY(eg_worker_learner(c->worker, "glfc.past", eg_net_params(c->net), &past));
    if (newer || p->changed)
        EG_TRY(eg_learner_recall(past, name, from, &found));
    p->past = found ? past : NULL;
    if (found) {
        EG_TRY(eg_bundle_new(&record));
        EG_TRY(eg_bundle_filled(record, eg_learner_keep(past, "glfc.past", record)));
        return eg_client_keep(c, "glfc.past", record);
    }
    if (newer)
        return EG_OK;
    EG_TRY(eg_client_recall(c, "glfc.past", &kept));
    if (kept)
        EG_TRY(eg_learner_recall(past, "glfc.past", kept, &found));
    p->past = found ? past : NULL;
    return EG_OK;
}

/* --- Prototypes. */

typedef struct glfc_shaking {
    const eg_net *net;
    eg_params *image;
} glfc_shaking;

/* The loss of one image, which is all that learns. */
static void glfc_record_shake(void *context, eg_graph *g, int64_t n)
{
    const glfc_shaking *k = context;
    const eg_net_spec *s = eg_net_spec_of(k->net);
    (void)n;
    eg_graph_set_training(g, false);
    eg_node *x = eg_param(g, k->image, "x", eg_dims(1, s->channels, s->height, s->width),
                          (eg_init){.kind = EG_INIT_CONSTANT});
    eg_node *target = eg_input(g, "target", eg_dims(1, s->classes));
    eg_backward(g, eg_bce_with_logits(g, eg_net_forward(k->net, g, x), target), k->image);
}

/* Where an image is disturbed. */
typedef struct glfc_room {
    glfc_shaking shaking;
    eg_learner *image;
    eg_program *program;
    eg_inversion inversion;
} glfc_room;

static void glfc_room_close(glfc_room *r)
{
    eg_program_free(r->program);
    eg_learner_free(r->image);
    eg_params_free(r->shaking.image);
    eg_inversion_close(&r->inversion);
}

static eg_status glfc_room_open(glfc_room *r, const eg_client *c)
{
    const eg_net_spec *s = eg_net_spec_of(c->net);
    size_t index;
    r->shaking.net = c->net;
    EG_TRY(eg_inversion_open(&r->inversion, c->net, EG_GLFC_SEED));
    EG_TRY(eg_params_new(&r->shaking.image));
    const eg_param_info x = {.name = "x",
                             .shape = eg_dims(1, s->channels, s->height, s->width),
                             .trained = true,
                             .init = {.kind = EG_INIT_CONSTANT}};
    EG_TRY(eg_params_add(r->shaking.image, &x, &index));
    EG_TRY(eg_learner_new(r->shaking.image, &r->image));
    EG_TRY(eg_program_new(glfc_record_shake, &r->shaking, 1, &r->program));
    EG_TRY(eg_program_bind(r->program, r->shaking.image, r->image->param, r->image->grad,
                           r->image->state));
    return eg_program_read(r->program, eg_net_params(c->net),
                           &(eg_weights){c->global, c->global_state});
}

/* Steps of the image in r down the loss of its label. */
static eg_status glfc_shake(const glfc_client *p, glfc_room *r, int64_t label)
{
    eg_plan *plan;
    EG_TRY(eg_program_plan(r->program, 1, &plan));
    float *target = eg_plan_input(plan, "target");
    memset(target, 0, (size_t)r->inversion.classes * sizeof *target);
    target[label] = 1;
    for (int64_t i = 0; i < p->is.shakes; i++) {
        EG_TRY(eg_plan_run(plan));
        eg_add_scaled(r->image->param, -(float)p->is.shake, r->image->grad, r->image->n_params);
    }
    return EG_OK;
}

/* The row of a class that is nearest to the class's mean feature; below 0: it has no row. */
static int64_t glfc_nearest(const eg_felt *rows, int64_t d, int64_t label, double *mean)
{
    int64_t n = 0, nearest = -1;
    double least = INFINITY;
    memset(mean, 0, (size_t)d * sizeof *mean);
    for (int64_t i = 0; i < rows->n; i++)
        if ((int64_t)rows->labels[i] == label) {
            n++;
            for (int64_t j = 0; j < d; j++)
                mean[j] += (double)rows->features[i * d + j];
        }
    for (int64_t i = 0; i < rows->n; i++) {
        double off = 0;
        if ((int64_t)rows->labels[i] != label)
            continue;
        for (int64_t j = 0; j < d; j++) {
            double gap = (double)rows->features[i * d + j] - mean[j] / (double)n;
            off += gap * gap;
        }
        if (off < least) {
            least = off;
            nearest = i;
        }
    }
    return nearest;
}

static eg_status glfc_send_classes(glfc_client *p, eg_client *c, const eg_felt *rows,
                                   glfc_room *r, double *mean)
{
    int64_t d = eg_net_n_features(c->net);
    size_t size = eg_inversion_size(&r->inversion);
    const eg_net_spec *spec = eg_net_spec_of(c->net);
    size_t pixels = (size_t)(spec->channels * spec->height * spec->width);
    EG_TRY(eg_alloc((size_t)c->n_classes * size, sizeof *p->sent, &p->sent));
    for (int64_t y = 0; y < c->n_classes; y++) {
        int64_t row = glfc_nearest(rows, d, y, mean);
        if (row < 0)
            continue;
        memcpy(r->image->param, rows->x + (size_t)row * pixels, pixels * sizeof *rows->x);
        EG_TRY(glfc_shake(p, r, y));
        float *to = p->sent + (size_t)p->n_sent * size;
        EG_TRY(eg_inversion_give(&r->inversion, r->image->param, y, to));
        p->n_sent += eg_all_finite(to, size);
    }
    return EG_OK;
}

/* The gradients of the prototypes of this stage's classes. */
static eg_status glfc_prototypes(glfc_client *p, eg_client *c, const eg_felt *rows)
{
    glfc_room room = {0};
    double *mean;
    EG_TRY(eg_alloc((size_t)eg_net_n_features(c->net), sizeof *mean, &mean));
    eg_status s = glfc_room_open(&room, c);
    if (s == EG_OK)
        s = glfc_send_classes(p, c, rows, &room, mean);
    glfc_room_close(&room);
    free(mean);
    return s;
}

/* What happens before training: is it a new task, and what follows if it is. */
static eg_status glfc_begin_turn(glfc_client *p, eg_client *c, const eg_felt *rows)
{
    if (p->is.signal == EG_GLFC_BOUNDARY)
        p->changed = c->told_boundary;
    else
        EG_TRY(glfc_has_risen(c, rows, p->is.rise, &p->changed));
    EG_TRY(eg_client_note(c, "glfc.changed", p->changed));
    if (!p->changed)
        return EG_OK;
    EG_TRY(glfc_herd(c));
    return glfc_prototypes(p, c, rows);
}

static eg_status glfc_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    glfc_client *p = self;
    eg_felt rows;
    if (exchange != EG_TRAINING)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)c->n_classes, 1, &p->old));
    eg_client_past_classes(c, p->old);
    for (int64_t y = 0; y < c->n_classes; y++)
        p->any_old = p->any_old || p->old[y];
    eg_status s = eg_felt_spans(c, c->view.spans, c->view.n_spans, true, &rows);
    if (s == EG_OK)
        s = glfc_begin_turn(p, c, &rows);
    eg_felt_free(&rows);
    return s == EG_OK ? glfc_choose(p, c, from) : s;
}

static eg_status glfc_samples(void *self, eg_client *c)
{
    const eg_memory_rows past = eg_memory_get(c->memory);
    (void)self;
    return eg_client_add_rows(c, past.x, past.labels, past.n);
}

/* --- The loss. */

static uint32_t glfc_form(void *self, eg_client *c)
{
    const glfc_client *p = self;
    (void)c;
    return (p->past ? 1u : 0) | (p->any_old ? 2u : 0);
}

/* Weights [batch, 1]: g over its mean among the rows of the mask [batch, 1], which has ones. */
static eg_node *glfc_weights(eg_graph *g, eg_node *much, eg_node *mask)
{
    eg_node *some = eg_mul(g, much, mask);
    eg_node *n = eg_sum(g, mask, EG_ALL_AXES);
    eg_node *sum = eg_affine(g, eg_sum(g, some, EG_ALL_AXES), 1, 1e-12);
    return eg_mul(g, some, eg_div(g, n, sum));
}

/* Mean over rows and classes of w BCE(z, t). */
static eg_node *glfc_weighed(eg_graph *g, eg_node *z, eg_node *t, eg_node *w)
{
    eg_node *bce = eg_sub(g, eg_softplus(g, z), eg_mul(g, z, t));
    return eg_mean(g, w ? eg_mul(g, bce, w) : bce, EG_ALL_AXES);
}

static eg_node *glfc_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const glfc_client *p = self;
    eg_shape all = eg_dims(c->batch, c->n_classes);
    eg_node *z = eg_client_outputs_of(c, g, c->features);
    eg_node *y = eg_input(g, "glfc.y", all), *w = NULL;
    if (p->any_old) {
        eg_node *is_old = eg_input(g, "glfc.old", eg_dims(c->batch, 1));
        eg_node *hit = eg_sum(g, eg_mul(g, eg_sigmoid(g, z), y), EG_AXIS(1));
        eg_node *much = eg_affine(g, hit, -1, 1);
        w = eg_stop_gradient(g, eg_add(g, glfc_weights(g, much, is_old),
                                       glfc_weights(g, much, eg_affine(g, is_old, -1, 1))));
    }
    eg_node *own = glfc_weighed(g, z, y, w);
    if (p->past) {
        eg_node *told = eg_bce_with_logits(g, z, eg_input(g, "glfc.told", all));
        own = eg_affine(g, eg_add(g, own, told), 0.5, 0);
    }
    return eg_add(g, eg_sub(g, loss, c->plain), own);
}

static eg_status glfc_fill(void *self, eg_client *c)
{
    const glfc_client *p = self;
    float *y = eg_plan_input(c->plan, "glfc.y"), *told = eg_plan_input(c->plan, "glfc.told");
    float *old = eg_plan_input(c->plan, "glfc.old");
    const eg_rows rows = {.n = c->batch, .x = c->x, .labels = c->labels};
    if (p->past)
        EG_TRY(eg_client_look(c, &(eg_weights){p->past->param, p->past->state}, &rows,
                              &(eg_look){.logits = told}));
    for (int64_t i = 0; i < c->batch; i++)
        for (int64_t k = 0; k < c->n_classes; k++) {
            int64_t at = i * c->n_classes + k;
            y[at] = (float)((int64_t)c->labels[i] == k);
            if (p->past)
                told[at] = p->old[k] ? 1 / (1 + expf(-told[at])) : y[at];
        }
    for (int64_t i = 0; p->any_old && i < c->batch; i++)
        old[i] = p->old[(int64_t)c->labels[i]] ? 1 : 0;
    return EG_OK;
}

static eg_status glfc_answer(void *self, eg_client *c, int exchange, eg_bundle *to)
{
    const glfc_client *p = self;
    (void)c;
    if (exchange != EG_TRAINING || p->n_sent == 0)
        return EG_OK;
    EG_TRY(eg_bundle_scalar(to, "glfc.n", (double)p->n_sent));
    eg_inversion shape;
    EG_TRY(eg_inversion_open(&shape, c->net, EG_GLFC_SEED));
    int64_t size = (int64_t)eg_inversion_size(&shape);
    eg_inversion_close(&shape);
    return eg_bundle_add(to, "glfc.gradients", eg_dims(p->n_sent, size), p->sent);
}

const eg_method eg_method_glfc = {
    .component = {"glfc",
                  "class-balanced gradients, exemplars, and old models that a proxy picks",
                  sizeof(eg_glfc), glfc_opts},
    .leaves = EG_LEAVES_VECTORS,
    .setup = glfc_setup,
    .loss = glfc_loss,
    .form = glfc_form,
    .fill = glfc_fill,
    .client = {.size = sizeof(glfc_client),
               .fini = glfc_fini,
               .download = glfc_download,
               .samples = glfc_samples,
               .answer = glfc_answer},
    .server = {.size = sizeof(eg_glfc_server),
               .fini = eg_glfc_server_fini,
               .begin = eg_glfc_begin,
               .send = eg_glfc_send,
               .accept = eg_glfc_accept,
               .collect = eg_glfc_collect,
               .finish = eg_glfc_finish,
               .work = eg_glfc_work,
               .save = eg_glfc_save},
};
