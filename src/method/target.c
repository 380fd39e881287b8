/* target.c - exemplar-free distillation (Zhang et al., 2023, "TARGET", ICCV).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Server: when a task ends, a generator learns from the global model alone to draw what it is
 * sure of and its batch norms know (method/lib/synthesis.h has the loss), and clients are
 * brought the drawings with the model's outputs for them. Client: its loss is the cross entropy
 * over the classes of its task; from the second task on also distil times the mean over drawn
 * rows of -sum_k p_k log q_k, p and q the softmax at `temperature` of those outputs and of its
 * own, over the classes of then. Server: the plain mean.
 *
 * A network without batch norm has no statistics to fit: its drawings are what it is sure of
 * alone. The released program draws its CIFAR images before the student's turn comes, so that
 * its contrast never counts; here `warmup` rounds are fewer than all.
 */
#include "method/lib/synthesis.h"
#include "method/lib/teacher.h"

#include <engram/op.h>

typedef struct target_client {
    eg_data_free is;
    int64_t n; /* drawings; 0: none yet */
    const float *x, *told, *open;
} target_client;

// clang-format off
static const eg_opt target_opts[] = {
    EG_OPT_CHOICE(eg_data_free, boundary, EG_BY_TASK, "when a task has ended: with a common task, or in each round", "task|round"),
    EG_OPT_REAL(eg_data_free, distil, 25, 0, 1e6, "weight of the old model's outputs"),
    EG_OPT_REAL(eg_data_free, temperature, 2, 1e-3, 1e3, "what outputs are divided by"),
    EG_OPT_INT(eg_data_free, replay, 0, 0, 4096, "drawn rows beside a batch; 0: as many as it has"),
    EG_OPT_INT(eg_data_free, rounds, 30, 1, 10000, "batches that the server draws at the end of a task"),
    EG_OPT_INT(eg_data_free, batch, 256, 2, 4096, "drawings of each"),
    EG_OPT_INT(eg_data_free, steps, 10, 1, 10000, "of the generator for each"),
    EG_OPT_INT(eg_data_free, warmup, 10, 0, 10000, "of these before the student learns and counts"),
    EG_OPT_INT(eg_data_free, lessons, 50, 0, 100000, "the student's steps after each of the others"),
    EG_OPT_INT(eg_data_free, noise, 256, 1, 4096, "numbers that a drawing is made of"),
    EG_OPT_INT(eg_data_free, width, 64, 1, 1024, "maps of the generator's last layers"),
    EG_OPT_REAL(eg_data_free, lr, 2e-3, 0, 1, "step size of its Adam"),
    EG_OPT_REAL(eg_data_free, statistics, 10, 0, 1e6, "weight of the batch norms' statistics"),
    EG_OPT_REAL(eg_data_free, sure, 0.5, 0, 1e6, "weight of the model's cross entropy"),
    EG_OPT_REAL(eg_data_free, contrast, 1, 0, 1e6, "weight of what the student does not know"),
    EG_OPT_REAL(eg_data_free, lesson_lr, 0.1, 0, 10, "the student's step size"),
    EG_OPT_REAL(eg_data_free, lesson_temperature, 20, 1e-3, 1e3, "what outputs are divided by in its lessons"),
    EG_OPT_END,
};
// clang-format on

static eg_status target_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    out->plain_mean = true;
    return eg_data_free_setup(options, in, out);
}

static eg_status target_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    target_client *t = self;
    const eg_bundle *legacy;
    const eg_net_spec *spec = eg_net_spec_of(c->net);
    size_t pixels = (size_t)(spec->channels * spec->height * spec->width), all;
    if (exchange != EG_TRAINING)
        return EG_OK;
    EG_TRY(eg_data_free_receive(c, from, &legacy));
    if (!legacy)
        return EG_OK;
    t->x = eg_bundle_find(legacy, "target.drawn.x", &all);
    t->n = (int64_t)(all / pixels);
    EG_TRY(
        eg_bundle_need(legacy, "target.drawn.told", (size_t)(t->n * c->n_classes), &t->told));
    return eg_bundle_need(legacy, "target.drawn.open", (size_t)c->n_classes, &t->open);
}

static uint32_t target_form(void *self, eg_client *c)
{
    const target_client *t = self;
    (void)c;
    return t->n > 0;
}

static eg_node *target_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const target_client *t = self;
    const eg_net_spec *n = eg_net_spec_of(c->net);
    int64_t rows = eg_data_free_rows(&t->is, c);
    loss = eg_new_classes_loss(c, g, loss);
    if (t->n == 0)
        return loss;
    eg_node *x = eg_input(g, "target.x", eg_dims(rows, n->channels, n->height, n->width));
    eg_node *told = eg_input(g, "target.told", eg_dims(rows, c->n_classes));
    eg_node *past = eg_input(g, "target.past", eg_dims(1, c->n_classes));
    eg_node *own = eg_client_outputs(c, g, x);
    eg_node *held = eg_teacher_loss(g, told, own, t->is.temperature, past);
    return eg_add(g, loss, eg_affine(g, held, t->is.distil, 0));
}

static eg_status target_fill(void *self, eg_client *c)
{
    const target_client *t = self;
    const eg_net_spec *n = eg_net_spec_of(c->net);
    const eg_drawn_rows drawn[] = {
        {"target.x", t->x, n->channels * n->height * n->width},
        {"target.told", t->told, c->n_classes},
    };
    eg_new_classes_fill(c);
    if (t->n == 0)
        return EG_OK;
    eg_open_classes(t->open, c->n_classes, eg_plan_input(c->plan, "target.past"));
    eg_data_free_replay(c, eg_data_free_rows(&t->is, c), t->n, 2, drawn);
    return EG_OK;
}

static eg_status target_work(const void *options, const eg_piece *piece, eg_bundle *to)
{
    return eg_synthesis(options, piece, NULL, to);
}

const eg_method eg_method_target = {
    .component = {"target", "distils the old model on what the server draws from it alone",
                  sizeof(eg_data_free), target_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = target_setup,
    .loss = target_loss,
    .form = target_form,
    .fill = target_fill,
    .client = {.size = sizeof(target_client),
               .download = target_download,
               .answer = eg_data_free_answer},
    .server = EG_DATA_FREE_SERVER(target_work),
};
