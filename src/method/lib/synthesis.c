/* synthesis.c - a generator learns what a model is sure of and a student is not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/synthesis.h"

#include "base/base.h"
#include "engine/model/net.h"
#include "method/lib/drawer.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYNTHESIS_LABELS_ALIKE = 10 }; /* drawings that share a layer of LANDER's noise */

typedef struct synthesis {
    eg_synthesis_step step;
    eg_data_free_task task;
    eg_anchors anchors;
    eg_drawer drawer;
    eg_net *student_net;
    eg_learner *student;
    eg_program *steps, *lessons;
    int64_t pixels, n, room; /* of the drawings kept so far */
    float *x, *told, *side;  /* [room, pixels], [room, classes], [room, d] */
    float *open;             /* [classes] */
    float *noise, *labels;   /* of a round */
    double loss;             /* the sum over rounds */
} synthesis;

/* KL(t || s) of rows where both have the same answer, mean over all rows. */
static eg_node *synthesis_contrast(eg_graph *g, eg_node *told, eg_node *own)
{
    eg_node *gap = eg_sub(g, eg_log_softmax(g, told), eg_log_softmax(g, own));
    eg_node *kl = eg_sum(g, eg_mul(g, eg_softmax(g, told), gap), EG_AXIS(1)); /* [n, 1] */
    eg_node *agree = eg_mul(g, eg_equal(g, told, eg_max(g, told, EG_AXIS(1))),
                            eg_equal(g, own, eg_max(g, own, EG_AXIS(1))));
    return eg_mean(g, eg_mul(g, eg_sum(g, agree, EG_AXIS(1)), kl), EG_ALL_AXES);
}

static eg_node *synthesis_pull(const eg_synthesis_step *s, eg_graph *g, eg_node *features)
{
    int64_t n = eg_node_shape(features).dim[0];
    eg_node *side = eg_net_side(s->model, g, features);
    eg_node *to = eg_input(g, "anchors", eg_dims(n, s->anchors));
    eg_output(g, "side", side);
    eg_node *far = eg_relu(g, eg_affine(g, eg_mse(g, side, to), 1, -s->is->bound));
    return eg_affine(g, far, s->is->anchor, 0);
}

void eg_synthesis_record(void *context, eg_graph *g, int64_t n)
{
    const eg_synthesis_step *s = context;
    int64_t classes = eg_net_spec_of(s->model)->classes;
    eg_node *noise = eg_input(g, "noise", eg_dims(n, s->is->noise));
    eg_node *labels = eg_input(g, "labels", eg_dims(n));
    eg_node *open = eg_input(g, "open", eg_dims(1, classes));
    eg_graph_set_training(g, true);
    eg_node *x = eg_drawer_images(s->drawer, g, noise);
    eg_graph_set_training(g, false);
    size_t from = eg_graph_next(g);
    eg_node *features = eg_net_features(s->model, g, x);
    eg_node *outputs = eg_net_head(s->model, g, features);
    eg_node *gap = eg_statistics_gap(g, from, EG_GAP_NORMS);
    eg_node *told = eg_add(g, outputs, open);
    eg_node *own = eg_add(g, eg_net_forward(s->student, g, x), open);
    eg_node *loss =
        eg_add(g, eg_affine(g, gap, s->is->statistics, 0),
               eg_affine(g, eg_cross_entropy(g, told, labels, NULL), s->is->sure, 0));
    eg_node *contrast =
        eg_mul(g, eg_input(g, "contrast", eg_scalar()), synthesis_contrast(g, told, own));
    loss = eg_sub(g, loss, contrast);
    if (s->anchors)
        loss = eg_add(g, loss, synthesis_pull(s, g, features));
    eg_output(g, "images", x);
    eg_output(g, "told", outputs);
    eg_output(g, "loss", loss);
    eg_backward(g, loss, s->drawer->table);
}

