/* conv_trial.h - one pass of a convolution by a kernel of the test's choice, against the double
 * form, with guarded buffers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_CONV_TRIAL_H
#define EG_TEST_CONV_TRIAL_H

#include "guard.h"

#include "engine/op/op.h"

#include <stdlib.h>

typedef struct shape {
    int64_t n, ic, h, w, oc, padding, taps, stride;
} shape;

typedef enum fill { RANDOM, LARGE_MEAN, SMALL, ALTERNATING, N_FILLS } fill;

static double fill_at(fill how, eg_rng *r, int64_t i)
{
    double u = eg_rng_uniform(r, -1, 1);
    switch (how) {
    case LARGE_MEAN:
        return (double)(float)(1000 + u);
    case SMALL:
        return (double)(float)(1e-3 * u);
    case ALTERNATING:
        return (double)(float)((i % 2 ? -1 : 1) * (0.5 + 0.5 * fabs(u)));
    default:
        return (double)(float)u;
    }
}

typedef struct fill_context {
    fill how;
    bool absolute;
} fill_context;

static void fill_leaf(void *context, const eg_node *leaf, double *out)
{
    const fill_context *c = context;
    eg_rng r = eg_rng_at(5, (uint32_t)leaf->id, (uint32_t)c->how, EG_FOR_TEST);
    for (int64_t i = 0; i < eg_shape_size(leaf->shape); i++) {
        out[i] = fill_at(c->how, &r, i);
        out[i] = c->absolute ? fabs(out[i]) : out[i];
    }
}

/* The pass under test, and what computes it: the including test's. */
static eg_conv_pass pass;
static eg_status trial_conv(eg_plan *p, const eg_node *y, const eg_conv *c,
                            const eg_conv_nodes *nodes);

static eg_status test_emit(eg_plan *p, const eg_node *y)
{
    eg_node *const *in = y->in;
    eg_conv c =
        pass == EG_CONV_FORWARD     ? eg_conv_of(in[0]->shape, in[1]->shape, y->shape, y->attr)
        : pass == EG_CONV_BACK_DATA ? eg_conv_of(y->shape, in[1]->shape, in[0]->shape, y->attr)
                                    : eg_conv_of(in[0]->shape, y->shape, in[1]->shape, y->attr);
    eg_conv_nodes nodes = {0};
    if (pass == EG_CONV_FORWARD)
        nodes = (eg_conv_nodes){.x = in[0],
                                .weights = in[1],
                                .bias = y->n_in > 2 ? in[2] : NULL,
                                .relu = eg_sole_relu(p, y)};
    else if (pass == EG_CONV_BACK_DATA)
        nodes = (eg_conv_nodes){.dy = in[0], .weights = in[1]};
    else
        nodes = (eg_conv_nodes){.x = in[0], .dy = in[1]};
    return trial_conv(p, y, &c, &nodes);
}

/* One pass of one convolution, recorded with its own emit. */
typedef struct trial {
    eg_graph *g;
    eg_op op;
    eg_node *y, *out;
} trial;

static void trial_open(trial *t, const shape *s, bool bias, bool relu)
{
    assert_ok(eg_graph_new(&t->g));
    eg_window win = {.stride = s->stride, .padding = s->padding};
    int64_t oh = eg_window_count(s->h, s->taps, win.stride, win.padding);
    int64_t ow = eg_window_count(s->w, s->taps, win.stride, win.padding);
    eg_node *x = eg_input(t->g, "x", eg_dims(s->n, s->ic, s->h, s->w));
    eg_node *w = eg_input(t->g, "w", eg_dims(s->oc, s->ic, s->taps, s->taps));
    eg_node *b = eg_input(t->g, "b", eg_dims(s->oc));
    eg_node *dy = eg_input(t->g, "dy", eg_dims(s->n, s->oc, oh, ow));
    if (pass == EG_CONV_FORWARD)
        t->y = eg_conv2d(t->g, x, w, bias ? b : NULL, win);
    else if (pass == EG_CONV_BACK_DATA)
        t->y = eg_conv2d_back_data(t->g, dy, w, win, s->h, s->w);
    else
        t->y = eg_conv2d_back_weights(t->g, x, dy, win, s->taps, s->taps);
    assert_ok(eg_graph_status(t->g));
    t->op = *t->y->op;
    t->op.emit = test_emit;
    t->y->op = &t->op;
    t->out = relu ? eg_relu(t->g, t->y) : t->y;
    eg_output(t->g, "out", t->out);
}

static double *trial_evaluate(trial *t, fill how, bool absolute)
{
    double *v = calloc((size_t)eg_shape_size(t->out->shape), sizeof *v);
    assert_non_null(v);
    fill_context c = {how, absolute};
    assert_ok(eg_evaluate(t->g, 1, &t->out, fill_leaf, &c, &v));
    return v;
}

static void trial_fill(const trial *t, eg_plan *plan, fill how)
{
    for (size_t k = 0; k < t->g->n_nodes; k++) {
        const eg_node *x = t->g->nodes[k];
        float *to = x->op == &eg_op_input
                        ? eg_plan_input(plan, ((const eg_input_attr *)x->attr)->name)
                        : NULL;
        if (!to)
            continue;
        double *v = calloc((size_t)eg_shape_size(x->shape), sizeof *v);
        assert_non_null(v);
        fill_leaf(&(fill_context){how, false}, x, v);
        for (int64_t i = 0; i < eg_shape_size(x->shape); i++)
            to[i] = (float)v[i];
        free(v);
    }
}

/* The largest error of the pass, in units of the convolution of absolute values. */
static double trial_gap(trial *t, fill how, bool end)
{
    eg_plan *plan;
    assert_ok(eg_compile(t->g, &plan));
    guard g = guard_plan(plan, end);
    trial_fill(t, plan, how);
    assert_ok(eg_plan_run(plan));
    assert_ok(eg_plan_run(plan)); /* a second run must not depend on what the first left */
    const float *got = eg_plan_output(plan, "out");
    double *want = trial_evaluate(t, how, false), *whole = trial_evaluate(t, how, true);
    double worst = 0;
    for (int64_t i = 0; i < eg_shape_size(t->out->shape); i++) {
        double gap = fabs((double)got[i] - want[i]) / (whole[i] + 1e-30);
        worst = gap > worst || isnan(gap) ? gap : worst;
    }
    free(want);
    free(whole);
    eg_plan_free(plan);
    guard_free(&g);
    return worst;
}

#endif
