/* draw.c - what a generator draws, and a step that a loss on its drawings makes it take.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/generator.h>

#include "base/base.h"

#include <engram/op.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Drawings of one plan in eval form. It is always run whole: a plan of another size may add in
 * another order, and a drawing would depend on its neighbours' number. */
enum { DRAW_ROWS = 32 };

void eg_noise_fill(eg_rng *rng, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)eg_rng_normal(rng);
}

static eg_node *draw_images(const eg_generator *m, eg_graph *g, int64_t n, eg_node **labels)
{
    eg_node *noise = eg_input(g, "noise", eg_dims(n, m->n_noise));
    *labels = eg_input(g, "labels", eg_dims(n));
    return m->kind->images(m->self, m, g, noise, *labels);
}

static void draw_record(void *context, eg_graph *g, int64_t n)
{
    eg_node *labels;
    eg_graph_set_training(g, false);
    eg_output(g, "images", draw_images(context, g, n, &labels));
}

static void draw_record_batch(void *context, eg_graph *g, int64_t n)
{
    eg_node *labels;
    eg_output(g, "images", draw_images(context, g, n, &labels));
}

/* Kinds with a draw hook of their own run their network many times for one drawing. */
static eg_status draw_at_once(const eg_generator *m)
{
    return m->kind->draw ? eg_fail(EG_ENOTSUP, "%s draws step by step: no loss reaches back",
                                   m->kind->component.name)
                         : EG_OK;
}

/* A plan of the drawing network for n rows, bound to its values. */
static eg_status draw_plan(eg_generator *m, const char *key, eg_recorder record, int64_t n,
                           eg_plan **out)
{
    const eg_learner *l = m->learners[0];
    eg_program *p;
    EG_TRY(eg_generator_program(m, key, record, m, &p));
    EG_TRY(eg_program_bind(p, l->table, l->param, l->grad, l->state));
    return eg_program_plan(p, n, out);
}

/* A kind that draws the same whatever the label has no such input. */
static void draw_fill(const eg_generator *m, eg_plan *plan, const float *labels, int64_t n,
                      eg_rng *rng)
{
    float *to = eg_plan_input(plan, "labels");
    eg_noise_fill(rng, n * m->n_noise, eg_plan_input(plan, "noise"));
    if (to)
        memcpy(to, labels, (size_t)n * sizeof *to);
}

eg_status eg_generator_draw(eg_generator *m, const float *labels, int64_t n, eg_rng *rng,
                            float *x)
{
    if (m->kind->draw)
        return m->kind->draw(m->self, m, labels, n, rng, x);
    for (int64_t at = 0; at < n; at += DRAW_ROWS) {
        int64_t rows = n - at < DRAW_ROWS ? n - at : DRAW_ROWS;
        eg_plan *plan;
        EG_TRY(draw_plan(m, "draw", draw_record, DRAW_ROWS, &plan));
        draw_fill(m, plan, labels + at, rows, rng);
        EG_TRY(eg_plan_run(plan));
        memcpy(x + at * m->pixels, eg_plan_output(plan, "images"),
               (size_t)(rows * m->pixels) * sizeof *x);
    }
    return EG_OK;
}

eg_status eg_generator_draw_class(eg_generator *m, int64_t label, int64_t n, eg_rng *rng,
                                  float *x)
{
    float *labels;
    EG_TRY(eg_alloc((size_t)n, sizeof *labels, &labels));
    for (int64_t i = 0; i < n; i++)
        labels[i] = (float)(label < 0 ? 0 : label);
    eg_status s = eg_generator_draw(m, labels, n, rng, x);
    free(labels);
    return s;
}

eg_status eg_generator_draw_batch(eg_generator *m, const float *labels, int64_t n, eg_rng *rng,
                                  float *x)
{
    eg_plan *plan;
    EG_TRY(draw_at_once(m));
    EG_TRY(draw_plan(m, "draw batch", draw_record_batch, n, &plan));
    draw_fill(m, plan, labels, n, rng);
    EG_TRY(eg_plan_run(plan));
    memcpy(x, eg_plan_output(plan, "images"), (size_t)(n * m->pixels) * sizeof *x);
    return EG_OK;
}

/* What a lesson's program is recorded from. */
typedef struct draw_lesson {
    const eg_generator *m;
    const eg_lesson *lesson;
} draw_lesson;

static void draw_record_lesson(void *context, eg_graph *g, int64_t n)
{
    const draw_lesson *l = context;
    eg_node *labels;
    eg_node *images = draw_images(l->m, g, n, &labels);
    eg_node *loss = l->lesson->loss(l->lesson->context, g, images, labels);
    eg_output(g, "loss", loss);
    eg_backward(g, loss, l->m->drawing);
}

eg_status eg_generator_teach(eg_generator *m, const eg_lesson *lesson, const float *labels,
                             int64_t n, eg_rng *rng, double *loss)
{
    eg_learner *l = m->learners[0];
    draw_lesson recorded = {m, lesson};
    eg_program *p;
    eg_plan *plan;
    EG_TRY(draw_at_once(m));
    EG_ASSERT(l->optimizer); /* not of a machine that only draws */
    EG_TRY(eg_generator_program(m, lesson->key, draw_record_lesson, &recorded, &p));
    EG_TRY(eg_program_bind(p, l->table, l->param, l->grad, l->state));
    if (lesson->table)
        EG_TRY(eg_program_bind(p, lesson->table, lesson->param, NULL, lesson->state));
    EG_TRY(eg_program_plan(p, n, &plan));
    draw_fill(m, plan, labels, n, rng);
    eg_plan_seed(plan, rng, (uint64_t)eg_optimizer_steps(l->optimizer));
    EG_TRY(eg_plan_run(plan));
    float cost = *eg_plan_output(plan, "loss");
    if (loss)
        *loss = (double)cost;
    if (!isfinite(cost))
        return eg_fail(EG_EINVAL, "the generator's loss is not finite");
    for (size_t i = 0; lesson->pull > 0 && i < l->n_params; i++)
        l->grad[i] += (float)lesson->pull * (l->param[i] - lesson->anchor[i]);
    eg_optimizer_step(l->optimizer, l->param, l->grad);
    return EG_OK;
}

eg_status eg_generator_train(eg_generator *m, const eg_images *on, int64_t steps, eg_rng *rng,
                             double losses[EG_MAX_LEARNERS])
{
    const char *name = m->kind->component.name;
    double unread[EG_MAX_LEARNERS];
    int64_t batch = m->kind->batch(m->self);
    if (on->n < batch)
        return eg_fail(EG_EINVAL, "%s: %lld images are fewer than a batch of %lld", name,
                       (long long)on->n, (long long)batch);
    return eg_blame(m->kind->train(m->self, m, on, steps, rng, losses ? losses : unread), "%s",
                    name);
}
