/* acgan_step.c - the losses of an ACGAN, and one step of both its networks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/generator/acgan.h"

#include "engine/model/acgan.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ReACGAN's loss of n rows: each is pulled to its class's vector, against the rows of other
 * classes in the batch. With cosines s_i to the own vector and c_ij between rows, temperature t
 * and margin m, a_i = max(0, (m - s_i) / t) and the mean over i of
 *   a_i + log(exp(-a_i) + sum over j of other classes exp(max(0, (c_ij - (1 - m)) / t))).
 * logits [n, classes]: cosines over t */
static eg_node *told_by_pairs(eg_graph *g, const eg_acgan_cosine *c, eg_node *logits,
                              eg_node *features, eg_node *labels)
{
    int64_t classes = eg_node_shape(logits).dim[1];
    eg_node *own = eg_one_hot(g, labels, classes), *f = eg_l2_normalize(g, features);
    eg_node *near = eg_sum(g, eg_mul(g, own, logits), EG_AXIS(1));
    eg_node *pull = eg_relu(g, eg_affine(g, near, -1, c->margin / c->temperature));
    eg_node *pairs = eg_affine(g, eg_product(g, f, f, false, true), 1 / c->temperature,
                               (c->margin - 1) / c->temperature);
    eg_node *others = eg_affine(g, eg_product(g, own, own, false, true), -1, 1);
    eg_node *push = eg_sum(g, eg_mul(g, others, eg_exp(g, eg_relu(g, pairs))), EG_AXIS(1));
    eg_node *all = eg_add(g, eg_exp(g, eg_affine(g, pull, -1, 0)), push);
    return eg_mean(g, eg_add(g, pull, eg_log(g, all)), EG_ALL_AXES);
}

eg_node *eg_acgan_told(const eg_net *critic, eg_graph *g, eg_node *features, eg_node *labels)
{
    eg_acgan_cosine c;
    eg_node *logits = eg_net_head(critic, g, features);
    if (eg_graph_status(g) != EG_OK || !eg_acgan_cosine_of(critic, &c))
        return eg_cross_entropy(g, logits, labels, NULL);
    return told_by_pairs(g, &c, logits, features, labels);
}

eg_node *eg_acgan_judged(const eg_net *critic, eg_graph *g, eg_node *features, eg_node *labels,
                         bool real)
{
    eg_node *side = eg_net_side(critic, g, features); /* [n, 1] */
    eg_node *truth = eg_constant(g, eg_node_shape(side), real);
    return eg_add(g, eg_bce_with_logits(g, side, truth),
                  eg_acgan_told(critic, g, features, labels));
}

eg_node *eg_acgan_fool(void *context, eg_graph *g, eg_node *images, eg_node *labels)
{
    const eg_net *critic = context;
    return eg_acgan_judged(critic, g, eg_net_features(critic, g, images), labels, true);
}

void eg_labels_draw(eg_rng *rng, const float *labels, int64_t n_labels, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = labels[eg_rng_below(rng, (uint64_t)n_labels)];
}

/* The input that has the labels of the rows of another. */
typedef struct step_name {
    char text[32];
} step_name;

static step_name step_labels(const char *word)
{
    step_name n;
    snprintf(n.text, sizeof n.text, "labels of %s", word);
    return n;
}

/* What a critic's program is recorded from. */
typedef struct step_recorded {
    const eg_generator *m;
    const eg_net *critic;
} step_recorded;

/* L_c: rows that count as real, inputs "<word>" and "<word> labels", and drawn ones beside
 * them, "<word> fake" and "<word> fake labels". */
static eg_node *step_record_half(const step_recorded *r, eg_graph *g, const char *real,
                                 const char *fake, int64_t n)
{
    const eg_generator *m = r->m;
    const eg_net *critic = r->critic;
    eg_node *loss = NULL;
    for (int drawn = 0; drawn < 2; drawn++) {
        const char *word = drawn ? fake : real;
        eg_node *x = eg_input(g, word, eg_dims(n, m->channels, m->height, m->width));
        eg_node *labels = eg_input(g, step_labels(word).text, eg_dims(n));
        eg_node *term =
            eg_acgan_judged(critic, g, eg_net_features(critic, g, x), labels, !drawn);
        loss = loss ? eg_add(g, loss, term) : term;
    }
    return loss;
}

