/* mfcl.c - mimicking federated continual learning (Babakniya et al., 2023, "MFCL", NeurIPS).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Server: when a task ends, its generator goes on learning from the global model t alone, along
 *   CE(t(x) / sharpness, argmax t(x)) + even (1 + sum_k p_k ln p_k / ln n)
 *     + statistics * gap + smooth * mean (x - blur x)^2,
 * p the mean softmax of n classes met, gap that of batch norms (EG_GAP_DIVERGENCE), blur by a
 * 5x5 Gaussian. Clients are brought the generator and the model. Client: its loss is the cross
 * entropy over the classes of its task; from the second task on, with drawn rows beside the
 * batch, whose labels are t's answers, also `head` times that of all rows over all classes, of
 * which only the head learns, and distil times the mean over all rows of |W (f - f_t)|^2 / n, W
 * the rows of t's head for the n classes met, which do not learn, f and f_t the features.
 * Server: the plain mean.
 *
 * The model's forms are as the program released by the authors has them: t and the generator
 * are in eval form wherever they do not learn.
 */
#include "method/lib/mfcl.h"
#include "method/lib/data_free.h"
#include "method/lib/drawer.h"
#include "method/lib/teacher.h"

#include "base/base.h"
#include "engine/model/net.h"

#include <engram/op.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct mfcl_client {
    eg_data_free is;
    eg_drawer drawer;
    const float *open; /* [classes]: 1 for those of the past; NULL: there is none */
    eg_weights past;   /* the model of then */
    float *logits;     /* [rows, classes] */
} mfcl_client;

// clang-format off
static const eg_opt mfcl_opts[] = {
    EG_OPT_CHOICE(eg_data_free, boundary, EG_BY_TASK, "when a task has ended: with a common task, or in each round", "task|round"),
    EG_OPT_REAL(eg_data_free, distil, 0.1, 0, 1e6, "weight of the old head's view of features"),
    EG_OPT_REAL(eg_data_free, head, 1, 0, 1e6, "weight of the head's own cross entropy over all classes"),
    EG_OPT_INT(eg_data_free, replay, 128, 0, 4096, "drawn rows beside a batch; 0: as many as it has"),
    EG_OPT_INT(eg_data_free, steps, 100, 1, 1000000, "of the generator at the end of a task"),
    EG_OPT_INT(eg_data_free, batch, 128, 2, 4096, "drawings of a step"),
    EG_OPT_INT(eg_data_free, noise, 1000, 1, 4096, "numbers that a drawing is made of"),
    EG_OPT_INT(eg_data_free, width, 64, 1, 1024, "maps of the generator's last layers"),
    EG_OPT_REAL(eg_data_free, lr, 1e-3, 0, 1, "step size of its Adam"),
    EG_OPT_REAL(eg_data_free, sharpness, 1000, 1e-3, 1e6, "what outputs are divided by where they are to be sure"),
    EG_OPT_REAL(eg_data_free, even, 1, 0, 1e6, "weight of classes being drawn equally often"),
    EG_OPT_REAL(eg_data_free, statistics, 50, 0, 1e6, "weight of the batch norms' statistics"),
    EG_OPT_REAL(eg_data_free, smooth, 1e-3, 0, 1e6, "weight of images being smooth"),
    EG_OPT_END,
};
// clang-format on

static eg_status mfcl_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    out->plain_mean = true;
    return eg_data_free_setup(options, in, out);
}

static void mfcl_fini(void *self)
{
    mfcl_client *m = self;
    eg_drawer_close(&m->drawer);
    free(m->logits);
}

static eg_status mfcl_open(mfcl_client *m, eg_client *c, const eg_bundle *legacy)
{
    eg_drawer_spec spec = eg_mfcl_drawer(&m->is, c->net);
    size_t rows = (size_t)eg_data_free_rows(&m->is, c);
    const float *values;
    bool found;
    EG_TRY(eg_drawer_open(&m->drawer, &spec));
    EG_TRY(eg_learner_recall(m->drawer.own, "mfcl.drawn.with", legacy, &found));
    if (!found)
        return eg_fail(EG_EFORMAT, "what the server sent lacks its generator");
    EG_TRY(eg_bundle_need(legacy, "mfcl.model.param", c->n_params, &values));
    m->past.param = values;
    if (c->n_state)
        EG_TRY(eg_bundle_need(legacy, "mfcl.model.state", c->n_state, &values));
    m->past.state = c->n_state ? values : NULL;
    EG_TRY(eg_alloc(rows * (size_t)c->n_classes, sizeof *m->logits, &m->logits));
    return eg_bundle_need(legacy, "mfcl.drawn.open", (size_t)c->n_classes, &m->open);
}

static eg_status mfcl_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    const eg_bundle *legacy;
    if (exchange != EG_TRAINING)
        return EG_OK;
    EG_TRY(eg_data_free_receive(c, from, &legacy));
    return legacy ? mfcl_open(self, c, legacy) : EG_OK;
}

static uint32_t mfcl_form(void *self, eg_client *c)
{
    const mfcl_client *m = self;
    (void)c;
    return m->open != NULL;
}

/* The head's cross entropy of all rows, which leaves the features alone; open [1, classes]
 * closes classes that nobody has had. */
static eg_node *mfcl_head(eg_client *c, eg_graph *g, eg_node *features, eg_node *labels)
{
    eg_node *open = eg_input(g, "mfcl.all", eg_dims(1, c->n_classes));
    eg_node *own = eg_client_outputs_of(c, g, eg_stop_gradient(g, features));
    return eg_cross_entropy(g, eg_add(g, own, open), labels, NULL);
}