static void synthesis_record_lesson(void *context, eg_graph *g, int64_t n)
{
    const eg_synthesis_step *s = context;
    const eg_net_spec *spec = eg_net_spec_of(s->model);
    double cold = 1 / s->is->lesson_temperature;
    eg_node *x = eg_input(g, "x", eg_dims(n, spec->channels, spec->height, spec->width));
    eg_node *open = eg_input(g, "open", eg_dims(1, spec->classes));
    eg_node *told = eg_input(g, "told", eg_dims(n, spec->classes));
    eg_node *own = eg_affine(g, eg_net_forward(s->student, g, x), cold, 0);
    eg_node *target = eg_softmax(g, eg_add(g, eg_affine(g, told, cold, 0), open));
    eg_node *loss = eg_kl_divergence(g, eg_log_softmax(g, eg_add(g, own, open)), target);
    eg_output(g, "loss", loss);
    eg_net_backward(s->student, g, loss);
}

static eg_status synthesis_open_student(synthesis *s)
{
    const eg_net *net = s->task.piece->net;
    eg_net_spec spec = *eg_net_spec_of(net);
    char options[96];
    spec.set = eg_net_options(net);
    EG_TRY(eg_net_new(&spec, &s->student_net));
    EG_TRY(eg_learner_new(eg_net_params(s->student_net), &s->student));
    snprintf(options, sizeof options, "lr=%.17g momentum=0.9", s->task.is->lesson_lr);
    EG_TRY(eg_learner_optimize(s->student, "sgd", options));
    eg_params_init(s->student->table, s->task.piece->seed + 1, s->student->param,
                   s->student->state);
    return EG_OK;
}

static eg_status synthesis_open_drawer(synthesis *s)
{
    const eg_data_free *is = s->task.is;
    const eg_net_spec *spec = eg_net_spec_of(s->task.piece->net);
    char options[96];
    EG_TRY(eg_drawer_open(&s->drawer, &(eg_drawer_spec){.noise = is->noise,
                                                        .width = is->width,
                                                        .channels = spec->channels,
                                                        .height = spec->height,
                                                        .width_of_image = spec->width}));
    snprintf(options, sizeof options, "lr=%.17g beta1=0.5", is->lr);
    EG_TRY(eg_learner_optimize(s->drawer.own, "adam", options));
    eg_params_init(s->drawer.table, s->task.piece->seed, s->drawer.own->param,
                   s->drawer.own->state);
    s->pixels = spec->channels * spec->height * spec->width;
    return EG_OK;
}

static eg_status synthesis_room(synthesis *s)
{
    const eg_data_free *is = s->task.is;
    size_t all = (size_t)(is->rounds * is->batch), classes = (size_t)s->task.classes;
    s->room = is->rounds * is->batch;
    EG_TRY(eg_alloc(all * (size_t)s->pixels, sizeof *s->x, &s->x));
    EG_TRY(eg_alloc(all * classes, sizeof *s->told, &s->told));
    EG_TRY(eg_alloc(classes, sizeof *s->open, &s->open));
    EG_TRY(eg_alloc((size_t)(is->batch * is->noise), sizeof *s->noise, &s->noise));
    EG_TRY(eg_alloc((size_t)is->batch, sizeof *s->labels, &s->labels));
    eg_open_classes(s->task.met, s->task.classes, s->open);
    return s->anchors.values ? eg_alloc(all * (size_t)s->anchors.d, sizeof *s->side, &s->side)
                             : EG_OK;
}

static eg_status synthesis_programs(synthesis *s)
{
    const eg_net *net = s->task.piece->net;
    const eg_params *table = eg_net_params(net);
    const eg_learner *g = s->drawer.own, *l = s->student;
    s->step = (eg_synthesis_step){.is = s->task.is,
                                  .drawer = &s->drawer,
                                  .model = net,
                                  .student = s->student_net,
                                  .anchors = s->anchors.values ? s->anchors.d : 0};
    EG_TRY(eg_program_new(eg_synthesis_record, &s->step, 1, &s->steps));
    EG_TRY(eg_program_read(s->steps, table, &s->task.at));
    EG_TRY(eg_program_bind(s->steps, g->table, g->param, g->grad, g->state));
    EG_TRY(eg_program_read(s->steps, l->table, &(eg_weights){l->param, l->state}));
    EG_TRY(eg_program_new(synthesis_record_lesson, &s->step, 1, &s->lessons));
    return eg_program_bind(s->lessons, l->table, l->param, l->grad, l->state);
}