static void step_finish(const step_recorded *r, eg_graph *g, eg_node *loss)
{
    eg_output(g, "loss", loss);
    eg_net_backward(r->critic, g, loss);
}

static void step_record(void *context, eg_graph *g, int64_t n)
{
    step_finish(context, g, step_record_half(context, g, "now", "drawn", n));
}

static void step_record_both(void *context, eg_graph *g, int64_t n)
{
    eg_node *now = step_record_half(context, g, "now", "drawn", n);
    eg_node *past = step_record_half(context, g, "past", "drawn too", n);
    step_finish(context, g, eg_affine(g, eg_add(g, now, past), 0.5, 0));
}

/* Rows with their labels into the inputs of a word. */
static void step_fill(const eg_generator *m, eg_plan *plan, const char *word,
                      const eg_images *from)
{
    memcpy(eg_plan_input(plan, word), from->x, (size_t)(from->n * m->pixels) * sizeof(float));
    memcpy(eg_plan_input(plan, step_labels(word).text), from->labels,
           (size_t)from->n * sizeof(float));
}

/* Drawings of the machine's own, in training form, into the inputs of a word. */
static eg_status step_draw(eg_generator *m, eg_plan *plan, const char *word,
                           const eg_acgan_step *step, eg_rng *rng)
{
    float *labels = eg_plan_input(plan, step_labels(word).text);
    eg_labels_draw(rng, step->labels, step->n_labels, step->now.n, labels);
    return eg_generator_draw_batch(m, labels, step->now.n, rng, eg_plan_input(plan, word));
}

static eg_status step_critic(eg_generator *m, const eg_acgan_step *step, eg_rng *rng,
                             double *loss)
{
    eg_learner *critic = step->learner;
    step_recorded recorded = {m, step->critic};
    bool both = step->past.n > 0;
    eg_program *p;
    eg_plan *plan;
    EG_TRY(eg_generator_program(m, both ? "critic twice" : "critic",
                                both ? step_record_both : step_record, &recorded, &p));
    EG_TRY(eg_program_bind(p, critic->table, critic->param, critic->grad, critic->state));
    EG_TRY(eg_program_plan(p, step->now.n, &plan));
    step_fill(m, plan, "now", &step->now);
    EG_TRY(step_draw(m, plan, "drawn", step, rng));
    if (both) {
        step_fill(m, plan, "past", &step->past);
        EG_TRY(step_draw(m, plan, "drawn too", step, rng));
    }
    eg_plan_seed(plan, rng, (uint64_t)eg_optimizer_steps(critic->optimizer));
    EG_TRY(eg_plan_run(plan));
    *loss = (double)*eg_plan_output(plan, "loss");
    if (!isfinite(*loss))
        return eg_fail(EG_EINVAL, "the critic's loss is not finite");
    eg_optimizer_step(critic->optimizer, critic->param, critic->grad);
    return EG_OK;
}

eg_status eg_acgan_learn(eg_generator *m, const eg_acgan_step *step, eg_rng *rng,
                         double losses[EG_MAX_LEARNERS])
{
    const eg_learner *critic = step->learner;
    const eg_lesson lesson = {.key = "fool",
                              .loss = eg_acgan_fool,
                              .context = (void *)(uintptr_t)step->critic, /* only read */
                              .table = critic->table,
                              .param = critic->param,
                              .state = critic->state};
    float labels[4096]; /* the largest batch there is */
    EG_TRY(step_critic(m, step, rng, &losses[1]));
    eg_labels_draw(rng, step->labels, step->n_labels, step->now.n, labels);
    return eg_generator_teach(m, &lesson, labels, step->now.n, rng, &losses[0]);
}
