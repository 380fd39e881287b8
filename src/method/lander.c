/* lander.c - distillation around label embeddings (Tran et al., 2024, "LANDER", CVPR).
 * SPDX-License-Identifier: Apache-2.0
 *
 * A second head a(f) of the network is pulled to the embedding e_y of the row's label, as far
 * as it is outside a bound: P = anchor * max(0, mean (a - e_y)^2 - bound). Client: its loss is
 * the cross entropy over the classes of its task plus P; from its second task on
 *   new (1 + 1 / A) / B (CE + P) + old A B (KD + mean (a(x') - a*(x'))^2)
 * with A = log2(n / 2 + 1) and B = sqrt(m / n) for n classes of this task and m before; x' are
 * rows that the server drew, KD is the mean over them of -sum_k p_k log q_k, p and q the
 * softmax at `temperature` of the old model's outputs and of its own, over the classes of then.
 * Server: as TARGET's (method/lib/synthesis.h), with noise made of e_y and drawings pulled to
 * it in the same way; the plain mean.
 *
 * The embeddings are the user's: a language model's of the classes' names, one row each.
 * Without a file each class has a random vector, and nothing is known of names.
 */
#include "method/lib/embeddings.h"
#include "method/lib/synthesis.h"
#include "method/lib/teacher.h"

#include <engram/op.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct lander_client {
    eg_data_free is;
    int64_t n, d;      /* drawings (0: none yet), numbers of an embedding */
    float *embeddings; /* [classes, d] */
    const float *x, *told, *side, *open;
    double fresh, held; /* weights of both halves of the loss */
} lander_client;

// clang-format off
static const eg_opt lander_opts[] = {
    EG_OPT_TEXT(eg_data_free, embeddings, "", "a .npy with a row for each class; none: random vectors"),
    EG_OPT_INT(eg_data_free, dimensions, 512, 1, 65536, "of random vectors; a file has its own"),
    EG_OPT_CHOICE(eg_data_free, boundary, EG_BY_TASK, "when a task has ended: with a common task, or in each round", "task|round"),
    EG_OPT_REAL_AS("new", eg_data_free, head, 0.2, 0, 1e6, "weight of the task's rows, once there is a past"),
    EG_OPT_REAL_AS("old", eg_data_free, distil, 0.4, 0, 1e6, "weight of the past"),
    EG_OPT_REAL(eg_data_free, anchor, 5, 0, 1e6, "weight of the pull to embeddings"),
    EG_OPT_REAL(eg_data_free, bound, 0.015, 0, 1e6, "mean squared distance to the embedding within which nothing pulls"),
    EG_OPT_REAL(eg_data_free, temperature, 2, 1e-3, 1e3, "what outputs are divided by where the old model's are held"),
    EG_OPT_INT(eg_data_free, replay, 0, 0, 4096, "drawn rows beside a batch; 0: as many as it has"),
    EG_OPT_INT(eg_data_free, rounds, 50, 1, 10000, "batches that the server draws at the end of a task"),
    EG_OPT_INT(eg_data_free, batch, 256, 2, 4096, "drawings of each"),
    EG_OPT_INT(eg_data_free, steps, 40, 1, 10000, "of the generator for each"),
    EG_OPT_INT(eg_data_free, warmup, 10, 0, 10000, "of these before the student learns and counts"),
    EG_OPT_INT(eg_data_free, lessons, 50, 0, 100000, "the student's steps after each of the others"),
    EG_OPT_INT(eg_data_free, noise, 256, 1, 4096, "numbers that a drawing is made of"),
    EG_OPT_INT(eg_data_free, width, 64, 1, 1024, "maps of the generator's last layers"),
    EG_OPT_REAL(eg_data_free, lr, 2e-3, 0, 1, "step size of its Adam"),
    EG_OPT_REAL(eg_data_free, statistics, 1, 0, 1e6, "weight of the batch norms' statistics"),
    EG_OPT_REAL(eg_data_free, sure, 0.5, 0, 1e6, "weight of the model's cross entropy"),
    EG_OPT_REAL(eg_data_free, contrast, 1, 0, 1e6, "weight of what the student does not know"),
    EG_OPT_REAL(eg_data_free, lesson_lr, 0.1, 0, 10, "the student's step size"),
    EG_OPT_REAL(eg_data_free, lesson_temperature, 20, 1e-3, 1e3, "what outputs are divided by in its lessons"),
    EG_OPT_END,
};
// clang-format on

static eg_status lander_width(const eg_data_free *is, int64_t *d)
{
    *d = is->dimensions;
    return is->embeddings[0] ? eg_embeddings_width(is->embeddings, d) : EG_OK;
}

static eg_status lander_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    out->plain_mean = true;
    EG_TRY(lander_width(options, &out->side));
    return eg_data_free_setup(options, in, out);
}

static void lander_fini(void *self)
{
    free(((lander_client *)self)->embeddings);
}

static eg_status lander_read(lander_client *l, const eg_client *c, const eg_bundle *legacy)
{
    const eg_net_spec *spec = eg_net_spec_of(c->net);
    size_t pixels = (size_t)(spec->channels * spec->height * spec->width), all;
    l->x = eg_bundle_find(legacy, "lander.drawn.x", &all);
    l->n = (int64_t)(all / pixels);
    EG_TRY(
        eg_bundle_need(legacy, "lander.drawn.told", (size_t)(l->n * c->n_classes), &l->told));
    EG_TRY(eg_bundle_need(legacy, "lander.drawn.side", (size_t)(l->n * l->d), &l->side));
    return eg_bundle_need(legacy, "lander.drawn.open", (size_t)c->n_classes, &l->open);
}