static void synthesis_close(synthesis *s)
{
    eg_program_free(s->steps);
    eg_program_free(s->lessons);
    eg_learner_free(s->student);
    eg_net_free(s->student_net);
    eg_drawer_close(&s->drawer);
    free(s->x);
    free(s->told);
    free(s->side);
    free(s->open);
    free(s->noise);
    free(s->labels);
}

/* LANDER's noise: W e_y / |e_y|, with a W of standard normal numbers for every ten drawings. */
static void synthesis_noise_of_labels(const synthesis *s, eg_rng *rng)
{
    int64_t noise = s->task.is->noise, d = s->anchors.d;
    for (int64_t i = 0; i < s->task.is->batch; i += SYNTHESIS_LABELS_ALIKE)
        for (int64_t k = 0; k < noise; k++) {
            double sums[SYNTHESIS_LABELS_ALIKE] = {0}, squares[SYNTHESIS_LABELS_ALIKE] = {0};
            int64_t n = s->task.is->batch - i;
            n = n < SYNTHESIS_LABELS_ALIKE ? n : SYNTHESIS_LABELS_ALIKE;
            for (int64_t j = 0; j < d; j++) {
                double w = eg_rng_normal(rng);
                for (int64_t r = 0; r < n; r++) {
                    double e = (double)s->anchors.values[(int64_t)s->labels[i + r] * d + j];
                    sums[r] += w * e, squares[r] += e * e;
                }
            }
            for (int64_t r = 0; r < n; r++)
                s->noise[(i + r) * noise + k] =
                    (float)(squares[r] > 0 ? sums[r] / sqrt(squares[r]) : 0);
        }
}

/* Noise and labels of a round. */
static void synthesis_draw(const synthesis *s, int64_t round)
{
    const eg_data_free *is = s->task.is;
    eg_rng labels = eg_piece_stream(s->task.piece, round, EG_DATA_FREE_LABELS);
    eg_rng noise = eg_piece_stream(s->task.piece, round, EG_DATA_FREE_NOISE);
    for (int64_t i = 0; i < is->batch; i++)
        s->labels[i] = (float)eg_data_free_class(&s->task, &labels);
    if (s->anchors.values)
        synthesis_noise_of_labels(s, &noise);
    else
        for (int64_t i = 0; i < is->batch * is->noise; i++)
            s->noise[i] = (float)eg_rng_normal(&noise);
}

static void synthesis_fill(const synthesis *s, int64_t round, eg_plan *plan)
{
    const eg_data_free *is = s->task.is;
    int64_t d = s->anchors.d;
    memcpy(eg_plan_input(plan, "noise"), s->noise,
           (size_t)(is->batch * is->noise) * sizeof *s->noise);
    memcpy(eg_plan_input(plan, "labels"), s->labels, (size_t)is->batch * sizeof *s->labels);
    memcpy(eg_plan_input(plan, "open"), s->open, (size_t)s->task.classes * sizeof *s->open);
    *eg_plan_input(plan, "contrast") = round < is->warmup ? 0 : (float)is->contrast;
    for (int64_t i = 0; s->anchors.values && i < is->batch; i++)
        memcpy(eg_plan_input(plan, "anchors") + i * d,
               s->anchors.values + (int64_t)s->labels[i] * d, (size_t)d * sizeof(float));
}

/* Puts the batch as the plan has it where this round's stands. */
static void synthesis_keep(const synthesis *s, const eg_plan *plan)
{
    size_t batch = (size_t)s->task.is->batch, at = (size_t)s->n;
    size_t pixels = (size_t)s->pixels, classes = (size_t)s->task.classes;
    memcpy(s->x + at * pixels, eg_plan_output(plan, "images"), batch * pixels * sizeof *s->x);
    memcpy(s->told + at * classes, eg_plan_output(plan, "told"),
           batch * classes * sizeof *s->told);
    if (s->anchors.values)
        memcpy(s->side + at * (size_t)s->anchors.d, eg_plan_output(plan, "side"),
               batch * (size_t)s->anchors.d * sizeof *s->side);
}