/* Mean over rows of |W (f - f_t)|^2 / n; scale is W with zeros for other classes, over the root
 * of n. */
static eg_node *mfcl_distil(eg_client *c, eg_graph *g, eg_node *features)
{
    int64_t d = eg_net_n_features(c->net), rows = eg_node_shape(features).dim[0];
    eg_node *scale = eg_input(g, "mfcl.head", eg_dims(c->n_classes, d));
    eg_node *batch = eg_input(g, "mfcl.batch", eg_dims(c->batch, d));
    eg_node *drawn = eg_input(g, "mfcl.drawn", eg_dims(rows - c->batch, d));
    eg_node *told = eg_concat(g, 2, (eg_node *[]){batch, drawn}, 0);
    eg_node *off = eg_product(g, eg_sub(g, features, told), scale, false, true);
    return eg_affine(g, eg_sum(g, eg_mul(g, off, off), EG_ALL_AXES), 1 / (double)rows, 0);
}

static eg_node *mfcl_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const mfcl_client *m = self;
    const eg_net_spec *n = eg_net_spec_of(c->net);
    int64_t rows = eg_data_free_rows(&m->is, c);
    loss = eg_new_classes_loss(c, g, loss);
    if (!m->open)
        return loss;
    eg_node *x = eg_input(g, "mfcl.x", eg_dims(rows, n->channels, n->height, n->width));
    eg_node *both[] = {c->features, eg_net_features(c->net, g, x)};
    eg_node *features = eg_concat(g, 2, both, 0);
    eg_node *labels = eg_input(g, "mfcl.targets", eg_dims(c->batch + rows));
    loss = eg_add(g, loss, eg_affine(g, mfcl_head(c, g, features, labels), m->is.head, 0));
    return eg_add(g, loss, eg_affine(g, mfcl_distil(c, g, features), m->is.distil, 0));
}

/* Drawings, the old model's answers and its features of them. */
static eg_status mfcl_draw(mfcl_client *m, eg_client *c, float *labels)
{
    int64_t rows = eg_data_free_rows(&m->is, c), k = c->n_classes;
    eg_rng rng = eg_client_stream(c, EG_DATA_FREE_NOISE);
    float *x = eg_plan_input(c->plan, "mfcl.x"), *noise;
    EG_TRY(eg_alloc((size_t)(rows * m->is.noise), sizeof *noise, &noise));
    for (int64_t i = 0; i < rows * m->is.noise; i++)
        noise[i] = (float)eg_rng_normal(&rng);
    eg_status s = eg_drawer_draw(&m->drawer, rows, noise, x);
    free(noise);
    EG_TRY(s);
    memset(labels, 0, (size_t)rows * sizeof *labels);
    EG_TRY(eg_client_look(
        c, &m->past, &(eg_rows){.n = rows, .x = x, .labels = labels},
        &(eg_look){.logits = m->logits, .features = eg_plan_input(c->plan, "mfcl.drawn")}));
    for (int64_t i = 0; i < rows; i++) {
        int64_t best = -1;
        for (int64_t y = 0; y < k; y++)
            if (m->open[y] > 0 && (best < 0 || m->logits[i * k + y] > m->logits[i * k + best]))
                best = y;
        labels[i] = (float)best;
    }
    return EG_OK;
}

/* The old head's rows of past classes, over the root of their number. */
static void mfcl_fill_head(const mfcl_client *m, const eg_client *c, float *out)
{
    size_t head, side;
    int64_t d = eg_net_n_features(c->net);
    float n = 0;
    eg_net_heads(c->net, &head, &side);
    const eg_param_info *t = eg_params_at(eg_net_params(c->net), head);
    const float *w = eg_param_values(t, m->past.param, m->past.state);
    for (int64_t y = 0; y < c->n_classes; y++)
        n += m->open[y];
    for (int64_t y = 0; y < c->n_classes; y++)
        for (int64_t j = 0; j < d; j++)
            out[y * d + j] = m->open[y] > 0 ? w[y * d + j] / sqrtf(n) : 0;
}

static eg_status mfcl_fill(void *self, eg_client *c)
{
    mfcl_client *m = self;
    eg_new_classes_fill(c);
    if (!m->open)
        return EG_OK;
    float *labels = eg_plan_input(c->plan, "mfcl.targets");
    float *all = eg_plan_input(c->plan, "mfcl.all"); /* [classes] */
    memcpy(labels, c->labels, (size_t)c->batch * sizeof *labels);
    mfcl_fill_head(m, c, eg_plan_input(c->plan, "mfcl.head"));
    eg_stage_classes(c, all);
    for (int64_t y = 0; y < c->n_classes; y++)
        all[y] = all[y] > 0 || m->open[y] > 0;
    for (int64_t i = 0; i < c->batch; i++) /* what another part replays counts, too */
        all[(int64_t)c->labels[i]] = 1;
    eg_open_classes(all, c->n_classes, all);
    EG_TRY(eg_teacher_tell(c, m->past.param, m->past.state, NULL, "mfcl.batch"));
    return mfcl_draw(m, c, labels + c->batch);
}

const eg_method eg_method_mfcl = {
    .component = {"mfcl",
                  "replays drawings of a generator that the server fits to the old model",
                  sizeof(eg_data_free), mfcl_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = mfcl_setup,
    .loss = mfcl_loss,
    .form = mfcl_form,
    .fill = mfcl_fill,
    .client = {.size = sizeof(mfcl_client),
               .fini = mfcl_fini,
               .download = mfcl_download,
               .answer = eg_data_free_answer},
    .server = EG_DATA_FREE_SERVER(eg_mfcl_work),
};