/* How the two halves of the loss weigh. */
static eg_status lander_weigh(lander_client *l, const eg_client *c)
{
    float *mask;
    double fresh = 0, old = 0;
    l->fresh = 1;
    if (l->n == 0)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)c->n_classes, sizeof *mask, &mask));
    eg_stage_classes(c, mask);
    for (int64_t y = 0; y < c->n_classes; y++)
        fresh += mask[y] > 0, old += l->open[y] > 0;
    free(mask);
    double a = log2(fresh / 2 + 1), b = sqrt(old / fresh);
    l->fresh = l->is.head * (1 + 1 / a) / b;
    l->held = l->is.distil * a * b;
    return EG_OK;
}

static eg_status lander_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    lander_client *l = self;
    const eg_bundle *legacy;
    if (exchange != EG_TRAINING)
        return EG_OK;
    EG_TRY(lander_width(&l->is, &l->d));
    EG_TRY(eg_embeddings_load(l->is.embeddings, c->n_classes, l->d, &l->embeddings));
    EG_TRY(eg_data_free_receive(c, from, &legacy));
    if (legacy)
        EG_TRY(lander_read(l, c, legacy));
    return lander_weigh(l, c);
}

static uint32_t lander_form(void *self, eg_client *c)
{
    const lander_client *l = self;
    (void)c;
    return l->n > 0;
}

static eg_node *lander_past(const lander_client *l, eg_client *c, eg_graph *g)
{
    const eg_net_spec *n = eg_net_spec_of(c->net);
    int64_t rows = eg_data_free_rows(&l->is, c);
    eg_node *x = eg_input(g, "lander.x", eg_dims(rows, n->channels, n->height, n->width));
    eg_node *told = eg_input(g, "lander.told", eg_dims(rows, c->n_classes));
    eg_node *side = eg_input(g, "lander.side", eg_dims(rows, l->d));
    eg_node *past = eg_input(g, "lander.past", eg_dims(1, c->n_classes));
    eg_node *features = eg_net_features(c->net, g, x);
    eg_node *own = eg_client_outputs_of(c, g, features);
    eg_node *held = eg_teacher_loss(g, told, own, l->is.temperature, past);
    return eg_add(g, held, eg_mse(g, eg_net_side(c->net, g, features), side));
}

static eg_node *lander_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const lander_client *l = self;
    eg_node *to = eg_input(g, "lander.anchors", eg_dims(c->batch, l->d));
    eg_node *weights = eg_input(g, "lander.weights", eg_dims(2));
    eg_node *far =
        eg_affine(g, eg_mse(g, eg_net_side(c->net, g, c->features), to), 1, -l->is.bound);
    eg_node *pull = eg_affine(g, eg_relu(g, far), l->is.anchor, 0);
    /* Other parts' terms stay as they are. */
    eg_node *rest = eg_sub(g, loss, c->plain);
    eg_node *own = eg_add(g, eg_sub(g, eg_new_classes_loss(c, g, loss), rest), pull);
    eg_node *fresh = eg_reshape(g, eg_slice(g, weights, 0, 0, 1), eg_scalar());
    loss = eg_add(g, rest, eg_mul(g, own, fresh));
    if (l->n == 0)
        return loss;
    eg_node *held = eg_reshape(g, eg_slice(g, weights, 0, 1, 1), eg_scalar());
    return eg_add(g, loss, eg_mul(g, lander_past(l, c, g), held));
}

static eg_status lander_fill(void *self, eg_client *c)
{
    const lander_client *l = self;
    const eg_net_spec *n = eg_net_spec_of(c->net);
    float *anchors = eg_plan_input(c->plan, "lander.anchors");
    float *weights = eg_plan_input(c->plan, "lander.weights");
    const eg_drawn_rows drawn[] = {
        {"lander.x", l->x, n->channels * n->height * n->width},
        {"lander.told", l->told, c->n_classes},
        {"lander.side", l->side, l->d},
    };
    eg_new_classes_fill(c);
    weights[0] = (float)l->fresh, weights[1] = (float)l->held;
    for (int64_t i = 0; i < c->batch; i++)
        memcpy(anchors + i * l->d, l->embeddings + (int64_t)c->labels[i] * l->d,
               (size_t)l->d * sizeof *anchors);
    if (l->n == 0)
        return EG_OK;
    eg_open_classes(l->open, c->n_classes, eg_plan_input(c->plan, "lander.past"));
    eg_data_free_replay(c, eg_data_free_rows(&l->is, c), l->n, 3, drawn);
    return EG_OK;
}

static eg_status lander_work(const void *options, const eg_piece *piece, eg_bundle *to)
{
    const eg_data_free *is = options;
    eg_anchors anchors = {0};
    float *values;
    EG_TRY(lander_width(is, &anchors.d));
    EG_TRY(eg_embeddings_load(is->embeddings, eg_net_spec_of(piece->net)->classes, anchors.d,
                              &values));
    anchors.values = values;
    eg_status s = eg_synthesis(options, piece, &anchors, to);
    free(values);
    return s;
}

const eg_method eg_method_lander = {
    .component = {"lander", "as target, with features and drawings around label embeddings",
                  sizeof(eg_data_free), lander_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = lander_setup,
    .loss = lander_loss,
    .form = lander_form,
    .fill = lander_fill,
    .client = {.size = sizeof(lander_client),
               .fini = lander_fini,
               .download = lander_download,
               .answer = eg_data_free_answer},
    .server = EG_DATA_FREE_SERVER(lander_work),
};
