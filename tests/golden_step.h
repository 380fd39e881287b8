/* golden_step.h - a training step of a file that tools/golden.py wrote: its first values, its
 * inputs, and how far the loss and the gradients are from PyTorch's.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_GOLDEN_STEP_H
#define EG_GOLDEN_STEP_H

#include "golden_file.h"

#include <engram/learner.h>
#include <engram/program.h>

/* The values of a network: param and state, as its table says. shift is added to the streams.
 */
static inline void golden_fill_network(const eg_params *table, const eg_json *tensors,
                                       int shift, float *param, float *state)
{
    assert_int_equal(eg_json_count(tensors), eg_params_n(table));
    for (size_t i = 0; i < eg_json_count(tensors); i++) {
        const eg_json *t = eg_json_at(tensors, i);
        const eg_param_info *info = tensor_of(table, text_of(t, "name"));
        int number = (int)int_of(t, "t");
        golden_fill(number < 0 ? number : number + shift, (float)real_of(t, "base"),
                    (float)real_of(t, "scale"), info->size,
                    (info->trained ? param : state) + info->offset);
    }
}

static inline void golden_fill_learner(eg_learner *l, const eg_json *tensors)
{
    golden_fill_network(l->table, tensors, 0, l->param, l->state);
}

static inline void golden_fill_values(const eg_json *input, float *to)
{
    size_t n = (size_t)int_of(input, "size");
    int t = (int)int_of(input, "t"), mod = (int)int_of(input, "mod");
    assert_non_null(to);
    if (mod)
        golden_fill_labels(t, (uint32_t)mod, n, to);
    else
        golden_fill(t, (float)real_of(input, "base"), (float)real_of(input, "scale"), n, to);
}

static inline void golden_fill_inputs(eg_plan *plan, const eg_json *step)
{
    const eg_json *inputs = eg_json_get(step, "inputs");
    for (size_t i = 0; i < eg_json_count(inputs); i++) {
        const eg_json *input = eg_json_at(inputs, i);
        golden_fill_values(input, eg_plan_input(plan, text_of(input, "name")));
    }
}

/* The largest of what a step that has run is off by: its loss, and every gradient over its
 * norm. */
static inline double golden_step_off(const eg_json *step, double loss, const eg_params *table,
                                     const float *grads)
{
    const eg_json *wanted = eg_json_get(step, "grads");
    double floor = real_of(step, "floor"), worst = fabs(loss - real_of(step, "loss"));
    for (size_t i = 0; i < eg_json_count(wanted); i++) {
        const eg_json *t = eg_json_at(wanted, i);
        const eg_param_info *info = tensor_of(table, text_of(t, "name"));
        const float *grad = grads + info->offset;
        double norm = 0, want = real_of(t, "norm");
        for (size_t j = 0; j < info->size; j++)
            norm += (double)grad[j] * (double)grad[j];
        worst = fmax(worst, golden_distance(eg_json_get(t, "at"), grad, info->size, floor));
        worst = fmax(worst, fabs(sqrt(norm) - want) / (want + floor));
    }
    return worst;
}

#endif