/* One batch; *made is false if its losses are not finite. */
static eg_status synthesis_round(synthesis *s, int64_t round, bool *made)
{
    double best = INFINITY;
    eg_plan *plan;
    EG_TRY(eg_program_plan(s->steps, s->task.is->batch, &plan));
    synthesis_draw(s, round);
    synthesis_fill(s, round, plan);
    for (int64_t i = 0; i < s->task.is->steps; i++) {
        EG_TRY(eg_plan_run(plan));
        double loss = (double)*eg_plan_output(plan, "loss");
        if (!isfinite(loss))
            break;
        if (loss < best) {
            best = loss;
            synthesis_keep(s, plan);
        }
        eg_optimizer_step(s->drawer.own->optimizer, s->drawer.own->param, s->drawer.own->grad);
    }
    *made = isfinite(best);
    s->loss += *made ? best : 0;
    s->n += *made ? s->task.is->batch : 0;
    return EG_OK;
}

static eg_status synthesis_teach(synthesis *s, int64_t round)
{
    size_t pixels = (size_t)s->pixels, classes = (size_t)s->task.classes;
    eg_rng rng = eg_piece_stream(s->task.piece, round, EG_DATA_FREE_LESSONS);
    eg_plan *plan;
    EG_TRY(eg_program_plan(s->lessons, s->task.is->batch, &plan));
    memcpy(eg_plan_input(plan, "open"), s->open, classes * sizeof *s->open);
    for (int64_t step = 0; step < s->task.is->lessons; step++) {
        for (int64_t i = 0; i < s->task.is->batch; i++) {
            size_t row = (size_t)eg_rng_below(&rng, (uint64_t)s->n);
            memcpy(eg_plan_input(plan, "x") + (size_t)i * pixels, s->x + row * pixels,
                   pixels * sizeof *s->x);
            memcpy(eg_plan_input(plan, "told") + (size_t)i * classes, s->told + row * classes,
                   classes * sizeof *s->told);
        }
        eg_plan_seed(plan, &rng, (uint64_t)step);
        EG_TRY(eg_plan_run(plan));
        eg_optimizer_step(s->student->optimizer, s->student->param, s->student->grad);
    }
    return EG_OK;
}

static eg_status synthesis_run(synthesis *s)
{
    const eg_data_free *is = s->task.is;
    bool made = true;
    EG_TRY(synthesis_open_drawer(s));
    EG_TRY(synthesis_open_student(s));
    EG_TRY(synthesis_room(s));
    EG_TRY(synthesis_programs(s));
    for (int64_t round = 0; round < is->rounds && made; round++) {
        EG_TRY(synthesis_round(s, round, &made));
        if (made && is->contrast > 0 && round + 1 >= is->warmup && round + 1 < is->rounds)
            EG_TRY(synthesis_teach(s, round));
    }
    return EG_OK;
}

static eg_status synthesis_tell(const synthesis *s, eg_bundle *to)
{
    const char *part = s->task.piece->part;
    const struct {
        const char *name;
        const float *values;
        int64_t d;
    } tensors[] = {{"drawn.x", s->x, s->pixels},
                   {"drawn.told", s->told, s->task.classes},
                   {"drawn.side", s->side, s->anchors.d}};
    if (s->n == 0)
        return EG_OK;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (tensors[i].values)
            EG_TRY(eg_bundle_add(to, eg_data_free_named(part, tensors[i].name).text,
                                 eg_dims(s->n, tensors[i].d), tensors[i].values));
    EG_TRY(eg_bundle_add_flat(to, eg_data_free_named(part, "drawn.open").text, s->task.met,
                              (size_t)s->task.classes));
    int64_t rounds = s->n / s->task.is->batch;
    return eg_bundle_scalar(to, eg_data_free_named(part, "loss").text,
                            s->loss / (double)rounds);
}

eg_status eg_synthesis(const void *options, const eg_piece *piece, const eg_anchors *anchors,
                       eg_bundle *to)
{
    synthesis s = {0};
    if (anchors)
        s.anchors = *anchors;
    EG_TRY(eg_data_free_ask(options, piece, &s.task));
    eg_status status = synthesis_run(&s);
    if (status == EG_OK)
        status = synthesis_tell(&s, to);
    synthesis_close(&s);
    return status;
}
