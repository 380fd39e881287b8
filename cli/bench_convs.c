/* bench_convs.c - `engram bench --convs`: the convolutions of generators and critics alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include <engram/op.h>

#include <stdio.h>

/* Images and maps of the networks that draw: WGAN-GP's pair for 28x28 and 32x32x3, ACGAN's. The
 * generators' are transposed: their forward pass is a critic's gradient for the input. */
static const struct {
    int64_t ic, side, oc;
    eg_window win;
} convs_table[] = {
    {1, 28, 16, {.kernel = 4, .stride = 2, .padding = 3}},
    {16, 16, 32, {.kernel = 4, .stride = 2, .padding = 1}},
    {32, 8, 64, {.kernel = 4, .stride = 2, .padding = 1}},
    {3, 32, 64, {.kernel = 4, .stride = 2, .padding = 1}},
    {64, 16, 128, {.kernel = 4, .stride = 2, .padding = 1}},
    {128, 8, 256, {.kernel = 4, .stride = 2, .padding = 1}},
    {64, 32, 128, {.kernel = 4, .stride = 2, .padding = 1}},
    {128, 16, 256, {.kernel = 4, .stride = 2, .padding = 1}},
    {256, 8, 512, {.kernel = 4, .stride = 2, .padding = 1}},
    {1, 32, 64, {.kernel = 3, .stride = 1, .padding = 1}},
    {16, 32, 32, {.kernel = 3, .stride = 2, .padding = 1}},
    {32, 16, 64, {.kernel = 3, .stride = 2, .padding = 1}},
    {64, 32, 128, {.kernel = 3, .stride = 2, .padding = 1}},
    {128, 16, 256, {.kernel = 3, .stride = 2, .padding = 1}},
    {256, 8, 512, {.kernel = 3, .stride = 2, .padding = 1}},
    {16, 32, 32, {.kernel = 1, .stride = 2}},
    {64, 32, 128, {.kernel = 1, .stride = 2}},
    {256, 8, 512, {.kernel = 1, .stride = 2}},
};

enum { CONVS = sizeof convs_table / sizeof *convs_table, PASSES = 3 };

/* One pass of row i, compiled with inputs of small numbers. */
static eg_status convs_compile(int i, int pass, int64_t batch, eg_graph *g, eg_plan **plan)
{
    eg_window win = convs_table[i].win;
    int64_t ic = convs_table[i].ic, oc = convs_table[i].oc, side = convs_table[i].side;
    int64_t k = win.kernel, out = (side + 2 * win.padding - k) / win.stride + 1;
    eg_node *x = eg_input(g, "x", eg_dims(batch, ic, side, side));
    eg_node *w = eg_input(g, "w", eg_dims(oc, ic, k, k));
    eg_node *dy = eg_input(g, "dy", eg_dims(batch, oc, out, out));
    eg_output(g, "y",
              pass == 0   ? eg_conv2d(g, x, w, NULL, win)
              : pass == 1 ? eg_conv2d_back_data(g, dy, w, win, side, side)
                          : eg_conv2d_back_weights(g, x, dy, win, k, k));
    EG_TRY(eg_compile(g, plan));
    static const char *const names[] = {"x", "w", "dy"};
    eg_node *const nodes[] = {x, w, dy};
    for (int n = 0; n < 3; n++) {
        float *to = eg_plan_input(*plan, names[n]);
        for (int64_t j = 0; to && j < eg_shape_size(eg_node_shape(nodes[n])); j++)
            to[j] = (float)((j * 7919 + n) % 201 - 100) / 100;
    }
    return EG_OK;
}

/* The fastest of some runs: of the steps that do the arithmetic, without reorders at the ends,
 * which a network does not have. */
static eg_status convs_measure(eg_plan *plan, double seconds, double *best)
{
    EG_TRY(eg_plan_run(plan));
    eg_plan_set_timing(plan, true);
    double end = bench_clock() + seconds;
    for (int i = 0; i < 3 || bench_clock() < end; i++)
        EG_TRY(eg_plan_run(plan));
    *best = 0;
    for (size_t i = 0; i < eg_plan_n_steps(plan); i++) {
        eg_step_info t = eg_plan_step_info(plan, i);
        *best += t.activation ? 0 : t.seconds;
    }
    return EG_OK;
}

static eg_status convs_pass(int i, int pass, int64_t batch, double seconds)
{
    eg_graph *g = NULL;
    eg_plan *plan = NULL;
    double best = 0;
    EG_TRY(eg_graph_new(&g));
    eg_status s = convs_compile(i, pass, batch, g, &plan);
    if (s == EG_OK)
        s = convs_measure(plan, seconds, &best);
    if (s == EG_OK)
        printf("  %9.3f ms %6.1f", 1e3 * best, 1e-9 * eg_plan_flops(plan) / best);
    eg_plan_free(plan);
    eg_graph_free(g);
    return s;
}

eg_status bench_convs(int64_t batch, double seconds)
{
    printf("one thread, %s, batch %lld; least time and GFLOP/s by the definition\n\n%-24s%21s"
           "%21s%21s\n",
           eg_isa_name(), (long long)batch, "input, window, results", "forward",
           "for the input", "for the weights");
    for (int i = 0; i < CONVS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%lldx%lldx%lld %lldx%lld/%lld %lld",
                 (long long)convs_table[i].ic, (long long)convs_table[i].side,
                 (long long)convs_table[i].side, (long long)convs_table[i].win.kernel,
                 (long long)convs_table[i].win.kernel, (long long)convs_table[i].win.stride,
                 (long long)convs_table[i].oc);
        printf("%-24s", name);
        for (int pass = 0; pass < PASSES; pass++)
            EG_TRY(convs_pass(i, pass, batch, seconds / PASSES));
        printf("\n");
        fflush(stdout);
    }
    return EG_OK;
}
